// SPDX-License-Identifier: MIT
#include "core/config/sections.h"

#include <algorithm>

namespace tapemeasure {

namespace {

using Type = ConfigNode::Type;

/// Those that count: what a list or nothing replaces is left out.
std::vector<const ConfigNode*> counting(const std::vector<const ConfigNode*>& layers) {
  std::vector<const ConfigNode*> result;
  for (const ConfigNode* layer : layers) {
    const bool merges = layer->is_map() && (result.empty() || result.back()->is_map());
    if (!merges) result.clear();
    if (layer->type != Type::kNull) result.push_back(layer);
  }
  return result;
}

const ConfigNode* wrong_in(const ConfigNode& layer) {
  if (layer.type == Type::kScalar) return &layer;
  for (const ConfigEntry& entry : layer.entries)
    if (!entry.value.is_map() && entry.value.type != Type::kNull) return &entry.value;
  for (const ConfigNode& item : layer.items)
    if (!item.is_map()) return &item;
  return nullptr;
}

}  // namespace

void NamedConfig::add(const ConfigNode& section) {
  config.layers_.push_back(section);
  // A name without anything below it is a section without keys.
  config.layers_.back().type = Type::kMap;
  place = section.mark.str();
}

const ConfigNode* read_sections(const std::vector<const ConfigNode*>& layers,
                                std::vector<NamedConfig>& values) {
  std::vector<NamedConfig> result;
  for (const ConfigNode* layer : counting(layers)) {
    if (const ConfigNode* wrong = wrong_in(*layer)) return wrong;
    for (const ConfigEntry& entry : layer->entries) {
      auto named = std::find_if(result.begin(), result.end(),
                                [&](const NamedConfig& each) { return each.name == entry.key; });
      if (named == result.end()) named = result.insert(named, NamedConfig{entry.key, {}, ""});
      named->add(entry.value);
    }
    for (const ConfigNode& item : layer->items) {
      result.push_back({});
      result.back().add(item);
    }
  }
  values = std::move(result);
  return nullptr;
}

}  // namespace tapemeasure

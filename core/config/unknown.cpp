// SPDX-License-Identifier: MIT
#include "core/config/unknown.h"

#include <fmt/format.h>

#include <algorithm>

namespace tapemeasure {
namespace {

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

}  // namespace

void UnknownKeys::report(const std::function<void(Fields&)>& visit,
                         std::vector<Problem>& problems) const {
  if (keys_.empty()) return;
  const std::vector<KnownKey> all = known_keys(visit);
  for (const Entry& entry : keys_) {
    const std::string full = join_key(entry.key.section, entry.key.name);
    const bool known = std::any_of(all.begin(), all.end(),
                                   [&](const KnownKey& key) { return key.about.key == full; });
    if (entry.key.replaced && known) continue;
    problems.push_back({entry.key.mark, message(entry, all)});
  }
}

const KindCondition* UnknownKeys::failing(const KnownKey& known) const {
  for (const KindCondition& condition : known.conditions) {
    const auto chosen = kinds_.find(condition.section);
    if (chosen == kinds_.end() || chosen->second != condition.kind) return &condition;
  }
  return nullptr;
}

// "'model.position.theta' belongs to position.kind rope, here it is shaw".
std::string UnknownKeys::other_kind(const std::string& full,
                                    const std::vector<KnownKey>& all) const {
  std::string section;
  std::vector<std::string> kinds;
  for (const KnownKey& known : all) {
    const KindCondition* condition = known.about.key == full ? failing(known) : nullptr;
    if (!condition || (!kinds.empty() && condition->section != section)) continue;
    section = condition->section;
    if (std::find(kinds.begin(), kinds.end(), condition->kind) == kinds.end())
      kinds.push_back(condition->kind);
  }
  if (kinds.empty()) return "";
  const auto chosen = kinds_.find(section);
  return fmt::format("'{}' belongs to {} {}, here it is {}", printable(full),
                     last_part(section) + ".kind", fmt::join(kinds, " or "),
                     chosen == kinds_.end() ? "not chosen" : chosen->second);
}

std::string UnknownKeys::guess(const Entry& entry, const std::vector<KnownKey>& all) const {
  const std::string sibling = nearest(entry.key.name, entry.siblings);
  if (!sibling.empty()) return join_key(entry.key.section, sibling);
  // Elsewhere: keys that exist under the kinds chosen come first, then all.
  for (const bool chosen_only : {true, false}) {
    std::vector<std::string> names, keys;
    for (const KnownKey& known : all) {
      if (chosen_only && failing(known)) continue;
      keys.push_back(known.about.key);
      names.push_back(last_part(known.about.key));
    }
    const std::string name = nearest(entry.key.name, names);
    if (!name.empty()) return keys[std::find(names.begin(), names.end(), name) - names.begin()];
  }
  return "";
}

std::string UnknownKeys::message(const Entry& entry, const std::vector<KnownKey>& all) const {
  const std::string full = join_key(entry.key.section, entry.key.name);
  const std::string other = other_kind(full, all);
  if (!other.empty()) return other;
  const std::string near = guess(entry, all);
  return fmt::format("unknown key '{}'{}", printable(full),
                     near.empty() ? "" : " (did you mean '" + near + "'?)");
}

}  // namespace tapemeasure

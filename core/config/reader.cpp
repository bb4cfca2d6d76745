// SPDX-License-Identifier: MIT
// Fills options from the layers of a Config. Of all problems the first in the file is thrown.
#include <algorithm>
#include <set>
#include <utility>

#include "core/config/config.h"
#include "core/config/keys.h"
#include "core/config/node.h"
#include "core/config/scalar.h"
#include "core/config/sections.h"
#include "core/config/unknown.h"
#include "core/error.h"

namespace tapemeasure {
namespace {

// A section while it is visited.
struct Frame {
  std::string path = {};                       // "" for the root
  std::vector<const ConfigNode*> layers = {};  // maps, or scalars that stand for their kind
  size_t floor = 0;                            // layers below it were written for another kind
  bool in_kind = false;                        // visiting the kind's options, not the section's own
  bool has_kind = false, kind_failed = false;
  std::set<std::string> known = {};
};

class Reader final : public Fields {
 public:
  Reader(const std::vector<ConfigNode>& layers, std::map<std::string, std::string>& places)
      : places_(places) {
    frames_.push_back({.path = ""});
    for (const ConfigNode& layer : layers) frames_.back().layers.push_back(&layer);
  }

  void integer(const char* name, int64_t& value, IntegerRange range, const char*,
               const char*) override {
    if (const ConfigNode* node = find(name)) read_integer(name, *node, range, value);
  }
  void real(const char* name, double& value, RealRange range, const char*, const char*) override {
    if (const ConfigNode* node = find(name)) read_real(name, *node, range, value);
  }
  void boolean(const char* name, bool& value, const char*) override {
    if (const ConfigNode* node = find(name)) read_boolean(name, *node, value);
  }
  void choice(const char* name, int& index, std::span<const char* const> choices,
              const char*) override;
  void text(const char* name, std::string& value, const char*) override {
    if (const ConfigNode* node = find(name)) read_text(name, *node, value);
  }

  void integer(const char* name, std::optional<int64_t>& value, IntegerRange range, const char*,
               const char*, const char*) override {
    read_optional(name, value, [&](const ConfigNode& node, int64_t& result) {
      return read_integer(name, node, range, result);
    });
  }
  void real(const char* name, std::optional<double>& value, RealRange range, const char*,
            const char*, const char*) override {
    read_optional(name, value, [&](const ConfigNode& node, double& result) {
      return read_real(name, node, range, result);
    });
  }
  void boolean(const char* name, std::optional<bool>& value, const char*, const char*) override {
    read_optional(name, value, [&](const ConfigNode& node, bool& result) {
      return read_boolean(name, node, result);
    });
  }

  void integers(const char* name, std::vector<int64_t>& values, IntegerRange range, const char*,
                const char*) override {
    read_list(name, values, [&](const ConfigNode& node, int64_t& result) {
      return read_integer(name, node, range, result);
    });
  }
  void reals(const char* name, std::vector<double>& values, RealRange range, const char*,
             const char*) override {
    read_list(name, values, [&](const ConfigNode& node, double& result) {
      return read_real(name, node, range, result);
    });
  }
  void texts(const char* name, std::vector<std::string>& values, const char*) override {
    read_list(name, values, [&](const ConfigNode& node, std::string& result) {
      return read_text(name, node, result);
    });
  }

  void word_or_real(const char* name, std::string& word, double& value,
                    std::span<const char* const> words, const char*) override;
  void boolean_or_names(const char* name, bool& value, std::vector<std::string>& names,
                        std::span<const char* const> known, const char*) override;

  void sections(const char* name, std::vector<NamedConfig>& values, const char*) override;

  void finish(const std::function<void(Fields&)>& visit) {
    close(frames_.back());
    unknown_.report(visit, problems_);
    const auto first =
        std::min_element(problems_.begin(), problems_.end(),
                         [](const Problem& a, const Problem& b) { return a.mark.before(b.mark); });
    if (first != problems_.end()) throw ConfigError(first->mark.str() + ": " + first->message);
  }

 protected:
  bool enter(const char* name, const char*) override;
  void leave() override {
    close(frames_.back());
    frames_.pop_back();
  }
  void enter_kind(const char*, const char*) override { frames_.back().in_kind = true; }
  void leave_kind() override { frames_.back().in_kind = false; }

 private:
  std::string key(const char* name) const { return join_key(frames_.back().path, name); }
  void problem(const ConfigNode& node, std::string message) {
    problems_.push_back({node.mark, std::move(message)});
  }
  bool wanted(const char* name, const std::string& what, const ConfigNode& node) {
    problem(node, fmt::format("'{}' wants {}, found {}", key(name), what, node.found()));
    return false;
  }
  template <class Range>
  bool out_of_range(const char* name, Range range, const ConfigNode& node) {
    const std::string allowed = range_text(range), space = allowed.empty() ? "" : " ";
    problem(node,
            fmt::format("'{}' is out of range{}{}: {}", key(name), space, allowed, node.found()));
    return false;
  }

  /// The value that counts, from the highest layer that has one.
  const ConfigNode* find(const char* name);
  bool read_integer(const char* name, const ConfigNode& node, IntegerRange range, int64_t& value);
  bool read_real(const char* name, const ConfigNode& node, RealRange range, double& value);
  bool read_boolean(const char* name, const ConfigNode& node, bool& value);
  bool read_text(const char* name, const ConfigNode& node, std::string& value);
  bool read_word(const char* name, const ConfigNode& node, std::span<const char* const> words,
                 const std::string& what, size_t& index);
  template <class T, class Read>
  void read_optional(const char* name, std::optional<T>& value, Read read);
  template <class T, class Read>
  void read_list(const char* name, std::vector<T>& values, Read read);
  /// Walks the layers' kinds up to the last, and hides what was written for an earlier one.
  void settle_kind(Frame& frame, const std::string& standard);
  void close(const Frame& frame);

  std::map<std::string, std::string>& places_;
  std::vector<Frame> frames_;
  std::vector<Problem> problems_;
  UnknownKeys unknown_;
};

// A scalar in a section's place stands for its kind: `position: rope`.
const ConfigNode* child(const ConfigNode& section, const std::string& name,
                        const ConfigMark*& mark) {
  if (section.type == ConfigNode::Type::kScalar) {
    mark = &section.mark;
    return name == "kind" ? &section : nullptr;
  }
  const ConfigEntry* entry = section.find(name);
  if (!entry) return nullptr;
  mark = &entry->mark;
  return &entry->value;
}

const ConfigNode* Reader::find(const char* name) {
  Frame& frame = frames_.back();
  frame.known.insert(name);
  for (size_t i = frame.layers.size(); i > (frame.in_kind ? frame.floor : 0); --i) {
    const ConfigMark* mark = nullptr;
    const ConfigNode* node = child(*frame.layers[i - 1], name, mark);
    if (!node) continue;
    places_[key(name)] = mark->str();
    return node;
  }
  return nullptr;
}

bool Reader::enter(const char* name, const char*) {
  Frame& outer = frames_.back();
  outer.known.insert(name);
  Frame frame{.path = key(name)};
  const ConfigNode* list = nullptr;
  for (size_t i = outer.in_kind ? outer.floor : 0; i < outer.layers.size(); ++i) {
    const ConfigMark* mark = nullptr;
    const ConfigNode* node = child(*outer.layers[i], name, mark);
    if (!node) continue;
    places_[frame.path] = mark->str();
    // Nothing and a list replace what lies below; nothing is a section without keys.
    const bool section = node->is_map() || node->type == ConfigNode::Type::kScalar;
    list = node->type == ConfigNode::Type::kList ? node : nullptr;
    if (section)
      frame.layers.push_back(node);
    else
      frame.layers.clear();
  }
  if (list) problem(*list, fmt::format("'{}' wants a section, found a list", frame.path));
  frames_.push_back(std::move(frame));
  return true;
}

void Reader::settle_kind(Frame& frame, const std::string& standard) {
  std::string current = standard;
  for (size_t i = 0; i < frame.layers.size(); ++i) {
    const ConfigMark* mark = nullptr;
    const ConfigNode* kind = child(*frame.layers[i], "kind", mark);
    if (!kind || kind->text == current) continue;
    current = kind->text;
    frame.floor = i;
  }
}

void Reader::choice(const char* name, int& index, std::span<const char* const> choices,
                    const char*) {
  Frame& frame = frames_.back();
  const bool is_kind = std::string_view(name) == "kind";
  if (is_kind) settle_kind(frame, choices[index]);
  const ConfigNode* node = find(name);
  const std::string list = fmt::format("{}", fmt::join(choices, ", "));
  bool read = true;
  if (node) {
    size_t chosen = 0;
    const bool shorthand =
        is_kind && std::find(frame.layers.begin(), frame.layers.end(), node) != frame.layers.end();
    if (shorthand && std::find(choices.begin(), choices.end(), node->text) == choices.end()) {
      problem(*node, fmt::format("'{}' wants a section or one of {}, found {}", frame.path, list,
                                 node->found()));
      read = false;
    } else {
      read = read_word(name, *node, choices, "one of " + list, chosen);
    }
    if (read) index = static_cast<int>(chosen);
  }
  if (!is_kind) return;
  frame.has_kind = true;
  frame.kind_failed = !read;
  unknown_.chose(frame.path, choices[index]);
}

bool Reader::read_word(const char* name, const ConfigNode& node, std::span<const char* const> words,
                       const std::string& what, size_t& index) {
  if (node.type != ConfigNode::Type::kScalar) return wanted(name, what, node);
  const std::vector<std::string> known(words.begin(), words.end());
  const auto found = std::find(known.begin(), known.end(), node.text);
  if (found == known.end()) {
    const std::string guess = nearest(node.text, known);
    problem(node, fmt::format("'{}' wants {}, found {}{}", key(name), what, node.found(),
                              guess.empty() ? "" : " (did you mean '" + guess + "'?)"));
    return false;
  }
  index = static_cast<size_t>(found - known.begin());
  return true;
}

bool Reader::read_integer(const char* name, const ConfigNode& node, IntegerRange range,
                          int64_t& value) {
  if (node.type != ConfigNode::Type::kScalar || !node.plain)
    return wanted(name, "an integer", node);
  bool too_large = false;
  const std::optional<int64_t> number = parse_integer(node.text, too_large);
  if (too_large || (number && (*number < range.min || *number > range.max)))
    return out_of_range(name, range, node);
  if (!number) return wanted(name, "an integer", node);
  value = *number;
  return true;
}

bool Reader::read_real(const char* name, const ConfigNode& node, RealRange range, double& value) {
  if (node.type != ConfigNode::Type::kScalar || !node.plain) return wanted(name, "a number", node);
  bool too_large = false;
  const std::optional<double> number = parse_real(node.text, too_large);
  if (too_large || (number && (*number < range.min || *number > range.max)))
    return out_of_range(name, range, node);
  if (!number) return wanted(name, "a number", node);
  value = *number;
  return true;
}

bool Reader::read_boolean(const char* name, const ConfigNode& node, bool& value) {
  const bool scalar = node.type == ConfigNode::Type::kScalar && node.plain;
  const std::optional<bool> given = scalar ? parse_boolean(node.text) : std::nullopt;
  if (!given) return wanted(name, "true or false", node);
  value = *given;
  return true;
}

bool Reader::read_text(const char* name, const ConfigNode& node, std::string& value) {
  if (node.is_map() || node.type == ConfigNode::Type::kList) return wanted(name, "a text", node);
  value = node.text;
  return true;
}

template <class T, class Read>
void Reader::read_optional(const char* name, std::optional<T>& value, Read read) {
  const ConfigNode* node = find(name);
  if (!node) return;
  T result{};
  if (node->type == ConfigNode::Type::kNull)
    value.reset();
  else if (read(*node, result))
    value = result;
}

template <class T, class Read>
void Reader::read_list(const char* name, std::vector<T>& values, Read read) {
  const ConfigNode* node = find(name);
  if (!node) return;
  if (node->is_map() || node->type == ConfigNode::Type::kNull) {
    wanted(name, "a list", *node);
    return;
  }
  std::vector<T> result;
  const bool single = node->type == ConfigNode::Type::kScalar;
  for (const ConfigNode& item : single ? std::span(node, 1) : std::span(node->items)) {
    T value{};
    if (!read(item, value)) return;
    result.push_back(std::move(value));
  }
  values = std::move(result);
}

void Reader::word_or_real(const char* name, std::string& word, double& value,
                          std::span<const char* const> words, const char*) {
  const ConfigNode* node = find(name);
  if (!node) return;
  bool too_large = false;
  const bool plain = node->type == ConfigNode::Type::kScalar && node->plain;
  const std::optional<double> number = plain ? parse_real(node->text, too_large) : std::nullopt;
  if (too_large) {
    out_of_range(name, RealRange{-kAnyReal, kAnyReal}, *node);
  } else if (number) {
    value = *number;
    word.clear();
  } else {
    size_t index = 0;
    if (read_word(name, *node, words, fmt::format("a number or {}", fmt::join(words, ", ")), index))
      word = words[index];
  }
}

void Reader::boolean_or_names(const char* name, bool& value, std::vector<std::string>& names,
                              std::span<const char* const> known, const char*) {
  const ConfigNode* node = find(name);
  if (!node) return;
  if (node->type != ConfigNode::Type::kList) {
    const bool scalar = node->type == ConfigNode::Type::kScalar && node->plain;
    const std::optional<bool> given = scalar ? parse_boolean(node->text) : std::nullopt;
    const std::string what = fmt::format("true, false or a list of {}", fmt::join(known, ", "));
    if (!given) return void(wanted(name, what, *node));
    value = *given;
    names.clear();
    return;
  }
  std::vector<std::string> result;
  for (const ConfigNode& item : node->items) {
    size_t index = 0;
    const std::string what = fmt::format("names of {}", fmt::join(known, ", "));
    if (!read_word(name, item, known, what, index)) return;
    if (std::find(result.begin(), result.end(), known[index]) != result.end())
      return problem(item, fmt::format("'{}' names '{}' twice", key(name), known[index]));
    result.push_back(known[index]);
  }
  value = !result.empty();
  names = std::move(result);
}

void Reader::sections(const char* name, std::vector<NamedConfig>& values, const char*) {
  if (!find(name)) return;
  const Frame& frame = frames_.back();
  std::vector<const ConfigNode*> layers;
  for (size_t i = frame.in_kind ? frame.floor : 0; i < frame.layers.size(); ++i) {
    const ConfigMark* mark = nullptr;
    if (const ConfigNode* node = child(*frame.layers[i], name, mark)) layers.push_back(node);
  }
  if (const ConfigNode* wrong = read_sections(layers, values))
    wanted(name, "sections by name or a list of sections", *wrong);
}

void Reader::close(const Frame& frame) {
  for (size_t i = 0; i < frame.layers.size(); ++i) {
    const ConfigNode& layer = *frame.layers[i];
    if (layer.type == ConfigNode::Type::kScalar && !frame.has_kind)
      problem(layer, fmt::format("'{}' wants a section, found {}", frame.path, layer.found()));
    if (frame.kind_failed) continue;
    for (const ConfigEntry& entry : layer.entries)
      if (!frame.known.count(entry.key))
        unknown_.add({entry.mark, frame.path, entry.key, i < frame.floor},
                     {frame.known.begin(), frame.known.end()});
  }
}

}  // namespace

void Config::fill(const std::function<void(Fields&)>& visit) const {
  places_.clear();
  Reader reader(layers_, places_);
  visit(reader);
  reader.finish(visit);
}

}  // namespace tapemeasure

// SPDX-License-Identifier: MIT
// The tree that YAML text becomes: scalars, lists and maps, each with the place it was written at.
// Private to core/config.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tapemeasure {

/// A place in a file, or a whole `--set` argument.
struct ConfigMark {
  std::shared_ptr<const std::string> origin;  ///< "tiny.yaml", "--set a.b=c"
  int line = 0, column = 0;                   ///< from 1; 0 when the origin says it all
  int source = 0;                             ///< which text is reported first

  /// "tiny.yaml:3:5".
  std::string str() const;
  bool before(const ConfigMark& other) const;
};

struct ConfigEntry;

struct ConfigNode {
  enum class Type { kNull, kScalar, kList, kMap };

  Type type = Type::kNull;
  ConfigMark mark;
  std::string text;                  ///< a scalar's, without quotes
  bool plain = true;                 ///< not quoted: may be a number or a boolean
  std::vector<ConfigNode> items;     ///< a list's
  std::vector<ConfigEntry> entries;  ///< a map's, in the order they were written

  bool is_map() const { return type == Type::kMap; }
  /// The entry of a map, or null.
  const ConfigEntry* find(std::string_view key) const;
  /// What a message says was found: "64", "a list", "nothing".
  std::string found() const;
};

struct ConfigEntry {
  std::string key;
  ConfigMark mark;
  ConfigNode value;
};

/// Parses one YAML document. `origin.line` 0 keeps places out of the marks (`--set`). Throws
/// ConfigError on what is not YAML, on keys that are not plain words and on repeated keys; null for
/// an empty text.
ConfigNode parse_yaml(const std::string& text, const ConfigMark& origin);

/// A text for a message: one line, not too long.
std::string printable(std::string_view text);

}  // namespace tapemeasure

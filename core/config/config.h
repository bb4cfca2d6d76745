// SPDX-License-Identifier: MIT
// Reading, changing and writing configs. A Config is a stack of trees of YAML values that remember
// where each was written: what a file extends, the file, each `--set`; a later one goes over an
// earlier one. Options structs are filled from it through their `visit`. Only yaml.cpp knows
// yaml-cpp.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/config/fields.h"

namespace tapemeasure {

struct ConfigNode;  // one value of the tree: scalar, list or map, with its place

/// One resolved value: where it stands, what it is, where it came from.
struct ConfigValue {
  std::string key;     ///< "model.position.kind"
  std::string value;   ///< as it would be written
  std::string origin;  ///< "tiny.yaml:3:5", "--set", "default"
};

/// What `explain` says of a key.
struct ConfigKey {
  std::string key;    ///< "model.position.max_distance"
  std::string kind;   ///< the kinds that have it ("position.kind: shaw"), or ""
  std::string type;   ///< "integer", "number", "true/false", "one of: ...", "text", "list of ..."
  std::string value;  ///< the default
  std::string range;  ///< "1 ... 4096", or ""
  std::string unit;
  std::string help;
};

class Config {
 public:
  Config();
  ~Config();
  Config(const Config&);
  Config& operator=(const Config&);
  Config(Config&&) noexcept;
  Config& operator=(Config&&) noexcept;

  /// Reads a file (and what it `extends:`, relative to it). Maps are merged deeply, lists and
  /// scalars replaced. Throws ConfigError with file:line:column for what is not YAML, not a map, or
  /// says a key twice.
  static Config read(const std::string& path);
  /// Reads a text; `origin` stands for the file's name in messages.
  static Config parse(const std::string& text, const std::string& origin);

  /// `--set a.b=value`: the value is YAML. Here as in `extends`, setting a `kind` to another kind
  /// drops the keys that belonged to the old one. Throws ConfigError on a text without "=" or with
  /// an empty key.
  void set(const std::string& assignment);

  /// Fills `options` (anything with visit(Fields&)). Throws ConfigError on a key that no field has
  /// (with the nearest valid key), and on a value of the wrong type or out of range: the first in
  /// the order of the file, as one line.
  template <class Options>
  void into(Options& options) const {
    fill([&options](Fields& fields) { options.visit(fields); });
  }
  /// The place of a key for a message, "tiny.yaml:3:5"; the nearest enclosing one when it is unset.
  std::string place(const std::string& key) const;
  /// True if the key was given, not left to its default. After `into` a key that a change of kind
  /// dropped counts as not given.
  bool has(const std::string& key) const;

 private:
  friend struct NamedConfig;
  void fill(const std::function<void(Fields&)>& visit) const;
  /// The key's place, or "" when it was not given.
  std::string given(const std::string& key) const;
  std::vector<ConfigNode> layers_;  // lowest first, each a map
  // What the last `into` found, by key: it alone knows what a change of kind has dropped.
  mutable std::map<std::string, std::string> places_;
};

/// A section by itself, as Fields::sections gives it.
struct NamedConfig {
  std::string name;  ///< "" in a list
  Config config;
  std::string place;  ///< "shaw.yaml:12:3"

  /// Private to core/config: one more layer.
  void add(const ConfigNode& section);
};

/// Writes all values of `options` as YAML that reads back to the same. Doubles are the shortest
/// text that reads back to the same bits.
std::string write_config(const std::function<void(Fields&)>& visit);
template <class Options>
std::string write_config(Options& options) {
  return write_config([&options](Fields& fields) { options.visit(fields); });
}
/// All values of `options` one by one, with their origin in `config`.
std::vector<ConfigValue> list_values(const Config& config,
                                     const std::function<void(Fields&)>& visit);
/// All keys that there are, those of every kind included.
std::vector<ConfigKey> list_keys(const std::function<void(Fields&)>& visit);
/// The candidate nearest to `word` by edit distance, or "" when none is near.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace tapemeasure

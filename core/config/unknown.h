// SPDX-License-Identifier: MIT
// What to say of keys that no field has asked for. Private to core/config.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/config/keys.h"
#include "core/config/node.h"

namespace tapemeasure {

struct Problem {
  ConfigMark mark;
  std::string message;
};

class UnknownKeys {
 public:
  struct Key {
    ConfigMark mark;
    std::string section, name;
    bool replaced;  ///< written for a kind that a later layer has replaced: fine if any kind has it
  };

  void chose(const std::string& section, const std::string& kind) { kinds_[section] = kind; }
  void add(Key key, std::vector<std::string> siblings) {
    keys_.push_back({std::move(key), std::move(siblings)});
  }
  /// Adds a problem for each key that is wrong.
  void report(const std::function<void(Fields&)>& visit, std::vector<Problem>& problems) const;

 private:
  struct Entry {
    Key key;
    std::vector<std::string> siblings;
  };
  /// The condition of `known` that does not hold, or null.
  const KindCondition* failing(const KnownKey& known) const;
  std::string message(const Entry& entry, const std::vector<KnownKey>& all) const;
  std::string other_kind(const std::string& full, const std::vector<KnownKey>& all) const;
  std::string guess(const Entry& entry, const std::vector<KnownKey>& all) const;

  std::map<std::string, std::string> kinds_;
  std::vector<Entry> keys_;
};

}  // namespace tapemeasure

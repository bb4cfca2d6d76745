// SPDX-License-Identifier: MIT
// All keys that options have, those of kinds that are not chosen included. Private to core/config.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/config/config.h"

namespace tapemeasure {

/// The key exists only where `section`'s kind is `kind`.
struct KindCondition {
  std::string section, kind;
};

struct KnownKey {
  ConfigKey about;
  std::vector<KindCondition> conditions;
  bool is_section = false;
};

std::vector<KnownKey> known_keys(const std::function<void(Fields&)>& visit);

std::string range_text(IntegerRange range);
std::string range_text(RealRange range);
/// "a.b", or "b" at the root.
inline std::string join_key(const std::string& section, const std::string& name) {
  return section.empty() ? name : section + "." + name;
}

}  // namespace tapemeasure

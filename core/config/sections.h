// SPDX-License-Identifier: MIT
// Many sections of one kind under one key. Private to core/config.
#pragma once

#include <vector>

#include "core/config/config.h"
#include "core/config/node.h"

namespace tapemeasure {

/// The sections of a key's values, lowest layer first: maps are merged name by name, a list
/// replaces what lies below it. Returns null, or the value that is no section; `values` is then as
/// it was.
const ConfigNode* read_sections(const std::vector<const ConfigNode*>& layers,
                                std::vector<NamedConfig>& values);

}  // namespace tapemeasure

// SPDX-License-Identifier: MIT
// The page: one HTML file with its style, its scripts, the chart library and the data inside, which
// opens without a network. Its sources lie in app/report/page/ and are built into the program.
#pragma once

#include <string>

#include "app/report/run_data.h"

namespace tapemeasure {

std::string page_html(const Json& document);

}  // namespace tapemeasure

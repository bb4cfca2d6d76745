// SPDX-License-Identifier: MIT
// What embed.cmake makes of app/report/page/ and of the chart library when the program is built.
#pragma once

#include <string_view>

namespace tapemeasure::page_parts {

extern const std::string_view kIndex;           ///< the HTML, with {{places}} for the others
extern const std::string_view kStyle;           ///< ours
extern const std::string_view kScript;          ///< ours, one file behind the other
extern const std::string_view kLibraryScript;   ///< dygraphs
extern const std::string_view kLibraryStyle;    ///< dygraphs
extern const std::string_view kLibraryLicence;  ///< dygraphs

}  // namespace tapemeasure::page_parts

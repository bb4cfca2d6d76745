// SPDX-License-Identifier: MIT
#include "app/report/page.h"

#include "app/report/page_parts.h"
#include "core/error.h"

namespace tapemeasure {

namespace {

/// Text that may stand between <script> tags: "</script" and "<!--" would end or change it.
std::string script_safe(std::string text) {
  for (size_t at = 0; (at = text.find('<', at)) != std::string::npos;) {
    text.replace(at, 1, "\\u003c");
  }
  return text;
}

std::string html_safe(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string page_html(const Json& document) {
  const auto replacement = [](const Json& value) {
    // A path need not be UTF-8; what is not becomes U+FFFD.
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  const std::pair<std::string_view, std::string> places[] = {
      {"{{title}}", html_safe(document.value("title", "runs"))},
      {"{{library-licence}}", std::string(page_parts::kLibraryLicence)},
      {"{{library-style}}", std::string(page_parts::kLibraryStyle)},
      {"{{style}}", std::string(page_parts::kStyle)},
      {"{{data}}", script_safe(replacement(document))},
      {"{{library-script}}", std::string(page_parts::kLibraryScript)},
      {"{{script}}", std::string(page_parts::kScript)}};
  std::string html;
  std::string_view rest = page_parts::kIndex;
  for (const auto& [place, text] : places) {
    const size_t at = rest.find(place);
    check<Error>(at != std::string_view::npos, "the page has no {} where it should", place);
    html += rest.substr(0, at);
    html += text;
    rest.remove_prefix(at + place.size());
  }
  return html += rest;
}

}  // namespace tapemeasure

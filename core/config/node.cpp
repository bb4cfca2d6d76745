// SPDX-License-Identifier: MIT
#include "core/config/node.h"

#include <fmt/format.h>

#include <tuple>

namespace tapemeasure {

std::string ConfigMark::str() const {
  return line == 0 ? *origin : fmt::format("{}:{}:{}", *origin, line, column);
}

bool ConfigMark::before(const ConfigMark& other) const {
  return std::tie(source, line, column) < std::tie(other.source, other.line, other.column);
}

const ConfigEntry* ConfigNode::find(std::string_view key) const {
  for (const ConfigEntry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

std::string ConfigNode::found() const {
  switch (type) {
    case Type::kNull:
      return "nothing";
    case Type::kList:
      return "a list";
    case Type::kMap:
      return "a section";
    case Type::kScalar:
      break;
  }
  return plain ? printable(text) : "the text \"" + printable(text) + "\"";
}

std::string printable(std::string_view text) {
  constexpr size_t kLongest = 120;
  std::string result;
  for (char c : text) {
    if (result.size() >= kLongest && (c & 0xC0) != 0x80) return result + "...";
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += c;
  }
  return result;
}

}  // namespace tapemeasure

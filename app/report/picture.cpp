// SPDX-License-Identifier: MIT
#include "app/report/picture.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cmath>

namespace tapemeasure {

namespace {

constexpr double kLargest = 32767;
constexpr int16_t kNoNumber = -32768;

std::string base64(const std::vector<uint8_t>& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  return text;
}

/// Low byte first.
std::string words(const std::vector<double>& values, double scale) {
  std::vector<uint8_t> bytes;
  for (const double value : values) {
    const int16_t word =
        std::isfinite(value) ? static_cast<int16_t>(std::lround(value / scale)) : kNoNumber;
    const auto bits = static_cast<uint16_t>(word);
    bytes.push_back(static_cast<uint8_t>(bits & 0xff));
    bytes.push_back(static_cast<uint8_t>(bits >> 8));
  }
  return base64(bytes);
}

}  // namespace

Json Picture::json() const {
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  const double scale = largest > 0 ? largest / kLargest : 1;
  Json json = {{"title", title},
               {"note", note},
               {"rowTitle", row_title},
               {"columnTitle", column_title},
               {"rows", rows},
               {"columns", columns},
               {"rowFirst", first_row},
               {"columnFirst", first_column},
               {"signed", is_signed},
               {"scale", scale},
               {"data", words(values, scale)}};
  if (!row_names.empty()) json["rowNames"] = row_names;
  if (!column_names.empty()) json["columnNames"] = column_names;
  return json;
}

}  // namespace tapemeasure

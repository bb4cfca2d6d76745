// SPDX-License-Identifier: MIT
// Every byte is a token; the vocabulary is all 256, whatever the text holds.
#include "data/tokenizer.h"

namespace tapemeasure {

namespace {

class ByteTokenizer : public Tokenizer {
 public:
  std::string kind() const override { return "byte"; }
  int64_t vocabulary() const override { return 256; }
  void encode(std::string_view text, const std::string&, std::vector<int32_t>& ids) const override {
    ids.reserve(ids.size() + text.size());
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  }
  std::string bytes_of(int32_t id) const override { return std::string(1, static_cast<char>(id)); }
  std::string description() const override { return ""; }
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer(std::string_view, const std::string&) {
  return std::make_unique<ByteTokenizer>();
}

std::unique_ptr<Tokenizer> load_byte_tokenizer(const std::string&) {
  return std::make_unique<ByteTokenizer>();
}

}  // namespace tapemeasure

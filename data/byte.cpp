// SPDX-License-Identifier: MIT
// Every byte is a token; the vocabulary is all 256, whatever the text holds.
#include "core/utf8.h"
#include "data/tokenizer.h"

namespace tapemeasure {

namespace {

class ByteTokenizer : public Tokenizer {
 public:
  std::string kind() const override { return "byte"; }
  int64_t vocabulary() const override { return 256; }
  void encode(std::string_view text, const std::string&, std::vector<int32_t>& ids) const override {
    const size_t begin = ids.size();
    ids.resize(begin + text.size());
    for (size_t i = 0; i < text.size(); ++i) ids[begin + i] = static_cast<unsigned char>(text[i]);
  }
  size_t cut(std::string_view text) const override { return whole_code_points(text); }
  std::string bytes_of(int32_t id) const override { return std::string(1, static_cast<char>(id)); }
  std::string description() const override { return ""; }
};

class ByteLearner : public TokenizerLearner {
 public:
  size_t cut(std::string_view text) const override { return whole_code_points(text); }
  void see(std::string_view, const Place&) override {}
  void merge(TokenizerLearner&) override {}
  std::unique_ptr<Tokenizer> learn(const std::string&) override {
    return std::make_unique<ByteTokenizer>();
  }
};

}  // namespace

std::unique_ptr<TokenizerLearner> make_byte_learner(const TokenizerOptions&) {
  return std::make_unique<ByteLearner>();
}

std::unique_ptr<Tokenizer> load_byte_tokenizer(const std::string&) {
  return std::make_unique<ByteTokenizer>();
}

}  // namespace tapemeasure

// SPDX-License-Identifier: MIT
#include "data/tokenizer.h"

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/utf8.h"

namespace tapemeasure {

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) text += bytes_of(id);
  return text;
}

std::string Tokenizer::hash() const {
  const std::string all = kind() + '\n' + description();
  return sha256(std::as_bytes(std::span(all)));
}

#define TOKENIZER(name)                                                             \
  std::unique_ptr<TokenizerLearner> make_##name##_learner(const TokenizerOptions&); \
  std::unique_ptr<Tokenizer> load_##name##_tokenizer(const std::string&);
#include "data/tokenizers.def"
#undef TOKENIZER

namespace {

struct Entry {
  const char* name;
  std::unique_ptr<TokenizerLearner> (*learner)(const TokenizerOptions&);
  std::unique_ptr<Tokenizer> (*load)(const std::string&);
};

#define TOKENIZER(name) {#name, make_##name##_learner, load_##name##_tokenizer},
constexpr Entry kTokenizers[] = {
#include "data/tokenizers.def"
};
#undef TOKENIZER

const Entry* find(const std::string& kind) {
  for (const Entry& entry : kTokenizers) {
    if (kind == entry.name) return &entry;
  }
  return nullptr;
}

}  // namespace

void check_options(const TokenizerOptions& options) {
  check<ConfigError>(find(options.kind) != nullptr, "unknown tokenizer '{}': it is one of {}",
                     options.kind, fmt::join(tokenizer_kinds(), ", "));
  const bool fixed = options.kind == "byte" || options.kind == "char";
  check<ConfigError>(!fixed || !options.vocabulary,
                     "tokenizer {} has the vocabulary that it has: a size goes with word, bpe or "
                     "unigram",
                     options.kind);
  check<ConfigError>(options.kind == "word" || options.min_frequency == 1,
                     "a minimum frequency of {} goes with tokenizer word, not {}",
                     options.min_frequency, options.kind);
}

std::unique_ptr<TokenizerLearner> make_learner(const TokenizerOptions& options) {
  check_options(options);
  return find(options.kind)->learner(options);
}

std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerOptions& options, std::string_view text,
                                          const std::string& origin) {
  const auto learner = make_learner(options);
  learner->see(text, [&](size_t offset) { return origin + ": " + place_in_text(text, offset); });
  return learner->learn(origin);
}

std::unique_ptr<Tokenizer> make_tokenizer(const std::string& kind, std::string_view text,
                                          const std::string& origin) {
  TokenizerOptions options;
  options.kind = kind;
  return make_tokenizer(options, text, origin);
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& kind, const std::string& description) {
  const Entry* entry = find(kind);
  check<DataError>(entry != nullptr, "made with a tokenizer '{}' that this version does not have",
                   kind);
  return entry->load(description);
}

std::vector<std::string> tokenizer_kinds() {
  std::vector<std::string> kinds;
  for (const Entry& entry : kTokenizers) kinds.emplace_back(entry.name);
  return kinds;
}

void visit_tokenizer(StateVisitor& v, std::shared_ptr<const Tokenizer>& tokenizer) {
  std::string kind, description;
  if (!v.loading()) {
    kind = tokenizer->kind();
    description = tokenizer->description();
  }
  v.text("tokenizer/kind", kind);
  v.text("tokenizer/description", description);
  if (v.loading()) tokenizer = load_tokenizer(kind, description);
}

}  // namespace tapemeasure

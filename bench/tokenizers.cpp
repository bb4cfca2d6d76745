// SPDX-License-Identifier: MIT
// Encoding beside the SentencePiece library's own: the same model and text, one thread. The text is
// what TAPEMEASURE_TEXT names, or corpora/kjv.txt (scripts/get_corpus.sh kjv).
#include <benchmark/benchmark.h>
#include <sentencepiece_processor.h>

#include <cstdlib>
#include <map>

#include "core/file/atomic_file.h"
#include "data/tokenizer.h"

namespace tapemeasure {
namespace {

const std::string& text() {
  const char* name = std::getenv("TAPEMEASURE_TEXT");
  static const std::string text = read_file(name ? name : "corpora/kjv.txt");
  return text;
}

const Tokenizer& tokenizer_of(const std::string& kind) {
  static std::map<std::string, std::unique_ptr<Tokenizer>> made;
  std::unique_ptr<Tokenizer>& tokenizer = made[kind];
  if (!tokenizer) tokenizer = make_tokenizer(kind, text(), "the text");
  return *tokenizer;
}

void encode(benchmark::State& state, const std::string& kind) {
  const Tokenizer& tokenizer = tokenizer_of(kind);
  std::vector<int32_t> ids;
  for (auto _ : state) {
    ids.clear();
    tokenizer.encode(text(), "the text", ids);
    benchmark::DoNotOptimize(ids.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text().size()));
  state.counters["tokens"] = static_cast<double>(ids.size());
}

/// Line by line, as the library is meant to be used.
void library_encode(benchmark::State& state, const std::string& kind) {
  sentencepiece::SentencePieceProcessor library;
  if (!library.LoadFromSerializedProto(tokenizer_of(kind).description()).ok()) std::abort();
  size_t tokens = 0;
  std::vector<int> ids;
  for (auto _ : state) {
    tokens = 0;
    for (size_t at = 0; at < text().size();) {
      const size_t end = std::min(text().find('\n', at), text().size());
      library.Encode(std::string_view(text()).substr(at, end - at), &ids).IgnoreError();
      tokens += ids.size() + 1;
      at = end + 1;
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text().size()));
  state.counters["tokens"] = static_cast<double>(tokens);
}

BENCHMARK_CAPTURE(encode, byte, "byte");
BENCHMARK_CAPTURE(encode, char, "char");
BENCHMARK_CAPTURE(encode, word, "word");
BENCHMARK_CAPTURE(encode, bpe, "bpe");
BENCHMARK_CAPTURE(library_encode, bpe, "bpe");
BENCHMARK_CAPTURE(encode, unigram, "unigram");
BENCHMARK_CAPTURE(library_encode, unigram, "unigram");

}  // namespace
}  // namespace tapemeasure

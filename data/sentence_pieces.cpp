// SPDX-License-Identifier: MIT
#include "data/sentence_pieces.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <bit>
#include <charconv>
#include <unordered_map>

#include "core/error.h"
#include "data/piece_units.h"
#include "data/word_counts.h"

namespace tapemeasure {

namespace {

namespace sp = sentencepiece;

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

std::string byte_piece(int byte) { return fmt::format("<0x{:02X}>", byte); }

std::string with_spaces(std::string_view piece) {
  std::string bytes;
  while (!piece.empty()) {
    const bool space = piece.starts_with(kSpaceMark);
    bytes += space ? ' ' : piece[0];
    piece.remove_prefix(space ? kSpaceMark.size() : 1);
  }
  return bytes;
}

class PieceTokenizer : public Tokenizer {
 public:
  PieceTokenizer(const std::string& kind, const std::string& model) : kind_(kind), model_(model) {
    const sp::util::Status status = library_.LoadFromSerializedProto(model);
    check<DataError>(status.ok(), "the stored {} vocabulary cannot be read: {}", kind,
                     status.error_message());
    for (int byte = 0; byte < 256; ++byte) {
      byte_ids_[byte] = library_.PieceToId(byte_piece(byte));
      check<DataError>(library_.IsByte(byte_ids_[byte]),
                       "the stored {} vocabulary has no token for the byte {}", kind, byte);
    }
    bytes_.resize(static_cast<size_t>(library_.GetPieceSize()));
    for (int id = 0; id < library_.GetPieceSize(); ++id) {
      if (library_.IsUnknown(id) || library_.IsControl(id)) continue;
      bytes_[static_cast<size_t>(id)] = with_spaces(library_.IdToPiece(id));
    }
    for (int byte = 0; byte < 256; ++byte) {
      bytes_[static_cast<size_t>(byte_ids_[byte])] = std::string(1, static_cast<char>(byte));
    }
  }

  std::string kind() const override { return kind_; }
  int64_t vocabulary() const override { return static_cast<int64_t>(bytes_.size()); }
  size_t cut(std::string_view text) const override { return cut_units(text); }
  std::string bytes_of(int32_t id) const override { return bytes_.at(static_cast<size_t>(id)); }
  std::string description() const override { return model_; }

  void encode(std::string_view text, const std::string&, std::vector<int32_t>& ids) const override {
    // Most words of a text were there before: where their ids lie.
    struct Known {
      size_t begin, count;
    };
    std::unordered_map<std::string_view, Known> known;
    std::vector<int> found;
    for (size_t at = 0; at < text.size();) {
      const PieceUnit unit = unit_at(text, at);
      at += unit.bytes.size();
      if (unit.raw) {
        encode_bytes(unit.bytes, ids);
        continue;
      }
      const auto [entry, is_new] = known.try_emplace(unit.bytes, Known{ids.size(), 0});
      if (is_new) {
        encode_unit(unit.bytes, found, ids);
        entry->second.count = ids.size() - entry->second.begin;
      } else {
        const auto [begin, count] = entry->second;
        for (size_t i = 0; i < count; ++i) ids.push_back(ids[begin + i]);
      }
    }
  }

 private:
  void encode_bytes(std::string_view text, std::vector<int32_t>& ids) const {
    for (const char c : text) ids.push_back(byte_ids_[static_cast<unsigned char>(c)]);
  }

  void encode_unit(std::string_view unit, std::vector<int>& found,
                   std::vector<int32_t>& ids) const {
    const sp::util::Status status = library_.Encode(unit, &found);
    // Whatever the library thinks of a text, its bytes are to come back.
    size_t same = 0;
    for (const int id : found) {
      const std::string& bytes = bytes_[static_cast<size_t>(id)];
      if (unit.substr(same, bytes.size()) != bytes || bytes.empty()) break;
      same += bytes.size();
    }
    if (!status.ok() || same != unit.size()) return encode_bytes(unit, ids);
    ids.insert(ids.end(), found.begin(), found.end());
  }

  std::string kind_, model_;
  sp::SentencePieceProcessor library_;
  std::vector<std::string> bytes_;
  int32_t byte_ids_[256];
};

/// Shows words and their counts to the library, as lines of its "tsv" format.
class Sentences : public sp::SentenceIterator {
 public:
  explicit Sentences(std::vector<std::string> lines) : lines_(std::move(lines)) {}
  bool done() const override { return at_ == lines_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return lines_[at_]; }
  sp::util::Status status() const override { return {}; }

 private:
  std::vector<std::string> lines_;
  size_t at_ = 0;
};

class PieceLearner : public TokenizerLearner {
 public:
  PieceLearner(const std::string& kind, const TokenizerOptions& options)
      : kind_(kind), wanted_(options.vocabulary.value_or(kDefaultPieces)), counts_(kMostBytes) {}

  size_t cut(std::string_view text) const override { return cut_units(text); }

  void see(std::string_view piece, const Place&) override {
    for (size_t at = 0; at < piece.size();) {
      const PieceUnit unit = unit_at(piece, at);
      at += unit.bytes.size();
      if (!unit.raw) add(unit.bytes);
    }
  }

  void merge(TokenizerLearner& other) override {
    counts_.merge(static_cast<PieceLearner&>(other).counts_);
  }

  std::unique_ptr<Tokenizer> learn(const std::string& origin) override {
    check<DataError>(!counts_.empty(), "{}: no text to learn {} pieces from", origin, kind_);
    Sentences sentences(lines());
    std::string model;
    const sp::util::Status status = sp::SentencePieceTrainer::Train(
        std::unordered_map<std::string, std::string>{
            {"model_type", kind_},
            {"vocab_size", std::to_string(wanted_)},
            {"hard_vocab_limit", "false"},  // its refusal does not say the limit in so many words
            {"input_format", "tsv"},
            {"normalization_rule_name", "identity"},
            {"add_dummy_prefix", "false"},
            {"remove_extra_whitespaces", "false"},
            {"byte_fallback", "true"},
            {"max_sentence_length", std::to_string(2 * kLongestUnit)},
            // With bytes to fall back to it never occurs; no text can hold its name.
            {"unk_piece", "\x01"},
            {"bos_id", "-1"},
            {"eos_id", "-1"},
            {"pad_id", "-1"},
            // The order in which the library's threads' sums are added; not the machine's cores.
            {"num_threads", "4"},
            {"minloglevel", "3"}},
        &sentences, &model);
    if (!status.ok()) fail(origin, status.ToString());
    auto tokenizer = std::make_unique<PieceTokenizer>(kind_, model);
    check<DataError>(tokenizer->vocabulary() == wanted_,
                     "{}: a vocabulary of {} is more than {} finds in this text: ask for at most "
                     "{}, or use more text",
                     origin, wanted_, kind_, tokenizer->vocabulary());
    return tokenizer;
  }

 private:
  // Different words that pieces are learned from: a natural language has fewer, and the library's
  // memory is some hundred times this.
  static constexpr size_t kMostBytes = 8 << 20;

  void add(std::string_view unit) {
    // A piece spelled like a byte's token would be that token twice.
    for (size_t at; (at = unit.find("<0x")) != std::string_view::npos;) {
      counts_.add(unit.substr(0, at + 1));
      unit.remove_prefix(at + 1);
    }
    counts_.add(unit);
  }

  /// "word TAB count" for each. unigram takes its first candidates from what occurs twice, without
  /// looking at counts, so there a word gets a few lines.
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const WordCounts::Word* word : counts_.sorted()) {
      auto [text, count] = *word;
      const int64_t times = kind_ == "unigram" ? std::bit_width(static_cast<uint64_t>(count)) : 1;
      for (int64_t left = times; left > 0; --left) {
        const int64_t share = count / left;
        lines.push_back(fmt::format("{}\t{}", text, share));
        count -= share;
      }
    }
    return lines;
  }

  /// The library names the smallest vocabulary: "... smaller than required_chars. 100 vs 311."
  [[noreturn]] void fail(const std::string& origin, const std::string& reason) const {
    constexpr std::string_view kBefore = " vs ";
    const size_t at = reason.find(kBefore);
    int64_t least = 0;
    if (reason.find("required_chars") != std::string::npos && at != std::string::npos) {
      std::from_chars(reason.data() + at + kBefore.size(), reason.data() + reason.size(), least);
    }
    check<DataError>(least == 0,
                     "{}: a vocabulary of {} is too small for {}: 256 bytes, the unknown and the "
                     "characters of this text need {}",
                     origin, wanted_, kind_, least);
    throw DataError(fmt::format("{}: no {} vocabulary of {} can be learned from this text: {}",
                                origin, kind_, wanted_, reason));
  }

  std::string kind_;
  int64_t wanted_;
  WordCounts counts_;
};

}  // namespace

std::unique_ptr<TokenizerLearner> make_piece_learner(const std::string& kind,
                                                     const TokenizerOptions& options) {
  return std::make_unique<PieceLearner>(kind, options);
}

std::unique_ptr<Tokenizer> load_piece_tokenizer(const std::string& kind,
                                                const std::string& description) {
  return std::make_unique<PieceTokenizer>(kind, description);
}

}  // namespace tapemeasure

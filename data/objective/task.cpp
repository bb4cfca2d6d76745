// SPDX-License-Identifier: MIT
#include "data/objective/task.h"

#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "data/tokenizer.h"

namespace tapemeasure {

namespace {

constexpr int64_t kLongest = 1 << 16;

/// Writes questions and answers of given lengths into a batch.
class TaskWriter {
 public:
  TaskWriter(const TaskOptions& task, const ObjectiveSetting& setting)
      : task_(task), reader_(setting.reader), end_(static_cast<int32_t>(setting.vocabulary)) {}

  /// Makes the tensors of `count` strings of at most `longest`, all padding.
  void begin(Backend& backend, int64_t count, int64_t longest, Batch& batch) {
    const int64_t question = task_.question_size(longest), answer = task_.answer_size(longest);
    width_ = answer + 1;
    if (reader_ == Reader::kEncoderDecoder) {
      source_width_ = question + 1;
      source_ = integers(batch.source_BS, backend, {count, source_width_});
      source_ends_ = integers(batch.source_lengths_B, backend, {count});
      std::fill_n(source_, count * source_width_, end_ + 1);
    } else {
      width_ += question;
    }
    tokens_ = integers(batch.tokens_BT, backend, {count, width_});
    targets_ = integers(batch.targets_BT, backend, {count, width_});
    std::fill_n(tokens_, count * width_, end_ + 1);
    std::fill_n(targets_, count * width_, -1);
    batch.scored = 0;
  }

  void write(int64_t row, uint64_t key, int64_t length, bool held_out, Batch& batch) {
    const int64_t question_size = task_.question_size(length), answer = task_.answer_size(length);
    int32_t* tokens = tokens_ + row * width_;
    int32_t* targets = targets_ + row * width_;
    int32_t* question = tokens;
    if (reader_ == Reader::kEncoderDecoder) {
      question = source_ + row * source_width_;
      question[question_size] = end_;
      source_ends_[row] = static_cast<int32_t>(question_size + 1);
    } else {
      tokens += question_size;
      targets += question_size;
    }
    ask_until(task_, key, length, held_out, question);
    // tokens[0] is [START] already.
    task_.answer(question, length, targets);
    std::copy_n(targets, answer, tokens + 1);
    targets[answer] = end_;
    batch.scored += answer + 1;
  }

 private:
  const TaskOptions& task_;
  Reader reader_;
  int32_t end_;
  int64_t width_ = 0, source_width_ = 0;
  int32_t *tokens_ = nullptr, *targets_ = nullptr, *source_ = nullptr, *source_ends_ = nullptr;
};

class TrainingStrings : public BatchSource {
 public:
  TrainingStrings(const TaskOptions& task, const ObjectiveSetting& setting)
      : task_(task), setting_(setting) {}

  void at(int64_t step, Backend& backend, Batch& batch) const override {
    TaskWriter writer(task_, setting_);
    const int64_t sequences = setting_.sequences();
    writer.begin(backend, sequences, task_.longest(), batch);
    for (int64_t s = 0; s < sequences; ++s) {
      const uint64_t key =
          random_key(setting_.seed, Stream::kData, static_cast<uint64_t>(step * sequences + s),
                     hash_text("task"));
      const auto lengths = static_cast<uint64_t>(task_.longest() - task_.shortest() + 1);
      const auto more = static_cast<int64_t>(random_below(key, 0, lengths));
      writer.write(s, mix(key), task_.shortest() + more, false, batch);
    }
  }

 private:
  const TaskOptions& task_;
  ObjectiveSetting setting_;
};

/// Strings of each length in turn, the same number of each (give or take one); a batch has one
/// length only.
class EvaluationStrings : public FiniteSource {
 public:
  EvaluationStrings(const TaskOptions& task, const ObjectiveSetting& setting,
                    std::optional<int64_t> length)
      : task_(task), setting_(setting) {
    if (length) check_length(*length);
    const int64_t shortest = length.value_or(task.shortest());
    const int64_t lengths = length.value_or(task.longest()) - shortest + 1;
    const int64_t at_once = setting.sequences();
    for (int64_t i = 0; i < lengths; ++i) {
      const int64_t count =
          task.evaluation_strings() / lengths + (i < task.evaluation_strings() % lengths ? 1 : 0);
      for (int64_t first = 0; first < count; first += at_once) {
        groups_.push_back({shortest + i, first, std::min(at_once, count - first)});
      }
    }
  }

  int64_t batches() const override { return static_cast<int64_t>(groups_.size()); }

  void at(int64_t step, Backend& backend, Batch& batch) const override {
    const Group& group = groups_[static_cast<size_t>(step)];
    TaskWriter writer(task_, setting_);
    writer.begin(backend, group.count, group.length, batch);
    for (int64_t s = 0; s < group.count; ++s) {
      const uint64_t key =
          random_key(task_.evaluation_seed(), Stream::kData, static_cast<uint64_t>(group.first + s),
                     hash_text("task evaluation") + static_cast<uint64_t>(group.length));
      writer.write(s, key, group.length, true, batch);
    }
  }

 private:
  struct Group {
    int64_t length, first, count;
  };
  void check_length(int64_t length) const {
    check<ConfigError>(length >= task_.fewest() && length <= kLongest,
                       "strings of length {}: this task has lengths of {} to {}", length,
                       task_.fewest(), kLongest);
  }

  const TaskOptions& task_;
  ObjectiveSetting setting_;
  std::vector<Group> groups_;
};

}  // namespace

bool is_held_out(const int32_t* question, int64_t size) {
  const auto* bytes = reinterpret_cast<const char*>(question);
  return hash_text({bytes, static_cast<size_t>(size) * sizeof *question}) % 8 == 0;
}

void ask_until(const TaskOptions& task, uint64_t key, int64_t length, bool held_out,
               int32_t* question) {
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt, key = mix(key + 1)) {
    task.ask(key, length, question);
    if (is_held_out(question, task.question_size(length)) == held_out) return;
  }
  throw ConfigError(
      fmt::format("objective: there are too few questions of length {} to keep some for {}: use "
                  "longer strings or more letters",
                  length, held_out ? "evaluation" : "training"));
}

void TaskOptions::visit_letters(Fields& f) {
  f.integer("letters", letters_, {2, 26}, "size of the alphabet");
}

void TaskOptions::visit(Fields& f) {
  f.integers("lengths", lengths_, {1, kLongest}, "of strings: shortest and longest");
  f.integer("evaluation_strings", strings_, {1, 1 << 24}, "how many strings an evaluation has");
  f.integer("evaluation_seed", evaluation_seed_, {0, INT64_MAX},
            "decides the strings of evaluations, whatever trainer.seed is");
}

std::string TaskOptions::refuses(Reader reader) const {
  return reader == Reader::kEncoder ? "an encoder gives no answers: use a decoder or an "
                                      "encoder_decoder"
                                    : "";
}

void TaskOptions::validate(const ObjectiveSetting& setting) const {
  check<ConfigError>(lengths_.size() <= 2 && !lengths_.empty() && shortest() <= longest(),
                     "objective.lengths wants [shortest, longest], got [{}]",
                     fmt::join(lengths_, ", "));
  const int64_t question = question_size(longest()), answer = answer_size(longest());
  const int64_t needed = setting.reader == Reader::kEncoderDecoder ? std::max(question, answer) + 1
                                                                   : question + answer + 1;
  check<ConfigError>(
      needed <= setting.context,
      "strings of objective.lengths {} make sequences of {}, but model.context is {}", longest(),
      needed, setting.context);
  std::vector<int32_t> scratch(static_cast<size_t>(question));
  for (const bool held_out : {false, true})
    ask_until(*this, 1, shortest(), held_out, scratch.data());
}

std::string TaskOptions::alphabet() const {
  return std::string("abcdefghijklmnopqrstuvwxyz").substr(0, static_cast<size_t>(letters_));
}

std::shared_ptr<const Tokenizer> TaskOptions::tokenizer() const {
  return load_tokenizer("char", alphabet());
}

void TaskOptions::ask(uint64_t key, int64_t length, int32_t* question) const {
  for (int64_t i = 0; i < length; ++i) {
    question[i] = static_cast<int32_t>(
        random_below(key, static_cast<uint64_t>(i), static_cast<uint64_t>(letters_)));
  }
}

std::unique_ptr<BatchSource> TaskOptions::training(const Part&,
                                                   const ObjectiveSetting& setting) const {
  return std::make_unique<TrainingStrings>(*this, setting);
}

std::unique_ptr<FiniteSource> TaskOptions::evaluation(const Part&, const ObjectiveSetting& setting,
                                                      std::optional<int64_t> length) const {
  return std::make_unique<EvaluationStrings>(*this, setting, length);
}

}  // namespace tapemeasure

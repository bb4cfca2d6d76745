// SPDX-License-Identifier: MIT
// Tasks on made-up strings: a question and the one answer that it has. A decoder reads question,
// [START], answer and predicts the answer and [END]; an encoder_decoder's encoder reads the
// question and [END], its decoder [START] and the answer.
//
// One question in eight, by its hash, is held out: training never asks it, evaluation asks only
// such ones. The measure is how many answers are right as a whole.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/objective/objective.h"

namespace tapemeasure {

class TaskOptions : public ObjectiveOptions {
 public:
  void visit(Fields& f) override;
  Material material() const override { return Material::kNothing; }
  std::string refuses(Reader reader) const override;
  void validate(const ObjectiveSetting& setting) const override;
  std::shared_ptr<const Tokenizer> tokenizer() const override;
  Specials specials(const ObjectiveSetting&) const override { return {{"[END]", "[START]"}, 1}; }
  const char* unit() const override { return "answer token"; }
  bool has_answers() const override { return true; }
  std::unique_ptr<BatchSource> training(const Part& part,
                                        const ObjectiveSetting& setting) const override;
  std::unique_ptr<FiniteSource> evaluation(const Part& part, const ObjectiveSetting& setting,
                                           std::optional<int64_t> length) const override;

  /// The fewest letters, pairs or digits that a question can have.
  virtual int64_t fewest() const { return 1; }
  /// Tokens of a question and an answer of a length.
  virtual int64_t question_size(int64_t length) const { return length; }
  virtual int64_t answer_size(int64_t length) const { return length; }
  /// Draws a question. `key` decides it.
  virtual void ask(uint64_t key, int64_t length, int32_t* question) const;
  /// Its answer.
  virtual void answer(const int32_t* question, int64_t length, int32_t* answer) const = 0;

  int64_t shortest() const { return lengths_[0]; }
  int64_t longest() const { return lengths_.back(); }
  int64_t evaluation_strings() const { return strings_; }
  uint64_t evaluation_seed() const { return static_cast<uint64_t>(evaluation_seed_); }

 protected:
  virtual std::string alphabet() const;
  /// Config keys of a task that has letters.
  void visit_letters(Fields& f);

  int64_t letters_ = 26;
  std::vector<int64_t> lengths_ = {8, 16};
  int64_t strings_ = 1000, evaluation_seed_ = 1;
};

/// A question of that length which is held out, or one which is not, drawn by `key`. Throws
/// ConfigError when a thousand draws find none: then there are too few.
void ask_until(const TaskOptions& task, uint64_t key, int64_t length, bool held_out,
               int32_t* question);
/// Whether a question is kept for evaluation.
bool is_held_out(const int32_t* question, int64_t size);

}  // namespace tapemeasure

// SPDX-License-Identifier: MIT
// The two ends of a model: heads that skip rows without a target, and adaptive vocabularies.
#include "layers/vocabulary.h"

#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/host.h"
#include "core/random.h"
#include "tests/layers/small_model.h"

namespace tapemeasure {
namespace {

constexpr int64_t kSequences = 2, kLength = 10, kRows = kSequences * kLength, kWidth = 8;
constexpr int64_t kWords = 23;

struct Ends {
  explicit Ends(const std::string& more, const char* backend_name = "reference")
      : options(model_options("{width: 8, heads: 2, layers: 1, vocabulary: 23, position: {kind: "
                              "none}, " +
                              more + "}")),
        backend(make_backend(backend_name, 1)),
        vocabulary(make_vocabulary(options, Scope(store))) {
    store.allocate(*backend, DType::kF64, 1);
    for (const Parameter& parameter : store.all()) {
      set(parameter.value, hash_text(parameter.name), 0.5);
    }
    hidden = empty(*backend, {kSequences, kLength, kWidth}, DType::kF64);
    set(hidden, 77, 1);
  }
  static void set(const Tensor& x, uint64_t key, double deviation) {
    for (int64_t i = 0; i < x.count(); ++i) {
      x.data<double>()[i] = deviation * random_normal(key, static_cast<uint64_t>(i));
    }
  }
  /// Every `every`th row has a target.
  Tensor targets(int every, int64_t words = kWords) const {
    std::vector<int32_t> ids(kRows, -1);
    for (int64_t i = 0; i < kRows; i += every) {
      ids[static_cast<size_t>(i)] = static_cast<int32_t>(random_below(3, uint64_t(i), words));
    }
    return to_tensor(*backend, {kSequences, kLength}, ids);
  }

  ModelOptions options;
  std::unique_ptr<Backend> backend;
  ParameterStore store;
  std::unique_ptr<Vocabulary> vocabulary;
  Tensor hidden;
};

struct Learned {
  std::vector<double> losses, hidden;
  std::vector<std::vector<double>> parameters;
  double total = 0;
};

/// What a loss gives, with all gradients.
template <class Loss>
Learned learned(Ends& ends, const Loss& loss) {
  Tape tape;
  tapemeasure::Run run(tape, true);
  const Variable hidden = tape.input(ends.hidden);
  ends.store.clear_gradients();
  const CrossEntropy result = loss(run, hidden);
  Learned all;
  all.losses = to_doubles(result.losses);
  all.total = result.total;
  tape.backward(result.loss);
  ends.store.complete_gradients();
  all.hidden = to_doubles(tape.gradient(hidden));
  for (const Parameter& parameter : ends.store.all()) {
    all.parameters.push_back(to_doubles(parameter.gradient));
  }
  return all;
}

TEST(PlainVocabulary, SkippedRowsLeaveTheSameBits) {
  Ends ends("tied_head: true, head_bias: true");
  for (const int every : {1, 2, 3, 7, 20}) {
    const Tensor targets = ends.targets(every);
    const Learned whole = learned(ends, [&](tapemeasure::Run& run, const Variable& hidden) {
      return cross_entropy(run, hidden, run.tape.leaf(*ends.store.find("embedding.weight")),
                           run.tape.leaf(*ends.store.find("head.bias")), targets,
                           {.factor = 0.3, .smoothing = 0.1});
    });
    const Learned ours = learned(ends, [&](tapemeasure::Run& run, const Variable& hidden) {
      return ends.vocabulary->loss(run, hidden, targets, {.factor = 0.3, .smoothing = 0.1});
    });
    EXPECT_EQ(ours.losses, whole.losses) << every;
    EXPECT_EQ(ours.total, whole.total) << every;
    EXPECT_EQ(ours.hidden, whole.hidden) << every;
    EXPECT_EQ(ours.parameters, whole.parameters) << every;
  }
}

TEST(PlainVocabulary, FewerThanHalfOfTheRowsAreGathered) {
  Ends ends("head_bias: true");
  const auto names = [&](int every) {
    Tape tape;
    tapemeasure::Run run(tape, true);
    ends.vocabulary->loss(run, tape.input(ends.hidden), ends.targets(every), {});
    return tape.names();
  };
  EXPECT_EQ(names(2), std::vector<std::string>{"cross_entropy"});
  EXPECT_EQ(names(3), (std::vector<std::string>{"embedding", "cross_entropy"}));
}

TEST(PlainVocabulary, NothingScoredIsALossOfZero) {
  for (const char* more : {"head_bias: true", "adaptive_softmax: {cutoffs: [4, 9]}"}) {
    Ends ends(more);
    const Tensor targets =
        to_tensor(*ends.backend, {kSequences, kLength}, std::vector<int32_t>(kRows, -1));
    const Learned nothing = learned(ends, [&](tapemeasure::Run& run, const Variable& hidden) {
      return ends.vocabulary->loss(run, hidden, targets, {});
    });
    EXPECT_EQ(nothing.total, 0);
    EXPECT_EQ(nothing.losses, std::vector<double>(kRows, 0));
    EXPECT_EQ(nothing.hidden, std::vector<double>(kRows * kWidth, 0));
  }
}

const char* const kAdaptive[] = {
    "{cutoffs: [4, 9]}",
    "{cutoffs: [4, 9], tied: false}",
    "{cutoffs: [4, 9], div_val: 2}",
    "{cutoffs: [4, 9], div_val: 2, tied_projections: [false, true, true]}",
    "{cutoffs: [4, 9], div_val: 2, tied: false, tied_projections: [true, true, false]}",
    "{cutoffs: [22], div_val: 8, tied: false}",
    "{cutoffs: [1, 2, 3, 4]}",
};
std::string adaptive(const char* keys) { return std::string("adaptive_softmax: ") + keys; }

TEST(AdaptiveVocabulary, ProbabilitiesSumToOneAndAreTheLosses) {
  for (const char* keys : kAdaptive) {
    Ends ends(adaptive(keys));
    for (const int64_t words :
         {kWords,
          kWords - (std::string(keys).find("22") == std::string::npos ? int64_t{5} : int64_t{0})}) {
      ends.vocabulary->limit(words);
      Tape tape(false);
      tapemeasure::Run run(tape);
      const std::vector<double> logits =
          to_doubles(ends.vocabulary->logits(run, Variable(ends.hidden)).value());
      for (const int every : {1, 4}) {
        const Tensor targets = ends.targets(every, words);
        const CrossEntropy loss = ends.vocabulary->loss(run, Variable(ends.hidden), targets, {});
        const std::vector<double> losses = to_doubles(loss.losses);
        double total = 0;
        for (int64_t n = 0; n < kRows; ++n) {
          const double* row = logits.data() + n * kWords;
          double sum = 0;
          for (int64_t w = 0; w < kWords; ++w) sum += std::exp(row[w]);
          EXPECT_NEAR(sum, 1, 1e-12);
          for (int64_t w = words; w < kWords; ++w) EXPECT_EQ(row[w], -INFINITY);
          const int32_t target = targets.data<int32_t>()[n];
          EXPECT_NEAR(losses[static_cast<size_t>(n)], target < 0 ? 0 : -row[target], 1e-12) << keys;
          total += losses[static_cast<size_t>(n)];
        }
        EXPECT_NEAR(loss.total, total, 1e-12);
      }
    }
  }
}

/// Both ends at once: random weights on the embeddings, a loss behind the head.
double both_ends(Ends& ends, Tape& tape, const Tensor& tokens, const Tensor& targets,
                 Variable& sum) {
  tapemeasure::Run run(tape, true);
  const Variable embedded = ends.vocabulary->embed(run, tokens);
  const Variable weighted = add(run, embedded, Variable(ends.hidden));
  const CrossEntropy loss = ends.vocabulary->loss(run, weighted, targets, {.factor = 0.2});
  sum = loss.loss;
  return 0.2 * loss.total;
}

TEST(AdaptiveVocabulary, GradientsAreFiniteDifferences) {
  for (const char* keys : kAdaptive) {
    for (const int every : {1, 3}) {
      Ends ends(adaptive(keys) + ", embedding_scale: 1.5");
      ends.vocabulary->limit(kWords);
      const Tensor tokens = ends.targets(1), targets = ends.targets(every);
      Variable sum;
      Tape tape;
      ends.store.clear_gradients();
      both_ends(ends, tape, tokens, targets, sum);
      tape.backward(sum);
      ends.store.complete_gradients();
      const auto value = [&] {
        Tape silent(false);
        return both_ends(ends, silent, tokens, targets, sum);
      };
      for (const Parameter& parameter : ends.store.all()) {
        double* x = parameter.value.data<double>();
        for (int64_t i = 0; i < parameter.value.count(); i += 3) {
          const double start = x[i], h = 1e-3;
          const auto at = [&](double distance) {
            x[i] = start + distance;
            return value();
          };
          const double slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
          x[i] = start;
          ASSERT_NEAR(parameter.gradient.data<double>()[i], slope, 1e-8)
              << keys << " " << parameter.name << "[" << i << "]";
        }
      }
    }
  }
}

TEST(AdaptiveVocabulary, EmbeddingsAreTableRowsThroughTheirProjections) {
  Ends ends(adaptive("{cutoffs: [4, 9], div_val: 2}") + ", embedding_scale: 3");
  const Tensor tokens = to_tensor(*ends.backend, {1, 3}, std::vector<int32_t>{12, 3, 4});
  Tape tape(false);
  tapemeasure::Run run(tape);
  const std::vector<double> embedded = to_doubles(ends.vocabulary->embed(run, tokens).value());
  const struct {
    const char* bin;
    int64_t row, width;
  } kExpected[] = {{"2", 3, 2}, {"0", 3, 8}, {"1", 0, 4}};
  for (int64_t t = 0; t < 3; ++t) {
    const auto& [bin, row, width] = kExpected[t];
    const std::string name = std::string("embedding.");
    const double* table =
        ends.store.find(name + "tables." + bin + ".weight")->value.data<double>() + row * width;
    const double* projection =
        ends.store.find(name + "projections." + bin + ".weight")->value.data<double>();
    for (int64_t c = 0; c < kWidth; ++c) {
      double sum = 0;
      for (int64_t e = 0; e < width; ++e) sum += 3 * table[e] * projection[c * width + e];
      EXPECT_NEAR(embedded[static_cast<size_t>(t * kWidth + c)], sum, 1e-12);
    }
  }
}

// R78: a cut-off beyond the vocabulary is told at the start, not when a word is missing.
TEST(AdaptiveVocabulary, CutoffsMustBeBelowTheVocabulary) {
  ModelOptions options = model_options("{width: 8, heads: 2, adaptive_softmax: {cutoffs: [5, 9]}}");
  options.vocabulary = 9;  // the tokenizer's
  ParameterStore store;
  EXPECT_THROW(make_vocabulary(options, Scope(store)), ConfigError);
  options.vocabulary = 10;
  ParameterStore another;
  const auto vocabulary = make_vocabulary(options, Scope(another));
  EXPECT_NO_THROW(vocabulary->limit(10));
  EXPECT_THROW(vocabulary->limit(9), ConfigError);
}

TEST(AdaptiveVocabulary, SmoothingIsRefused) {
  Ends ends(adaptive("{cutoffs: [4, 9]}"));
  Tape tape(false);
  tapemeasure::Run run(tape);
  EXPECT_THROW(
      ends.vocabulary->loss(run, Variable(ends.hidden), ends.targets(1), {.smoothing = 0.1}),
      ConfigError);
}

/// Rows of the head alone never reach a tail's weights.
TEST(AdaptiveVocabulary, FrequentWordsCostTheHeadOnly) {
  Ends ends(adaptive("{cutoffs: [4, 9], div_val: 2, tied: false}"));
  std::vector<int32_t> ids(kRows);
  for (int64_t i = 0; i < kRows; ++i) ids[static_cast<size_t>(i)] = static_cast<int32_t>(i % 4);
  Tape tape;
  tapemeasure::Run run(tape, true);
  ends.vocabulary->loss(run, tape.input(ends.hidden),
                        to_tensor(*ends.backend, {kSequences, kLength}, ids), {});
  const auto names = tape.names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "cross_entropy"), 1);
}

}  // namespace
}  // namespace tapemeasure

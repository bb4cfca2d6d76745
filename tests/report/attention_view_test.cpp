// SPDX-License-Identifier: MIT
// Attention probabilities and position scores as a page shows them, against plain loops over the
// formula of core/backend.h, for every position method.
#include "app/report/attention_view.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/host.h"
#include "core/random.h"
#include "tests/cli/small_model.h"

namespace tapemeasure::testing {
namespace {

struct Setup {
  std::string kind;
  const char* model;
  const char* backend;
};

/// Numbers of head `h` of row `row` of sequence `b`.
std::vector<double> head_of(const HeadRows& rows, int64_t b, int64_t row, int64_t h, int64_t d) {
  const std::vector<double> all = to_doubles(rows.tensor);
  const int64_t start = (b * rows.rows + row) * rows.tensor.shape()[-1] + rows.first_column + h * d;
  return {all.begin() + start, all.begin() + start + d};
}

std::vector<double> row_of(const OffsetTable<Tensor>& table, const AttentionShape& s, int64_t h,
                           int64_t r) {
  const std::vector<double> all = to_doubles(table.table);
  const int64_t row = table.map.rows.data<int32_t>()[r - table.map.first_offset];
  const int64_t rows = table.layout == TableLayout::kPerHead ? table.table.shape()[1] : 0;
  const int64_t start = table.layout == TableLayout::kShared    ? row * s.width
                        : table.layout == TableLayout::kPerHead ? (h * rows + row) * s.width
                                                                : (row * s.heads + h) * s.width;
  return {all.begin() + start, all.begin() + start + s.width};
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

/// The logit's terms that know the offset r, for query i and key j.
double position_part(const AttentionCall& call, int64_t b, int64_t h, int64_t i, int64_t j,
                     int64_t r) {
  const AttentionTermsOf<Tensor>& t = call.terms;
  const AttentionShape& s = call.shape;
  double logit = 0;
  if (t.query_table.table.defined()) {
    std::vector<double> q = head_of(call.q, b, i, h, s.width);
    for (int64_t c = 0; c < s.width && t.position_bias.defined(); ++c) {
      q[static_cast<size_t>(c)] +=
          to_doubles(t.position_bias)[static_cast<size_t>(h * s.width + c)];
    }
    logit += t.scale * dot(q, row_of(t.query_table, s, h, r));
  }
  if (t.key_table.table.defined()) {
    logit += t.scale * dot(head_of(call.k, b, j, h, s.width), row_of(t.key_table, s, h, r));
  }
  if (t.bias.defined()) {
    const int64_t row = t.bias_map.rows.data<int32_t>()[r - t.bias_map.first_offset];
    logit += to_doubles(t.bias)[static_cast<size_t>(h * t.bias.shape()[1] + row)];
  }
  return logit;
}

double content_part(const AttentionCall& call, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t d = call.shape.width;
  std::vector<double> q = head_of(call.q, b, i, h, d);
  for (int64_t c = 0; c < d && call.terms.content_bias.defined(); ++c) {
    q[static_cast<size_t>(c)] +=
        to_doubles(call.terms.content_bias)[static_cast<size_t>(h * d + c)];
  }
  return call.terms.scale * dot(q, head_of(call.k, b, j, h, d));
}

class AttentionView : public ::testing::TestWithParam<Setup> {
 protected:
  /// The calls of a model with random weights that reads two sequences.
  std::vector<AttentionCall> calls() {
    const std::string f64 =
        std::string(GetParam().backend) == "reference" ? ", precision: f64" : "";
    Experiment experiment = small_experiment(
        std::string(GetParam().model) +
            "layers: 2, width: 12, heads: 3, context: 16, vocabulary: 11, position: {kind: " +
            GetParam().kind + "}",
        std::string("backend: ") + GetParam().backend + f64);
    model_ = small_model(experiment, std::shared_ptr<const Tokenizer>(
                                         make_tokenizer("char", "abcdefghijk", "a text")));
    for (Parameter& parameter : model_->store.all()) {
      std::vector<double> values;
      const uint64_t key = random_key(7, Stream::kSampling, 0, hash_text(parameter.name));
      for (int64_t i = 0; i < parameter.value.count(); ++i) {
        values.push_back(0.7 * random_normal(key, static_cast<uint64_t>(i)));
      }
      parameter.value.backend().scale(
          1, to_tensor(*model_->backend, parameter.shape, model_->dtype, values), parameter.value);
    }
    std::vector<int32_t> tokens;
    for (int32_t i = 0; i < 18; ++i) tokens.push_back((7 * i + i / 9) % 11);
    Tape tape(false);
    tapemeasure::Run run(tape);
    std::vector<AttentionCall> seen;
    run.attention_probe = [&](const AttentionCall& call) { seen.push_back(call); };
    ModelInput input{.tokens_BT = to_tensor(*model_->backend, {2, 9}, tokens)};
    if (experiment.model.kind == ModelKind::kEncoder) {
      input.lengths_B = to_tensor(*model_->backend, {2}, std::vector<int32_t>{9, 6});
    }
    model_->network->hidden(run, input);
    return seen;
  }
  double tolerance() const { return std::string(GetParam().backend) == "reference" ? 1e-12 : 2e-5; }

  std::unique_ptr<Model> model_;
};

TEST_P(AttentionView, ProbabilitiesAreTheSoftmaxOfTheFormula) {
  const std::vector<AttentionCall> all = calls();
  ASSERT_EQ(all.size(), 2u);
  for (const AttentionCall& call : all) {
    const auto end = [&](int64_t b) {
      return call.mask.key_end.defined() ? call.mask.key_end.data<int32_t>()[b] : 9;
    };
    int64_t visited = 0;
    double largest = 0;
    visit_probabilities(call, [&](const PairOfTokens& at, double p) {
      ++visited;
      const auto visible = [&](int64_t j) {
        return j < end(at.sequence) && (!call.mask.causal || j <= at.query);
      };
      double sum = 0, mine = 0;
      for (int64_t j = 0; j < 9; ++j) {
        if (!visible(j)) continue;
        const double weight =
            std::exp(content_part(call, at.sequence, at.head, at.query, j) +
                     position_part(call, at.sequence, at.head, at.query, j, j - at.query));
        sum += weight;
        if (j == at.key) mine = weight;
      }
      EXPECT_NEAR(p, mine / sum, tolerance());
      largest = std::max(largest, p);
    });
    EXPECT_EQ(visited, 3 * (81 + end(1) * end(1)));
    EXPECT_GT(largest, 0.2);
  }
}

TEST_P(AttentionView, ScoresAndMeansByOffset) {
  for (const AttentionCall& call : calls()) {
    const auto end = [&](int64_t b) {
      return call.mask.key_end.defined() ? call.mask.key_end.data<int32_t>()[b] : 9;
    };
    const OffsetRange range = offsets_shown(call, 6);
    EXPECT_EQ(range.first, -6);
    EXPECT_EQ(range.last, call.mask.causal ? 0 : 6);
    const std::vector<double> scores = position_scores(call, range);
    const std::vector<double> means = mean_attention(call, range);
    ASSERT_EQ(means.size(), static_cast<size_t>(3 * range.count()));
    const bool terms = call.terms.query_table.table.defined() ||
                       call.terms.key_table.table.defined() || call.terms.bias.defined();
    ASSERT_EQ(scores.empty(), !terms);
    std::vector<double> sums(means.size(), 0), pairs(means.size(), 0);
    visit_probabilities(call, [&](const PairOfTokens& at, double p) {
      const int64_t r = at.key - at.query;
      if (r < range.first || r > range.last) return;
      sums[static_cast<size_t>(at.head * range.count() + r - range.first)] += p;
      pairs[static_cast<size_t>(at.head * range.count() + r - range.first)] += 1;
    });
    for (int64_t h = 0; h < 3; ++h) {
      for (int64_t r = range.first; r <= range.last; ++r) {
        const auto at = static_cast<size_t>(h * range.count() + r - range.first);
        EXPECT_NEAR(means[at], sums[at] / std::max(1.0, pairs[at]), 1e-12);
        if (!terms) continue;
        // Each token once as the query and once as the key.
        double sum = 0;
        int64_t count = 0;
        for (int64_t b = 0; b < 2; ++b) {
          for (int64_t i = 0; i < end(b); ++i, ++count) sum += position_part(call, b, h, i, i, r);
        }
        EXPECT_NEAR(scores[at], sum / static_cast<double>(count), tolerance()) << r;
      }
    }
  }
}

std::vector<Setup> setups() {
  std::vector<Setup> all;
  for (const auto& kind : position_methods()) {
    for (const char* backend : {"reference", "cpu"}) {
      all.push_back({kind.name, "", backend});
      all.push_back({kind.name, "kind: encoder, ", backend});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(EveryMethod, AttentionView, ::testing::ValuesIn(setups()),
                         [](const auto& info) {
                           return info.param.kind +
                                  (info.param.model[0] ? "_encoder_" : "_decoder_") +
                                  info.param.backend;
                         });

}  // namespace
}  // namespace tapemeasure::testing

// SPDX-License-Identifier: MIT
// Whole models against finite differences in f64, for every position method and every part that a
// config can choose; and no trained parameter without gradient.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "core/host.h"
#include "core/random.h"
#include "layers/language_model.h"
#include "tests/app/run_fixture.h"

namespace tapemeasure::testing {
namespace {

constexpr int64_t kSequences = 2, kContext = 6, kVocabulary = 11;

/// A small model whose loss is a function of its parameters.
class Subject {
 public:
  explicit Subject(const Sets& sets) {
    Config config = Config::parse("data: {text: none}", "test");
    for (const std::string& set :
         with({"model={layers: 2, width: 8, heads: 2, feedforward: 12}", "model.context=6",
               "model.vocabulary=11", "trainer.precision=f64", "trainer.backend=reference",
               "trainer.batch_tokens=12"},
              sets)) {
      config.set(set);
    }
    // The model alone, whatever it is trained for.
    config.into(experiment_);
    experiment_.model.validate([&](const std::string& key) { return config.place(key); });
    model_ = std::make_unique<Model>(experiment_, nullptr);
    std::vector<int32_t> tokens, targets, source;
    for (uint64_t i = 0; i < kSequences * kContext; ++i) {
      tokens.push_back(static_cast<int32_t>(random_below(1, i, kVocabulary)));
      targets.push_back(static_cast<int32_t>(random_below(2, i, kVocabulary)));
      source.push_back(static_cast<int32_t>(random_below(3, i, kVocabulary)));
    }
    targets[4] = -1;  // not scored
    Backend& backend = *model_->backend;
    input_.tokens_BT = to_tensor(backend, {kSequences, kContext}, tokens);
    const Tensor lengths = to_tensor(backend, {kSequences}, std::vector<int32_t>{kContext, 4});
    if (experiment_.model.kind == ModelKind::kEncoder) {
      input_.lengths_B = lengths;
      targets[kContext + 4] = targets[kContext + 5] = -1;
    }
    if (experiment_.model.kind == ModelKind::kEncoderDecoder) {
      input_.source_BS = to_tensor(backend, {kSequences, kContext}, source);
      input_.source_lengths_B = lengths;
    }
    targets_ = to_tensor(backend, {kSequences, kContext}, targets);
  }

  ParameterStore& store() { return model_->store; }
  /// Moves every weight off its start, where many gradients are special.
  void shake(double deviation) {
    for (Parameter& parameter : store().all()) {
      double* values = parameter.value.data<double>();
      for (int64_t i = 0; i < parameter.value.count(); ++i) {
        values[i] += deviation * random_normal(hash_text(parameter.name), static_cast<uint64_t>(i));
      }
    }
  }
  /// Makes all tables and weights so many times as large.
  void grow(double factor) {
    for (Parameter& parameter : store().all()) {
      if (parameter.shape.axes() < 2) continue;
      double* values = parameter.value.data<double>();
      std::for_each(values, values + parameter.value.count(), [=](double& x) { x *= factor; });
    }
  }
  double loss() { return pass(false); }
  void gradients() { pass(true); }

 private:
  // The same dropout each time: masks are a function of seed, step and site.
  double pass(bool backward) {
    Tape tape(backward);
    Run run(tape, true);
    run.seed = 5;
    run.begin(3, 0);
    if (backward) store().clear_gradients();
    const Variable hidden = model_->network->hidden(run, input_);
    const CrossEntropy result = model_->network->loss(run, hidden, targets_, {.factor = 1.0 / 11});
    if (backward) {
      tape.backward(result.loss);
      store().complete_gradients();
    }
    return result.total / 11;
  }

  Experiment experiment_;
  std::unique_ptr<Model> model_;
  ModelInput input_;
  Tensor targets_;
};

double largest(const Tensor& x) {
  const double* values = x.data<double>();
  double most = 0;
  for (int64_t i = 0; i < x.count(); ++i) most = std::max(most, std::abs(values[i]));
  return most;
}

double largest(ParameterStore& store) {
  double most = 0;
  for (const Parameter& parameter : store.all()) most = std::max(most, largest(parameter.gradient));
  return most;
}

/// Softmax does not see what is added to all logits of a row, so a key's bias, q.b, has no gradient
/// unless the method rotates keys (rope) or gives them a term of their own (deberta); there the
/// bias of the projected table, the same for all distances, has none. Attention across to an
/// encoder has no terms at all.
bool is_always_zero(const std::string& name, const std::string& method) {
  static const std::regex kKeyBias(".*blocks\\.[0-9]+\\.attention\\.key\\.bias");
  static const std::regex kTableBias(".*blocks\\.[0-9]+\\.attention\\.position\\.key\\.bias");
  static const std::regex kCrossBias(".*blocks\\.[0-9]+\\.cross\\.key\\.bias");
  if (std::regex_match(name, kCrossBias)) return true;
  if (method == "deberta") return std::regex_match(name, kTableBias);
  return method != "rope" && std::regex_match(name, kKeyBias);
}

/// The derivative along `direction` by four points: the error falls with step^4.
double slope(Subject& subject, const Parameter& parameter, const std::vector<double>& direction,
             double step) {
  double* values = parameter.value.data<double>();
  const std::vector<double> start(values, values + direction.size());
  const auto at = [&](double distance) {
    for (size_t i = 0; i < direction.size(); ++i) values[i] = start[i] + distance * direction[i];
    return subject.loss();
  };
  const double near = at(step) - at(-step), far = at(2 * step) - at(-2 * step);
  std::copy(start.begin(), start.end(), values);
  return (8 * near - far) / (12 * step);
}

/// A random direction of length 1.
std::vector<double> direction_of(const Parameter& parameter) {
  std::vector<double> direction(static_cast<size_t>(parameter.value.count()));
  double squares = 0;
  for (size_t i = 0; i < direction.size(); ++i) {
    direction[i] = random_normal(hash_text(parameter.name + "direction"), i);
    squares += direction[i] * direction[i];
  }
  for (double& x : direction) x /= std::sqrt(squares);
  return direction;
}

void check_gradients(const Sets& sets, const std::string& method) {
  std::string text;
  for (const std::string& set : sets) text += set + " ";
  SCOPED_TRACE(text);
  Subject subject(sets);
  subject.shake(0.2);
  subject.gradients();
  // A kink of ReLU on the way would be an error of the difference, not of the gradient.
  const double step = text.find("relu") == std::string::npos ? 1e-3 : 1e-5;
  const double most = largest(subject.store());
  for (const Parameter& parameter : subject.store().all()) {
    if (is_always_zero(parameter.name, method)) {
      EXPECT_LE(largest(parameter.gradient), 1e-12 * most) << parameter.name;
      continue;
    }
    EXPECT_GE(largest(parameter.gradient), 1e-6 * most) << parameter.name;
    const std::vector<double> direction = direction_of(parameter);
    const double* gradient = parameter.gradient.data<double>();
    double expected = 0, squares = 0;
    for (size_t i = 0; i < direction.size(); ++i) {
      expected += gradient[i] * direction[i];
      squares += gradient[i] * gradient[i];
    }
    const double found = slope(subject, parameter, direction, step);
    // A direction nearly at right angles to the gradient has no digits of its own.
    const double size = std::max(std::abs(expected), 0.02 * std::sqrt(squares));
    // The difference of two losses of about 3 has no digits below this.
    const double noise = 1e-15 / step;
    EXPECT_LE(std::abs(found - expected), 1e-6 * size + noise)
        << parameter.name << ": " << expected;
  }
}

/// What a model can be made of besides its positions. Each list is walked at its own pace, so that
/// choices meet in many combinations.
Sets combination(int number) {
  const std::vector<std::vector<std::string>> choices = {
      {"norm_position=pre", "norm_position=post"},
      {"norm=layernorm", "norm=rmsnorm"},
      {"gated=false", "gated=true"},
      {"tied_head=true", "tied_head=false"},
      {"bias=true", "bias=false", "bias=[query, value, down]", "bias=[key, output, up]"},
      {"activation=gelu", "activation=relu", "activation=silu", "activation=gelu_tanh"},
      {"embedding_norm=false", "embedding_norm=true"},
      {"dropout=0", "dropout=0.3"},
      {"head_bias=false", "head_bias=true"},
      {"window=0", "window=3"},
      {"final_norm=true", "final_norm=false"},
      {"head_scale=1", "head_scale=0.7"},
      {"embedding_scale=1", "embedding_scale=2"},
      {"head_width=4", "head_width=6"},
  };
  Sets sets;
  for (size_t key = 0; key < choices.size(); ++key) {
    const uint64_t pick =
        random_below(17 + key, static_cast<uint64_t>(number), choices[key].size());
    sets.push_back("model." + choices[key][pick]);
  }
  return sets;
}

struct Case {
  std::string method, kind;
  std::string position() const { return "model.position.kind=" + method; }
  std::string model() const { return "model.kind=" + kind; }
  bool is_decoder() const { return kind == "decoder"; }
};

class Gradient : public ::testing::TestWithParam<Case> {};

// R159.
TEST_P(Gradient, OfWholeModelsMatchFiniteDifferences) {
  const Case& given = GetParam();
  for (const char* norm : {"pre", "post"}) {
    for (const char* dropout : {"0", "0.3"}) {
      check_gradients({given.model(), given.position(), std::string("model.norm_position=") + norm,
                       std::string("model.dropout=") + dropout},
                      given.method);
    }
  }
  const int combinations = given.is_decoder() ? 100 : 20;
  for (int number = 0; number < combinations; ++number) {
    Sets sets = combination(number);
    if (!given.is_decoder()) std::erase(sets, "model.window=3");
    check_gradients(with({given.model(), given.position()}, sets), given.method);
  }
}

/// With all weights at 0.02 and width 8 a product with a weight makes numbers about 20 times
/// smaller, and some gradients come through many:
/// - deberta's key bias and position projections: their terms are products with a projected table
///   that starts at 0.02 itself, or of that with a projected query or key;
/// - cross_norm: it is read for queries alone, so its gradient passes the output, value, key and
///   query weights of that attention, and attention weights that are nearly even;
/// - an encoder's vectors of positions (transformer_xl, deberta): its own four weights, then those
///   of the attention across.
bool is_small_by_nature(const std::string& name, const std::string& method) {
  static const std::regex kDeberta(
      ".*blocks\\.[0-9]+\\.attention\\.(key\\.bias|position\\.(key|query)\\.weight)");
  static const std::regex kAcross(
      "decoder\\.blocks\\.[0-9]+\\.cross_norm\\.(weight|bias)|"
      "encoder\\.position\\.(position_bias|table)");
  return (method == "deberta" && std::regex_match(name, kDeberta)) ||
         std::regex_match(name, kAcross);
}

void expect_gradients(Subject& subject, const std::string& method, bool small_ones) {
  subject.gradients();
  const double most = largest(subject.store());
  for (const Parameter& parameter : subject.store().all()) {
    if (is_always_zero(parameter.name, method)) continue;
    const bool small = small_ones && is_small_by_nature(parameter.name, method);
    EXPECT_GE(largest(parameter.gradient), (small ? 1e-9 : 1e-6) * most) << parameter.name;
  }
}

// R119 and style 3.7: at the start of training too, nothing that is trained is cut off.
TEST_P(Gradient, ReachesEveryParameterAtTheStart) {
  const Sets sets = {GetParam().model(), GetParam().position()};
  Subject scaled(with(sets, {"model.initialisation=scaled"}));
  expect_gradients(scaled, GetParam().method, false);
  Subject gpt2(with(sets, {"model.initialisation=gpt2"}));
  expect_gradients(gpt2, GetParam().method, true);
  // That the small ones are small because the weights are, and not cut off: with larger weights
  // they are like the others.
  gpt2.grow(6);
  expect_gradients(gpt2, GetParam().method, false);
}

// What only some kinds of models are made of.
TEST(GradientOfParts, MatchFiniteDifferences) {
  const std::string deberta = "model.position={kind: deberta, max_distance: 4}";
  check_gradients({"model.kind=encoder", "model.head_transform=true", "model.norm_position=post"},
                  "learned");
  for (const char* layers : {"1", "3"}) {
    for (const char* dropout : {"0", "0.3"}) {
      check_gradients(
          {"model.kind=encoder", "model.enhanced_mask_decoder=true", "model.norm_position=post",
           std::string("model.layers=") + layers, std::string("model.dropout=") + dropout, deberta},
          "deberta");
    }
  }
  for (const char* stacks : {"encoder", "decoder"}) {
    check_gradients({"model.kind=encoder_decoder",
                     std::string("model.position={kind: t5, stacks: ") + stacks + "}"},
                    "t5");
  }
  check_gradients({"model.kind=encoder_decoder",
                   "model.position={kind: alibi, learned: true, absolute: learned}"},
                  "alibi");
  for (const char* adaptive :
       {"{cutoffs: [4, 7]}", "{cutoffs: [4, 7], tied: false}",
        "{cutoffs: [4, 7], div_val: 2, tied_projections: [false, true, true]}",
        "{cutoffs: [4, 7], div_val: 2, tied: false}",
        "{cutoffs: [3], div_val: 4, tied: false, tied_projections: [true, false]}"}) {
    check_gradients({std::string("model.adaptive_softmax=") + adaptive, "model.embedding_scale=2",
                     "model.position={kind: transformer_xl}"},
                    "transformer_xl");
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* kind : {"decoder", "encoder", "encoder_decoder"}) {
    for (const auto& method : position_methods()) all.push_back({method.name, kind});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Methods, Gradient, ::testing::ValuesIn(cases()), [](const auto& info) {
  return info.param.kind + "_" + info.param.method;
});

}  // namespace
}  // namespace tapemeasure::testing

// SPDX-License-Identifier: MIT
#include "app/explain.h"

#include <algorithm>
#include <map>

#include "core/config/node.h"
#include "core/error.h"
#include "layers/language_model.h"

namespace tapemeasure {

namespace {

/// "blocks.3.attention.query.weight" belongs to "blocks: attention".
std::string part_of(const std::string& name) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    words.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  std::string stack;  // of the two that an encoder_decoder has
  if (words[0] == "encoder" || words[0] == "decoder") {
    stack = words[0] + " ";
    words.erase(words.begin());
  }
  if (words[0] != "blocks") return stack + words[0];
  if (words[2] == "attention" && words[3] == "position")
    return stack + "blocks: attention, position";
  return stack + "blocks: " + words[2];
}

/// The statistics that an update rule keeps of one parameter, as multiples of its elements, its
/// rows and its columns.
struct Slots {
  int64_t elements = 0, rows = 0, columns = 0;
  int64_t tensors() const { return elements + rows + columns; }
};

/// Finds them by asking the rule what it would save of a small matrix and a small vector.
class SlotProbe : public StateVisitor {
 public:
  explicit SlotProbe(const UpdateRuleOptions& options) {
    const std::unique_ptr<Backend> backend = make_backend("reference", 1);
    ParameterStore store;
    const Scope scope(store);
    scope.parameter("matrix", {kRows, kColumns}, Init::zeros(), Role::kLinear);
    scope.parameter("vector", {kRows * kColumns}, Init::zeros(), Role::kBias);
    store.allocate(*backend, DType::kF64, 0);
    options.build(store)->visit_state(*this, store);
  }
  const Slots& of(const Parameter& parameter) const {
    return parameter.shape.axes() >= 2 ? matrix_ : vector_;
  }

  bool loading() const override { return false; }
  void tensor(const std::string& name, const Tensor& value) override {
    Slots& slots = name.find("matrix") != std::string::npos ? matrix_ : vector_;
    const int64_t count = value.count();
    ++(count == kRows ? slots.rows : count == kColumns ? slots.columns : slots.elements);
  }
  void integer(const std::string&, int64_t&) override {}
  void real(const std::string&, double&) override {}
  void text(const std::string&, std::string&) override {}

 private:
  static constexpr int64_t kRows = 3, kColumns = 5;
  Slots matrix_, vector_;
};

/// A checkpoint's bytes beside its tensors, measured: HDF5's own for each tensor, and those of the
/// config, the other values and the outermost groups.
constexpr int64_t kBytesPerTensor = 370, kBytesPerCheckpoint = 10500;

/// Numbers that the tape keeps for one token: inputs of norms, linears, attention and activations.
int64_t kept_per_token(const ModelOptions& m) {
  const int64_t heads = m.heads * m.the_head_width(), inner = m.the_feedforward();
  return m.layers * (4 * m.width + 4 * heads + (m.gated ? 3 : 2) * inner) + 3 * m.width;
}

}  // namespace

Costs costs_of(const Experiment& experiment) {
  const ModelOptions& m = experiment.model;
  ParameterStore store;
  const LanguageModel model(m, Scope(store));
  Costs costs;
  std::map<std::string, size_t> index;
  int64_t linear = 0;
  for (const Parameter& parameter : store.all()) {
    const std::string part = part_of(parameter.name);
    const auto [place, fresh] = index.try_emplace(part, costs.parts.size());
    if (fresh) costs.parts.emplace_back(part, 0);
    costs.parts[place->second].second += parameter.shape.count();
    if (parameter.role == Role::kLinear) linear += parameter.shape.count();
  }
  if (m.tied_head) linear += *m.vocabulary * m.width;
  costs.parameters = store.count();
  // A multiplication and an addition per weight, forward once and backward twice; attention
  // likewise for logits and mixing, over half of the context on average.
  const auto visible =
      static_cast<double>(m.window > 0 ? std::min(m.window, m.context) : m.context);
  costs.flops_per_token =
      6 * static_cast<double>(linear) +
      6 * visible * static_cast<double>(m.layers * m.heads * m.the_head_width());
  const auto size = static_cast<int64_t>(size_of(experiment.dtype()));
  const SlotProbe probe(*experiment.optimizer.options);
  int64_t kept = 0, tensors = 0;
  for (const Parameter& parameter : store.all()) {
    const Slots& slots = probe.of(parameter);
    const int64_t count = parameter.shape.count(), columns = parameter.shape[-1];
    kept += slots.elements * count + slots.rows * (count / columns) + slots.columns * columns;
    tensors += 1 + slots.tensors();
  }
  costs.state_bytes = size * (2 * costs.parameters + kept);
  costs.checkpoint_bytes =
      size * (costs.parameters + kept) + tensors * kBytesPerTensor + kBytesPerCheckpoint;
  costs.activation_bytes = size * kept_per_token(m) * experiment.micro_sequences() * m.context;
  return costs;
}

int64_t likely_vocabulary(const Experiment& experiment) {
  const auto own = experiment.objective.options->tokenizer();
  const int64_t tokens = own ? own->vocabulary() : 256;
  return tokens + experiment.objective.options->specials(experiment.setting(tokens)).count();
}

std::string bytes_text(int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (size >= 1e9) return fmt::format("{:.2f} GB", size / 1e9);
  if (size >= 1e6) return fmt::format("{:.1f} MB", size / 1e6);
  return fmt::format("{:.1f} kB", size / 1e3);
}

namespace {

/// What decides the vocabulary before any text is read, or "".
std::string known_tokenizer(const Experiment& experiment) {
  if (experiment.objective.options->tokenizer()) return "objective " + experiment.objective.kind;
  return experiment.data.tokenizer == "byte" ? "tokenizer byte" : "";
}

}  // namespace

std::string explain_config(const Config& config) {
  Experiment experiment = read_experiment(config);
  const bool guessed = !experiment.model.vocabulary;
  const std::string known = known_tokenizer(experiment);
  if (guessed) experiment.model.vocabulary = likely_vocabulary(experiment);
  std::string text;
  for (const ConfigValue& value : list_values(config, [&](Fields& f) { experiment.visit(f); })) {
    const bool assumed = guessed && value.key == "model.vocabulary";
    text += fmt::format("{:<32} {:<24} {}\n", value.key, value.value,
                        !assumed        ? value.origin
                        : known.empty() ? "assumed: the text decides; try --set model.vocabulary=N"
                                        : known);
  }
  const Costs costs = costs_of(experiment);
  text += "\nparameters\n";
  for (const auto& [part, count] : costs.parts) {
    text += fmt::format("  {:<30} {:>12}\n", part, count);
  }
  text += fmt::format("  {:<30} {:>12}\n\n", "all", costs.parameters);
  text += fmt::format("FLOPs per token (training)       {:.4g}\n", costs.flops_per_token);
  text += fmt::format("memory: weights, gradients, optimizer {}, activations about {}\n",
                      bytes_text(costs.state_bytes), bytes_text(costs.activation_bytes));
  text += fmt::format("checkpoint                       {}\n", bytes_text(costs.checkpoint_bytes));
  text +=
      fmt::format("a step                           {} sequences of {} tokens, {} at once\n",
                  experiment.sequences(), experiment.model.context, experiment.micro_sequences());
  return text;
}

namespace {

std::string describe(const ConfigKey& key) {
  std::string text = key.key + (key.kind.empty() ? "" : "  (" + key.kind + ")") + "\n";
  text += "  " + key.help + "\n";
  text += "  " + key.type + (key.unit.empty() ? "" : ", in " + key.unit);
  if (!key.range.empty()) text += ", " + key.range;
  return text + "; default: " + key.value + "\n";
}

}  // namespace

std::string explain_key(const std::string& key) {
  Experiment experiment;
  const std::vector<ConfigKey> keys = list_keys([&](Fields& f) { experiment.visit(f); });
  std::string text;
  std::vector<std::string> names;
  for (const ConfigKey& candidate : keys) {
    names.push_back(candidate.key);
    const bool below = candidate.key.starts_with(key + ".");
    if (key.empty() || candidate.key == key || below) text += describe(candidate);
  }
  const std::string guess = nearest(key, names);
  check<ConfigError>(!text.empty(), "there is no key '{}'{}", printable(key),
                     guess.empty() ? "" : " (did you mean '" + guess + "'?)");
  return text;
}

}  // namespace tapemeasure

// SPDX-License-Identifier: MIT
#include "app/costs.h"

#include <algorithm>
#include <cmath>
#include <map>

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

bool crosses(const ModelOptions& m) { return m.kind == ModelKind::kEncoderDecoder; }

/// Numbers that the tape keeps for one token: inputs of norms, linears, attention and activations;
/// or inputs of blocks, and all of one block.
int64_t kept_per_token(const ModelOptions& m, bool recompute) {
  const int64_t heads = m.heads * m.the_head_width(), inner = m.the_feedforward();
  const int64_t block = 4 * m.width + 4 * heads + (m.gated ? 3 : 2) * inner;
  const int64_t across = crosses(m) ? 2 * m.width + 4 * heads : 0;
  const int64_t stacks = crosses(m) ? 2 : 1;
  if (recompute) return stacks * (m.layers + 3) * m.width + block + across;
  return stacks * (m.layers * block + 3 * m.width) + m.layers * across;
}

/// Keys that one query of a stack sees, on average over a window.
double visible(const ModelOptions& m, bool causal) {
  int64_t reach = m.same_length ? m.memory : m.window;
  if (m.same_length && m.window > 0) reach = std::min(reach, m.window);
  if (reach == 0) reach = m.memory + m.context;
  int64_t sum = 0;
  for (int64_t query = 0; query < m.context; ++query) {
    const int64_t before = std::min(query + (causal ? m.memory : 0), reach - 1);
    const int64_t behind = causal ? 0 : std::min(m.context - 1 - query, reach - 1);
    sum += before + 1 + behind;
  }
  return static_cast<double>(sum) / static_cast<double>(m.context);
}

/// Products of one token with all keys that it sees, in all layers, twice: logits and mixing.
double attention_products(const ModelOptions& m) {
  const auto width = static_cast<double>(m.heads * m.the_head_width());
  const auto layers = static_cast<double>(m.layers + (m.enhanced_mask_decoder ? 1 : 0));
  double keys = visible(m, m.kind != ModelKind::kEncoder);
  // Across, a target's token sees the whole source.
  if (crosses(m)) keys += visible(m, false) + static_cast<double>(m.context);
  return 2 * layers * keys * width;
}

/// 1 + 1/2 + ... + 1/n.
double harmonic(int64_t n) {
  constexpr double kEuler = 0.5772156649015329;
  const auto x = static_cast<double>(n);
  return n == 0 ? 0 : std::log(x) + kEuler + 1 / (2 * x) - 1 / (12 * x * x);
}

/// Weights that one token meets in an adaptive vocabulary, where words are as frequent as Zipf's
/// law has it: a tail's are met by its own words alone.
double adaptive_weights(const ModelOptions& m) {
  const AdaptiveSoftmaxOptions& adaptive = m.adaptive_softmax;
  const size_t bins = adaptive.cutoffs.size() + 1;
  const int64_t reads = crosses(m) ? 2 : 1;  // a source's token and a target's
  double sum = 0;
  for (size_t b = 0; b < bins; ++b) {
    const int64_t first = b == 0 ? 0 : adaptive.cutoffs[b - 1];
    const int64_t end = b + 1 < bins ? adaptive.cutoffs[b] : *m.vocabulary;
    const double share = (harmonic(end) - harmonic(first)) / harmonic(*m.vocabulary);
    const int64_t width = adaptive.bin_width(m.width, b);
    const int64_t projection = adaptive.div_val > 1 ? m.width * width : 0;
    const int64_t classes = end - first + (b == 0 ? static_cast<int64_t>(bins) - 1 : 0);
    sum += (b == 0 ? 1 : share) * static_cast<double>(classes * width + projection);
    sum += share * static_cast<double>(reads * projection);
  }
  return sum;
}

/// Weights of linears and the head that one token meets, a source's token with it.
double weights_met(const ModelOptions& m, const ParameterStore& store) {
  const bool adaptive = m.adaptive_softmax.active();
  double sum = adaptive ? adaptive_weights(m) : m.tied_head ? double(*m.vocabulary * m.width) : 0;
  const std::string last = fmt::format("blocks.{}.", m.layers - 1);
  for (const Parameter& parameter : store.all()) {
    const std::string& name = parameter.name;
    const bool end = name.starts_with("embedding.") || name.starts_with("head.");
    // Projections of position tables are made once a batch.
    if (parameter.role != Role::kLinear || name.find("position.") != std::string::npos) continue;
    if (end && adaptive) continue;
    auto times = m.enhanced_mask_decoder && name.starts_with(last) ? 2.0 : 1.0;
    const bool remembered =
        name.ends_with("attention.key.weight") || name.ends_with("attention.value.weight");
    if (remembered) times += static_cast<double>(m.memory) / static_cast<double>(m.context);
    sum += times * static_cast<double>(parameter.shape.count());
  }
  return sum;
}

/// What a checkpoint keeps of a segment memory.
int64_t remembered(const Experiment& experiment) {
  const ModelOptions& m = experiment.model;
  return m.memory > 0 ? m.layers * experiment.sequences() * m.memory * m.width : 0;
}

/// Parameters by part of the model, in the order in which the parts were made.
std::vector<std::pair<std::string, int64_t>> parts_of(const ParameterStore& store) {
  std::vector<std::pair<std::string, int64_t>> parts;
  std::map<std::string, size_t> index;
  for (const Parameter& parameter : store.all()) {
    const std::string part = part_of(parameter.name);
    const auto [place, fresh] = index.try_emplace(part, parts.size());
    if (fresh) parts.emplace_back(part, 0);
    parts[place->second].second += parameter.shape.count();
  }
  return parts;
}

/// What an update rule keeps beside the weights.
struct Kept {
  int64_t numbers = 0, tensors = 0;
};

Kept kept_by(const UpdateRuleOptions& rule, const ParameterStore& store) {
  const SlotProbe probe(rule);
  Kept kept;
  for (const Parameter& parameter : store.all()) {
    const Slots& slots = probe.of(parameter);
    const int64_t count = parameter.shape.count(), columns = parameter.shape[-1];
    kept.numbers +=
        slots.elements * count + slots.rows * (count / columns) + slots.columns * columns;
    kept.tensors += slots.tensors();
  }
  return kept;
}

}  // namespace

Costs costs_of(const Experiment& experiment) {
  const ModelOptions& m = experiment.model;
  ParameterStore store;
  const LanguageModel model(m, Scope(store));
  const Kept kept = kept_by(*experiment.optimizer.options, store);
  const int64_t tensors =
      static_cast<int64_t>(store.all().size()) + kept.tensors + (m.memory > 0 ? m.layers : 0);
  const auto size = static_cast<int64_t>(size_of(experiment.dtype()));
  Costs costs;
  costs.parts = parts_of(store);
  costs.parameters = store.count();
  // A multiplication and an addition each, forward once and backward twice.
  costs.flops_per_token = 6 * (weights_met(m, store) + attention_products(m));
  costs.state_bytes = size * (2 * costs.parameters + kept.numbers);
  costs.checkpoint_bytes = size * (costs.parameters + kept.numbers + remembered(experiment)) +
                           tensors * kBytesPerTensor + kBytesPerCheckpoint;
  costs.activation_bytes = size * kept_per_token(m, experiment.trainer.recompute) *
                           experiment.micro_sequences() * m.context;
  return costs;
}

std::string bytes_text(int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (size >= 1e9) return fmt::format("{:.2f} GB", size / 1e9);
  if (size >= 1e6) return fmt::format("{:.1f} MB", size / 1e6);
  return fmt::format("{:.1f} kB", size / 1e3);
}

}  // namespace tapemeasure

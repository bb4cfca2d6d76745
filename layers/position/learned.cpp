// SPDX-License-Identifier: MIT
// Learned absolute positions (GPT-2, BERT): x_p = embedding + W[p], a table of `context` rows.
// Beyond the table generation re-reads its last half: position p takes row
// context - h + (p - context) mod h with h = ceil(context / 2). Nothing else goes there.
#include <vector>

#include "core/host.h"
#include "layers/options.h"
#include "layers/position/method.h"

namespace tapemeasure {

namespace {

class Learned : public PositionMethod {
 public:
  Learned(const ModelOptions& model, const Scope& scope)
      : weight_(scope.parameter("weight", {model.context, model.width},
                                Init::normal(model.embedding_deviation()), Role::kPosition)) {}

  Variable embed(Run& run, const Variable& x_BTD, int64_t first_position) const override {
    const Variable table = run.tape.leaf(weight_);
    const int64_t rows = x_BTD.shape()[1], context = table.shape()[0];
    if (first_position + rows <= context) return add_rows(run, x_BTD, table, first_position);
    const int64_t half = (context + 1) / 2;
    std::vector<int32_t> ids;
    for (int64_t b = 0; b < x_BTD.shape()[0]; ++b) {
      for (int64_t p = first_position; p < first_position + rows; ++p) {
        ids.push_back(
            static_cast<int32_t>(p < context ? p : context - half + (p - context) % half));
      }
    }
    Backend& backend = x_BTD.value().backend();
    return add(run, x_BTD,
               embedding(run, table, to_tensor(backend, {x_BTD.shape()[0], rows}, ids)));
  }

  std::optional<int64_t> longest() const override { return weight_.shape[0]; }

 private:
  Parameter& weight_;
};

class LearnedOptions : public PositionOptions {
 public:
  std::string refuses_memory() const override { return absolute_memory_conflict("learned"); }
  bool adds_to_embeddings() const override { return true; }

  std::unique_ptr<PositionMethod> build(const ModelOptions& model,
                                        const Scope& scope) const override {
    return std::make_unique<Learned>(model, scope);
  }
};

}  // namespace

std::unique_ptr<PositionOptions> make_learned_position() {
  return std::make_unique<LearnedOptions>();
}

}  // namespace tapemeasure

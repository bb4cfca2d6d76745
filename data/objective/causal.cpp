// SPDX-License-Identifier: MIT
// The causal language model: every window's next tokens. `score: second_half` leaves out the loss
// of the targets with less than half a window before them (Transformer-XL's "half loss", Dai et al.
// 2019, table 6). Evaluation goes over the whole text by a protocol, whatever was scored in
// training.
#include "data/objective/objective.h"

namespace tapemeasure {

namespace {

class CausalOptions : public ObjectiveOptions {
 public:
  void visit(Fields& f) override {
    static const char* const kScores[] = {"all", "second_half"};
    f.choice("score", score_, kScores, "the targets of a window that count in training");
  }
  std::string refuses(Reader reader) const override {
    return only_for(reader, Reader::kDecoder,
                    "only a decoder's tokens cannot see what they are to predict");
  }
  const char* unit() const override { return "token"; }

  std::unique_ptr<BatchSource> training(const Part& part,
                                        const ObjectiveSetting& setting) const override {
    return std::make_unique<Batcher>(part.tokens,
                                     Batcher::Options{.order = setting.order,
                                                      .sequences = setting.sequences(),
                                                      .context = setting.context,
                                                      .seed = setting.seed,
                                                      .second_half = score_ == 1},
                                     part.origin);
  }

 private:
  int score_ = 0;
};

}  // namespace

std::unique_ptr<ObjectiveOptions> make_causal_objective() {
  return std::make_unique<CausalOptions>();
}

}  // namespace tapemeasure

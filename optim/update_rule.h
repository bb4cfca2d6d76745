// SPDX-License-Identifier: MIT
// What changes the weights. A rule lives in one file of this folder and one line of rules.def: an
// options class with the rule's config keys that builds the rule.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/config/fields.h"
#include "core/parameter.h"
#include "core/state.h"

namespace tapemeasure {

/// One update of all parameters.
struct Update {
  double rate = 0;            ///< the schedule's
  double gradient_scale = 1;  ///< clipping's factor
  int64_t count = 0;          ///< updates so far, this one included
};

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// Reads gradients, changes values. `decay` has the weight decay of each parameter, in creation
  /// order.
  virtual void apply(const Update& update, ParameterStore& store,
                     std::span<const double> decay) = 0;
  /// The rate that this update really has. Default: the schedule's.
  virtual double rate(const Update& update) const { return update.rate; }
  /// Statistics as "optimizer/NAME/SLOT".
  virtual void visit_state(StateVisitor& v, ParameterStore& store) = 0;
};

/// Learning rates that a config may ask for. Clipped gradients may be tiny, and SGD's rate then
/// large.
inline constexpr RealRange kRates{0, 1e9};

/// Which parameters decay.
enum class DecayGroup {
  kAll,
  kMatrices,  ///< two axes or more
  kLinear,    ///< weights of linear layers
  kNone,
};

/// The config keys that all rules share; a rule's own options add theirs.
class UpdateRuleOptions : public KindOptions {
 public:
  double weight_decay = 0;
  DecayGroup decay = DecayGroup::kMatrices;
  double clip_norm = 0;

  void visit(Fields& f) override;
  /// Allocates the rule's statistics beside the parameters of `store`.
  virtual std::unique_ptr<UpdateRule> build(ParameterStore& store) const = 0;
  /// The peak rate that the schedule multiplies.
  virtual double peak_rate() const = 0;
  /// Throws ConfigError on keys that contradict each other.
  virtual void validate() const {}
};

std::span<const Kind<UpdateRuleOptions>> update_rules();

}  // namespace tapemeasure

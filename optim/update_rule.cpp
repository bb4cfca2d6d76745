// SPDX-License-Identifier: MIT
#include "optim/update_rule.h"

namespace tapemeasure {

void UpdateRuleOptions::visit(Fields& f) {
  static const char* const kGroups[] = {"all", "matrices", "linear", "none"};
  f.real("weight_decay", weight_decay, {0, 1e3}, "decay of the parameters that `decay` names");
  f.choose("decay", decay, kGroups,
           "what decays: all; matrices (two or more axes); linear (weights of linear layers: no "
           "embeddings, no position parameters); none");
  f.real("clip_norm", clip_norm, {0, 1e9}, "longest gradient over all parameters; 0: any");
}

#define UPDATE_RULE(name, help) std::unique_ptr<UpdateRuleOptions> make_##name##_rule();
#include "optim/rules.def"
#undef UPDATE_RULE

std::span<const Kind<UpdateRuleOptions>> update_rules() {
#define UPDATE_RULE(name, help) {#name, help, make_##name##_rule},
  static const Kind<UpdateRuleOptions> kRules[] = {
#include "optim/rules.def"
  };
#undef UPDATE_RULE
  return kRules;
}

}  // namespace tapemeasure

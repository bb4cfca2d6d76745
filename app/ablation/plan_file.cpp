// SPDX-License-Identifier: MIT
#include "app/ablation/plan_file.h"

namespace tapemeasure {

namespace {
constexpr int64_t kLongest = 1 << 24;
constexpr const char* kQuantities[] = {
    "bits_per_character", "bits_per_byte",    "bits_per_token", "loss",
    "perplexity",         "word_perplexity",  "exact_match",    "bleu",
    "tokens_per_second",  "effective_context"};
constexpr const char* kSplits[] = {"train", "valid", "test"};
constexpr const char* kClaimKinds[] = {"better", "not_worse", "small", "ratio_above",
                                       "difference_above"};
}  // namespace

void GridOptions::visit(Fields& f) {
  f.text("key", key, "a key of the base config");
  f.texts("values", values, "its values: an arm for each, or for each combination of several keys");
}

void ArmOptions::visit(Fields& f) {
  f.text("label", label, "how the table calls it");
  f.text("init_from", init_from, "the arm from whose last checkpoint, of the same seed, it starts");
  f.texts("set", set, "KEY=VALUE over the base config");
}

void MeasureOptions::visit(Fields& f) {
  f.text("label", measure.label, "how the table calls it");
  f.choose("quantity", measure.quantity, kQuantities, "what is read off the evaluation");
  f.choose("split", measure.split, kSplits, "the part of the text");
  f.integer("length", measure.length, {1, kLongest}, "as trained", "of windows or strings",
            "tokens");
  f.text("protocol", measure.protocol, "as evaluate --protocol; nonoverlap when left out");
  f.texts("set", measure.set, "KEY=VALUE of keys that change no parameter");
  f.texts("arms", measure.arms, "the arms that are measured; all when left out");
  f.texts("best_of", measure.best_of,
          "measures of which the one that is best on the validation part counts, arm by arm");
  f.texts("group", measure.group, "effective_context: the arms that are compared as a group");
  f.integers("lengths", measure.lengths, {1, kLongest},
             "effective_context: context lengths, shortest first", "tokens");
  f.integer("targets", measure.targets, {0, kLongest}, "score only so many; 0: all", "tokens");
  f.integer("beam", measure.beam, {1, 1024}, "bleu: hypotheses that a beam search keeps");
  f.real("length_penalty", measure.length_penalty, {-100, 100}, "bleu: as generate has it");
  f.boolean("in_table", measure.in_table, "false: only claims use it");
}

void ClaimOptions::visit(Fields& f) {
  f.text("id", claim.id, "a word");
  f.text("statement", claim.statement, "what the paper says");
  f.text("source", claim.source, "paper and table");
  f.choose("kind", claim.kind, kClaimKinds, "how it is judged");
  f.boolean("core", claim.core, "false: a model this small may not show it");
  f.real("margin", claim.margin, {-kAnyReal, kAnyReal},
         "not_worse: how much worse counts as equal; small: the fraction; *_above: the bound");
  f.text("measure", measure, "the measure of operands without one; the first when left out");
  f.texts("compare", compare, "operands ARM or ARM@MEASURE: 'A B' each; of small 'A B C D'");
  f.text("note", claim.note, "what was found where it does not hold");
}

void PaperRowOptions::visit(Fields& f) {
  f.text("arm", row.arm, "the arm beside which the row stands; none: a row of its own");
  f.text("label", row.label, "what the paper calls it");
  f.texts("values", row.values, "one for each column");
}

void PaperOptions::visit(Fields& f) {
  f.text("source", table.source, "paper and table");
  f.texts("columns", table.columns, "what the paper measured");
  f.sections("rows", rows, "its numbers");
}

void PlanOptions::visit(Fields& f) {
  f.text("title", title, "what is asked");
  f.text("base", base, "the config that every arm changes, relative to this file");
  f.texts("set", set, "KEY=VALUE over the base config, in every arm");
  f.integers("seeds", seeds, {0, INT64_MAX}, "trainer.seed of the runs of each arm");
  f.sections("grid", grid, "keys whose values make arms");
  f.sections("arms", arms, "arms by name");
  f.sections("measures", measures, "measures by name");
  f.section("paper", paper, "the paper's own table");
  f.sections("claims", claims, "the paper's claims");
}

}  // namespace tapemeasure

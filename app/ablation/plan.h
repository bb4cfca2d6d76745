// SPDX-License-Identifier: MIT
// An ablation as its file says it: arms (a base config with a few keys changed), seeds, what is
// measured of each trained model, the paper's table, and the paper's claims. A cell is one arm with
// one seed: one run of training, whose last checkpoint is then measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/experiment.h"
#include "core/config/config.h"

namespace tapemeasure {

/// One row of the table.
struct Arm {
  std::string name;              ///< a word; also the name of its folder
  std::string label;             ///< for people
  std::string init_from;         ///< another arm whose end this one starts from, with the same seed
  std::vector<std::string> set;  ///< KEY=VALUE over the base config
  std::string place;             ///< in the file, for messages
};

/// What is read off an evaluation.
enum class Quantity {
  kBitsPerCharacter,
  kBitsPerByte,
  kBitsPerToken,
  kLoss,
  kPerplexity,
  kWordPerplexity,
  kExactMatch,
  kBleu,              ///< of translations, in percent (sacreBLEU's 13a)
  kTokensPerSecond,   ///< of the evaluation itself: a time, kept apart from results
  kEffectiveContext,  ///< RECL: Dai et al. 2019, section 4.3
};
/// "bits per character", ...
std::string unit_of(Quantity quantity);
/// False where less is better.
bool more_is_better(Quantity quantity);
/// True for what differs from one measuring to the next.
bool is_time(Quantity quantity);

/// One column of the table.
struct Measure {
  std::string name, label;
  Quantity quantity = Quantity::kBitsPerCharacter;
  Split split = Split::kTest;
  std::optional<int64_t> length;  ///< of windows or strings; none: as trained
  std::string protocol;           ///< as `evaluate --protocol`; "": of a causal model nonoverlap
  std::vector<std::string> set;   ///< KEY=VALUE of keys that change no parameter
  std::vector<std::string> arms;  ///< measured of these only; empty: of all
  /// Names of measures of the same quantity. An arm's value is that of the one whose mean over the
  /// seeds is best on the validation part.
  std::vector<std::string> best_of;
  /// Effective context: arms that are compared as one group, the context lengths, shortest first.
  std::vector<std::string> group;
  std::vector<int64_t> lengths;
  /// Only this many targets from the first that every length can score; 0: all. Effective context
  /// and times.
  int64_t targets = 0;
  /// BLEU: how answers are searched for.
  int64_t beam = 1;
  double length_penalty = 1;
  bool in_table = true;  ///< false: only claims use it
  std::string place;

  bool measures(const std::string& arm) const;
  /// True if cells are evaluated for it; false if its value follows from other measures.
  bool evaluated() const { return best_of.empty(); }
  /// All that decides its value, as one line: a value measured under another is measured again.
  std::string specification() const;
};

/// One operand of a comparison: what a measure gave for an arm.
struct Operand {
  std::string arm, measure;
};

enum class ClaimKind { kBetter, kNotWorse, kSmall, kRatioAbove, kDifferenceAbove };

/// A claim of a paper, written before its runs. docs/ablations.md says how each kind is judged.
struct Claim {
  std::string id, statement, source;
  ClaimKind kind = ClaimKind::kBetter;
  bool core = true;
  double margin = 0;  ///< of not_worse; the fraction of small; the bound of the others
  /// better, not_worse, *_above: pairs A, B; small: fours A, B, C, D.
  std::vector<std::vector<Operand>> comparisons;
  std::string note;  ///< what was found where it does not hold
  std::string place;
};

/// The paper's own numbers, shown beside ours.
struct PaperTable {
  std::string source;
  std::vector<std::string> columns;
  struct Row {
    std::string arm;  ///< or "", with a label of its own
    std::string label;
    std::vector<std::string> values;
  };
  std::vector<Row> rows;
};

/// One arm with one seed.
struct Cell {
  std::string arm;
  int64_t seed = 0;

  std::string name() const { return arm + "/seed-" + std::to_string(seed); }
  bool operator==(const Cell&) const = default;
};

struct Plan {
  std::string path, title, base;
  std::vector<std::string> set;        ///< over the base, in every arm
  std::string set_place;               ///< in the file, for messages
  std::vector<std::string> overrides;  ///< of the command line, over all of that
  std::vector<int64_t> seeds;
  std::vector<Arm> arms;
  std::vector<Measure> measures;
  std::vector<Claim> claims;
  PaperTable paper;

  /// Reads an ablation file and checks all of it: names, references, every arm's config, and that
  /// no column mixes protocols, units or tokenizers. Throws ConfigError with its place.
  static Plan read(const std::string& path, const std::vector<std::string>& overrides = {});

  /// True if a best_of chooses among measures by this one.
  bool chooses_by(const Measure& measure) const;
  /// True of a claim whose numbers differ from one measuring to the next.
  bool rests_on_times(const Claim& claim) const;
  const Arm& arm(const std::string& name) const;
  const Measure& measure(const std::string& name) const;
  /// Seed by seed, so that a first row of the whole table is there early; arms come after those
  /// that they start from.
  std::vector<Cell> cells() const;
  /// What arms have in common.
  Experiment base_experiment() const;
  /// The config that the cell is trained with.
  Config config(const Cell& cell) const;
};

}  // namespace tapemeasure

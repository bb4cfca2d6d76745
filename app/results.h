// SPDX-License-Identifier: MIT
// What a run and an evaluation came to, as JSON and as lines for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/evaluator.h"

namespace tapemeasure {

/// results.json of a run.
struct RunResults {
  std::string state;  ///< "finished", "finished early" (patience), "stopped"
  std::string position, objective;
  int64_t steps = 0, parameters = 0, tokens = 0, skipped = 0;
  int64_t best_step = 0;  ///< 0: never evaluated
  double best_loss = 0;
  std::optional<Evaluation> last;

  std::string json() const;
  /// Reads results.json. Throws CheckpointError when it is not what `json` writes, DataError when
  /// it cannot be read.
  static RunResults read(const std::string& path);
};

/// What stands behind a loss for people: ", 2.03 bits per character, ..." or ", exact match 98.2
/// %".
std::string measures_text(const Evaluation& evaluation);
/// An evaluation as a JSON object: protocol, nats, denominators, and all that follows from them.
std::string evaluation_json(const Evaluation& evaluation);
/// "1 h 02 min", "3 min 20 s", "12 s".
std::string duration_text(double seconds);

}  // namespace tapemeasure

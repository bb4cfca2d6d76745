// SPDX-License-Identifier: MIT
// What numbers the products of a run read, where that is left to the machine.
#pragma once

#include <string>

#include "app/experiment.h"

namespace tapemeasure {

/// How long a product of bf16 inputs takes here, in times of one of f32: medians of turns of both,
/// about 50 ms in all.
double bf16_over_f32(int threads);

/// Makes precision `auto` f32 or bf16, whichever is the faster here, so that a resumed run keeps
/// it. Returns what there is to say: what was taken and why, that bf16 is the slower here, or "".
std::string settle_precision(TrainerOptions& trainer);

}  // namespace tapemeasure

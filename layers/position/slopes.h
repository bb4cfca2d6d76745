// SPDX-License-Identifier: MIT
// The slopes of ALiBi's heads.
#pragma once

#include <cstdint>
#include <vector>

namespace tapemeasure {

/// 2^(-8(h+1)/H) where H is a power of two; else those of the largest power of two c below H,
/// followed by every second of those of 2c. In the order of the heads, which is not sorted.
std::vector<double> alibi_slopes(int64_t heads);

}  // namespace tapemeasure

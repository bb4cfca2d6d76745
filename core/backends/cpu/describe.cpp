// SPDX-License-Identifier: MIT
// What a run records about the machine it ran on.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/backends/cpu/describe.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/backends/cpu/onednn.h"
#include "core/backends/cpu/threads.h"
#include "core/error.h"

HWY_BEFORE_NAMESPACE();
namespace tapemeasure::cpu::HWY_NAMESPACE {
const char* instruction_set() { return hwy::TargetName(HWY_TARGET); }
}  // namespace tapemeasure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapemeasure {
namespace cpu {
HWY_EXPORT(instruction_set);
}

std::string describe_machine() {
  return fmt::format("{}, {} threads, oneDNN {}", HWY_DYNAMIC_DISPATCH(cpu::instruction_set)(),
                     cpu::default_threads(), cpu::Products::version());
}

}  // namespace tapemeasure
#endif

// SPDX-License-Identifier: MIT
#include "app/precision.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/backend.h"

namespace tapemeasure {

namespace {

using Clock = std::chrono::steady_clock;

/// A product of the size that small models have, on a backend of its own.
class Trial {
 public:
  Trial(const char* backend, int threads) : backend_(make_backend(backend, threads)) {
    constexpr int64_t kRows = 512, kInputs = 256, kOutputs = 512;
    a_ = empty(*backend_, {kRows, kInputs}, DType::kF32);
    b_ = empty(*backend_, {kOutputs, kInputs}, DType::kF32);
    c_ = empty(*backend_, {kRows, kOutputs}, DType::kF32);
    backend_->fill(a_, 0.5);
    backend_->fill(b_, 0.25);
    run();
  }

  void run() {
    const auto begin = Clock::now();
    backend_->gemm({.transpose_b = true}, a_, b_, c_);
    seconds_.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }

  double median() {
    const auto middle = seconds_.begin() + static_cast<int64_t>(seconds_.size() / 2);
    std::nth_element(seconds_.begin(), middle, seconds_.end());
    return *middle;
  }

 private:
  std::unique_ptr<Backend> backend_;
  Tensor a_, b_, c_;
  std::vector<double> seconds_;
};

}  // namespace

double bf16_over_f32(int threads) {
  constexpr std::chrono::milliseconds kLong(50);
  Trial f32("cpu", threads), bf16("cpu:bf16", threads);
  const auto begin = Clock::now();
  do {
    f32.run();
    bf16.run();
  } while (Clock::now() - begin < kLong);
  return bf16.median() / f32.median();
}

std::string settle_precision(TrainerOptions& trainer) {
  if (trainer.precision != Precision::kAuto && trainer.precision != Precision::kBF16) return "";
  const bool automatic = trainer.precision == Precision::kAuto;
  const double ratio = bf16_over_f32(static_cast<int>(trainer.threads.value_or(0)));
  if (automatic) trainer.precision = ratio < 1 ? Precision::kBF16 : Precision::kF32;
  if (!automatic && ratio < 1) return "";
  return fmt::format("{}: products with bf16 inputs take {:.2f} times what f32's take here",
                     automatic
                         ? std::string("trainer.precision auto is ") + (ratio < 1 ? "bf16" : "f32")
                         : "trainer.precision bf16 is the slower",
                     ratio);
}

}  // namespace tapemeasure

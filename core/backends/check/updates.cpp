// SPDX-License-Identifier: MIT
// The update rules, checked. An update may be small beside its parameter, so a parameter is held to
// a tighter bound than what is computed on the way.
#include "core/backends/check/check_backend.h"
#include "core/backends/check/comparison.h"

namespace tapemeasure {

using check_backend::Comparison;
using check_backend::largest;

void CheckBackend::sgd(const SgdStep& step, const Tensor& gradient, const Tensor& parameter,
                       const Tensor& buffer) {
  Comparison comparison("sgd", 1e-6);
  const Tensor parameter_again = comparison.copy(parameter, largest(parameter));
  const Tensor buffer_again = comparison.copy(buffer, step.first ? 0 : largest(buffer));
  checked_->sgd(step, gradient, parameter, buffer);
  reference_.sgd(step, gradient, parameter_again, buffer_again);
  comparison.finish();
}

void CheckBackend::adamw(const AdamwStep& step, const Tensor& gradient, const Tensor& parameter,
                         const Tensor& first_moment, const Tensor& second_moment) {
  Comparison comparison("adamw", 2e-6);
  const Tensor parameter_again = comparison.copy(parameter, largest(parameter));
  const Tensor first_again = comparison.copy(first_moment, largest(first_moment));
  const Tensor second_again = comparison.copy(second_moment);
  checked_->adamw(step, gradient, parameter, first_moment, second_moment);
  reference_.adamw(step, gradient, parameter_again, first_again, second_again);
  comparison.finish();
}

void CheckBackend::adafactor(const AdafactorStep& step, const Tensor& gradient,
                             const Tensor& parameter, const Tensor& rows, const Tensor& columns,
                             const Tensor& first_moment) {
  Comparison comparison("adafactor", 5e-6);
  const Tensor parameter_again = comparison.copy(parameter, largest(parameter));
  const Tensor rows_again = comparison.copy(rows), columns_again = comparison.copy(columns);
  const Tensor first_again = comparison.copy(first_moment, largest(first_moment));
  checked_->adafactor(step, gradient, parameter, rows, columns, first_moment);
  reference_.adafactor(step, gradient, parameter_again, rows_again, columns_again, first_again);
  comparison.finish();
}

}  // namespace tapemeasure

// SPDX-License-Identifier: MIT
// w_f = theta^(-2f/n) is the plain frequency of pair f; s the factor, L the original length.
#include "layers/position/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "core/error.h"

namespace tapemeasure {

namespace {

std::vector<double> plain(const RopeShape& shape, double theta) {
  std::vector<double> frequencies;
  for (int64_t f = 0; f < shape.channels / 2; ++f) {
    frequencies.push_back(std::pow(theta, -2.0 * double(f) / double(shape.channels)));
  }
  return frequencies;
}

/// theta times a power of `alpha` that divides the lowest frequency by alpha and leaves the
/// highest.
double stretched_theta(const RopeShape& shape, double alpha) {
  const auto n = static_cast<double>(shape.channels);
  return shape.theta * std::pow(alpha, n / (n - 2));
}

void check_stretchable(const RopeShape& shape) {
  check<ConfigError>(shape.channels > 2,
                     "position.scaling changes theta so that the lowest frequency alone shrinks by "
                     "the factor: that needs more than 2 rotated channels, there are {}",
                     shape.channels);
}

class None : public RopeScaling {
 public:
  std::vector<double> frequencies(const RopeShape& shape, int64_t) const override {
    return plain(shape, shape.theta);
  }
};

/// Those that reach `factor` times the original length.
class Factor : public RopeScaling {
 public:
  void visit(Fields& f) override {
    f.real("factor", factor_, {1, 1e6}, "how many times the original length is to be reached");
  }

 protected:
  double factor_ = 2;
};

class FactorAndLength : public Factor {
 public:
  void visit(Fields& f) override {
    Factor::visit(f);
    f.integer("original_length", original_length_, {1, 1 << 24}, "model.context",
              "length that the model was trained on", "tokens");
  }

 protected:
  int64_t original_length(const RopeShape& shape) const {
    return original_length_.value_or(shape.context);
  }

 private:
  std::optional<int64_t> original_length_;
};

/// Position interpolation (Chen et al. 2023): w_f / s.
class Linear : public Factor {
 public:
  std::vector<double> frequencies(const RopeShape& shape, int64_t) const override {
    std::vector<double> frequencies = plain(shape, shape.theta);
    for (double& frequency : frequencies) frequency /= factor_;
    return frequencies;
  }
};

/// NTK-aware: theta' = theta s^(n/(n-2)).
class Ntk : public Factor {
 public:
  void validate(const RopeShape& shape) const override { check_stretchable(shape); }
  std::vector<double> frequencies(const RopeShape& shape, int64_t) const override {
    return plain(shape, stretched_theta(shape, factor_));
  }
};

/// The same with what a call of length l needs: s l / L - (s - 1) in place of s, beyond L only.
class DynamicNtk : public FactorAndLength {
 public:
  void validate(const RopeShape& shape) const override { check_stretchable(shape); }
  std::vector<double> frequencies(const RopeShape& shape, int64_t length) const override {
    if (version(shape, length) == 0) return plain(shape, shape.theta);
    const double share = static_cast<double>(length) / static_cast<double>(original_length(shape));
    return plain(shape, stretched_theta(shape, factor_ * share - (factor_ - 1)));
  }
  int64_t version(const RopeShape& shape, int64_t length) const override {
    return length > original_length(shape) ? length : 0;
  }
  bool depends_on_length() const override { return true; }
};

/// YaRN (Peng et al. 2023) as in the authors' code: between w_f / s and w_f along a ramp that is
/// linear in f, with ends where a pair turns beta_slow and beta_fast times within L.
class Yarn : public FactorAndLength {
 public:
  void visit(Fields& f) override {
    FactorAndLength::visit(f);
    f.real("beta_fast", beta_fast_, {1e-6, 1e6},
           "pairs that turn this often in L stay as they are");
    f.real("beta_slow", beta_slow_, {1e-6, 1e6}, "pairs that turn less often are interpolated");
    f.real("attention_factor", attention_factor_, {0, 1e3}, "0.1 ln factor + 1",
           "multiplies cosines and sines");
  }
  void validate(const RopeShape& shape) const override {
    check<ConfigError>(beta_fast_ >= beta_slow_,
                       "position.scaling.beta_fast {} is below beta_slow {}: change one of them",
                       beta_fast_, beta_slow_);
    check<ConfigError>(shape.theta != 1, "position.scaling yarn needs a position.theta above 1");
  }
  std::vector<double> frequencies(const RopeShape& shape, int64_t) const override {
    const double low = std::max(std::floor(pair_turning(shape, beta_fast_)), 0.0);
    double high = std::min(std::ceil(pair_turning(shape, beta_slow_)), double(shape.channels - 1));
    if (high == low) high += 0.001;  // as the authors': no division by zero
    std::vector<double> frequencies = plain(shape, shape.theta);
    for (size_t f = 0; f < frequencies.size(); ++f) {
      const double ramp = std::clamp((static_cast<double>(f) - low) / (high - low), 0.0, 1.0);
      frequencies[f] = frequencies[f] / factor_ * ramp + frequencies[f] * (1 - ramp);
    }
    return frequencies;
  }
  double attention_factor(const RopeShape&) const override {
    return attention_factor_.value_or(0.1 * std::log(factor_) + 1);
  }

 private:
  /// The f, with fractions, of a pair that turns this often within L.
  double pair_turning(const RopeShape& shape, double turns) const {
    const auto length = static_cast<double>(original_length(shape));
    return static_cast<double>(shape.channels) * std::log(length / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(shape.theta));
  }

  double beta_fast_ = 32, beta_slow_ = 1;
  std::optional<double> attention_factor_;
};

/// LongRoPE (Ding et al. 2024): w_f / lambda_f with factors that were searched for, one list up to
/// L and one beyond.
class LongRope : public FactorAndLength {
 public:
  void visit(Fields& f) override {
    FactorAndLength::visit(f);
    f.reals("short_factors", short_factors_, {1e-6, 1e9}, "one per pair, up to original_length");
    f.reals("long_factors", long_factors_, {1e-6, 1e9}, "one per pair, beyond it");
    f.real("attention_factor", attention_factor_, {0, 1e3},
           "sqrt(1 + ln factor / ln original_length)", "multiplies cosines and sines");
  }
  void validate(const RopeShape& shape) const override {
    const auto pairs = static_cast<size_t>(shape.channels / 2);
    const auto check_list = [&](const char* name, const std::vector<double>& factors) {
      check<ConfigError>(factors.size() == pairs,
                         "position.scaling.{} wants a number for each of the {} pairs of rotated "
                         "channels, got {}",
                         name, pairs, factors.size());
    };
    check_list("short_factors", short_factors_);
    check_list("long_factors", long_factors_);
    check<ConfigError>(attention_factor_ || original_length(shape) > 1,
                       "position.scaling.original_length 1 has no logarithm to divide by: give "
                       "attention_factor");
  }
  std::vector<double> frequencies(const RopeShape& shape, int64_t length) const override {
    const std::vector<double>& factors = version(shape, length) ? long_factors_ : short_factors_;
    std::vector<double> frequencies = plain(shape, shape.theta);
    for (size_t f = 0; f < frequencies.size(); ++f) frequencies[f] /= factors[f];
    return frequencies;
  }
  double attention_factor(const RopeShape& shape) const override {
    if (attention_factor_) return *attention_factor_;
    return std::sqrt(1 + std::log(factor_) / std::log(double(original_length(shape))));
  }
  int64_t version(const RopeShape& shape, int64_t length) const override {
    return length > original_length(shape) ? 1 : 0;
  }
  bool depends_on_length() const override { return true; }

 private:
  std::vector<double> short_factors_, long_factors_;
  std::optional<double> attention_factor_;
};

/// Llama 3.1's: pairs that turn often stay, slow ones are interpolated, those between are mixed.
class Llama3 : public FactorAndLength {
 public:
  void visit(Fields& f) override {
    FactorAndLength::visit(f);
    f.real("low_frequency_factor", low_, {0, 1e6}, "pairs that turn less often are interpolated");
    f.real("high_frequency_factor", high_, {0, 1e6}, "pairs that turn this often stay");
  }
  void validate(const RopeShape&) const override {
    check<ConfigError>(high_ > low_,
                       "position.scaling.high_frequency_factor {} is not above "
                       "low_frequency_factor {}: change one of them",
                       high_, low_);
  }
  std::vector<double> frequencies(const RopeShape& shape, int64_t) const override {
    std::vector<double> frequencies = plain(shape, shape.theta);
    for (double& frequency : frequencies) {
      const double turns =
          static_cast<double>(original_length(shape)) * frequency / (2 * std::numbers::pi);
      const double kept = std::clamp((turns - low_) / (high_ - low_), 0.0, 1.0);
      frequency *= kept + (1 - kept) / factor_;
    }
    return frequencies;
  }

 private:
  double low_ = 1, high_ = 4;
};

template <class T>
std::unique_ptr<RopeScaling> make() {
  return std::make_unique<T>();
}

}  // namespace

std::span<const Kind<RopeScaling>> rope_scalings() {
  static const Kind<RopeScaling> kScalings[] = {
      {"none", "frequencies as they are", make<None>},
      {"linear", "all frequencies divided by the factor (position interpolation)", make<Linear>},
      {"ntk", "a larger theta, so that only slow pairs slow down", make<Ntk>},
      {"dynamic_ntk", "the same, as far as a call's length asks for it", make<DynamicNtk>},
      {"yarn", "slow pairs interpolated, fast ones kept, sharper attention", make<Yarn>},
      {"longrope", "a factor per pair, one list up to the original length, one beyond",
       make<LongRope>},
      {"llama3", "slow pairs interpolated, fast ones kept (Llama 3.1)", make<Llama3>},
  };
  return kScalings;
}

}  // namespace tapemeasure

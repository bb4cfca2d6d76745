// SPDX-License-Identifier: MIT
// BLEU (Papineni et al. 2002) of a corpus, number for number as sacreBLEU (Post 2018) has it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tapemeasure {

enum class Smoothing { kExp, kFloor, kAddK, kNone };

struct BleuOptions {
  Smoothing smoothing = Smoothing::kExp;
  double smooth_value = 0;  ///< of floor: the matches of an order without any; of add-k: k
  bool tokenize = true;     ///< as mteval's 13a; else words are what white space separates
};

struct Bleu {
  static constexpr int kOrders = 4;
  double score = 0;                          ///< 0 ... 100
  std::array<double, kOrders> precisions{};  ///< per cent, of 1-grams to 4-grams
  double brevity_penalty = 1;
  std::array<int64_t, kOrders> matches{}, totals{};  ///< before smoothing
  int64_t hypothesis_length = 0, reference_length = 0;
};

/// The tokens of a line, joined by single spaces.
std::string tokenize_13a(const std::string& line);

/// `references` are one list or more, each as long as the hypotheses. Throws ShapeError otherwise.
Bleu bleu(const std::vector<std::string>& hypotheses,
          const std::vector<std::vector<std::string>>& references, const BleuOptions& options = {});

}  // namespace tapemeasure

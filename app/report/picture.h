// SPDX-License-Identifier: MIT
// A matrix as a page draws it: a heat map with names for its rows and columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/report/run_data.h"

namespace tapemeasure {

struct Picture {
  std::string title = {}, note = {};
  std::string row_title = {}, column_title = {};
  std::vector<std::string> row_names = {}, column_names = {};  ///< empty: numbers from `first` on
  int64_t first_row = 0, first_column = 0;
  int64_t rows = 0, columns = 0;
  std::vector<double> values = {};  ///< [rows][columns]
  bool is_signed = false;           ///< colours go both ways from 0

  /// Values go as 16-bit integers times the largest / 32767.
  Json json() const;
};

}  // namespace tapemeasure

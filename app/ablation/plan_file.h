// SPDX-License-Identifier: MIT
// The sections of an ablation file, as they are written. Private to app/ablation.
#pragma once

#include <string>
#include <vector>

#include "app/ablation/plan.h"
#include "core/config/config.h"

namespace tapemeasure {

struct GridOptions {
  std::string key;
  std::vector<std::string> values;
  void visit(Fields& f);
};

struct ArmOptions {
  std::string label, init_from;
  std::vector<std::string> set;
  void visit(Fields& f);
};

struct MeasureOptions {
  Measure measure;
  void visit(Fields& f);
};

struct ClaimOptions {
  Claim claim;
  std::string measure;
  std::vector<std::string> compare;
  void visit(Fields& f);
};

struct PaperRowOptions {
  PaperTable::Row row;
  void visit(Fields& f);
};

struct PaperOptions {
  PaperTable table;
  std::vector<NamedConfig> rows;
  void visit(Fields& f);
};

struct PlanOptions {
  std::string title, base;
  std::vector<std::string> set;
  std::vector<int64_t> seeds = {1, 2, 3};
  std::vector<NamedConfig> grid, arms, measures, claims;
  PaperOptions paper;
  void visit(Fields& f);
};

}  // namespace tapemeasure

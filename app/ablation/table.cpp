// SPDX-License-Identifier: MIT
// table.md and table.csv.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "app/ablation/results.h"
#include "app/ablation/statistics.h"
#include "core/error.h"

namespace tapemeasure {

namespace {

/// Words of a file's author as one line of Markdown that shows them and means nothing else.
std::string plain(const std::string& words) {
  std::string text;
  for (const char c : words) {
    if (c == '\n' || c == '\r' || c == '\t') {
      text += ' ';
    } else if (c == '<' || c == '&') {
      text += c == '<' ? "&lt;" : "&amp;";
    } else {
      if (std::strchr("\\`*|[", c) && c != '\0') text += '\\';
      text += c;
    }
  }
  return text;
}

std::vector<double> list_of(const std::map<int64_t, double>& values) {
  std::vector<double> list;
  for (const auto& [seed, value] : values) list.push_back(value);
  return list;
}

/// As many digits as a table wants to show.
std::string number_text(Quantity quantity, double value) {
  switch (quantity) {
    case Quantity::kExactMatch:
      return fmt::format("{:.1f} %", 100 * value);
    case Quantity::kBleu:
    case Quantity::kPerplexity:
    case Quantity::kWordPerplexity:
      return fmt::format("{:.2f}", value);
    case Quantity::kEffectiveContext:
    case Quantity::kTokensPerSecond:
      return fmt::format("{:.0f}", value);
    default:
      return fmt::format("{:.3f}", value);
  }
}

/// "2.231 ± 0.007", with "(2/3)" behind it where seeds are missing.
std::string cell_text(const Plan& plan, const Measure& measure, const CellResult* cell) {
  if (!cell) return "–";
  const size_t wanted = plan.seeds.size();
  if (cell->values.empty()) return fmt::format("0/{}", wanted);
  const std::vector<double> values = list_of(cell->values);
  std::string text = number_text(measure.quantity, mean_of(values));
  if (values.size() > 1) text += " ± " + number_text(measure.quantity, deviation_of(values));
  if (values.size() < wanted) text += fmt::format(" ({}/{})", values.size(), wanted);
  if (!cell->chosen.empty()) text += " at " + plain(plan.measure(cell->chosen).label);
  return text;
}

/// Columns of the table: what is shown, and does not differ from one measuring to the next.
std::vector<const Measure*> columns_of(const Plan& plan) {
  std::vector<const Measure*> columns;
  for (const Measure& measure : plan.measures)
    if (measure.in_table && !is_time(measure.quantity)) columns.push_back(&measure);
  return columns;
}

const PaperTable::Row* paper_row(const Plan& plan, const std::string& arm) {
  for (const PaperTable::Row& row : plan.paper.rows)
    if (row.arm == arm) return &row;
  return nullptr;
}

std::string row_text(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string header(const Plan& plan, const std::vector<const Measure*>& columns) {
  std::vector<std::string> names = {"arm", "parameters"};
  for (const Measure* measure : columns) names.push_back(plain(measure->label));
  for (const std::string& column : plan.paper.columns) names.push_back("paper: " + plain(column));
  return row_text(names) + row_text(std::vector<std::string>(names.size(), "---"));
}

std::string body(const Plan& plan, const AblationResults& results,
                 const std::vector<const Measure*>& columns) {
  std::string text;
  for (size_t i = 0; i < plan.arms.size(); ++i) {
    const Arm& arm = plan.arms[i];
    const int64_t parameters = results.parameters[i];
    std::vector<std::string> cells = {plain(arm.label),
                                      parameters > 0 ? std::to_string(parameters) : "–"};
    for (const Measure* measure : columns)
      cells.push_back(cell_text(plan, *measure, results.cell(arm.name, measure->name)));
    const PaperTable::Row* paper = paper_row(plan, arm.name);
    for (size_t c = 0; c < plan.paper.columns.size(); ++c)
      cells.push_back(paper ? plain(paper->values[c]) : "–");
    text += row_text(cells);
  }
  for (const PaperTable::Row& row : plan.paper.rows) {
    if (!row.arm.empty()) continue;
    std::vector<std::string> cells(2 + columns.size(), "–");
    cells[0] = plain(row.label);
    for (const std::string& value : row.values) cells.push_back(plain(value));
    text += row_text(cells);
  }
  return text;
}

/// What the columns are, so that nobody has to guess the protocol.
std::string legend(const Plan& plan, const std::vector<const Measure*>& columns) {
  std::string text;
  for (const Measure* measure : columns) {
    text += fmt::format("- **{}**: {} of the {} part", plain(measure->label),
                        unit_of(measure->quantity), name_of(measure->split));
    if (!measure->best_of.empty())
      text +=
          fmt::format(", the best on the validation part of {}", fmt::join(measure->best_of, ", "));
    else if (measure->quantity == Quantity::kEffectiveContext)
      text += fmt::format(", exact contexts of {}, {} targets", fmt::join(measure->lengths, ", "),
                          measure->targets);
    else
      text += fmt::format(
          ", {}, {}", measure->protocol.empty() ? "side by side" : measure->protocol,
          measure->length ? fmt::format("length {}", *measure->length) : "length as trained");
    if (!measure->set.empty())
      text += fmt::format(", with {}", plain(fmt::format("{}", fmt::join(measure->set, " "))));
    text += "\n";
  }
  text += fmt::format("- mean ± standard deviation over seeds {}", fmt::join(plan.seeds, ", "));
  return text + "; n/m where seeds are missing\n";
}

std::string claim_row(const Plan& plan, const Claim& claim, const JudgedClaim& judged) {
  const Judgement& whole = judged.whole;
  // Times stand in timings.json.
  const bool shown = !plan.rests_on_times(claim) && whole.verdict != Verdict::kNotMeasured;
  return row_text({claim.id + (claim.core ? "" : " (size-dependent)"),
                   plain(fmt::format("{} ({})", claim.statement, claim.source)),
                   "**" + name_of(whole.verdict) + "**", whole.comparison,
                   shown && !std::isnan(whole.p) ? fmt::format("{:.2g}", whole.p) : "–",
                   shown ? fmt::format("{:.3f} ± {:.3f}", whole.difference, whole.deviation) : "–",
                   std::to_string(whole.n)});
}

std::string claims_text(const Plan& plan, const AblationResults& results) {
  if (plan.claims.empty()) return "";
  std::string text = "\n## Claims\n\n" +
                     row_text({"claim", "statement", "verdict", "comparison that decides", "p",
                               "difference ± sd", "n"}) +
                     row_text(std::vector<std::string>(7, "---"));
  for (size_t i = 0; i < plan.claims.size(); ++i)
    text += claim_row(plan, plan.claims[i], results.claims[i]);
  if (const int64_t tested = tested_claims(plan); tested > 0) {
    text += fmt::format(
        "\nOf {} verdicts at p < {}, chance alone would give {:.2f} that hold and as many that are "
        "contradicted.\n",
        tested, kSignificance, kSignificance * static_cast<double>(tested));
  }
  for (const Claim& claim : plan.claims)
    if (!claim.note.empty()) text += fmt::format("\n- {}: {}\n", claim.id, plain(claim.note));
  return text;
}

std::string missing_text(const AblationResults& results) {
  std::set<std::pair<std::string, std::string>> missing;  // cells, and why
  for (const CellResult& cell : results.cells)
    for (const auto& [seed, reason] : cell.missing)
      missing.emplace(fmt::format("{} seed {}", cell.arm, seed), plain(reason));
  if (missing.empty()) return "";
  std::string text = "\n## Missing\n\n";
  for (const auto& [cell, reason] : missing) text += fmt::format("- {}: {}\n", cell, reason);
  return text;
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + "\"";
}

}  // namespace

std::string table_markdown(const Plan& plan, const AblationResults& results) {
  const std::vector<const Measure*> columns = columns_of(plan);
  std::string text = fmt::format("# {}\n\n", plain(plan.title));
  text += header(plan, columns) + body(plan, results, columns) + "\n" + legend(plan, columns);
  if (!plan.paper.source.empty()) text += fmt::format("- paper: {}\n", plain(plan.paper.source));
  return text + claims_text(plan, results) + missing_text(results);
}

std::string table_csv(const Plan& plan, const AblationResults& results) {
  std::string text = "arm,label,parameters,measure,unit,split,length,protocol,n,wanted,mean,sd\n";
  for (size_t i = 0; i < plan.arms.size(); ++i) {
    for (const Measure& measure : plan.measures) {
      const CellResult* cell = results.cell(plan.arms[i].name, measure.name);
      if (!cell || is_time(measure.quantity)) continue;
      const std::vector<double> values = list_of(cell->values);
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", quoted(plan.arms[i].name),
                          quoted(plan.arms[i].label), results.parameters[i], quoted(measure.name),
                          unit_of(measure.quantity), name_of(measure.split),
                          measure.length ? std::to_string(*measure.length) : "",
                          quoted(measure.protocol), values.size(), plan.seeds.size(),
                          values.empty() ? "" : fmt::format("{}", mean_of(values)),
                          values.size() < 2 ? "" : fmt::format("{}", deviation_of(values)));
    }
  }
  return text;
}

}  // namespace tapemeasure

// SPDX-License-Identifier: MIT
// report: one page of runs, as a file or served while they go on.
#include <filesystem>

#include "app/commands/commands.h"
#include "app/commands/numbers.h"
#include "app/report/document.h"
#include "app/report/page.h"
#include "core/error.h"
#include "core/file/atomic_file.h"

namespace tapemeasure {

namespace {

struct ReportArguments {
  std::vector<std::string> paths;
  std::string out;
};

int report(const ReportArguments& arguments) {
  const Shown shown = find_runs(arguments.paths);
  const std::string html = page_html(gather(shown));
  write_atomically(arguments.out, html);
  fmt::print("{}: {} runs, {:.1f} MB\n", arguments.out, shown.runs.size(),
             static_cast<double>(html.size()) / 1e6);
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("report", "Show runs or an ablation as one HTML page");
  auto arguments = std::make_shared<ReportArguments>();
  verb->add_option("runs", arguments->paths,
                   "run directories, folders of them, or directories of ablations")
      ->required();
  verb->add_option("--out", arguments->out, "the page to write, .html")->required();
  verb->callback([arguments, &action] { action = [arguments] { return report(*arguments); }; });
}

}  // namespace tapemeasure

// SPDX-License-Identifier: MIT
// report: one page of runs, as a file or served while they go on.
#include <filesystem>

#include "app/commands/commands.h"
#include "app/commands/numbers.h"
#include "app/report/document.h"
#include "app/report/page.h"
#include "app/report/position_pictures.h"
#include "core/error.h"
#include "core/file/atomic_file.h"

namespace tapemeasure {

namespace {

struct ReportArguments {
  std::vector<std::string> paths;
  std::string out;
  PictureOptions pictures = {.cache = default_cache()};
};

int report(const ReportArguments& arguments) {
  const Shown shown = find_runs(arguments.paths);
  Json document = gather(shown);
  for (const size_t i : pictured(shown)) add_pictures(arguments.pictures, document["runs"][i]);
  const std::string html = page_html(document);
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
  verb->add_option("--text", arguments->pictures.text,
                   "a text for the pictures of attention [what a run read first]");
  verb->add_option("--cache", arguments->pictures.cache, "where prepared texts are kept")
      ->capture_default_str();
  verb->callback([arguments, &action] { action = [arguments] { return report(*arguments); }; });
}

}  // namespace tapemeasure

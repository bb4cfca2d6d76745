// SPDX-License-Identifier: MIT
// report: one page of runs, as a file or served while they go on.
#include <chrono>
#include <thread>

#include "app/commands/commands.h"
#include "app/commands/numbers.h"
#include "app/report/document.h"
#include "app/report/page.h"
#include "app/report/position_pictures.h"
#include "app/report/server.h"
#include "app/signals.h"
#include "core/error.h"
#include "core/file/atomic_file.h"

namespace tapemeasure {

namespace {

struct ReportArguments {
  std::vector<std::string> paths;
  std::string out;
  int port = 0;  // 0: a file
  PictureOptions pictures = {.cache = default_cache()};
};

Json with_pictures(const Shown& shown, const PictureOptions& options) {
  Json document = gather(shown);
  for (const std::vector<size_t>& list : pictured(shown)) {
    for (const size_t i : list) {
      if (add_pictures(options, document["runs"][i])) break;
    }
  }
  return document;
}

/// Until a signal comes. Runs that begin meanwhile are found as well; pictures are made anew for
/// each page that is opened.
int serve(const ReportArguments& arguments) {
  PageServer server(arguments.port, "--serve");
  const auto found = [&arguments] {
    Shown shown = find_runs(arguments.paths);
    shown.live = true;
    return shown;
  };
  found();  // a path that leads nowhere is said now
  const SignalGuard guard;
  server.start([&] { return with_pictures(found(), arguments.pictures); },
               [&] { return gather(found()); });
  fmt::print("serving {} until Ctrl-C\n", server.address());
  flush_output();
  while (SignalGuard::received() == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return 0;
}

int report(const ReportArguments& arguments) {
  check<ConfigError>((arguments.port > 0) != !arguments.out.empty(),
                     "report: give --out FILE.html or --serve PORT, one of them");
  if (arguments.port > 0) return serve(arguments);
  const Shown shown = find_runs(arguments.paths);
  const std::string html = page_html(with_pictures(shown, arguments.pictures));
  write_atomically(arguments.out, html);
  fmt::print("{}: {} run{}, {:.2f} MB\n", arguments.out, shown.runs.size(),
             shown.runs.size() == 1 ? "" : "s", static_cast<double>(html.size()) / 1e6);
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("report", "Show runs or an ablation as one HTML page");
  auto arguments = std::make_shared<ReportArguments>();
  verb->add_option("runs", arguments->paths,
                   "run directories, folders of them, or directories of ablations")
      ->required();
  verb->add_option("--out", arguments->out, "the page to write, .html");
  verb->add_option("--serve", arguments->port,
                   "serve the page on this port of 127.0.0.1 instead, live while runs go on")
      ->check(whole_number_between(1, 65535));
  verb->add_option("--text", arguments->pictures.text,
                   "a text for the pictures of attention [what a run read first]");
  verb->add_option("--cache", arguments->pictures.cache, "where prepared texts are kept")
      ->capture_default_str();
  verb->callback([arguments, &action] { action = [arguments] { return report(*arguments); }; });
}

}  // namespace tapemeasure

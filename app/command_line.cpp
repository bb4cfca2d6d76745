// SPDX-License-Identifier: MIT
#include "app/command_line.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>

#include "app/commands/commands.h"
#include "app/complaint.h"
#include "core/backend.h"
#include "core/config/config.h"
#include "core/file/hdf5_file.h"

namespace tapemeasure {

namespace {

int complain(const std::string& message, ExitCode code) {
  // Not fmt::print: it throws where standard error is closed or full.
  std::fputs(("tapemeasure: " + message + "\n").c_str(), stderr);
  return static_cast<int>(code);
}

std::string version() {
  return fmt::format("tapemeasure {}\n{}, HDF5 {}", TAPEMEASURE_VERSION, describe_machine(),
                     hdf5_version());
}

/// What is wrong with the arguments, and where to read on.
std::string usage_problem(const CLI::App& app, const CLI::ParseError& error, int argc,
                          char** argv) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (!chosen.empty()) {
    return fmt::format("{}; see tapemeasure {} --help", error.what(), chosen[0]->get_name());
  }
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    verbs.push_back(verb->get_name());
  }
  const std::string word = argc > 1 ? argv[1] : "";
  if (word.empty() || word[0] == '-') {
    return fmt::format("{}; see tapemeasure --help",
                       word.empty() ? "a verb is missing" : "there is no option " + word);
  }
  const std::string guess = nearest(word, verbs);
  return fmt::format("there is no verb '{}'{}: it is one of {}; see tapemeasure --help", word,
                     guess.empty() ? "" : " (did you mean '" + guess + "'?)",
                     fmt::join(verbs, ", "));
}

int act(const Action& action) {
  try {
    const int code = action();
    if (code == 0) flush_output();
    return code;
  } catch (const std::exception& error) {
    // Whoever reads our output may have seen enough (| head): no failure.
    const auto* system = dynamic_cast<const std::system_error*>(&error);
    if (system && system->code().value() == EPIPE) return static_cast<int>(ExitCode::kDone);
    const Complaint complaint = complaint_of(error);
    return complain(complaint.message, complaint.code);
  }
}

}  // namespace

void flush_output() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return;
  throw std::system_error(errno, std::generic_category(), "standard output: cannot write");
}

int run_command_line(int argc, char** argv) {
  // A reader that goes away (| head) must not kill a run: writes fail with an error instead.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // and so a file that grows beyond ulimit -f
  CLI::App app(
      "Trains small Transformer language models from scratch, to measure what each way of telling "
      "a Transformer where its tokens are buys.",
      "tapemeasure");
  app.set_version_flag("--version", version, "Program, libraries, instruction set, threads");
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  Action action;
  for (const auto add :
       {add_prepare, add_train, add_resume, add_evaluate, add_generate, add_inspect, add_verify,
        add_list, add_explain, add_ablate, add_report, add_bench}) {
    add(app, action);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& call) {
    return app.exit(call);
  } catch (const CLI::ParseError& error) {
    return complain(usage_problem(app, error, argc, argv), ExitCode::kUsage);
  }
  return act(action);
}

}  // namespace tapemeasure

// SPDX-License-Identifier: MIT
// The verbs of the command line, one file each. Each adds its subcommand with its help and options,
// and what it does: a function that returns the exit code and throws the errors of core/error.h.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace tapemeasure {

/// What the chosen verb does; set by its subcommand's callback.
using Action = std::function<int()>;

/// Throws std::system_error where standard output cannot be written.
void flush_output();

void add_prepare(CLI::App& app, Action& action);
void add_train(CLI::App& app, Action& action);
void add_resume(CLI::App& app, Action& action);
void add_evaluate(CLI::App& app, Action& action);
void add_generate(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_ablate(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);

}  // namespace tapemeasure

// SPDX-License-Identifier: MIT
#include <filesystem>

#include "app/commands/commands.h"
#include "app/explain.h"
#include "core/error.h"

namespace tapemeasure {

namespace {

struct ExplainArguments {
  std::string what;
  std::vector<std::string> sets;
};

int run(const ExplainArguments& arguments) {
  std::error_code ignored;  // a key may be too long for the name of a file
  const bool is_file = arguments.what.ends_with(".yaml") || arguments.what.ends_with(".yml") ||
                       std::filesystem::exists(arguments.what, ignored);
  if (!is_file) {
    check<ConfigError>(arguments.sets.empty(), "--set goes with a config, not with a key");
    fmt::print("{}", explain_key(arguments.what));
    return 0;
  }
  Config config = Config::read(arguments.what);
  for (const std::string& assignment : arguments.sets) config.set(assignment);
  fmt::print("{}", explain_config(config));
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("explain", "Say what a config key is, or what a config means and costs");
  auto a = std::make_shared<ExplainArguments>();
  verb->add_option("what", a->what,
                   "a key, as trainer.keep or model; or a config; or nothing: all");
  verb->add_option("--set", a->sets, "KEY=VALUE: change a key of the config");
  verb->callback([a, &action] { action = [a] { return run(*a); }; });
}

}  // namespace tapemeasure

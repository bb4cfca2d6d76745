// SPDX-License-Identifier: MIT
#include <filesystem>

#include "app/commands/commands.h"
#include "core/error.h"
#include "core/log.h"
#include "data/token_file.h"

namespace tapemeasure {

namespace {

struct PrepareArguments {
  PrepareOptions options;
  std::string split = "90/5/5";
  std::string out;
};

std::vector<double> parse_split(const std::string& text) {
  std::vector<double> shares;
  for (const std::string& part : CLI::detail::split(text, '/')) {
    double share = 0;
    const bool number = CLI::detail::lexical_cast(part, share);
    check<ConfigError>(number && share >= 0 && share <= 1e9,
                       "--split wants three numbers as in 90/5/5, got '{}'", text);
    shares.push_back(share);
  }
  check<ConfigError>(shares.size() == 3 && shares[0] > 0,
                     "--split wants three numbers, the first above 0, as in 90/5/5, got '{}'",
                     text);
  return shares;
}

int run(PrepareArguments arguments) {
  arguments.options.split = parse_split(arguments.split);
  check<ConfigError>(arguments.out.ends_with(".h5"),
                     "--out wants a name that ends in .h5, by which data.text knows a prepared "
                     "text, got '{}'",
                     arguments.out);
  Log log;
  const PrepareReport report = prepare(arguments.options, arguments.out);
  for (const std::string& notice : report.notices) log.warn("{}", notice);
  fmt::print("{}: {} bytes, vocabulary {}, tokens: {} train, {} valid, {} test\n", arguments.out,
             report.bytes, report.vocabulary, report.tokens[0], report.tokens[1], report.tokens[2]);
  return 0;
}

}  // namespace

void add_prepare(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("prepare", "Turn text files into one token file");
  auto arguments = std::make_shared<PrepareArguments>();
  verb->add_option("text", arguments->options.texts, "text files, read one after the other")
      ->required();
  verb->add_option("--out", arguments->out, "the token file to write, .h5")->required();
  verb->add_option("--tokenizer", arguments->options.tokenizer, "byte or char")
      ->check(CLI::IsMember(tokenizer_kinds()))
      ->capture_default_str();
  verb->add_option("--split", arguments->split, "shares of train/valid/test by bytes")
      ->capture_default_str();
  verb->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace tapemeasure

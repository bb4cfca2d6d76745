// SPDX-License-Identifier: MIT
#include <algorithm>

#include "app/commands/commands.h"
#include "app/commands/numbers.h"
#include "core/error.h"
#include "core/log.h"
#include "data/prepare.h"

namespace tapemeasure {

namespace {

struct PrepareArguments {
  PrepareOptions options;
  std::string split = "90/5/5";
  std::string newline = kLineEnds[0];
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

void print(const std::string& out, const PrepareReport& report) {
  const int64_t tokens = report.tokens[0] + report.tokens[1] + report.tokens[2];
  fmt::print("{}: {} bytes, vocabulary {}, tokens: {} train, {} valid, {} test\n", out,
             report.bytes, report.vocabulary, report.tokens[0], report.tokens[1], report.tokens[2]);
  fmt::print("{:.4f} tokens per byte, {}, {:.1f} MB/s\n",
             static_cast<double>(tokens) / static_cast<double>(report.bytes),
             report.lossless ? "every byte comes back" : "white space is not kept",
             static_cast<double>(report.bytes) / 1e6 / std::max(report.seconds, 1e-9));
  const std::string unknown = unknown_notice(report.unknown, report.tokens);
  if (!unknown.empty()) fmt::print("{}\n", unknown);
}

int run(PrepareArguments arguments, bool split_given) {
  arguments.options.split = parse_split(arguments.split);
  settle_split(arguments.options, split_given);
  check<ConfigError>(arguments.out.ends_with(".h5"),
                     "--out wants a name that ends in .h5, by which data.text knows a prepared "
                     "text, got '{}'",
                     arguments.out);
  if (arguments.newline == "lf") arguments.options.line_ends = LineEnds::kLf;
  Log log;
  const PrepareReport report = prepare(arguments.options, arguments.out);
  for (const std::string& notice : report.notices) log.warn("{}", notice);
  print(arguments.out, report);
  return 0;
}

}  // namespace

void add_prepare(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("prepare", "Turn text files into one token file");
  auto arguments = std::make_shared<PrepareArguments>();
  verb->add_option("text", arguments->options.texts, "text files, read one after the other")
      ->required();
  verb->add_option("--out", arguments->out, "the token file to write, .h5")->required();
  verb->add_option("--tokenizer", arguments->options.tokenizer,
                   fmt::format("{}", fmt::join(tokenizer_kinds(), ", ")))
      ->check(CLI::IsMember(tokenizer_kinds()))
      ->capture_default_str();
  verb->add_option("--vocab", arguments->options.vocabulary,
                   "bpe, unigram: how many tokens [8000]; word: at most so many [all words]")
      ->check(whole_number_between(2, 1 << 24));
  verb->add_option("--min-frequency", arguments->options.min_frequency,
                   "word: words that train has less often are <unk>")
      ->check(whole_number_between(1, INT64_MAX))
      ->capture_default_str();
  CLI::Option* split = verb->add_option("--split", arguments->split,
                                        "shares of train/valid/test by bytes; 0 for those with "
                                        "files of their own");
  split->capture_default_str();
  verb->add_option("--newline", arguments->newline, "line ends: raw keeps them, lf makes them LF")
      ->check(CLI::IsMember({"raw", "lf"}))
      ->capture_default_str();
  verb->add_option("--valid", arguments->options.valid, "validation text of its own")
      ->allow_extra_args(false);
  verb->add_option("--test", arguments->options.test, "test text of its own")
      ->allow_extra_args(false);
  verb->callback([arguments, split, &action] {
    action = [arguments, given = split->count() > 0] { return run(*arguments, given); };
  });
}

}  // namespace tapemeasure

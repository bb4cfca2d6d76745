// SPDX-License-Identifier: MIT
// The verbs, their flags, and what is said to those who miss them.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "core/file/atomic_file.h"
#include "tests/cli/trained_run.h"

namespace tapemeasure {
namespace {

using testing::Outcome;

using UsageTest = testing::TrainedRun;

// Flags are few on purpose: what a run is belongs into its config. A new one needs a reason and a
// line here.
const std::map<std::string, std::set<std::string>> kFlags = {
    {"prepare",
     {"--out", "--tokenizer", "--vocab", "--min-frequency", "--split", "--valid", "--test",
      "--newline"}},
    {"train",
     {"--set", "--run", "--init-from", "--allow-missing", "--cache", "--watch", "--profile"}},
    {"resume", {"--set", "--cache", "--watch", "--profile"}},
    {"evaluate",
     {"--split", "--text", "--lengths", "--protocol", "--per-token", "--bleu", "--beam", "--set",
      "--json", "--cache"}},
    {"generate",
     {"--prompt", "--mask", "--source", "--tokens", "--seed", "--temperature", "--top-k", "--top-p",
      "--window", "--greedy", "--beam", "--length-penalty"}},
    {"inspect", {}},
    {"verify", {}},
    {"list", {}},
    {"explain", {"--set"}},
    {"ablate",
     {"--out", "--set", "--jobs", "--threads", "--launcher", "--keep-going", "--fail-fast",
      "--cell", "--plan", "--collect", "--cache"}},
    {"report", {"--out", "--serve", "--text", "--cache"}},
    {"bench", {"--set", "--seconds", "--json", "--cache"}},
};

std::set<std::string> flags_in(const std::string& help) {
  std::set<std::string> flags;
  const std::regex flag("\n  (?:-\\w,)?(--[a-z-]+)");
  for (std::sregex_iterator at(help.begin(), help.end(), flag), end; at != end; ++at) {
    flags.insert((*at)[1]);
  }
  flags.erase("--help");
  return flags;
}

TEST_F(UsageTest, HelpListsTheVerbs) {
  const Outcome help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(help.err.empty());
  std::set<std::string> verbs;
  const std::string below = help.out.substr(help.out.find("Subcommands:"));
  const std::regex verb("\n  ([a-z]+) ");
  for (std::sregex_iterator at(below.begin(), below.end(), verb), end; at != end; ++at) {
    verbs.insert((*at)[1]);
  }
  std::set<std::string> wanted;
  for (const auto& [name, flags] : kFlags) wanted.insert(name);
  EXPECT_EQ(verbs, wanted);
  EXPECT_EQ(flags_in(help.out), (std::set<std::string>{"--version"}));
}

TEST_F(UsageTest, EveryVerbHasHelpAndThoseFlags) {
  for (const auto& [verb, flags] : kFlags) {
    const Outcome help = run({verb, "--help"});
    EXPECT_EQ(help.code, 0) << verb;
    EXPECT_TRUE(help.err.empty()) << help.err;
    EXPECT_EQ(flags_in(help.out), flags) << help.out;
  }
}

TEST_F(UsageTest, VersionNamesWhatTheProgramStandsOn) {
  const Outcome version = run({"--version"});
  EXPECT_EQ(version.code, 0);
  for (const char* part : {"tapemeasure 0.", "oneDNN ", "HDF5 1.", " threads"}) {
    EXPECT_NE(version.out.find(part), std::string::npos) << version.out;
  }
}

TEST_F(UsageTest, WrongVerbsAndFlagsAreOneLine) {
  expect_error({}, 2, {"a verb is missing", "--help"});
  expect_error({"trian"}, 2, {"'trian'", "did you mean 'train'?", "list, explain"});
  expect_error({"--wrong"}, 2, {"--wrong"});
  for (const auto& [verb, flags] : kFlags) {
    expect_error({verb, "x", "--wrong"}, 2, {"see tapemeasure " + verb + " --help"});
  }
  expect_error({"train"}, 2, {"config is required"});
  expect_error({"train", "c.yaml", "two.yaml"}, 2, {"two.yaml"});
  expect_error({"train", "c.yaml", "--set"}, 2, {"--set"});
  expect_error({"evaluate"}, 2, {"model is required"});
  expect_error({"evaluate", "r", "--split", "train"}, 2, {"--split", "train"});
  expect_error({"evaluate", "r", "--lengths", "8,x"}, 2, {"--lengths", "x"});
  expect_error({"generate", "r"}, 2, {"give --prompt, --mask or --source"});
  expect_error({"generate", "r", "--prompt", "a", "--tokens", "-1"}, 2, {"--tokens", "-1"});
  expect_error({"generate", "r", "--prompt", "a", "--tokens", "1.5"}, 2, {"--tokens", "1.5"});
  for (const char* wrong : {"nan", "-1", "inf", "warm", ""}) {
    expect_error({"generate", "r", "--prompt", "a", "--temperature", wrong}, 2, {"--temperature"});
    expect_error({"generate", "r", "--prompt", "a", "--top-p", wrong}, 2, {"--top-p"});
  }
  expect_error({"generate", "r", "--prompt", "a", "--greedy", "--temperature", "2"}, 2,
               {"--greedy", "--temperature"});
}

TEST_F(UsageTest, PrepareWantsAGoodSplitAndName) {
  for (const char* wrong : {"90", "90/5", "90/5/5/5", "90/a/5", "-1/1/1", "0/50/50", "nan/1/1"}) {
    expect_error({"prepare", "a.txt", "--out", "a.h5", "--split", wrong}, 2, {"--split", wrong});
  }
  expect_error({"prepare", "a.txt", "--out", "a.bin"}, 2, {"--out", ".h5", "a.bin"});
  expect_error({"prepare", "a.txt", "--out", "a.h5", "--tokenizer", "wort"}, 2, {"wort"});
  expect_error({"prepare", "a.txt", "--out", "a.h5", "--vocab", "300"}, 2, {"byte", "vocabulary"});
  expect_error({"prepare", "a.txt", "--out", "a.h5", "--tokenizer", "bpe", "--vocab", "2000000"}, 3,
               {"a.txt", "at most"});
  expect_error({"prepare", "a.txt", "--out", "a.h5", "--min-frequency", "0"}, 2, {"from 1"});
  expect_error({"prepare", "a.txt", "--out", "a.h5", "--valid", "a.txt", "--split", "90/10/0"}, 2,
               {"valid has a file of its own", "make its share 0"});
  expect_error({"prepare", "a.txt"}, 2, {"--out is required"});
  expect_error({"prepare", "b.txt", "--out", "a.h5"}, 3, {"b.txt", "No such file"});
  expect_error({"prepare", "a.txt", "--out", "no/a.h5"}, 3, {"no/a.h5", "No such file"});
  const Outcome good = run({"prepare", "a.txt", "--out", "a.h5", "--split", "90/10/0"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_TRUE(good.out.starts_with(
      "a.h5: 3000 bytes, vocabulary 256, tokens: 2700 train, 300 valid, 0 test\n"
      "1.0000 tokens per byte, every byte comes back, "))
      << good.out;
  EXPECT_TRUE(good.out.ends_with(" MB/s\n")) << good.out;
}

TEST_F(UsageTest, PrepareTakesFilesForSplitsAndTellsUnknownWords) {
  folder_.write("words.txt", "one two two three\n");
  folder_.write("v1.txt", "two four\n");
  folder_.write("v2.txt", "five two\n");
  const Outcome good =
      run({"prepare", "words.txt", "--out", "w.h5", "--tokenizer", "word", "--valid", "v1.txt",
           "--valid", "v2.txt", "--min-frequency", "2", "--split", "1/0/0"});
  ASSERT_EQ(good.code, 0) << good.err;
  EXPECT_TRUE(
      good.out.starts_with("w.h5: 36 bytes, vocabulary 3, tokens: 5 train, 6 valid, 0 test\n"
                           "0.3056 tokens per byte, white space is not kept, "))
      << good.out;
  EXPECT_TRUE(good.out.ends_with(
      "<unk>: 2 of 5 tokens of train (40.00 %), 2 of 6 tokens of valid (33.33 %)\n"))
      << good.out;
}

// A prepared text is as good as its source.
TEST_F(UsageTest, TrainTakesOneTextAListOrAPreparedFile) {
  folder_.write("b.txt", testing::letters(500));
  ASSERT_EQ(run({"prepare", "a.txt", "--out", "a.h5", "--tokenizer", "char"}).code, 0);
  train();
  for (const char* text : {"data.text=[a.txt]", "data.text=a.h5", "data.text=[a.txt, b.txt]"}) {
    const Outcome trained = run({"train", "c.yaml", "--set", text, "--run", text});
    EXPECT_EQ(trained.code, 0) << trained.err;
    const bool same = read_file(folder_.path(std::string(text) + "/results.json")) ==
                      read_file(folder_.path("r/results.json"));
    EXPECT_EQ(same, std::string(text).find("b.txt") == std::string::npos) << text;
  }
  expect_error({"train", "c.yaml", "--set", "data.text=a.h5", "--set", "data.tokenizer=byte"}, 3,
               {"a.h5", "tokenizer char", "data.tokenizer is byte"});
  expect_error({"train", "c.yaml", "--set", "data.text=[a.h5, b.txt]"}, 3, {"a.h5", "alone"});
}

TEST_F(UsageTest, NumbersBeyondTheirLimitsAreRefused) {
  const std::string beyond = "9223372036854775808";  // 2^63, which must not become 2^63 - 1
  for (const char* flag : {"--seed", "--top-k", "--tokens"}) {
    for (const std::string& number : {beyond, std::string("-1"), std::string("1.5")}) {
      expect_error({"generate", "r", "--prompt", "a", flag, number}, 2,
                   {fmt::format("{}: wants a whole number from 0 to ", flag),
                    fmt::format(", got '{}'; see", number)});
    }
  }
  for (const std::string& number : {beyond, std::string("0"), std::string("-1")}) {
    expect_error({"evaluate", "r", "--lengths", "16," + number}, 2,
                 {"--lengths: wants a whole number from 1 to ", ", got '" + number + "'; see"});
  }
}

}  // namespace
}  // namespace tapemeasure

// SPDX-License-Identifier: MIT
// Text files to token files: what is kept, where it is cut, and what is refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "core/error.h"
#include "core/file/atomic_file.h"
#include "core/utf8.h"
#include "data/prepare.h"
#include "tests/core/temporary_folder.h"
#include "tests/data/hostile_texts.h"

namespace tapemeasure {
namespace {

using testing::TemporaryFolder;
constexpr Split kSplits[] = {Split::kTrain, Split::kValid, Split::kTest};

std::string text_of(const TokenFile& file, Split split) {
  const TokenSpan tokens = file.tokens(split);
  std::vector<int32_t> ids(static_cast<size_t>(tokens.size()));
  tokens.copy(0, tokens.size(), ids.data());
  return file.tokenizer()->decode(ids);
}

std::string text_of(const TokenFile& file) {
  return text_of(file, Split::kTrain) + text_of(file, Split::kValid) + text_of(file, Split::kTest);
}

class PrepareTest : public ::testing::Test {
 protected:
  TokenFile prepared(const std::string& text, const std::string& tokenizer = "byte",
                     const std::vector<double>& split = {90, 5, 5}) {
    const std::string path = folder_.write("text.txt", text);
    report_ = prepare({{path}, tokenizer, split}, folder_.path("text.h5"));
    return TokenFile(folder_.path("text.h5"));
  }
  std::string message_of(const std::vector<std::string>& texts,
                         const std::string& tokenizer = "byte") {
    try {
      prepare({texts, tokenizer, {90, 5, 5}}, folder_.path("out.h5"));
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  }
  bool noticed(const std::string& what) const {
    return std::any_of(report_.notices.begin(), report_.notices.end(),
                       [&](const std::string& n) { return n.find(what) != std::string::npos; });
  }

  TemporaryFolder folder_;
  PrepareReport report_;
};

TEST_F(PrepareTest, SplitsAreSharesOfBytes) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>('a' + i % 26);
  const auto sizes = [&](const std::vector<double>& split) {
    const TokenFile file = prepared(text, "byte", split);
    EXPECT_EQ(text_of(file), text);
    std::vector<int64_t> sizes;
    for (const Split part : kSplits) sizes.push_back(file.tokens(part).size());
    return sizes;
  };
  EXPECT_EQ(sizes({90, 5, 5}), (std::vector<int64_t>{900, 50, 50}));
  EXPECT_EQ(sizes({90, 10, 0}), (std::vector<int64_t>{900, 100, 0}));
  EXPECT_EQ(sizes({100, 0, 0}), (std::vector<int64_t>{1000, 0, 0}));
  EXPECT_EQ(sizes({1, 0, 1}), (std::vector<int64_t>{500, 0, 500}));
  EXPECT_EQ(sizes({0.29, 0.71, 0}), (std::vector<int64_t>{290, 710, 0}));
  EXPECT_EQ(sizes({1, 1, 1}), (std::vector<int64_t>{333, 333, 334}));
}

TEST_F(PrepareTest, NoSplitCutsACodePoint) {
  std::mt19937_64 random(3);
  for (int repeat = 0; repeat < 40; ++repeat) {
    std::string text;
    const int count = 1 + static_cast<int>(random() % 60);
    for (int i = 0; i < count; ++i) {
      constexpr int32_t kPoints[] = {'a', 0xE9, 0x20AC, 0x1F600, 0x301};
      text += write_code_point(kPoints[random() % 5]);
    }
    for (const char* tokenizer : {"byte", "char"}) {
      const TokenFile file = prepared(text, tokenizer, {1.0 + double(random() % 5), 1, 1});
      ASSERT_EQ(text_of(file), text);
      int64_t characters = 0, bytes = 0;
      for (const Split part : kSplits) {
        const std::string piece = text_of(file, part);
        EXPECT_EQ(file.characters(part), count_characters(piece));
        EXPECT_EQ(file.words(part), count_words(piece));
        EXPECT_EQ(file.bytes(part), static_cast<int64_t>(piece.size()));
        characters += file.characters(part);
        bytes += file.bytes(part);
      }
      EXPECT_EQ(characters, count);  // a character cut in two would count twice
      EXPECT_EQ(bytes, static_cast<int64_t>(text.size()));
    }
  }
}

TEST_F(PrepareTest, AnyBytesGoThrough) {
  std::mt19937_64 random(4);
  std::string noise(50000, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  EXPECT_EQ(text_of(prepared(noise)), noise);
  EXPECT_EQ(report_.bytes, 50000);
}

TEST_F(PrepareTest, OneByteIsATextOfOneToken) {
  const TokenFile file = prepared("x");
  EXPECT_EQ(text_of(file), "x");
  EXPECT_EQ(report_.tokens[0] + report_.tokens[1] + report_.tokens[2], 1);
}

TEST_F(PrepareTest, TokensAreAsWideAsTheVocabulary) {
  std::string many;
  for (int32_t value = 0x4E00; value < 0x4E00 + 300; ++value) many += write_code_point(value);
  EXPECT_EQ(text_of(prepared(many, "char")), many);
  EXPECT_EQ(report_.vocabulary, 300);
  std::string most;
  for (int32_t value = 0x10000; value < 0x10000 + 70000; ++value) most += write_code_point(value);
  EXPECT_EQ(text_of(prepared(most, "char")), most);
  EXPECT_EQ(report_.vocabulary, 70000);
}

// R133.
TEST_F(PrepareTest, ByteOrderMarksAreKeptAndNoticed) {
  const std::string text = "\xEF\xBB\xBFone\ntwo\xEF\xBB\xBFthree\n";
  for (const char* tokenizer : {"byte", "char"}) {
    EXPECT_EQ(text_of(prepared(text, tokenizer)), text);
    ASSERT_EQ(report_.notices.size(), 2u);
    EXPECT_TRUE(noticed("text.txt: byte 0 (line 1): a byte-order mark, kept as text"));
    EXPECT_TRUE(noticed("text.txt: byte 10 (line 2): a byte-order mark"));
  }
}

// R134.
TEST_F(PrepareTest, LineEndsAreKeptAndNoticed) {
  EXPECT_EQ(text_of(prepared("a\r\nb\r\nc\rd\n", "char")), "a\r\nb\r\nc\rd\n");
  EXPECT_TRUE(noticed("2 CRLF and 1 lone CR line ends are kept as text"));
  prepared("a\nb\n");
  EXPECT_TRUE(report_.notices.empty());
}

// R134: one stream of tokens for all three, in pieces and parts that begin anywhere.
TEST_F(PrepareTest, LineEndsMayBeReadAsOne) {
  std::string lf;
  while (lf.size() < (3 << 20)) lf += testing::prose(50) + "\n\n";
  const auto with = [&](const char* end) {
    std::string text;
    for (const char c : lf) text += c == '\n' ? end : std::string(1, c);
    return text;
  };
  for (const char* kind : {"byte", "char", "word", "bpe", "unigram"}) {
    PrepareOptions options{{""}, kind, {1, 0, 0}};
    options.line_ends = LineEnds::kLf;
    if (kind[0] == 'b' && kind[1] == 'p') options.vocabulary = 300;
    if (kind[0] == 'u') options.vocabulary = 300;
    std::vector<std::vector<int32_t>> streams;
    std::string hash;
    for (const char* end : {"\n", "\r\n", "\r"}) {
      options.texts = {folder_.write("text.txt", with(end))};
      report_ = prepare(options, folder_.path("text.h5"));
      const TokenFile file(folder_.path("text.h5"));
      const TokenSpan tokens = file.tokens(Split::kTrain);
      streams.emplace_back(static_cast<size_t>(tokens.size()));
      tokens.copy(0, tokens.size(), streams.back().data());
      EXPECT_EQ(streams.back(), streams[0]) << kind;
      EXPECT_EQ(report_.bytes, static_cast<int64_t>(lf.size())) << kind;
      if (hash.empty()) hash = file.tokenizer()->hash();
      EXPECT_EQ(file.tokenizer()->hash(), hash) << kind;
      EXPECT_EQ(report_.notices.empty(), end[0] == '\n');
    }
    EXPECT_TRUE(noticed(" lone CR line ends are read as LF"));
  }
}

TEST_F(PrepareTest, NoPartBeginsInALineEnd) {
  const std::string text = "ab\r\ncd\r\nef\r\n";
  for (int share = 0; share <= 12; ++share) {
    PrepareOptions options{
        {folder_.write("text.txt", text)}, "byte", {0.5 + share, 12.5 - share, 0}};
    options.line_ends = LineEnds::kLf;
    prepare(options, folder_.path("text.h5"));
    EXPECT_EQ(text_of(TokenFile(folder_.path("text.h5"))), "ab\ncd\nef\n") << share;
  }
}

// Texts are read 2 MiB at a time.
TEST_F(PrepareTest, NoPieceBeginsInALineEnd) {
  const std::string text((2 << 20) - 1, 'x');
  PrepareOptions options{{folder_.write("text.txt", text + "\r\ny\r")}, "byte", {1, 0, 0}};
  options.line_ends = LineEnds::kLf;
  prepare(options, folder_.path("text.h5"));
  EXPECT_EQ(text_of(TokenFile(folder_.path("text.h5"))).substr(text.size()), "\ny\n");
}

// Messages speak of the file, not of what was made of it.
TEST_F(PrepareTest, PlacesAreThoseOfTheFile) {
  PrepareOptions options{{folder_.write("text.txt", "a\r\nb\r\nc\xFF\r\n")}, "char", {1, 0, 0}};
  options.line_ends = LineEnds::kLf;
  try {
    prepare(options, folder_.path("text.h5"));
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("text.txt: byte 7 (line 3)"), std::string::npos)
        << error.what();
  }
}

TEST_F(PrepareTest, ZerosAreKeptAndNoticed) {
  const std::string text("ab\nc\0d\0", 7);
  EXPECT_EQ(text_of(prepared(text, "char")), text);
  EXPECT_TRUE(noticed("text.txt: byte 4 (line 2): the first of 2 NUL bytes, kept as text"));
}

// R136.
TEST_F(PrepareTest, OneGiantLineLosesNothing) {
  std::string text(30 << 20, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + (i * i >> 7) % 26);
  const TokenFile file = prepared(text);
  EXPECT_EQ(report_.bytes, 30 << 20);
  EXPECT_EQ(report_.tokens[0] + report_.tokens[1] + report_.tokens[2], 30 << 20);
  EXPECT_EQ(text_of(file), text);
}

TEST_F(PrepareTest, TextsAreReadOneAfterTheOther) {
  const std::string a = folder_.write("a.txt", "one "), b = folder_.write("b.txt", ""),
                    c = folder_.write("c.txt", "two\r\n");
  const PrepareReport report = prepare({{a, b, c}, "char", {1, 0, 0}}, folder_.path("all.h5"));
  const TokenFile file(folder_.path("all.h5"));
  EXPECT_EQ(text_of(file), "one two\r\n");
  ASSERT_EQ(file.texts().size(), 3u);
  EXPECT_EQ(file.texts()[0].path, a);
  EXPECT_EQ(file.texts()[2].bytes, 5);
  const std::string bytes = read_file(c);
  EXPECT_EQ(file.texts()[2].sha256, sha256(std::as_bytes(std::span(bytes))));
  EXPECT_EQ(report.notices.size(), 1u);
}

// A mistake is looked for in the file that has it, not in all of them joined.
TEST_F(PrepareTest, MistakesAreNamedInTheirOwnFile) {
  const std::string a = folder_.write("a.txt", "one\ntwo\n"),
                    b = folder_.write("b.txt", "x\ny\xFFz"),
                    c = folder_.write("c.txt", "\xEF\xBB\xBF three");
  const std::string message = message_of({a, b}, "char");
  EXPECT_TRUE(message.starts_with(b + ": byte 3 (line 2): not UTF-8: FF;")) << message;
  report_ = prepare({{a, c}, "char", {1, 0, 0}}, folder_.path("ac.h5"));
  EXPECT_TRUE(noticed("c.txt: byte 0 (line 1): a byte-order mark"));
  // A character may be cut by a border of files.
  const std::string d = folder_.write("d.txt", "a\xC3"), e = folder_.write("e.txt", "\xA9");
  EXPECT_EQ(message_of({d, e}, "char"), "");
}

TEST_F(PrepareTest, UnusableTextsAreRefused) {
  const std::string empty = folder_.write("empty.txt", "");
  EXPECT_EQ(message_of({empty}), empty + ": the text is empty");
  EXPECT_EQ(message_of({empty, empty}), empty + " + " + empty + ": the text is empty");
  EXPECT_EQ(message_of({folder_.path()}), folder_.path() + ": cannot read: a folder");
  const std::string missing = folder_.path("missing.txt");
  EXPECT_EQ(message_of({missing}), missing + ": cannot read: No such file or directory");
  // What root cannot read either.
  const std::string through = empty + "/text.txt";
  EXPECT_EQ(message_of({through}), through + ": cannot read: Not a directory");
  const std::string loop = folder_.path("loop.txt");
  ASSERT_EQ(symlink(loop.c_str(), loop.c_str()), 0);
  EXPECT_NE(message_of({loop}).find("Too many levels of symbolic links"), std::string::npos);
  EXPECT_EQ(message_of({}), "no text given");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("out.h5")));
}

TEST_F(PrepareTest, AFileWithoutPermission) {
  const std::string locked = folder_.write("locked.txt", "text");
  std::filesystem::permissions(locked, std::filesystem::perms::none);
  const bool root = geteuid() == 0;  // who may read everything
  EXPECT_EQ(message_of({locked}), root ? "" : locked + ": cannot read: Permission denied");
}

TEST_F(PrepareTest, APlaceThatCannotBeWrittenIsTold) {
  const std::string text = folder_.write("a.txt", "text");
  try {
    prepare({{text}, "byte", {1, 0, 0}}, text + "/out.h5");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("out.h5"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("Not a directory"), std::string::npos) << error.what();
  }
}

TEST_F(PrepareTest, TheSameTextGivesTheSameBytes) {
  const std::string text = folder_.write("a.txt", "some text, twice\n");
  const PrepareOptions options{{text}, "char", {90, 5, 5}};
  prepare(options, folder_.path("one.h5"));
  prepare(options, folder_.path("two.h5"));
  EXPECT_EQ(read_file(folder_.path("one.h5")), read_file(folder_.path("two.h5")));
}

}  // namespace
}  // namespace tapemeasure

// SPDX-License-Identifier: MIT
// Texts that were not made to be read.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace tapemeasure::testing {

/// Some prose: enough of it to learn pieces from.
inline std::string prose(int lines = 200) {
  const std::vector<std::string> words = {
      "the",     "light", "that", "was",  "upon", "the",   "water",   "called",
      "evening", "and",   "day",  "unto", "them", "there", "morning", "caf\xC3\xA9"};
  std::mt19937_64 random(7);
  std::string text;
  for (int line = 0; line < lines; ++line) {
    for (int word = 0; word < 12; ++word)
      text += (word ? " " : "") + words[random() % words.size()];
    text += ".\n";
  }
  return text;
}

inline std::string random_bytes(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

/// Bytes that are mostly words, spaces, line ends, marks and parts of characters.
inline std::string torn_text(size_t parts, uint64_t seed) {
  const std::vector<std::string> kinds = {"the",
                                          " water",
                                          " ",
                                          "   ",
                                          "\n",
                                          "\r\n",
                                          "\t",
                                          "\xE2\x96\x81",
                                          "\xE2\x96\x85",
                                          "\xE2\x96",
                                          "\xE2",
                                          "\x81",
                                          "\xFF",
                                          "\xC3\xA9",
                                          "\xC3",
                                          "<unk>",
                                          "<0x0A>",
                                          "<eos>",
                                          "\xEF\xBB\xBF",
                                          "\x7F",
                                          "\x01",
                                          "\xEF\xBF\xBD",
                                          "\xF0\x9F\x98\x80",
                                          "\xF0\x9F\x98",
                                          "\xED\xA0\x80",
                                          "\xC0\x80",
                                          " the light"};
  std::mt19937_64 random(seed);
  std::string text;
  for (size_t part = 0; part < parts; ++part) {
    const size_t kind = random() % (kinds.size() + 1);
    text += kind < kinds.size() ? kinds[kind] : std::string(1, '\0');
  }
  return text;
}

/// All of them any bytes; `utf8` only: those that are UTF-8.
inline std::vector<std::string> hostile_texts(bool utf8) {
  std::vector<std::string> texts = {
      "",
      "x",
      " ",
      "\n",
      "\t",
      "\xE2\x96\x81",
      "a\xE2\x96\x81"
      "b \xE2\x96\x81 \xE2\x96\x81\xE2\x96\x81",
      "\xE2\x96\x85the\xE2\x96\x85",
      std::string("a\0b\0\0 \0", 7),
      "a\r\nb\rc\n\n\r\r\n",
      "  two   three    \n   ",
      std::string(5000, ' '),
      std::string(3000, '\n'),
      "the<unk> <unk> <0x0A> <s></s> <eos>",
      "\xEF\xBB\xBFthe \xEF\xBB\xBF",
      "\xEF\xBF\xBD\xEF\xBF\xBE\xEF\xBF\xBF\xF4\x8F\xBF\xBF",
      "e\xCC\x81 \xC3\xA9 \xEF\xAC\x81 \xE2\x91\xA0 \xC2\xA0 \xE3\x80\x80 \xE2\x80\x8B",
      std::string(200000, 'x'),
      prose(3) + prose(2)};
  if (utf8) return texts;
  texts.insert(texts.end(), {"\xFF\xFE", "\x80", "the \xC3", "\xE2\x96", "the\xE2\x96 water",
                             "\xED\xA0\x80\xC0\x80\xF5\x80\x80\x80", random_bytes(100000, 1)});
  for (uint64_t seed = 0; seed < 40; ++seed) {
    texts.push_back(random_bytes(1 + seed * 7, seed));
    texts.push_back(torn_text(50 + seed * 10, seed));
  }
  return texts;
}

}  // namespace tapemeasure::testing

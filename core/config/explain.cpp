// SPDX-License-Identifier: MIT
// What keys there are: type, default, range, unit and help of each, those of every kind included.
#include <fmt/format.h>

#include <utility>

#include "core/config/keys.h"
#include "core/config/scalar.h"
#include "core/config/value_fields.h"

namespace tapemeasure {
namespace {

// Takes the defaults' texts from ValueFields, and adds what only the declaration knows.
class Collector final : public ValueFields {
 public:
  std::vector<KnownKey> take() { return std::move(keys_); }

  void integer(const char* name, int64_t& number, IntegerRange range, const char* help,
               const char* unit) override {
    ValueFields::integer(name, number, range, help, unit);
    describe("integer", range_text(range), help, unit);
  }
  void real(const char* name, double& number, RealRange range, const char* help,
            const char* unit) override {
    ValueFields::real(name, number, range, help, unit);
    describe("number", range_text(range), help, unit);
  }
  void boolean(const char* name, bool& truth, const char* help) override {
    ValueFields::boolean(name, truth, help);
    describe("true/false", "", help);
  }
  void choice(const char* name, int& index, std::span<const char* const> choices,
              const char* help) override {
    ValueFields::choice(name, index, choices, help);
    describe(fmt::format("one of: {}", fmt::join(choices, ", ")), "", help);
  }
  void text(const char* name, std::string& content, const char* help) override {
    ValueFields::text(name, content, help);
    describe("text", "", help);
  }
  void integer(const char* name, std::optional<int64_t>& number, IntegerRange range,
               const char* fallback, const char* help, const char* unit) override {
    ValueFields::integer(name, number, range, fallback, help, unit);
    describe("integer", range_text(range), help, unit);
  }
  void real(const char* name, std::optional<double>& number, RealRange range, const char* fallback,
            const char* help, const char* unit) override {
    ValueFields::real(name, number, range, fallback, help, unit);
    describe("number", range_text(range), help, unit);
  }
  void boolean(const char* name, std::optional<bool>& truth, const char* fallback,
               const char* help) override {
    ValueFields::boolean(name, truth, fallback, help);
    describe("true/false", "", help);
  }
  void integers(const char* name, std::vector<int64_t>& values, IntegerRange range,
                const char* help, const char* unit) override {
    ValueFields::integers(name, values, range, help, unit);
    describe("list of integers", range_text(range), help, unit);
  }
  void reals(const char* name, std::vector<double>& values, RealRange range, const char* help,
             const char* unit) override {
    ValueFields::reals(name, values, range, help, unit);
    describe("list of numbers", range_text(range), help, unit);
  }
  void texts(const char* name, std::vector<std::string>& values, const char* help) override {
    ValueFields::texts(name, values, help);
    describe("list of texts", "", help);
  }
  void word_or_real(const char* name, std::string& word, double& number,
                    std::span<const char* const> words, const char* help) override {
    ValueFields::word_or_real(name, word, number, words, help);
    describe(fmt::format("number or one of: {}", fmt::join(words, ", ")), "", help);
  }
  void boolean_or_names(const char* name, bool& truth, std::vector<std::string>& names,
                        std::span<const char* const> known, const char* help) override {
    ValueFields::boolean_or_names(name, truth, names, known, help);
    describe(fmt::format("true/false or list of: {}", fmt::join(known, ", ")), "", help);
  }
  void sections(const char* name, std::vector<NamedConfig>&, const char* help) override {
    value(name, "");
    describe("sections", "", help);
  }

 protected:
  void value(const char* name, const std::string& text) override {
    KnownKey known;
    known.about.key = join_key(path_, name);
    known.about.value = text;
    known.conditions = conditions_;
    keys_.push_back(std::move(known));
  }
  void unset(const char* name, const char* fallback) override { value(name, fallback); }

  bool enter(const char* name, const char* help) override {
    value(name, "");
    keys_.back().is_section = true;
    describe("section", "", help);
    path_ = join_key(path_, name);
    return true;
  }
  void leave() override {
    const size_t dot = path_.rfind('.');
    path_.resize(dot == std::string::npos ? 0 : dot);
  }
  bool wants_every_kind() const override { return true; }
  void enter_kind(const char* name, const char*) override { conditions_.push_back({path_, name}); }
  void leave_kind() override { conditions_.pop_back(); }

 private:
  void describe(std::string type, std::string range, const char* help, const char* unit = "") {
    ConfigKey& key = keys_.back().about;
    key.type = std::move(type);
    key.range = std::move(range);
    key.help = help;
    key.unit = unit;
  }

  std::string path_;
  std::vector<KindCondition> conditions_;
  std::vector<KnownKey> keys_;
};

template <class T>
std::string range_words(bool has_min, bool has_max, T min, T max) {
  if (has_min && has_max) return fmt::format("{} ... {}", min, max);
  if (has_min) return fmt::format("{} or more", min);
  if (has_max) return fmt::format("{} or less", max);
  return "";
}

}  // namespace

std::string range_text(IntegerRange range) {
  return range_words(range.min != INT64_MIN, range.max != INT64_MAX, range.min, range.max);
}

std::string range_text(RealRange range) {
  return range_words(range.min != -kAnyReal, range.max != kAnyReal, range.min, range.max);
}

std::vector<KnownKey> known_keys(const std::function<void(Fields&)>& visit) {
  Collector collector;
  visit(collector);
  return collector.take();
}

std::vector<ConfigKey> list_keys(const std::function<void(Fields&)>& visit) {
  std::vector<ConfigKey> result;
  for (KnownKey& known : known_keys(visit)) {
    if (known.is_section) continue;
    std::vector<std::string> kinds;
    for (const KindCondition& condition : known.conditions)
      kinds.push_back(fmt::format("{}.kind: {}",
                                  condition.section.substr(condition.section.rfind('.') + 1),
                                  condition.kind));
    known.about.kind = fmt::format("{}", fmt::join(kinds, ", "));
    result.push_back(std::move(known.about));
  }
  return result;
}

}  // namespace tapemeasure

// SPDX-License-Identifier: MIT
#include "core/config/value_fields.h"

#include "core/config/scalar.h"

namespace tapemeasure {
namespace {

template <class T, class Format>
std::string list_text(const std::vector<T>& values, Format format) {
  std::vector<std::string> items;
  for (const T& value : values) items.push_back(format(value));
  return format_list(items);
}

std::string format_integer(int64_t value) { return std::to_string(value); }

}  // namespace

void ValueFields::integer(const char* name, int64_t& number, IntegerRange, const char*,
                          const char*) {
  value(name, format_integer(number));
}

void ValueFields::real(const char* name, double& number, RealRange, const char*, const char*) {
  value(name, format_real(number));
}

void ValueFields::boolean(const char* name, bool& truth, const char*) {
  value(name, format_boolean(truth));
}

void ValueFields::choice(const char* name, int& index, std::span<const char* const> choices,
                         const char*) {
  value(name, format_text(choices[index]));
}

void ValueFields::text(const char* name, std::string& content, const char*) {
  value(name, format_text(content));
}

void ValueFields::integer(const char* name, std::optional<int64_t>& number, IntegerRange,
                          const char* fallback, const char*, const char*) {
  number ? value(name, format_integer(*number)) : unset(name, fallback);
}

void ValueFields::real(const char* name, std::optional<double>& number, RealRange,
                       const char* fallback, const char*, const char*) {
  number ? value(name, format_real(*number)) : unset(name, fallback);
}

void ValueFields::boolean(const char* name, std::optional<bool>& truth, const char* fallback,
                          const char*) {
  truth ? value(name, format_boolean(*truth)) : unset(name, fallback);
}

void ValueFields::integers(const char* name, std::vector<int64_t>& values, IntegerRange,
                           const char*, const char*) {
  value(name, list_text(values, format_integer));
}

void ValueFields::reals(const char* name, std::vector<double>& values, RealRange, const char*,
                        const char*) {
  value(name, list_text(values, format_real));
}

void ValueFields::texts(const char* name, std::vector<std::string>& values, const char*) {
  value(name, list_text(values, format_text));
}

void ValueFields::word_or_real(const char* name, std::string& word, double& number,
                               std::span<const char* const>, const char*) {
  value(name, word.empty() ? format_real(number) : format_text(word));
}

void ValueFields::boolean_or_names(const char* name, bool& truth, std::vector<std::string>& names,
                                   std::span<const char* const>, const char*) {
  value(name, names.empty() ? format_boolean(truth) : list_text(names, format_text));
}

void ValueFields::sections(const char*, std::vector<NamedConfig>&, const char*) {}

}  // namespace tapemeasure

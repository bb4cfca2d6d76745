// SPDX-License-Identifier: MIT
// Fields that turn every value into the text that YAML reads it from. Private to core/config.
#pragma once

#include <string>
#include <vector>

#include "core/config/fields.h"

namespace tapemeasure {

class ValueFields : public Fields {
 public:
  void integer(const char* name, int64_t& value, IntegerRange range, const char* help,
               const char* unit) override;
  void real(const char* name, double& value, RealRange range, const char* help,
            const char* unit) override;
  void boolean(const char* name, bool& value, const char* help) override;
  void choice(const char* name, int& index, std::span<const char* const> choices,
              const char* help) override;
  void text(const char* name, std::string& value, const char* help) override;
  void integer(const char* name, std::optional<int64_t>& value, IntegerRange range,
               const char* fallback, const char* help, const char* unit) override;
  void real(const char* name, std::optional<double>& value, RealRange range, const char* fallback,
            const char* help, const char* unit) override;
  void boolean(const char* name, std::optional<bool>& value, const char* fallback,
               const char* help) override;
  void integers(const char* name, std::vector<int64_t>& values, IntegerRange range,
                const char* help, const char* unit) override;
  void reals(const char* name, std::vector<double>& values, RealRange range, const char* help,
             const char* unit) override;
  void texts(const char* name, std::vector<std::string>& values, const char* help) override;
  void word_or_real(const char* name, std::string& word, double& value,
                    std::span<const char* const> words, const char* help) override;
  void boolean_or_names(const char* name, bool& value, std::vector<std::string>& names,
                        std::span<const char* const> known, const char* help) override;
  /// They have no value of their own.
  void sections(const char* name, std::vector<NamedConfig>& values, const char* help) override;

 protected:
  virtual void value(const char* name, const std::string& text) = 0;
  /// A value that is not set: its default is described by `fallback`.
  virtual void unset(const char* name, const char* fallback) = 0;
};

}  // namespace tapemeasure

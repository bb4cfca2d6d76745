// SPDX-License-Identifier: MIT
// How options describe themselves. Every options struct lists its fields once, in `visit(Fields&)`:
// name, default (the member's initialiser), help, unit, range. From that one list come reading YAML
// and `--set`, errors with file:line:column, the complete dump kept with a run, and `explain`.
//
//   struct SgdOptions {
//     double momentum = 0;
//     void visit(Fields& f) {
//       f.real("momentum", momentum, {0, 1}, "share of the last update that is kept");
//     }
//   };
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tapemeasure {

/// Both ends included.
struct IntegerRange {
  int64_t min, max;
};
struct RealRange {
  double min, max;
};
inline constexpr double kAnyReal = std::numeric_limits<double>::max();

/// An options type chosen by its section's `kind` key: position methods, update rules, schedules.
class KindOptions {
 public:
  virtual ~KindOptions() = default;
  virtual void visit(class Fields& fields) = 0;
};

/// One line of a table of kinds.
template <class Base>
struct Kind {
  const char* name;
  const char* help;
  std::unique_ptr<Base> (*make)();
};

/// The chosen kind and its options; never without options once read.
template <class Base>
struct Chosen {
  std::string kind;
  std::shared_ptr<Base> options;
};

struct NamedConfig;  // core/config/config.h

class Fields {
 public:
  virtual ~Fields() = default;

  // -- Values with a default: the member's value before the call.
  virtual void integer(const char* name, int64_t& value, IntegerRange range, const char* help,
                       const char* unit = "") = 0;
  virtual void real(const char* name, double& value, RealRange range, const char* help,
                    const char* unit = "") = 0;
  virtual void boolean(const char* name, bool& value, const char* help) = 0;
  /// One of `choices` by index.
  virtual void choice(const char* name, int& index, std::span<const char* const> choices,
                      const char* help) = 0;
  virtual void text(const char* name, std::string& value, const char* help) = 0;

  // -- Values whose default is derived: unset means `fallback`, a text for people ("width /
  // heads").
  virtual void integer(const char* name, std::optional<int64_t>& value, IntegerRange range,
                       const char* fallback, const char* help, const char* unit = "") = 0;
  virtual void real(const char* name, std::optional<double>& value, RealRange range,
                    const char* fallback, const char* help, const char* unit = "") = 0;
  virtual void boolean(const char* name, std::optional<bool>& value, const char* fallback,
                       const char* help) = 0;

  // -- Lists, written [a, b]; a single value is a list of one.
  virtual void integers(const char* name, std::vector<int64_t>& values, IntegerRange range,
                        const char* help, const char* unit = "") = 0;
  virtual void reals(const char* name, std::vector<double>& values, RealRange range,
                     const char* help, const char* unit = "") = 0;
  virtual void texts(const char* name, std::vector<std::string>& values, const char* help) = 0;

  /// One of `words` or a number, as attention_scale: [rsqrt] or a number. `word` is "" when a
  /// number was given.
  virtual void word_or_real(const char* name, std::string& word, double& value,
                            std::span<const char* const> words, const char* help) = 0;
  /// true, false, or a list of `known` names, as bias: true or [query, value]. A list makes `value`
  /// true and fills `names`; without a list `names` is empty.
  virtual void boolean_or_names(const char* name, bool& value, std::vector<std::string>& names,
                                std::span<const char* const> known, const char* help) = 0;

  /// Sections of one kind, as many as there are: a map of name to section, or a list of sections
  /// without names. They are read later, each `into` options of its own.
  virtual void sections(const char* name, std::vector<NamedConfig>& values, const char* help) = 0;

  /// An enum whose values count from 0 in the order of `choices`.
  template <class E>
  void choose(const char* name, E& value, std::span<const char* const> choices, const char* help) {
    int index = static_cast<int>(value);
    choice(name, index, choices, help);
    value = static_cast<E>(index);
  }
  /// A nested section: `options.visit` is called between entering and leaving it.
  template <class Options>
  void section(const char* name, Options& options, const char* help) {
    if (!enter(name, help)) return;
    options.visit(*this);
    leave();
  }
  /// A section with a `kind` key that chooses its options; `chosen.kind` is the default.
  template <class Base>
  void kind(const char* name, Chosen<Base>& chosen, std::span<const Kind<Base>> kinds,
            const char* help);

 protected:
  /// False: skip the section.
  virtual bool enter(const char* name, const char* help) = 0;
  virtual void leave() = 0;
  /// True if every kind's options are to be visited, not only the chosen one's (`explain`).
  virtual bool wants_every_kind() const { return false; }
  /// Called around the options of a kind: what a change of the kind drops, unlike the section's
  /// own.
  virtual void enter_kind(const char* name, const char* help) { (void)name, (void)help; }
  virtual void leave_kind() {}
};

template <class Base>
void Fields::kind(const char* name, Chosen<Base>& chosen, std::span<const Kind<Base>> kinds,
                  const char* help) {
  if (!enter(name, help)) return;
  std::vector<const char*> names;
  int index = 0;
  for (const Kind<Base>& kind : kinds) {
    if (chosen.kind == kind.name) index = static_cast<int>(names.size());
    names.push_back(kind.name);
  }
  choice("kind", index, names, help);
  if (chosen.kind != kinds[index].name || !chosen.options) {
    chosen.kind = kinds[index].name;
    chosen.options = kinds[index].make();
  }
  if (wants_every_kind()) {
    for (const Kind<Base>& kind : kinds) {
      enter_kind(kind.name, kind.help);
      kind.make()->visit(*this);
      leave_kind();
    }
  } else {
    enter_kind(kinds[index].name, kinds[index].help);
    chosen.options->visit(*this);
    leave_kind();
  }
  leave();
}

}  // namespace tapemeasure

// SPDX-License-Identifier: MIT
// Options to YAML, and to a list of values with their origins.
#include "core/config/config.h"
#include "core/config/keys.h"
#include "core/config/value_fields.h"

namespace tapemeasure {
namespace {

class Writer final : public ValueFields {
 public:
  std::string take() { return yaml_.empty() ? "{}\n" : std::move(yaml_); }

 protected:
  void value(const char* name, const std::string& text) override {
    line(name);
    yaml_ += ' ' + text + '\n';
  }
  void unset(const char*, const char*) override {}
  bool enter(const char* name, const char*) override {
    line(name);
    yaml_ += '\n';
    begins_.push_back(yaml_.size());
    return true;
  }
  void leave() override {
    // A section in which nothing is set is still a section.
    if (yaml_.size() == begins_.back()) yaml_.insert(yaml_.size() - 1, " {}");
    begins_.pop_back();
  }

 private:
  void line(const char* name) {
    yaml_.append(2 * begins_.size(), ' ');
    yaml_ += name;
    yaml_ += ':';
  }

  std::string yaml_;
  std::vector<size_t> begins_;  // of the open sections
};

class Lister final : public ValueFields {
 public:
  explicit Lister(const Config& config) : config_(config) {}
  std::vector<ConfigValue> take() { return std::move(values_); }

 protected:
  void value(const char* name, const std::string& text) override {
    const std::string key = join_key(path_, name);
    std::string origin = config_.has(key) ? config_.place(key) : "default";
    if (origin.starts_with("--set ")) origin = "--set";
    values_.push_back({key, text, std::move(origin)});
  }
  void unset(const char* name, const char* fallback) override { value(name, fallback); }
  bool enter(const char* name, const char*) override {
    path_ = join_key(path_, name);
    return true;
  }
  void leave() override {
    const size_t dot = path_.rfind('.');
    path_.resize(dot == std::string::npos ? 0 : dot);
  }

 private:
  const Config& config_;
  std::string path_;
  std::vector<ConfigValue> values_;
};

}  // namespace

std::string write_config(const std::function<void(Fields&)>& visit) {
  Writer writer;
  visit(writer);
  return writer.take();
}

std::vector<ConfigValue> list_values(const Config& config,
                                     const std::function<void(Fields&)>& visit) {
  Lister lister(config);
  visit(lister);
  return lister.take();
}

}  // namespace tapemeasure

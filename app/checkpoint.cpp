// SPDX-License-Identifier: MIT
#include "app/checkpoint.h"

#include <fnmatch.h>

#include "core/error.h"
#include "core/host.h"

namespace tapemeasure {

namespace {

class Saver : public StateVisitor {
 public:
  explicit Saver(Hdf5Writer& file) : file_(file) {}
  bool loading() const override { return false; }
  void tensor(const std::string& name, const Tensor& value) override { file_.tensor(name, value); }
  void integer(const std::string& name, int64_t& value) override { file_.integer(name, value); }
  void real(const std::string& name, double& value) override { file_.real(name, value); }
  void text(const std::string& name, std::string& value) override { file_.text(name, value); }

 private:
  Hdf5Writer& file_;
};

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

const char* name_of_type(ElementType type) {
  constexpr const char* kNames[] = {"u8", "u16", "u32", "i32", "i64", "f32", "f64", "bf16"};
  return kNames[static_cast<int>(type)];
}

/// What differs between a tensor and what the file holds under `name`, or "".
std::string difference(const Hdf5Reader& file, const std::string& name, const Tensor& value) {
  const std::string expected = fmt::format("{} {}", name_of(value.dtype()), value.shape().str());
  if (!file.has(name)) return fmt::format("expected {}, found nothing", expected);
  const ArrayInfo info = file.info(name);
  bool same = static_cast<int>(info.shape.size()) == value.shape().axes() &&
              info.type == element_type(value.dtype());
  for (int axis = 0; same && axis < value.shape().axes(); ++axis) {
    same = info.shape[static_cast<size_t>(axis)] == value.shape()[axis];
  }
  if (same) return "";
  return fmt::format("expected {}, found {} {}", expected, name_of_type(info.type),
                     shape_text(info.shape));
}

class Loader : public StateVisitor {
 public:
  explicit Loader(const Hdf5Reader& file) : file_(file) {}
  bool loading() const override { return true; }
  void tensor(const std::string& name, const Tensor& value) override {
    const std::string problem = difference(file_, name, value);
    check<CheckpointError>(problem.empty(), "{}: {}: {}", file_.path(), name, problem);
    file_.read(name, element_type(value.dtype()), value.raw());
  }
  void integer(const std::string& name, int64_t& value) override {
    want(name);
    value = file_.integer(name);
  }
  void real(const std::string& name, double& value) override {
    want(name);
    value = file_.real(name);
  }
  void text(const std::string& name, std::string& value) override {
    want(name);
    value = file_.text(name);
  }

 private:
  void want(const std::string& name) const {
    check<CheckpointError>(file_.has(name), "{}: {}: expected a value, found nothing", file_.path(),
                           name);
  }
  const Hdf5Reader& file_;
};

}  // namespace

void save_checkpoint(const std::string& path, const std::function<void(StateVisitor&)>& visit) {
  Hdf5Writer file(kCheckpointFormat);
  Saver saver(file);
  visit(saver);
  file.write(path);
}

void load_checkpoint(const Hdf5Reader& file, const std::function<void(StateVisitor&)>& visit) {
  Loader loader(file);
  visit(loader);
}

Hdf5Reader open_checkpoint(const std::string& path) {
  Hdf5Reader file(path);
  check<CheckpointError>(file.format() == kCheckpointFormat,
                         "{}: not a checkpoint of this program: its format is '{}', '{}' is wanted",
                         path, file.format(), kCheckpointFormat);
  return file;
}

void visit_parameters(StateVisitor& v, ParameterStore& store) {
  for (const Parameter& parameter : store.all()) {
    v.tensor("parameters/" + parameter.name, parameter.value);
  }
}

std::vector<std::string> load_parameters(const Hdf5Reader& file, ParameterStore& store,
                                         const std::string& allow_missing) {
  const auto allowed = [&](const std::string& name) {
    return !allow_missing.empty() && fnmatch(allow_missing.c_str(), name.c_str(), 0) == 0;
  };
  std::vector<std::string> unchanged, problems;
  for (const Parameter& parameter : store.all()) {
    const std::string place = "parameters/" + parameter.name;
    const std::string problem = difference(file, place, parameter.value);
    if (problem.empty()) {
      file.read(place, element_type(parameter.value.dtype()), parameter.value.raw());
    } else if (allowed(parameter.name)) {
      unchanged.push_back(parameter.name);
    } else {
      problems.push_back(parameter.name + ": " + problem);
    }
  }
  constexpr std::string_view kGroup = "parameters/";
  for (const ArrayInfo& info : file.list("parameters")) {
    const std::string name = info.name.substr(kGroup.size());
    if (store.find(name) != nullptr || allowed(name)) continue;
    problems.push_back(fmt::format("{}: expected nothing, found {} {}", name,
                                   name_of_type(info.type), shape_text(info.shape)));
  }
  check<CheckpointError>(problems.empty(), "{}: {}", file.path(), fmt::join(problems, "; "));
  return unchanged;
}

}  // namespace tapemeasure

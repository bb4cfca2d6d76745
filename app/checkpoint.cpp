// SPDX-License-Identifier: MIT
#include "app/checkpoint.h"

#include <fnmatch.h>

#include "core/error.h"
#include "core/file/state_file.h"

namespace tapemeasure {

void save_checkpoint(const std::string& path, const std::function<void(StateVisitor&)>& visit) {
  Hdf5Writer file(kCheckpointFormat);
  StateWriter writer(file);
  visit(writer);
  file.write(path);
}

void load_checkpoint(const Hdf5Reader& file, const std::function<void(StateVisitor&)>& visit) {
  StateReader reader(file);
  visit(reader);
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

void visit_data(StateVisitor& v, std::vector<TextFingerprint>& texts) {
  auto count = static_cast<int64_t>(texts.size());
  v.integer("data/texts", count);
  texts.resize(static_cast<size_t>(count));
  for (size_t i = 0; i < texts.size(); ++i) {
    visit_fingerprint(v, fmt::format("data/{}", i), texts[i]);
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
    const std::string problem = mismatch(file, place, parameter.value);
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
    problems.push_back(fmt::format("{}: expected nothing, found {} {}", name, name_of(info.type),
                                   info.shape_text()));
  }
  check<CheckpointError>(problems.empty(), "{}: {}", file.path(), fmt::join(problems, "; "));
  return unchanged;
}

}  // namespace tapemeasure

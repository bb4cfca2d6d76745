// SPDX-License-Identifier: MIT
#include "core/file/state_file.h"

#include "core/error.h"

namespace tapemeasure {

void StateWriter::tensor(const std::string& name, const Tensor& value) {
  file_.tensor(name, value);
}
void StateWriter::integer(const std::string& name, int64_t& value) { file_.integer(name, value); }
void StateWriter::real(const std::string& name, double& value) { file_.real(name, value); }
void StateWriter::text(const std::string& name, std::string& value) { file_.text(name, value); }

void StateReader::tensor(const std::string& name, const Tensor& value) {
  const std::string problem = mismatch(file_, name, value);
  check<CheckpointError>(problem.empty(), "{}: {}: {}", file_.path(), name, problem);
  file_.read(name, element_type(value.dtype()), value.raw());
}

void StateReader::integer(const std::string& name, int64_t& value) {
  want(name);
  value = file_.integer(name);
}

void StateReader::real(const std::string& name, double& value) {
  want(name);
  value = file_.real(name);
}

void StateReader::text(const std::string& name, std::string& value) {
  want(name);
  value = file_.text(name);
}

void StateReader::want(const std::string& name) const {
  check<CheckpointError>(file_.has(name), "{}: {}: expected a value, found nothing", file_.path(),
                         name);
}

std::string mismatch(const Hdf5Reader& file, const std::string& name, const Tensor& value) {
  const std::string expected = fmt::format("{} {}", name_of(value.dtype()), value.shape());
  if (!file.has(name)) return fmt::format("expected {}, found nothing", expected);
  const ArrayInfo info = file.info(name);
  const std::string found = fmt::format("{} {}", name_of(info.type), info.shape_text());
  return found == expected ? "" : fmt::format("expected {}, found {}", expected, found);
}

}  // namespace tapemeasure

// SPDX-License-Identifier: MIT
// Writes a small checkpoint-like file: fault_writer PATH TAG. Exits with 4 and a line on a failure.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/error.h"
#include "core/file/hdf5_file.h"

int main(int, char** arguments) {
  try {
    const int64_t tag = std::atoi(arguments[2]);
    tapemeasure::Hdf5Writer writer("fault-test 1");
    writer.integer("tag", tag);
    const std::vector<float> values(50'000, static_cast<float>(tag));
    const int64_t shape[] = {50, 1000};
    writer.array("parameters/weight", tapemeasure::ElementType::kF32, shape, values.data());
    writer.write(arguments[1]);
  } catch (const tapemeasure::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return static_cast<int>(e.code());
  }
  return 0;
}

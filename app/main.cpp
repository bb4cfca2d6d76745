// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "app/command_line.h"

namespace {

/// Threads that wait for each other by spinning for long stand in each other's way as soon as
/// anything else runs on the machine: steps then take ten times as long. libgomp takes the limit
/// from the environment alone, and only when it is loaded, so it is set there and the program
/// begins again.
void limit_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  setenv("GOMP_SPINCOUNT", "1000", 1);
  execv("/proc/self/exe", argv);  // when that is not possible, go on as we are
}

/// Were one of the three standard descriptors closed, the next file to be opened would get its
/// number, and what is said to the user would be written into that file.
void open_closed_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) == -1) (void)open("/dev/null", O_RDWR);
  }
}

}  // namespace

int main(int argc, char** argv) {
  open_closed_streams();
  limit_spinning(argv);
  return tapemeasure::run_command_line(argc, argv);
}

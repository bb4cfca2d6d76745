// SPDX-License-Identifier: MIT
// Preloaded into a program, it makes the n-th write to a file, fsync or rename go wrong:
//   FAULT_AT=N FAULT_ACTION=before | after | half | ERRNO
// before, after: SIGKILL then; half: half of the bytes are written, then SIGKILL; a number: the
// call fails with this errno.
#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// The action if this call is the one, else "".
std::string action() {
  static int calls = 0;
  const char* at = std::getenv("FAULT_AT");
  const char* action = std::getenv("FAULT_ACTION");
  return at && action && ++calls == std::atoi(at) ? action : "";
}

template <class Call, class Half>
auto faulty(Call call, Half half) -> decltype(call()) {
  const std::string what = action();
  if (what.empty()) return call();
  if (what == "half") half();
  if (what == "after") call();
  if (what == "before" || what == "half" || what == "after") kill(getpid(), SIGKILL);
  errno = std::atoi(what.c_str());
  return -1;
}

}  // namespace

extern "C" ssize_t write(int fd, const void* data, size_t size) {
  const auto real = next<ssize_t(int, const void*, size_t)>("write");
  struct stat status;
  // What a program says is not what it keeps.
  const bool keeps = fd > STDERR_FILENO && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  if (!keeps) return real(fd, data, size);
  return faulty([&] { return real(fd, data, size); }, [&] { real(fd, data, size / 2); });
}

extern "C" int fsync(int fd) {
  return faulty([&] { return next<int(int)>("fsync")(fd); }, [] {});
}

extern "C" int rename(const char* from, const char* to) {
  return faulty([&] { return next<int(const char*, const char*)>("rename")(from, to); }, [] {});
}

// Preloaded under a program that saves files: kills it (SIGKILL) before one of the system calls by
// which files change: write, fsync, rename, unlink and their kin.
//
//   LOCKSTEP_KILL_PATH=text   only calls on paths that contain the text are counted
//   LOCKSTEP_KILL_AT=n        kills before counted call n, from 1; half of a write is done first
//   LOCKSTEP_KILL_LOG=file    one line for each counted call: its name and the path

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

using WriteCall = ssize_t (*)(int, const void*, std::size_t);

std::string path_of(int descriptor) {
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  return ::readlink(link.c_str(), path.data(), path.size() - 1) > 0 ? path.data() : "";
}

/// Counts a call; true when the process is to die before it.
bool due(const char* call, const std::string& path) {
  static std::atomic<long> count{0};
  const char* part = std::getenv("LOCKSTEP_KILL_PATH");
  if (part == nullptr || path.find(part) == std::string::npos) return false;
  const long number = ++count;
  if (const char* log = std::getenv("LOCKSTEP_KILL_LOG")) {
    const int file = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    const std::string line = std::string(call) + " " + path + "\n";
    static_cast<void>(next<WriteCall>("write")(file, line.data(), line.size()));
    ::close(file);
  }
  const char* at = std::getenv("LOCKSTEP_KILL_AT");
  return at != nullptr && number == std::strtol(at, nullptr, 10);
}

void die_if_due(const char* call, const std::string& path) {
  if (due(call, path)) ::kill(::getpid(), SIGKILL);
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* data, std::size_t bytes) {
  const auto real = next<WriteCall>("write");
  if (due("write", path_of(descriptor))) {
    static_cast<void>(real(descriptor, data, bytes / 2));
    ::kill(::getpid(), SIGKILL);
  }
  return real(descriptor, data, bytes);
}

int fsync(int descriptor) {
  die_if_due("fsync", path_of(descriptor));
  return next<int (*)(int)>("fsync")(descriptor);
}

int fdatasync(int descriptor) {
  die_if_due("fdatasync", path_of(descriptor));
  return next<int (*)(int)>("fdatasync")(descriptor);
}

int rename(const char* from, const char* to) {
  die_if_due("rename", to);
  return next<int (*)(const char*, const char*)>("rename")(from, to);
}

int mkdir(const char* path, mode_t mode) {
  die_if_due("mkdir", path);
  return next<int (*)(const char*, mode_t)>("mkdir")(path, mode);
}

int unlink(const char* path) {
  die_if_due("unlink", path);
  return next<int (*)(const char*)>("unlink")(path);
}

int remove(const char* path) {
  die_if_due("remove", path);
  return next<int (*)(const char*)>("remove")(path);
}

int unlinkat(int folder, const char* path, int flags) {
  die_if_due("unlinkat", path[0] == '/' ? path : path_of(folder) + "/" + path);
  return next<int (*)(int, const char*, int)>("unlinkat")(folder, path, flags);
}

int rmdir(const char* path) {
  die_if_due("rmdir", path);
  return next<int (*)(const char*)>("rmdir")(path);
}

}  // extern "C"

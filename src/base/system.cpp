#include "lockstep/base/system.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>

#include "lockstep/base/check.hpp"

namespace lockstep {

std::int64_t read_at(int descriptor, void* out, std::size_t bytes, std::int64_t offset) noexcept {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(descriptor, static_cast<char*>(out) + done, bytes - done,
                              offset + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<std::int64_t>(done);
}

bool write_at(int descriptor, const void* data, std::size_t bytes, std::int64_t offset) noexcept {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::pwrite(descriptor, from, bytes, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return false;
    from += n;
    bytes -= static_cast<std::size_t>(n);
    offset += n;
  }
  return true;
}

namespace {

/// Calls `sync` with a descriptor of the folder. The error number, 0 for none.
int with_folder(const std::string& folder, std::string_view hint, int (*sync)(int)) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  require(descriptor >= 0, "cannot open folder '" + folder + "'", errno_text(), hint);
  const int reason = sync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  return reason;
}

}  // namespace

void sync_folder(const std::string& folder, std::string_view hint) {
  int reason = with_folder(folder, hint, ::fsync);
  // Some network file systems have no fsync for folders; the files themselves are synced.
  if (reason == EINVAL || reason == ENOSYS || reason == EOPNOTSUPP) reason = 0;
  errno = reason;
  require(reason == 0, "cannot sync folder '" + folder + "'", errno_text(), hint);
}

void sync_file_system(const std::string& folder, std::string_view hint) {
  errno = with_folder(folder, hint, ::syncfs);
  require(errno == 0, "cannot sync the file system of '" + folder + "'", errno_text(), hint);
}

void turn_signal_into_error(int signal) noexcept {
  struct sigaction action {};
  if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
    action.sa_handler = SIG_IGN;
    ::sigaction(signal, &action, nullptr);
  }
}

void hold_standard_streams() noexcept {
  for (int stream = 0; stream <= STDERR_FILENO; ++stream) {
    // The lowest number that is free is this one. Not for writing: what is lost shall be told.
    if (::fcntl(stream, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDONLY));
  }
}

void end_process(int code) noexcept {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  std::exit(code);
#else
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  std::_Exit(code);
#endif
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

ProcessMemory process_memory() {
  constexpr std::int64_t kKibibyte = 1024;
  ProcessMemory memory;
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    std::int64_t kib = 0;
    if (key == "VmRSS:" && status >> kib) memory.resident = kib * kKibibyte;
    if (key == "VmHWM:" && status >> kib) memory.peak = kib * kKibibyte;
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  // Some containers show the one without the other.
  memory.peak = std::max(memory.peak, memory.resident);
  return memory;
}

}  // namespace lockstep

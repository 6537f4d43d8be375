#include "lockstep/base/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lockstep/base/check.hpp"
#include "lockstep/base/system.hpp"

namespace lockstep {

std::string read_whole_file(const std::string& path, std::int64_t limit, Bytes& bytes) {
  // Opening a pipe in place of a file must not wait.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return errno_text();
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return errno_text();
  if (!S_ISREG(status.st_mode)) return "it is not a regular file";
  if (status.st_size > limit) {
    return "it is larger than " + std::to_string(limit >> 20U) + " MiB";
  }
  bytes.resize(static_cast<std::size_t>(status.st_size));
  const std::int64_t n = read_at(descriptor, bytes.data(), bytes.size(), 0);
  if (n < 0) return errno_text();
  return n < status.st_size ? "it became shorter while it was read" : "";
}

}  // namespace lockstep

#include "lib/gzip_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>

#include "lib/stop.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep::tools {
namespace {

constexpr std::size_t kStep = 1U << 20U;  // between looks at stop requests

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error("cannot read '" + path + "'", why, "check the file, or download it again");
}

/// The reason in zlib's words "NAME: reason".
std::string reason_in(const std::string& text) {
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

}  // namespace

GzipFile::GzipFile(std::string path) : path_(std::move(path)), file_(nullptr) {
  // Opening a pipe in place of a file must not wait.
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const std::string hint = "give the name of a file that can be read";
  if (descriptor < 0) throw UsageError("cannot read '" + path_ + "'", errno_text(), hint);
  struct stat status {};
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (regular) file_ = gzdopen(descriptor, "rb");
  if (file_ == nullptr) {
    ::close(descriptor);
    throw UsageError("cannot read '" + path_ + "'",
                     regular ? "there is not enough memory" : "it is not a regular file", hint);
  }
}

GzipFile::~GzipFile() { gzclose(file_); }

std::size_t GzipFile::read(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    throw_if_stopped();
    const std::size_t wanted = std::min(out.size() - done, kStep);
    errno = 0;
    const int n = gzread(file_, out.data() + done, static_cast<unsigned>(wanted));
    const std::string system_error = errno == 0 ? "" : errno_text();
    int code = Z_OK;
    const std::string text = gzerror(file_, &code);
    // A file that ends within gzip's data gives what there is, and this code.
    if (code == Z_BUF_ERROR) refuse(path_, "it is cut off: its gzip data has no end");
    if (code == Z_ERRNO) refuse(path_, system_error);
    if (n < 0) refuse(path_, "it is damaged (" + reason_in(text) + ")");
    done += static_cast<std::size_t>(n);
    if (static_cast<std::size_t>(n) < wanted) break;
  }
  return done;
}

}  // namespace lockstep::tools

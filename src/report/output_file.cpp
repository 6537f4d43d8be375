#include "output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace lockstep::report {
namespace fs = std::filesystem;

bool OutputFile::open(const std::string& path) {
  std::error_code error;
  path_ = path;
  if (fs::is_symlink(path_, error)) {
    path_ = fs::weakly_canonical(path_, error).string();
  }
  const fs::file_status status = fs::status(path_, error);
  direct_ = fs::exists(status) && !fs::is_regular_file(status);
  if (!direct_ && fs::exists(status) && ::access(path_.c_str(), W_OK) != 0) {
    return false;
  }
  const int descriptor = direct_ ? ::open(path_.c_str(), O_WRONLY | O_CLOEXEC) : open_staged();
  if (descriptor < 0) {
    return false;
  }
  stream_ = ::fdopen(descriptor, "w");
  return stream_ != nullptr;
}

/// Without a name, so that nothing is left when the process is killed; with one of its own where
/// the file system has no such files.
int OutputFile::open_staged() {
  const fs::path parent = fs::path(path_).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const int nameless = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (nameless >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) {
    return nameless;
  }
  staged_ = path_ + ".tmp-XXXXXX";
  const int named = ::mkostemp(staged_.data(), O_CLOEXEC);
  if (named < 0) {
    staged_.clear();
    return named;
  }
  const mode_t mask = ::umask(0);  // mkostemp lets nobody else read
  ::umask(mask);
  static_cast<void>(::fchmod(named, 0666 & ~mask));
  return named;
}

OutputFile::~OutputFile() {
  if (stream_ != nullptr) {
    std::fclose(stream_);
  }
  if (!staged_.empty()) {
    ::unlink(staged_.c_str());
  }
}

bool OutputFile::put_in_place() {
  if (direct_) {
    return true;
  }
  if (staged_.empty()) {
    // A name is taken by making it: rename alone replaces, and cannot give the first one.
    std::string name = path_ + ".tmp-XXXXXX";
    const int taken = ::mkostemp(name.data(), O_CLOEXEC);
    if (taken < 0) {
      return false;
    }
    ::close(taken);
    ::unlink(name.c_str());
    const std::string self = "/proc/self/fd/" + std::to_string(::fileno(stream_));
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return false;
    }
    staged_ = name;
  }
  if (::rename(staged_.c_str(), path_.c_str()) != 0) {
    return false;
  }
  staged_.clear();
  return true;
}

bool OutputFile::close() {
  if (std::fflush(stream_) != 0) {
    return false;
  }
  const bool synced = ::fsync(::fileno(stream_)) == 0 || errno == EINVAL || errno == EROFS;
  if (!synced || !put_in_place()) {
    return false;
  }
  std::FILE* stream = stream_;
  stream_ = nullptr;
  return std::fclose(stream) == 0;
}

}  // namespace lockstep::report

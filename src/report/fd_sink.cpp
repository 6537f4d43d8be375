#include "fd_sink.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "lockstep/base/check.hpp"

namespace lockstep::report {

FdSink::FdSink(std::FILE* stream, std::string name, spdlog::level::level_enum from,
               spdlog::level::level_enum to)
    : stream_(stream), fd_(::fileno(stream)), name_(std::move(name)), from_(from), to_(to) {}

FdSink::FdSink(const std::string& file)
    : fd_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)), name_(file) {
  if (fd_ < 0) {
    throw Error("the log file " + file + " cannot be opened", errno_text(),
                "check the folder's permissions and the free space");
  }
}

FdSink::~FdSink() {
  if (stream_ == nullptr) ::close(fd_);
}

std::string FdSink::take_failure() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failure_, {});
}

bool FdSink::failed() {
  const std::lock_guard lock(mutex_);
  return reported_;
}

void FdSink::sink_it_(const spdlog::details::log_msg& message) {
  if (message.level < from_ || message.level > to_) return;
  // What others printed to the same stream comes first; what fails here is theirs to notice.
  if (stream_ != nullptr) std::fflush(stream_);
  spdlog::memory_buf_t line;
  formatter_->format(message, line);
  std::string text;
  if (torn_) text += '\n';
  if (lost_ > 0) text += "[" + std::to_string(lost_) + " lines are missing here]\n";
  text.append(line.data(), line.size());
  if (put(text)) {
    lost_ = 0;
    torn_ = false;
  } else {
    ++lost_;
  }
}

bool FdSink::put(std::string_view text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(fd_, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      if (done > 0) torn_ = true;
      note_failure(count < 0 ? errno : ENOSPC);
      return false;
    }
    done += static_cast<std::size_t>(count);
  }
  return true;
}

void FdSink::note_failure(int error) {
  if (std::exchange(reported_, true)) return;
  failure_ = name_ + " cannot be written (" + std::generic_category().message(error) +
             ") - the run goes on, lines are missing there";
}

}  // namespace lockstep::report

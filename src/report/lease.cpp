#include "lease.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "lease_holder.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/system.hpp"

namespace lockstep::report {
namespace {

[[noreturn]] void refuse_held(const std::string& file, const std::string& holder) {
  throw UsageError("the lease " + file + " is held", "by " + holder,
                   "choose another run.name, or wait for that run to end");
}

}  // namespace

Lease::Lease(const std::string& folder, std::chrono::milliseconds heartbeat, std::string silent)
    : file_(folder + kLeaseFile), heartbeat_(heartbeat), silent_(std::move(silent)) {
  const nlohmann::ordered_json about = {{"host", host_name()},
                                        {"pid", static_cast<std::int64_t>(::getpid())},
                                        {"job", slurm_job()},
                                        {"restart", slurm_restarts()},
                                        {"pid_namespace", pid_namespace()},
                                        {"start_ticks", process_start(::getpid())}};
  before_ = about.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  before_.back() = ',';
  before_ += "\"heartbeat\":";
  after_ = "}\n";
  create();
  thread_ = std::thread([this] { renew(); });
}

void Lease::create() {
  // Linked to its name whole: one that finds it empty would take it for nobody's.
  const std::string beside = file_ + ".new-" + host_name() + "-" + std::to_string(::getpid());
  fd_ = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool placed = false;
  std::string why;
  try {
    placed = fd_ >= 0 && write() && put_in_place(beside);
    why = errno_text();
  } catch (...) {
    ::unlink(beside.c_str());
    ::close(fd_);
    throw;
  }
  ::unlink(beside.c_str());
  if (!placed) {
    if (fd_ >= 0) ::close(fd_);
    throw Error("the lease " + file_ + " cannot be written", why,
                "free space on the disk or check permissions");
  }
}

/// False with errno set when that cannot be done.
bool Lease::put_in_place(const std::string& beside) {
  if (::link(beside.c_str(), file_.c_str()) == 0) return true;
  if (errno == EEXIST) return take_over(beside);
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return false;
  // A file system without hard links.
  const int fd = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return errno == EEXIST && take_over(beside);
  ::close(std::exchange(fd_, fd));
  return write();
}

/// Puts the new lease in the place of one that nobody holds, in one step, so that the place is
/// never empty. Of several that find the same one a lock on it lets one through; the next then
/// finds another file there, and looks again.
bool Lease::take_over(const std::string& beside) {
  struct stat mine {};
  struct stat there {};
  for (;;) {
    const int old = ::open(file_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (old < 0 && errno == ENOENT) {  // its holder has just left, or it is a link to nothing
      if (::link(beside.c_str(), file_.c_str()) == 0) return true;
      if (errno == EEXIST && (::lstat(file_.c_str(), &there) != 0 || !S_ISLNK(there.st_mode))) {
        continue;
      }
      return ::rename(beside.c_str(), file_.c_str()) == 0;
    }
    if (old < 0) return false;
    const auto close_old = std::shared_ptr<void>(nullptr, [old](void*) { ::close(old); });
    static_cast<void>(::flock(old, LOCK_EX));  // where there are no locks, as well as can be
    const bool same = ::fstat(old, &mine) == 0 && ::stat(file_.c_str(), &there) == 0 &&
                      mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
    if (!same) continue;
    if (const auto holder = holder_of(read_lease_text(file_), silent_)) {
      refuse_held(file_, holder->text());
    }
    if (S_ISDIR(mine.st_mode)) std::remove(file_.c_str());
    return ::rename(beside.c_str(), file_.c_str()) == 0;
  }
}

Lease::~Lease() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  if (is_ours()) ::unlink(file_.c_str());
  ::close(fd_);
}

bool Lease::is_ours() const noexcept {
  struct stat mine {};
  struct stat there {};
  return ::fstat(fd_, &mine) == 0 && ::stat(file_.c_str(), &there) == 0 &&
         mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

void Lease::require_held() const {
  require(is_ours(), "the lease " + file_ + " was lost",
          "another job took this one for gone, or somebody removed the file",
          "let one of them go on: what was saved before is whole");
}

void Lease::renew() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, heartbeat_, [this] { return stop_; })) {
    // A failure here ends nothing: the process stays visible on its host, and the next try follows.
    lock.unlock();
    static_cast<void>(write());
    lock.lock();
  }
}

bool Lease::write() noexcept {
  const std::string text = before_ + std::to_string(seconds_since_epoch()) + after_;
  const ssize_t count = ::pwrite(fd_, text.data(), text.size(), 0);
  if (count >= 0 && static_cast<std::size_t>(count) < text.size()) errno = ENOSPC;
  // A network file system shows others what is synced; one that cannot sync shows it at once.
  static_cast<void>(::fdatasync(fd_));
  return count == static_cast<ssize_t>(text.size());
}

std::string probable_lease_holder(const std::string& folder) {
  const auto holder = holder_of(read_lease_text(folder + kLeaseFile), {});
  const bool holds = holder && (holder->on_this_machine() || !holder->old());
  return holds ? holder->text() : std::string();
}

std::string lease_holder(const std::string& folder, const std::string& silent) {
  const auto holder = holder_of(read_lease_text(folder + kLeaseFile), silent);
  return holder ? holder->text() : std::string();
}

}  // namespace lockstep::report

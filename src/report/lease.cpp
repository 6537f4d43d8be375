#include "lease.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lockstep/base/check.hpp"
#include "lockstep/base/system.hpp"

namespace lockstep::report {

namespace {

constexpr const char* kLeaseFile = "/lease.json";

/// Process numbers mean the same only within one PID namespace (containers share host names).
std::string pid_namespace() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
}

/// Start time of a process in clock ticks since boot, 0 when unknown: tells a process from a later
/// one that was given the same number.
std::int64_t start_ticks(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  // The second field is the command's name in parentheses and may hold anything; the start time is
  // field 22, the 20th after it.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < 19; ++i) fields >> field;
  std::int64_t ticks = 0;
  fields >> ticks;
  return fields ? ticks : 0;
}

std::int64_t seconds_since_epoch() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool process_alive(std::int64_t pid, std::int64_t started) {
  if (pid <= 0 || (::kill(static_cast<pid_t>(pid), 0) != 0 && errno != EPERM)) return false;
  const std::int64_t now_started = start_ticks(pid);
  return started == 0 || now_started == 0 || now_started == started;
}

}  // namespace

Lease::Lease(const std::string& folder, std::chrono::milliseconds heartbeat)
    : file_(folder + kLeaseFile), heartbeat_(heartbeat) {
  const char* job = std::getenv("SLURM_JOB_ID");
  const nlohmann::ordered_json about = {{"host", host_name()},
                                        {"pid", static_cast<std::int64_t>(::getpid())},
                                        {"job", job != nullptr ? job : ""},
                                        {"pid_namespace", pid_namespace()},
                                        {"start_ticks", start_ticks(::getpid())}};
  before_ = about.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  before_.back() = ',';
  before_ += "\"heartbeat\":";
  after_ = "}\n";

  fd_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0 || !write()) {
    const std::string why = errno_text();
    if (fd_ >= 0) {
      ::close(fd_);
      ::unlink(file_.c_str());
    }
    throw Error("the lease " + file_ + " cannot be written", why,
                "free space on the disk or check permissions");
  }
  thread_ = std::thread([this] { renew(); });
}

Lease::~Lease() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  ::close(fd_);
  ::unlink(file_.c_str());
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
  return count == static_cast<ssize_t>(text.size());
}

std::string live_lease_holder(const std::string& folder) {
  std::ifstream file(folder + kLeaseFile);
  if (!file) return {};
  const nlohmann::json lease = nlohmann::json::parse(file, nullptr, false);
  if (!lease.is_object()) return {};
  std::string host;
  std::string job;
  std::string space;
  std::int64_t pid = 0;
  std::int64_t started = 0;
  std::int64_t beat = 0;
  try {
    host = lease.value("host", "");
    job = lease.value("job", "");
    space = lease.value("pid_namespace", "");
    pid = lease.value("pid", std::int64_t{0});
    started = lease.value("start_ticks", std::int64_t{0});
    beat = lease.value("heartbeat", std::int64_t{0});
  } catch (const nlohmann::json::exception&) {
    return {};  // no lease of ours
  }
  const std::int64_t age = seconds_since_epoch() - beat;
  const bool our_machine = host == host_name() && (space.empty() || space == pid_namespace());
  const bool alive = our_machine ? process_alive(pid, started) : age < kLeaseTimeout.count();
  if (!alive) return {};
  return "process " + std::to_string(pid) + " on host " + host +
         (job.empty() ? "" : ", job " + job) + ", last heartbeat " + std::to_string(age) + " s ago";
}

}  // namespace lockstep::report

#include "lease.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "lockstep/base/check.hpp"
#include "lockstep/base/durable_file.hpp"
#include "lockstep/base/json_text.hpp"
#include "lockstep/base/system.hpp"
#include "lockstep/report/lease_watch.hpp"

namespace lockstep::report {

namespace {

constexpr const char* kLeaseFile = "/lease.json";

/// Process numbers mean the same only within one PID namespace (containers share host names).
std::string pid_namespace() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
}

/// What the system says of a process.
struct ProcessInfo {
  char state = 0;            ///< 'R', 'S', 'Z', ...; 0 when unknown
  std::int64_t started = 0;  ///< clock ticks since boot, 0 when unknown: tells a process from a
                             ///< later one that was given the same number
};

ProcessInfo process_info(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  // The second field is the command's name in parentheses and may hold anything; the start time is
  // field 22, the 20th after it.
  const std::size_t name_end = text.rfind(')');
  ProcessInfo info;
  if (name_end == std::string::npos) return info;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  fields >> info.state;
  for (int i = 0; i < 18; ++i) fields >> field;
  fields >> info.started;
  return fields ? info : ProcessInfo();
}

std::int64_t seconds_since_epoch() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool process_alive(std::int64_t pid, std::int64_t started) {
  if (pid <= 0 || (::kill(static_cast<pid_t>(pid), 0) != 0 && errno != EPERM)) return false;
  const ProcessInfo now = process_info(pid);
  // One that has ended and waits for its parent to ask holds nothing any more.
  if (now.state == 'Z' || now.state == 'X') return false;
  return started == 0 || now.started == 0 || now.started == started;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// How often Slurm has begun this job again.
std::int64_t restarts() {
  const std::string text = environment("SLURM_RESTART_COUNT");
  std::int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

/// What a lease file says.
struct Holder {
  std::string host;
  std::string job;
  std::string pid_space;
  std::int64_t restart = 0;
  std::int64_t pid = 0;
  std::int64_t started = 0;
  std::int64_t heartbeat = 0;

  [[nodiscard]] bool on_this_machine() const {
    return host == host_name() && (pid_space.empty() || pid_space == pid_namespace());
  }
  [[nodiscard]] std::int64_t age() const { return seconds_since_epoch() - heartbeat; }
  [[nodiscard]] bool of_earlier_start() const {
    return !job.empty() && job == environment("SLURM_JOB_ID") && restart < restarts();
  }
  /// Whether it can be known from here that nobody holds it any more.
  [[nodiscard]] bool gone() const {
    return of_earlier_start() || (on_this_machine() && !process_alive(pid, started));
  }
  [[nodiscard]] bool old() const { return age() >= kLeaseTimeout.count(); }
  [[nodiscard]] std::string text() const {
    return "process " + std::to_string(pid) + " on host " + host +
           (job.empty() ? "" : ", job " + job) + ", last heartbeat " + std::to_string(age()) +
           " s ago";
  }
};

/// Empty when there is no such file, or it cannot be read.
std::string read_text(const std::string& path) {
  try {
    return read_file(path);
  } catch (const Error&) {
    return {};
  }
}

/// Nothing when the text is no lease of ours.
std::optional<Holder> parse_lease(const std::string& text) {
  if (!json_fault(text).empty()) return std::nullopt;
  const nlohmann::json lease = nlohmann::json::parse(text, nullptr, false);
  if (!lease.is_object()) return std::nullopt;
  try {
    Holder holder;
    holder.host = lease.value("host", "");
    holder.job = lease.value("job", "");
    holder.pid_space = lease.value("pid_namespace", "");
    holder.restart = lease.value("restart", std::int64_t{0});
    holder.pid = lease.value("pid", std::int64_t{0});
    holder.started = lease.value("start_ticks", std::int64_t{0});
    holder.heartbeat = lease.value("heartbeat", std::int64_t{0});
    return holder;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

/// The holder that keeps others out; nothing when the lease may be taken away.
std::optional<Holder> holder_of(const std::string& text, const std::string& silent) {
  if (text.empty() || text == silent) return std::nullopt;
  auto holder = parse_lease(text);
  return holder && !holder->gone() ? holder : std::nullopt;
}

[[noreturn]] void refuse_held(const std::string& file, const std::string& holder) {
  throw UsageError("the lease " + file + " is held", "by " + holder,
                   "choose another run.name, or wait for that run to end");
}

}  // namespace

Lease::Lease(const std::string& folder, std::chrono::milliseconds heartbeat, std::string silent)
    : file_(folder + kLeaseFile), heartbeat_(heartbeat), silent_(std::move(silent)) {
  const nlohmann::ordered_json about = {{"host", host_name()},
                                        {"pid", static_cast<std::int64_t>(::getpid())},
                                        {"job", environment("SLURM_JOB_ID")},
                                        {"restart", restarts()},
                                        {"pid_namespace", pid_namespace()},
                                        {"start_ticks", process_info(::getpid()).started}};
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
  if (errno == EEXIST) {
    remove_stale();
    if (::link(beside.c_str(), file_.c_str()) == 0) return true;
    if (errno == EEXIST) refuse_held(file_, "another job that began at the same time");
  }
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return false;
  // A file system without hard links.
  if (::access(file_.c_str(), F_OK) == 0) remove_stale();
  ::close(fd_);
  fd_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  return fd_ >= 0 && write();
}

void Lease::remove_stale() const {
  if (const auto holder = holder_of(read_text(file_), silent_)) {
    refuse_held(file_, holder->text());
  }
  // Of two that find the same stale lease one may take away the new lease of the other: it is
  // looked at again where nobody else can change it, and put back.
  const std::string aside = file_ + ".stale-" + host_name() + "-" + std::to_string(::getpid());
  if (::rename(file_.c_str(), aside.c_str()) != 0) return;
  if (const auto holder = holder_of(read_text(aside), silent_)) {
    static_cast<void>(::link(aside.c_str(), file_.c_str()));
    ::unlink(aside.c_str());
    refuse_held(file_, holder->text());
  }
  ::unlink(aside.c_str());
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
  const auto holder = holder_of(read_text(folder + kLeaseFile), {});
  const bool holds = holder && (holder->on_this_machine() || !holder->old());
  return holds ? holder->text() : std::string();
}

std::string lease_holder(const std::string& folder, const std::string& silent) {
  const auto holder = holder_of(read_text(folder + kLeaseFile), silent);
  return holder ? holder->text() : std::string();
}

LeaseWatch::LeaseWatch(const std::string& folder, std::chrono::milliseconds heartbeat,
                       std::chrono::milliseconds timeout)
    : file_(folder + kLeaseFile), text_(read_text(file_)) {
  const auto holder = holder_of(text_, {});
  watching_ = holder.has_value() && !holder->on_this_machine();
  const auto time = holder && holder->old() ? heartbeat * 5 / 2 : timeout;
  until_ = std::chrono::steady_clock::now() + time;
}

LeaseWatch::Finding LeaseWatch::look(std::chrono::milliseconds time) {
  constexpr std::chrono::milliseconds kPause{50};
  const auto pause_over = std::chrono::steady_clock::now() + time;
  while (watching_) {
    const std::string now = read_text(file_);
    if (now != text_) {
      text_ = now;
      watching_ = false;
    } else if (std::chrono::steady_clock::now() >= until_) {
      return Finding::kFree;
    } else if (std::chrono::steady_clock::now() >= pause_over) {
      return Finding::kUnknown;
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
  const bool held = holder_of(text_, {}).has_value();
  text_.clear();
  return held ? Finding::kHeld : Finding::kFree;
}

}  // namespace lockstep::report

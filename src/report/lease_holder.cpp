#include "lease_holder.hpp"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lockstep/base/check.hpp"
#include "lockstep/base/durable_file.hpp"
#include "lockstep/base/json_text.hpp"
#include "lockstep/base/system.hpp"
#include "lockstep/report/lease_watch.hpp"

namespace lockstep::report {
namespace {

/// What the system says of a process.
struct ProcessInfo {
  char state = 0;  ///< 'R', 'S', 'Z', ...; 0 when unknown
  std::int64_t started = 0;
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

bool process_alive(std::int64_t pid, std::int64_t started) {
  if (pid <= 0 || pid > std::numeric_limits<pid_t>::max() ||
      (::kill(static_cast<pid_t>(pid), 0) != 0 && errno != EPERM))
    return false;
  const ProcessInfo now = process_info(pid);
  // One that has ended and waits for its parent to ask holds nothing any more.
  if (now.state == 'Z' || now.state == 'X') return false;
  return started == 0 || now.started == 0 || now.started == started;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Nothing when the text is no lease of ours.
std::optional<LeaseHolder> parse_lease(const std::string& text) {
  if (!json_fault(text).empty()) return std::nullopt;
  const nlohmann::json lease = nlohmann::json::parse(text, nullptr, false);
  if (!lease.is_object()) return std::nullopt;
  try {
    LeaseHolder holder;
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

}  // namespace

std::string pid_namespace() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
}

std::int64_t process_start(std::int64_t pid) { return process_info(pid).started; }

std::int64_t seconds_since_epoch() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string slurm_job() { return environment("SLURM_JOB_ID"); }

std::int64_t slurm_restarts() {
  const std::string text = environment("SLURM_RESTART_COUNT");
  std::int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

bool LeaseHolder::on_this_machine() const {
  return host == host_name() && (pid_space.empty() || pid_space == pid_namespace());
}

bool LeaseHolder::gone() const {
  const bool of_earlier_start = !job.empty() && job == slurm_job() && restart < slurm_restarts();
  return of_earlier_start || (on_this_machine() && !process_alive(pid, started));
}

bool LeaseHolder::old() const { return age() >= kLeaseTimeout.count(); }

std::string LeaseHolder::text() const {
  return "process " + std::to_string(pid) + " on host " + host +
         (job.empty() ? "" : ", job " + job) + ", last heartbeat " + std::to_string(age()) +
         " s ago";
}

std::string read_lease_text(const std::string& path) {
  try {
    return read_file(path);
  } catch (const Error&) {
    return {};
  }
}

std::optional<LeaseHolder> holder_of(const std::string& text, const std::string& silent) {
  if (text.empty() || text == silent) return std::nullopt;
  auto holder = parse_lease(text);
  return holder && !holder->gone() ? holder : std::nullopt;
}

}  // namespace lockstep::report

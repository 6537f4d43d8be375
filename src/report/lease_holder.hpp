#pragma once

#include <cstdint>
#include <optional>
#include <string>

/// What the text of a lease file says, and whether somebody can still be behind it. For lease.cpp
/// and lease_watch.cpp alone.
namespace lockstep::report {

inline constexpr const char* kLeaseFile = "/lease.json";

/// Process numbers mean the same only within one PID namespace (containers share host names).
[[nodiscard]] std::string pid_namespace();

/// When a process began, in clock ticks since boot, 0 when unknown: tells it from a later one that
/// was given the same number.
[[nodiscard]] std::int64_t process_start(std::int64_t pid);

[[nodiscard]] std::int64_t seconds_since_epoch();

/// Number of the Slurm job, "" outside of one, and how often Slurm has begun it again.
[[nodiscard]] std::string slurm_job();
[[nodiscard]] std::int64_t slurm_restarts();

/// Who wrote a lease.
struct LeaseHolder {
  std::string host;
  std::string job;
  std::string pid_space;
  std::int64_t restart = 0;
  std::int64_t pid = 0;
  std::int64_t started = 0;
  std::int64_t heartbeat = 0;

  [[nodiscard]] bool on_this_machine() const;
  /// Whether it can be known from here that it holds nothing any more: its process has ended, or it
  /// is an earlier start of this same Slurm job.
  [[nodiscard]] bool gone() const;
  /// By our clock, its last heartbeat is older than kLeaseTimeout.
  [[nodiscard]] bool old() const;
  [[nodiscard]] std::int64_t age() const { return seconds_since_epoch() - heartbeat; }
  /// "process 12 on host a, job 7, last heartbeat 3 s ago".
  [[nodiscard]] std::string text() const;
};

/// The text of a lease file; empty when there is none, or it cannot be read.
[[nodiscard]] std::string read_lease_text(const std::string& path);

/// The holder that keeps others out; nothing when the lease may be taken away: it is no lease of
/// ours, its holder is gone, or its text is `silent`.
[[nodiscard]] std::optional<LeaseHolder> holder_of(const std::string& text,
                                                   const std::string& silent);

}  // namespace lockstep::report

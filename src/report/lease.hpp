#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace lockstep::report {

/// lease.json in a folder: who is working there, with a heartbeat that a thread renews. It is
/// rewritten in place with the same length, which needs no space on a full disk and never shows a
/// reader half a text.
class Lease {
 public:
  /// Takes the place of a lease that nobody holds any more, or whose text is `silent` (LeaseWatch).
  /// Throws UsageError when one is held, Error when the file cannot be made.
  Lease(const std::string& folder, std::chrono::milliseconds heartbeat, std::string silent = {});
  ~Lease();  ///< removes the file, if it is still this one's
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  /// Throws Error when the file is gone or another one's.
  void require_held() const;

 private:
  [[nodiscard]] bool is_ours() const noexcept;
  void create();
  [[nodiscard]] bool put_in_place(const std::string& beside);
  [[nodiscard]] bool take_over(const std::string& beside);
  void renew();
  bool write() noexcept;

  std::string file_;
  std::chrono::milliseconds heartbeat_;
  std::string silent_;
  std::string before_;  // text up to the time of the heartbeat, and after it
  std::string after_;
  int fd_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

/// Who holds a lease on the folder, in words ("process 12 on host a, ..."); empty when nobody. A
/// process of this machine holds it as long as the system knows it, any other one as long as its
/// heartbeat is younger than kLeaseTimeout by our clock: good enough for a message. One of an
/// earlier start of this same Slurm job is gone.
[[nodiscard]] std::string probable_lease_holder(const std::string& folder);

/// As above, but a lease of another machine is held unless its text is `silent`.
[[nodiscard]] std::string lease_holder(const std::string& folder, const std::string& silent);

}  // namespace lockstep::report

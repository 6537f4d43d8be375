#pragma once

#include <chrono>
#include <string>

namespace lockstep::report {

/// A lease of another machine that was not renewed for this long is nobody's.
inline constexpr std::chrono::seconds kLeaseTimeout{60};

/// Looks whether anybody works in a run folder. The end of a process on another machine cannot be
/// seen from here, and its clock may be wrong: such a lease counts as long as it is seen to be
/// renewed. It is watched for kLeaseTimeout, or, when by its own time it is older than that, for
/// two and a half heartbeats.
class LeaseWatch {
 public:
  enum class Finding { kFree, kHeld, kUnknown };

  /// `heartbeat`: time between two renewals of a lease.
  explicit LeaseWatch(const std::string& folder,
                      std::chrono::milliseconds heartbeat = std::chrono::seconds(5),
                      std::chrono::milliseconds timeout = kLeaseTimeout);

  /// Looks for at most `time`; kUnknown when that was not enough to be sure.
  Finding look(std::chrono::milliseconds time);

  /// The text of the lease that was not renewed: this one, and no other, may be taken away.
  [[nodiscard]] const std::string& silent() const noexcept { return text_; }

 private:
  std::string file_;
  std::string text_;
  std::chrono::steady_clock::time_point until_;
  bool watching_ = false;
};

}  // namespace lockstep::report

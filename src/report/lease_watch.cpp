#include "lockstep/report/lease_watch.hpp"

#include <thread>

#include "lease_holder.hpp"

namespace lockstep::report {

LeaseWatch::LeaseWatch(const std::string& folder, std::chrono::milliseconds heartbeat,
                       std::chrono::milliseconds timeout)
    : file_(folder + kLeaseFile), text_(read_lease_text(file_)) {
  const auto holder = holder_of(text_, {});
  watching_ = holder.has_value() && !holder->on_this_machine();
  const auto time = holder && holder->old() ? heartbeat * 5 / 2 : timeout;
  until_ = std::chrono::steady_clock::now() + time;
}

LeaseWatch::Finding LeaseWatch::look(std::chrono::milliseconds time) {
  constexpr std::chrono::milliseconds kPause{50};
  const auto pause_over = std::chrono::steady_clock::now() + time;
  while (watching_) {
    const std::string now = read_lease_text(file_);
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

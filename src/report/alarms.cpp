#include "lockstep/report/alarms.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <functional>

namespace lockstep::report {

namespace {

constexpr std::size_t kEpochs = 5;
constexpr double kLeastShare = 0.05;
constexpr double kLeastMib = 64;

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

}  // namespace

std::string GradNormAlarm::note(std::int64_t update, double norm) {
  const bool low = norm < bounds_.low;
  const bool high = bounds_.high > 0 && norm > bounds_.high;
  below_ += low ? 1 : 0;
  above_ += high ? 1 : 0;
  const std::string what = "the gradient norm of update " + std::to_string(update) + " is ";
  if (low && below_ == 1) {
    return what + number(norm) + " (below train.grad_norm_low = " + number(bounds_.low) +
           ": the weights hardly change) - raise optim.lr, look at model.init and model.freeze, or "
           "set train.grad_norm_low=0";
  }
  if (high && above_ == 1) {
    return what + number(norm) + " (above train.grad_norm_high = " + number(bounds_.high) +
           ": training may diverge) - lower optim.lr, add a warm-up (schedule.warmup_epochs), clip "
           "gradients (train.clip_norm), or set train.grad_norm_high=0";
  }
  return {};
}

bool keeps_rising(const std::vector<double>& mib) {
  if (mib.size() <= kEpochs) return false;
  const auto first = mib.end() - static_cast<std::ptrdiff_t>(kEpochs + 1);
  // Two neighbours that do not rise end it.
  if (std::adjacent_find(first, mib.end(), std::greater_equal<>()) != mib.end()) return false;
  const double growth = mib.back() - *first;
  return growth > kLeastMib && growth > kLeastShare * *first;
}

std::string MemoryAlarm::note(double mib) {
  seen_.push_back(mib);
  if (told_ || !keeps_rising(seen_)) return {};
  told_ = true;
  return "memory keeps rising: " + number(seen_[seen_.size() - 1 - kEpochs]) + " to " +
         number(mib) + " MiB in " + std::to_string(kEpochs) +
         " epochs, on the rank that holds most (something is kept that should have been freed) - "
         "see rss_mib in timings.csv for how long it will last; report it with the configuration";
}

}  // namespace lockstep::report

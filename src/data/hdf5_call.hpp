#pragma once

#include <hdf5.h>

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "hdf5_file.hpp"
#include "lockstep/base/check.hpp"

/// The one door to HDF5: hdf5_file.cpp and hdf5_read.cpp call it through here and nowhere else.
namespace lockstep::data::hdf5 {

extern std::atomic<std::int64_t> g_calls;
extern std::mutex g_mutex;

/// HDF5's reason for the failure of the last call of this thread.
[[nodiscard]] std::string take_reason();

/// Makes one call under the lock; a negative answer leaves HDF5's reason in `reason`.
template <typename Call>
auto counted(std::string* reason, Call&& call) {
  const std::lock_guard lock(g_mutex);
  // Every file is closed by its handle; HDF5's own clean-up at exit crashes after a failed close.
  static const bool no_clean_up = H5dont_atexit() >= 0;
  static_cast<void>(no_clean_up);
  // The error stack prints to stderr by default; in thread-safe builds it is per thread.
  thread_local const bool quiet = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  static_cast<void>(quiet);
  g_calls.fetch_add(1, std::memory_order_relaxed);
  const auto result = call();
  if (result < 0 && reason != nullptr) *reason = take_reason();
  return result;
}

template <typename Call>
auto checked(const std::string& path, const std::string& action, Call&& call) {
  std::string reason;
  const auto result = counted(&reason, std::forward<Call>(call));
  if (result < 0) {
    throw Error("HDF5 cannot " + action + " in " + path, reason,
                "look at the free space and the rights, and check the file with h5dump -H");
  }
  return result;
}

[[nodiscard]] inline Hdf5Handle own(hid_t id, Hdf5Handle::Close closer) { return {id, closer}; }

/// A UTF-8 text of `bytes` bytes, padded with zeros.
[[nodiscard]] Hdf5Handle text_type(const std::string& path, std::size_t bytes);

}  // namespace lockstep::data::hdf5

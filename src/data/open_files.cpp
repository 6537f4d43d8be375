#include "open_files.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "lockstep/base/check.hpp"

namespace lockstep::data {
namespace {

/// Checkpoints, logs, sockets: what a process opens while its sets are open.
constexpr rlim_t kSpare = 128;

/// Files that this process holds open; all that `limit` allows when not even that can be found out.
rlim_t open_files(rlim_t limit) {
  std::error_code error;
  rlim_t count = 0;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  if (error) return error == std::errc::too_many_files_open ? limit : 0;
  for (; entry != std::filesystem::directory_iterator(); entry.increment(error)) ++count;
  return count - 1;  // one of them is this listing
}

}  // namespace

void allow_open_shards(const std::string& folder, std::int64_t shards) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  // HDF5 opens each shard a second time for a moment.
  const rlim_t needed = open_files(limit.rlim_cur) + static_cast<rlim_t>(shards) + 1;
  if (limit.rlim_cur < needed + kSpare && limit.rlim_cur < limit.rlim_max) {
    const rlimit raised{std::min(needed + kSpare, limit.rlim_max), limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  if (limit.rlim_cur < needed) too_many_shards(folder, shards);
}

void too_many_shards(const std::string& folder, std::int64_t shards) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  throw Error("cannot open the set '" + folder + "'",
              "each of its " + std::to_string(shards) +
                  " shards is a file to keep open, and this process may have " +
                  std::to_string(limit.rlim_cur) + " open files in all",
              "raise the limit before the start (ulimit -n " +
                  std::to_string(shards + static_cast<std::int64_t>(2 * kSpare)) +
                  "; above the hard limit only an administrator can), or pack the set into fewer "
                  "shards (pack_images --shards)");
}

}  // namespace lockstep::data

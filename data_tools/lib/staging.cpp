#include "lib/staging.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <utility>

#include "lockstep/base/check.hpp"
#include "lockstep/data/shard_format.hpp"

namespace lockstep::tools {
namespace fs = std::filesystem;
namespace {

std::atomic<bool> g_stop{false};

bool is_set_file(const std::string& name) {
  return name == data::kSetFile || (name.size() >= 8 && name.ends_with(".h5") &&
                                    name.find_first_not_of("0123456789") == name.size() - 3);
}

bool is_set(const fs::path& folder) {
  if (!fs::exists(folder / data::kSetFile)) return false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_regular_file() || !is_set_file(entry.path().filename().string())) return false;
  }
  return true;
}

std::string without_trailing_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

/// Process and host of a folder's name "PREFIX<pid>-<host>"; pid 0 when it has another form.
std::pair<int, std::string> owner_of(const std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix)) return {0, {}};
  const std::size_t dash = name.find('-', prefix.size());
  const std::string pid = name.substr(prefix.size(), dash - prefix.size());
  if (dash == std::string::npos || pid.empty() || pid.size() > 9 ||
      pid.find_first_not_of("0123456789") != std::string::npos) {
    return {0, {}};
  }
  return {std::stoi(pid), name.substr(dash + 1)};
}

void remove_leftovers(const fs::path& destination) {
  const std::string prefix = destination.filename().string() + ".tmp-";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(destination.parent_path(), error)) {
    const auto [pid, host] = owner_of(entry.path().filename().string(), prefix);
    if (pid == 0) continue;
    if (host != host_name()) {
      std::cerr << "note: " << entry.path().string() << " is of a run on " << host
                << "; remove it if that run is over\n";
    } else if (::kill(pid, 0) != 0 && errno == ESRCH) {
      std::error_code failed;
      fs::remove_all(entry.path(), failed);
      std::cerr << "note: " << (failed ? "cannot remove " : "removed ") << entry.path().string()
                << ", left over by a run that was killed\n";
    }
  }
}

/// Renames in one step with `flags` of renameat2; false where the file system has no such step.
bool rename_with(const std::string& from, const std::string& to, unsigned flags,
                 std::error_code& error) {
  error.clear();
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS) return false;
  error = std::error_code(errno, std::generic_category());
  return true;
}

}  // namespace

bool holds_only_sets(const std::string& folder) {
  if (!fs::is_directory(folder)) return false;
  if (is_set(folder)) return true;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if ((name != "train" && name != "val" && name != "test") || !is_set(entry.path())) return false;
  }
  return true;
}

StagingFolder::StagingFolder(std::string destination, bool overwrite)
    : destination_(without_trailing_slash(std::move(destination))), overwrite_(overwrite) {
  if (fs::exists(fs::symlink_status(destination_))) {
    if (!overwrite) {
      throw UsageError("'" + destination_ + "' exists", "it would be replaced",
                       "give another output folder, or --overwrite");
    }
    if (fs::is_symlink(destination_) || !holds_only_sets(destination_)) {
      throw UsageError("'" + destination_ + "' is not overwritten",
                       "it holds something else than sets of shards",
                       "give another output folder, or remove it yourself");
    }
  }
  std::error_code error;
  const fs::path place = fs::absolute(destination_);
  fs::create_directories(place.parent_path(), error);
  remove_leftovers(place);
  const std::string wanted =
      destination_ + ".tmp-" + std::to_string(::getpid()) + "-" + host_name();
  if (!fs::create_directory(wanted, error)) {
    throw Error("cannot make folder '" + wanted + "'", error ? error.message() : "it exists",
                "check the free space and the rights of " + place.parent_path().string());
  }
  path_ = wanted;
}

StagingFolder::~StagingFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
}

void StagingFolder::commit() {
  std::error_code error;
  const bool replaces = overwrite_ && fs::exists(destination_);
  if (!rename_with(path_, destination_, replaces ? RENAME_EXCHANGE : RENAME_NOREPLACE, error)) {
    // Two steps instead of one: the old set is away for a moment, but never lost.
    const std::string old = path_ + ".old";
    if (!replaces && fs::exists(destination_)) error = std::make_error_code(std::errc::file_exists);
    if (replaces) fs::rename(destination_, old, error);
    if (!error) fs::rename(path_, destination_, error);
    if (replaces) {
      std::error_code ignored;
      fs::rename(old, error ? destination_ : path_, ignored);
    }
  }
  if (error) {
    throw Error("cannot put '" + destination_ + "' in place", error.message(),
                "check the rights of its parent folder; nothing was replaced");
  }
  const int parent = ::open(fs::absolute(destination_).parent_path().c_str(), O_RDONLY | O_CLOEXEC);
  if (parent >= 0) {
    ::fsync(parent);  // not every file system has it for folders; the shards are synced
    ::close(parent);
  }
  // What lies under the temporary name now, if anything, is the old set.
  if (replaces) fs::remove_all(path_, error);
  path_.clear();
}

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_stop = true; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

void throw_if_stopped() {
  if (g_stop) {
    throw Error("stopped", "a signal asked for it", "start it again; nothing was left behind");
  }
}

}  // namespace lockstep::tools

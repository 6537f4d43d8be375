#include "lib/staging.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "lockstep/base/check.hpp"
#include "lockstep/data/shard_format.hpp"

namespace lockstep::tools {
namespace fs = std::filesystem;
namespace {

std::atomic<bool> g_stop{false};

bool is_set(const fs::path& folder) {
  const auto has_set = [](const fs::path& place) { return fs::exists(place / data::kSetFile); };
  return has_set(folder) || has_set(folder / "train") || has_set(folder / "test") ||
         (fs::is_directory(folder) && fs::is_empty(folder));
}

std::string without_trailing_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

void remove_leftovers(const std::string& destination) {
  const fs::path parent = fs::absolute(destination).parent_path();
  const std::string prefix = fs::path(destination).filename().string() + ".tmp-";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    const std::string name = entry.path().filename().string();
    const int pid = name.starts_with(prefix) ? std::atoi(name.c_str() + prefix.size()) : 0;
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) {
      fs::remove_all(entry.path(), error);
    }
  }
}

}  // namespace

StagingFolder::StagingFolder(std::string destination, bool overwrite)
    : destination_(without_trailing_slash(std::move(destination))) {
  if (fs::exists(destination_)) {
    if (!overwrite) {
      throw UsageError("'" + destination_ + "' exists", "it would be replaced",
                       "give another output folder, or --overwrite");
    }
    if (!is_set(destination_)) {
      throw UsageError("'" + destination_ + "' is not overwritten", "it is no set of shards",
                       "give another output folder, or remove it yourself");
    }
  }
  std::error_code error;
  const fs::path parent = fs::absolute(destination_).parent_path();
  fs::create_directories(parent, error);
  remove_leftovers(destination_);
  path_ = destination_ + ".tmp-" + std::to_string(::getpid());
  if (!fs::create_directory(path_, error)) {
    const std::string wanted = std::exchange(path_, {});
    throw Error("cannot make folder '" + wanted + "'", error ? error.message() : "it exists",
                "check the free space and the rights of " + parent.string());
  }
}

StagingFolder::~StagingFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
}

void StagingFolder::commit() {
  std::error_code error;
  const std::string old = destination_ + ".old-" + std::to_string(::getpid());
  const bool replaces = fs::exists(destination_);
  if (replaces) fs::rename(destination_, old, error);
  if (!error) fs::rename(path_, destination_, error);
  if (error) {
    std::error_code ignored;
    if (replaces) fs::rename(old, destination_, ignored);
    throw Error("cannot put '" + destination_ + "' in place", error.message(),
                "check the rights of its parent folder; nothing was replaced");
  }
  path_.clear();
  const int parent = ::open(fs::absolute(destination_).parent_path().c_str(), O_RDONLY | O_CLOEXEC);
  if (parent >= 0) {
    ::fsync(parent);  // not every file system has it for folders; the shards are synced
    ::close(parent);
  }
  if (replaces) fs::remove_all(old, error);
}

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_stop = true; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

void throw_if_stopped() {
  if (g_stop) {
    throw Error("stopped", "a signal asked for it", "start it again; nothing was left behind");
  }
}

}  // namespace lockstep::tools

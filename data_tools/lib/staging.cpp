#include "lib/staging.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <utility>

#include "lockstep/base/check.hpp"
#include "lockstep/base/system.hpp"
#include "lockstep/data/shard_format.hpp"

namespace lockstep::tools {
namespace fs = std::filesystem;
namespace {

std::atomic<bool> g_stop{false};

bool is_set_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == data::kSetFile || (name.size() >= 8 && name.ends_with(".h5") &&
                                    name.find_first_not_of("0123456789") == name.size() - 3);
}

bool is_part(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == "train" || name == "val" || name == "test";
}

/// Whether something is there, a link to nowhere included.
bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

/// A folder itself, not a link to one.
bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

/// Whether `good` holds for all entries of a folder; false when it cannot be read.
template <typename Good>
bool all_entries(const fs::path& folder, const Good& good) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (!good(entry->path())) return false;
  }
  return !error;
}

bool is_set(const fs::path& folder) {
  return is_there(folder / data::kSetFile) && all_entries(folder, [](const fs::path& entry) {
           std::error_code error;
           return is_set_file(entry) && fs::is_regular_file(entry, error);
         });
}

/// Removes what packing makes in a folder, by name, and the folder unless anything else is in it.
/// Says whether all is gone.
bool remove_packed(const fs::path& folder) {
  if (!is_folder(folder)) return !is_there(folder);
  all_entries(folder, [](const fs::path& entry) {
    std::error_code error;
    if (is_part(entry) && is_folder(entry)) {
      remove_packed(entry);
    } else if (is_set_file(entry.extension() == ".small" ? entry.stem() : entry)) {
      fs::remove(entry, error);
    }
    return true;
  });
  std::error_code error;
  fs::remove(folder, error);
  return !is_there(folder);
}

std::string without_trailing_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string this_process() { return std::to_string(::getpid()) + "-" + host_name(); }

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
      const bool gone = remove_packed(entry.path());
      std::cerr << "note: " << (gone ? "removed " : "cannot remove all of ")
                << entry.path().string() << ", left over by a run that was killed\n";
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

[[noreturn]] void cannot_place(const std::string& destination, const std::string& why,
                               const std::string& hint) {
  throw Error("cannot put '" + destination + "' in place", why, hint);
}

/// Puts `from` where nothing is.
void place_new(const std::string& from, const std::string& to) {
  std::error_code error;
  if (!rename_with(from, to, RENAME_NOREPLACE, error)) {
    if (is_there(to)) {
      error = std::make_error_code(std::errc::file_exists);
    } else {
      fs::rename(from, to, error);
    }
  }
  if (error == std::errc::file_exists || error == std::errc::directory_not_empty) {
    cannot_place(to, "it exists by now, and did not when packing began",
                 "look at what made it; then give another output folder, or --overwrite");
  }
  if (error) {
    cannot_place(to, error.message(),
                 "check the rights of its parent folder; nothing was replaced");
  }
}

/// Puts `from` where a folder is, which then lies at the place that is returned.
std::string place_over(const std::string& from, const std::string& to) {
  const std::string hint = "check the rights of its parent folder; nothing was replaced";
  std::error_code error;
  if (rename_with(from, to, RENAME_EXCHANGE, error)) {
    if (error) cannot_place(to, error.message(), hint);
    return from;
  }
  // Two steps instead of one: the old folder is away for a moment, but never lost.
  std::string old = from + ".old";
  fs::rename(to, old, error);
  if (error) cannot_place(to, error.message(), hint);
  fs::rename(from, to, error);
  if (error) {
    std::error_code stays;
    fs::rename(old, to, stays);
    cannot_place(to, error.message(), stays ? "the old one is '" + old + "': rename it" : hint);
  }
  return old;
}

/// What was at the destination until now goes if it is still what may go.
void remove_replaced(const std::string& old, const std::string& destination) {
  if (holds_only_sets(old) && remove_packed(old)) return;
  // Out of reach of remove_leftovers().
  const std::string kept = destination + ".kept-" + this_process();
  std::error_code error;
  if (!is_there(kept)) fs::rename(old, kept, error);
  std::cerr << "note: what was '" << destination << "' could not be removed, or holds something "
            << "else than sets of shards by now: it is kept as '" << (is_there(old) ? old : kept)
            << "'\n";
}

}  // namespace

bool holds_only_sets(const std::string& folder) {
  return is_folder(folder) && (is_set(folder) || all_entries(folder, [](const fs::path& entry) {
                                 return is_part(entry) && is_folder(entry) && is_set(entry);
                               }));
}

StagingFolder::StagingFolder(std::string destination, bool overwrite)
    : destination_(without_trailing_slash(std::move(destination))),
      replaces_(is_there(destination_)) {
  if (replaces_ && !overwrite) {
    throw UsageError("'" + destination_ + "' exists", "it would be replaced",
                     "give another output folder, or --overwrite");
  }
  if (replaces_) check_replaceable();
  std::error_code error;
  const fs::path place = fs::absolute(destination_);
  fs::create_directories(place.parent_path(), error);
  remove_leftovers(place);
  const std::string wanted = destination_ + ".tmp-" + this_process();
  if (!fs::create_directory(wanted, error)) {
    throw Error("cannot make folder '" + wanted + "'", error ? error.message() : "it exists",
                "check the free space and the rights of " + place.parent_path().string());
  }
  path_ = wanted;
}

StagingFolder::~StagingFolder() {
  if (!path_.empty() && !remove_packed(path_)) {
    std::cerr << "note: cannot remove all of " << path_ << '\n';
  }
}

void StagingFolder::check_replaceable() const {
  if (!holds_only_sets(destination_)) {
    throw UsageError("'" + destination_ + "' is not overwritten",
                     "it holds something else than sets of shards",
                     "give another output folder, or remove it yourself");
  }
}

void StagingFolder::commit() {
  // Packing takes hours: what is there now need not be what was there at the start.
  const bool replaces = replaces_ && is_there(destination_);
  std::string old;
  if (replaces) {
    check_replaceable();
    old = place_over(path_, destination_);
  } else {
    place_new(path_, destination_);
  }
  path_.clear();
  sync_folder(fs::absolute(destination_).parent_path().string(),
              "check the disk; the new set is in place, but a power failure may undo that" +
                  (replaces ? ", the old set is '" + old + "'" : std::string()));
  if (replaces) remove_replaced(old, destination_);
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

#include "lib/staging.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/base/check.hpp"
#include "lockstep/base/system.hpp"

namespace lockstep::tools {
namespace fs = std::filesystem;
namespace {

/// The path without what a shell or a person may leave at its end: "out/", "out/.". Throws
/// UsageError when its last name is no name of a folder to make.
std::string place_of(std::string path) {
  while (path.size() > 1 && (path.ends_with('/') || path.ends_with("/."))) path.pop_back();
  if (path.empty() || path == ".." || path.ends_with("/..")) {
    throw UsageError("'" + path + "' is no output folder", "it has no name of its own",
                     "give the folder that is to be made");
  }
  return path;
}

constexpr const char* kReplaced = ".old";  // the end of the name of what a new folder replaces

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

/// What a run that was killed has left beside the destination.
struct Leftover {
  std::string path;
  std::string host;
  int pid = 0;
  bool replaced = false;  ///< what was at the destination before (place_over)
};

std::vector<Leftover> leftovers_of(const fs::path& destination) {
  const std::string prefix = destination.filename().string() + ".tmp-";
  std::vector<Leftover> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(destination.parent_path(), error)) {
    std::string name = entry.path().filename().string();
    const bool replaced = name.ends_with(kReplaced);
    if (replaced) name.erase(name.size() - std::string_view(kReplaced).size());
    const auto [pid, host] = owner_of(name, prefix);
    if (pid != 0) found.push_back({entry.path().string(), host, pid, replaced});
  }
  return found;
}

/// Nothing of a run that may be at work is touched. What such a run had moved away is put back
/// where nothing is, and goes where the new one is.
void clear_leftovers(const fs::path& destination, const Product& product) {
  for (const Leftover& left : leftovers_of(destination)) {
    if (left.host != host_name()) {
      std::cerr << "note: " << left.path
                << (left.replaced ? " is what was here before a run on " : " is of a run on ")
                << left.host << (left.replaced ? "; rename it" : "; remove it")
                << " if that run is over\n";
      continue;
    }
    if (::kill(left.pid, 0) == 0 || errno != ESRCH) continue;
    std::error_code error;
    if (left.replaced && !is_there(destination.string())) {
      fs::rename(left.path, destination, error);
      std::cerr << "note: " << (error ? "cannot put back " : "put back ") << destination.string()
                << ", moved away by a run that was killed" << (error ? ": " + left.path : "")
                << '\n';
      continue;
    }
    const bool gone = product.remove(left.path);
    std::cerr << "note: " << (gone ? "removed " : "cannot remove all of ") << left.path
              << ", left over by a run that was killed\n";
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
    cannot_place(to, "it exists by now, and did not when the work began",
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
  std::string old = from + kReplaced;
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
void remove_replaced(const std::string& old, const std::string& destination,
                     const Product& product) {
  if (product.holds_only(old) && product.remove(old)) return;
  // Out of reach of remove_leftovers().
  const std::string kept = destination + ".kept-" + this_process();
  std::error_code error;
  if (!is_there(kept)) fs::rename(old, kept, error);
  std::cerr << "note: what was '" << destination << "' could not be removed, or holds something "
            << "else than " << product.name << " by now: it is kept as '"
            << (is_there(old) ? old : kept) << "'\n";
}

void check_replaceable(const std::string& destination, const Product& product) {
  if (!product.holds_only(destination)) {
    throw UsageError("'" + destination + "' is not overwritten",
                     std::string("it holds something else than ") + product.name,
                     "give another output folder, or remove it yourself");
  }
}

}  // namespace

void check_destination(const std::string& destination, bool overwrite, const Product& product) {
  const std::string place = place_of(destination);
  if (!is_there(place)) return;
  if (!overwrite) {
    throw UsageError("'" + place + "' exists", "it would be replaced",
                     "give another output folder, or --overwrite");
  }
  check_replaceable(place, product);
}

StagingFolder::StagingFolder(std::string destination, bool overwrite, const Product& product)
    : destination_(place_of(std::move(destination))), product_(product) {
  const fs::path place = fs::absolute(destination_);
  clear_leftovers(place, product_);
  replaces_ = is_there(destination_);
  check_destination(destination_, overwrite, product_);
  std::error_code error;
  fs::create_directories(place.parent_path(), error);
  const std::string wanted = destination_ + ".tmp-" + this_process();
  if (!fs::create_directory(wanted, error)) {
    throw Error("cannot make folder '" + wanted + "'", error ? error.message() : "it exists",
                "check the free space and the rights of " + place.parent_path().string());
  }
  path_ = wanted;
}

StagingFolder::~StagingFolder() {
  if (!path_.empty() && !product_.remove(path_)) {
    std::cerr << "note: cannot remove all of " << path_ << '\n';
  }
}

void StagingFolder::commit() {
  // The work takes hours: what is there now need not be what was there at the start.
  const bool replaces = replaces_ && is_there(destination_);
  std::string old;
  std::string contents;
  if (replaces) {
    check_replaceable(destination_, product_);
    contents = product_.contents(destination_);
    old = place_over(path_, destination_);
  } else {
    place_new(path_, destination_);
  }
  path_.clear();
  if (!contents.empty()) {
    std::cout << "replaced the " << contents << " of " << destination_ << '\n';
  }
  sync_folder(fs::absolute(destination_).parent_path().string(),
              "check the disk; what is new is in place, but a power failure may undo that" +
                  (replaces ? ", what was there is '" + old + "'" : std::string()));
  if (replaces) remove_replaced(old, destination_, product_);
}

}  // namespace lockstep::tools

#include "lockstep/report/run_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <optional>

#include "lease.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/system.hpp"

namespace lockstep::report {

namespace {

/// What a name may look like is the configuration's to say; here it must not lead elsewhere.
void require_one_folder(const std::string& name) {
  if (name == "." || name == ".." || name.find('/') != std::string::npos) {
    throw UsageError("\"" + name + "\" cannot name a run", "it is not the name of one folder",
                     "give a plain name; run.root says where the folder lies");
  }
}

std::string time_stamp() {
  const std::time_t now = std::time(nullptr);
  struct tm local {};
  ::localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &local);
  return text;
}

[[noreturn]] void fail_making(const std::string& path, const std::string& why) {
  throw Error("the run folder " + path + " cannot be made", why,
              "choose another run.root or check its permissions");
}

/// False when it exists.
bool make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return true;
  if (errno != EEXIST) fail_making(path, errno_text());
  return false;
}

/// Returns when the folder can be taken over.
void check_existing(const std::string& path, Existing existing, const std::string& silent_lease) {
  const bool go_on = existing == Existing::kGoOn;
  const std::string holder = go_on ? lease_holder(path, silent_lease) : probable_lease_holder(path);
  if (!holder.empty()) {
    throw UsageError("the run folder " + path + " is in use", "by " + holder,
                     "choose another run.name, or wait for that run to end");
  }
  if (!go_on) {
    throw UsageError("the run folder " + path + " exists", "a run of that name was made before",
                     "choose another run.name, or run.resume=auto to go on with it");
  }
  if (!std::filesystem::is_directory(path)) fail_making(path, "it is no folder");
}

struct Made {
  std::string path;
  bool existed = false;
};

Made make_run_folder(const std::string& root, const std::string& name,
                     const std::string& default_suffix, Existing existing,
                     const std::string& silent_lease) {
  const std::string chosen = name.empty() ? time_stamp() + "_" + default_suffix : name;
  require_one_folder(chosen);
  std::error_code error;
  std::filesystem::create_directories(root, error);
  if (error) fail_making(root, error.message());
  std::string path = (std::filesystem::path(root) / chosen).string();
  if (make_folder(path)) return {path};
  if (!name.empty()) {
    check_existing(path, existing, silent_lease);
    return {path, true};
  }
  // Another run began in the same second.
  for (int number = 2;; ++number) {
    std::string numbered = path + "_" + std::to_string(number);
    if (make_folder(numbered)) return {numbered};
  }
}

}  // namespace

struct RunFolder::Impl {
  std::string path;
  std::optional<Lease> lease;
  bool existed = false;
  bool keep = false;
};

RunFolder::RunFolder(const std::string& root, const std::string& name,
                     const std::string& default_suffix, Existing existing,
                     const std::string& silent_lease, std::chrono::milliseconds heartbeat)
    : impl_(std::make_unique<Impl>()) {
  const Made made = make_run_folder(root, name, default_suffix, existing, silent_lease);
  impl_->path = made.path;
  impl_->existed = made.existed;
  impl_->keep = made.existed;
  try {
    impl_->lease.emplace(impl_->path, heartbeat, silent_lease);
    // A power failure must not take the folder along with checkpoints that were said to be saved.
    sync_folder(impl_->path + "/..", "check the disk");
  } catch (...) {
    impl_->lease.reset();
    // Empty: the name stays free for the next try.
    if (!impl_->existed) ::rmdir(impl_->path.c_str());
    throw;
  }
}

RunFolder::~RunFolder() {
  impl_->lease.reset();
  if (impl_->keep) return;
  // Not remove_all: what is not a file of the start or an empty folder is not ours to remove.
  std::error_code error;
  for (std::filesystem::directory_iterator entry(impl_->path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    std::filesystem::remove(entry->path(), ignored);
  }
  ::rmdir(impl_->path.c_str());
}

void RunFolder::require_held() const { impl_->lease->require_held(); }

void RunFolder::keep() noexcept { impl_->keep = true; }

bool RunFolder::existed() const noexcept { return impl_->existed; }

const std::string& RunFolder::path() const noexcept { return impl_->path; }

}  // namespace lockstep::report

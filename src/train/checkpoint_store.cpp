#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "lockstep/base/check.hpp"
#include "lockstep/base/durable_file.hpp"
#include "lockstep/train/checkpoint.hpp"
#include "manifest.hpp"
#include "training_state.hpp"

namespace lockstep::train {
namespace fs = std::filesystem;
namespace {

constexpr const char* kTemporaryPrefix = ".saving-";

std::string name_of(std::int64_t epoch, std::int64_t update, std::int64_t attempt) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "epoch-%04lld_update-%08lld",
                static_cast<long long>(epoch), static_cast<long long>(update));
  return text.data() + (attempt > 1 ? "_attempt-" + std::to_string(attempt) : std::string());
}

/// A checkpoint folder, by its name.
struct Saved {
  std::int64_t epoch = 0;
  std::int64_t update = 0;
  std::int64_t attempt = 1;
  std::string name;
};

/// Takes a number off the front of `text`, behind `prefix`; none when it does not start so.
std::optional<std::int64_t> take_number(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) {
    return std::nullopt;
  }
  std::int64_t number = 0;
  const char* begin = text.data() + prefix.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc() || number < 0) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Nothing for a name that no save gives: what a person put there is not ours to remove.
std::optional<Saved> saved_from_name(const std::string& name) {
  std::string_view rest = name;
  const auto epoch = take_number(rest, "epoch-");
  const auto update = epoch ? take_number(rest, "_update-") : std::nullopt;
  if (!update) {
    return std::nullopt;
  }
  const auto attempt =
      rest.empty() ? std::optional<std::int64_t>(1) : take_number(rest, "_attempt-");
  if (!attempt || name != name_of(*epoch, *update, *attempt)) {
    return std::nullopt;
  }
  return Saved{*epoch, *update, *attempt, name};
}

/// The checkpoints of a folder, the one of the most updates (then attempts) first.
std::vector<Saved> saved_in(const std::string& folder) {
  std::vector<Saved> saved;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) {
      if (const auto found = saved_from_name(entry.path().filename().string())) {
        saved.push_back(*found);
      }
    }
  }
  std::sort(saved.begin(), saved.end(), [](const Saved& a, const Saved& b) {
    return std::pair(a.update, a.attempt) > std::pair(b.update, b.attempt);
  });
  return saved;
}

/// A folder that is removed unless it was renamed into place.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {
    fs::remove_all(path_);
    std::error_code error;
    fs::create_directory(path_, error);
    require(!error, "cannot make folder '" + path_ + "'", error.message(),
            "free space or give write permission; earlier checkpoints are untouched");
  }
  ~TemporaryFolder() {
    if (!path_.empty()) {
      std::error_code ignored;
      fs::remove_all(path_, ignored);
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  void rename_to(const std::string& path) {
    std::error_code error;
    fs::rename(path_, path, error);
    require(!error, "cannot name checkpoint '" + path + "'", error.message(),
            "check the file system; earlier checkpoints are untouched");
    path_.clear();
  }

 private:
  std::string path_;
};

}  // namespace

CheckpointStore::CheckpointStore(std::string folder, std::int64_t keep_last,
                                 std::int64_t keep_every)
    : folder_(std::move(folder)), keep_last_(keep_last), keep_every_(keep_every) {
  std::error_code error;
  fs::create_directories(folder_, error);
  require(!error, "cannot make folder '" + folder_ + "'", error.message(),
          "give write permission or choose another run.root");
  sync_folder(folder_ + "/..");
  sweep();
  best_ = read_pointer(path_of("best")).value_or(Pointer{}).name;
  if (!best_.empty() && !fs::exists(path_of(best_) + "/" + kManifestFile)) {
    best_.clear();
  }
}

std::vector<std::string> CheckpointStore::take_warnings() { return std::exchange(warnings_, {}); }

void CheckpointStore::remove(const std::string& name) {
  std::error_code error;
  fs::remove_all(path_of(name), error);
  if (error) {
    warnings_.push_back("cannot remove '" + path_of(name) + "' (" + error.message() +
                        ") - remove it by hand when space runs short");
  }
}

std::vector<std::string> CheckpointStore::newest_first() const {
  std::vector<std::string> names;
  for (const Saved& saved : saved_in(folder_)) {
    names.push_back(saved.name);
  }
  return names;
}

void CheckpointStore::restore_latest(const std::string& name) {
  if (read_pointer(path_of("latest")).value_or(Pointer{}).name != name) {
    replace_durable(path_of("latest"), pointer_text(folder_, name));
    sync_folder(folder_);
  }
}

bool CheckpointStore::holds(const std::string& name) const {
  if (name.empty()) {
    return false;
  }
  try {
    check_manifest(path_of(name), {});
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool CheckpointStore::restore_best(const std::string& name) {
  if (!holds(name)) {
    if (best_.empty()) {
      fs::remove(path_of("best"));  // it names nothing
    }
    return false;
  }
  best_ = name;
  replace_durable(path_of("best"), pointer_text(folder_, name));
  sync_folder(folder_);
  return true;
}

void CheckpointStore::sweep() {
  std::vector<std::string> leftovers;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kTemporaryPrefix) || name == "best.tmp" || name == "latest.tmp") {
      leftovers.push_back(name);
    }
  }
  for (const std::string& name : leftovers) {
    remove(name);
  }
}

std::string CheckpointStore::save(const model::Network& network, const optim::Optimizer& optimizer,
                                  const TrainingState& state, const std::string& config_text,
                                  bool is_best) {
  std::string name = name_of(state.epoch, state.update, 1);
  for (int attempt = 2; fs::exists(path_of(name)); ++attempt) {
    name = name_of(state.epoch, state.update, attempt);
  }
  TemporaryFolder temporary(path_of(kTemporaryPrefix + name));
  write_safetensors(temporary.path() + "/model.safetensors", state_of(network));
  NamedTensors slots = optimizer.state();
  slots.emplace_back(kStepsName, at::scalar_tensor(optimizer.steps(), at::kLong));
  write_safetensors(temporary.path() + "/optimizer.safetensors", slots);
  TrainingState written = state;
  if (is_best) {
    written.best_checkpoint = name;
  }
  write_durable(temporary.path() + "/state.json", state_to_json(written));
  write_durable(temporary.path() + "/config.cfg", config_text);
  write_durable(temporary.path() + "/" + kManifestFile,
                make_manifest(temporary.path(), {"model.safetensors", "optimizer.safetensors",
                                                 "state.json", "config.cfg"}));
  sync_folder(temporary.path());
  temporary.rename_to(path_of(name));
  sync_folder(folder_);
  const std::string pointer = pointer_text(folder_, name);
  if (is_best) {
    replace_durable(path_of("best"), pointer);
    best_ = name;
  }
  replace_durable(path_of("latest"), pointer);
  sync_folder(folder_);
  prune();
  return name;
}

void CheckpointStore::prune() {
  // Which one is the best is then unknown.
  if (best_.empty() && fs::exists(path_of("best"))) {
    warnings_.push_back("nothing was removed in '" + folder_ +
                        "' (the pointer 'best' there names no checkpoint) - restore or remove it");
    return;
  }
  const std::vector<Saved> saved = saved_in(folder_);
  const std::string latest = read_pointer(path_of("latest")).value_or(Pointer{}).name;
  // Of those that name the same epoch the ones of the fewest updates were saved at its end, the
  // others inside the next.
  std::map<std::int64_t, std::int64_t> ends;
  for (const Saved& old : saved) {
    ends[old.epoch] = old.update;
  }
  for (std::size_t index = 0; index < saved.size(); ++index) {
    const Saved& old = saved[index];
    const bool of_interval = keep_every_ > 0 && old.epoch > 0 && old.epoch % keep_every_ == 0 &&
                             old.update == ends[old.epoch];
    const bool keep = static_cast<std::int64_t>(index) < keep_last_ || old.name == best_ ||
                      old.name == latest || of_interval;
    if (!keep) {
      // The manifest goes first: a removal that stops half-way leaves nothing that looks whole.
      std::error_code ignored;
      fs::remove(path_of(old.name) + "/" + kManifestFile, ignored);
      remove(old.name);
    }
  }
}

}  // namespace lockstep::train

#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace lockstep::report {

/// The folder runs/<name>, created exclusively, with a lease file (host, pid, job id, heartbeat
/// every few seconds from a thread) that is removed at the end. An existing folder is refused: with
/// a live lease as "in use by", else as "exists".
class RunFolder {
 public:
  /// Creates root/name; an empty name becomes date-time_model_lr_batch, made unique. Throws
  /// UsageError when it exists or the name is not that of one folder, Error when it cannot be made.
  /// `heartbeat`: time between two renewals of the lease.
  RunFolder(const std::string& root, const std::string& name, const std::string& default_suffix,
            std::chrono::milliseconds heartbeat = std::chrono::seconds(5));
  /// Before keep(), removes the folder with the files in it: a run that could not start does not
  /// use up its name.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  [[nodiscard]] const std::string& path() const noexcept;
  /// From here on the folder stays.
  void keep() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::report

#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace lockstep::report {

/// What to do with the folder of an earlier run of the same name.
enum class Existing {
  kRefuse,
  kGoOn,  ///< take it over, unless somebody works in it
};

/// The folder runs/<name>, created exclusively or taken over, with a lease file (host, pid, job id,
/// heartbeat every few seconds from a thread) that is removed at the end. A folder that exists is
/// refused as "exists", one with a live lease always as "in use by".
class RunFolder {
 public:
  /// Creates root/name; an empty name becomes date-time_model_lr_batch, made unique. Throws
  /// UsageError when it is refused or the name is not that of one folder, Error when it cannot be
  /// made. A lease of another machine keeps others out unless it is `silent_lease`, the one that a
  /// LeaseWatch saw not to be renewed. `heartbeat`: time between two renewals of the lease.
  RunFolder(const std::string& root, const std::string& name, const std::string& default_suffix,
            Existing existing = Existing::kRefuse, const std::string& silent_lease = {},
            std::chrono::milliseconds heartbeat = std::chrono::seconds(5));
  /// Before keep(), removes a folder it has made with the files in it: a run that could not start
  /// does not use up its name.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  [[nodiscard]] const std::string& path() const noexcept;
  /// Whether the folder was there before.
  [[nodiscard]] bool existed() const noexcept;
  /// Throws Error when the lease is not ours any more: another job took this one for gone.
  void require_held() const;
  /// From here on the folder stays.
  void keep() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::report

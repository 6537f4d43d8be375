#pragma once

#include <string>

namespace lockstep::tools {

/// A folder built beside its destination and renamed into place whole. Unless commit() was called
/// the destructor removes it. Leftovers of dead processes are removed when a new one is made.
class StagingFolder {
 public:
  /// Throws UsageError when `destination` exists and `overwrite` is false, or when it exists and is
  /// no set of shards (which is never removed).
  StagingFolder(std::string destination, bool overwrite);
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Puts the new folder in place; an old one is there until then.
  void commit();

 private:
  std::string destination_;
  std::string path_;
};

/// Makes SIGINT and SIGTERM a request that stop_requested() tells of.
void catch_stop_signals();
/// Throws Error when a stop was requested.
void throw_if_stopped();

}  // namespace lockstep::tools

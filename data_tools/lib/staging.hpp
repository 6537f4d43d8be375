#pragma once

#include <string>

namespace lockstep::tools {

/// A folder built beside its destination, as DESTINATION.tmp-PID-HOST, and renamed into place
/// whole. Unless commit() was called the destructor removes it. Leftovers of dead processes of this
/// host are removed, and told of, when a new one is made; those of other hosts are told of. Nothing
/// is ever removed but files with the names that packing gives, and folders that are empty then.
class StagingFolder {
 public:
  /// Throws UsageError when `destination` exists and `overwrite` is false, or when it holds
  /// anything but sets of shards (which is never removed).
  StagingFolder(std::string destination, bool overwrite);
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Puts the new folder in place; an old one is there, whole, until then. Throws when something
  /// appeared meanwhile, or the old one holds anything but sets of shards by now. What came into it
  /// in the very last moment is kept beside the destination, and told of.
  void commit();

 private:
  void check_replaceable() const;

  std::string destination_;
  bool replaces_;  ///< it existed at the start
  std::string path_;
};

/// Whether nothing but sets of shards would be lost with this folder: it is a set, or holds only
/// sets (train, val, test), or is empty. A link is no folder, nor is one that cannot be read.
[[nodiscard]] bool holds_only_sets(const std::string& folder);

/// Makes SIGINT, SIGTERM and SIGHUP a request to stop.
void catch_stop_signals();
/// Throws Error when a stop was requested.
void throw_if_stopped();

}  // namespace lockstep::tools

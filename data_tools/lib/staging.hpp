#pragma once

#include <string>

#include "lib/product.hpp"

namespace lockstep::tools {

/// Throws UsageError when `destination` exists and `overwrite` is false, or when it holds anything
/// but what `product` says (which is never removed). For tools that read for long before they have
/// something to write.
void check_destination(const std::string& destination, bool overwrite,
                       const Product& product = sets_of_shards());

/// A folder built beside its destination, as DESTINATION.tmp-PID-HOST, and renamed into place
/// whole. Unless commit() was called the destructor removes it. Leftovers of dead processes of this
/// host are removed, and told of, when a new one is made; those of other hosts are told of. Nothing
/// is ever removed but files that are the product's, and folders that are empty then.
class StagingFolder {
 public:
  /// Throws as check_destination does.
  StagingFolder(std::string destination, bool overwrite, const Product& product = sets_of_shards());
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Puts the new folder in place, and says so where it takes the place of an old one, which is
  /// there, whole, until then. Throws when something
  /// appeared meanwhile, or the old one holds anything but the product by now. What came into it in
  /// the very last moment is kept beside the destination, and told of.
  void commit();

 private:
  std::string destination_;
  const Product& product_;
  bool replaces_ = false;  ///< it existed at the start
  std::string path_;
};

}  // namespace lockstep::tools

#pragma once

#include <cstdint>
#include <fstream>
#include <set>
#include <string>

#include "lockstep/data/shard_format.hpp"

namespace lockstep::tools {

/// The list of the pictures in an unpacked folder: a line of JSON that says what it is, then one
/// for each picture, with index, label, class, file and source. By it such a folder is known and
/// can be replaced; it is written before the pictures are.
inline constexpr const char* kUnpackedList = "samples.jsonl";

/// Writes the list of a folder.
class UnpackedListWriter {
 public:
  /// Throws Error when it cannot be written, as all of these do.
  UnpackedListWriter(const std::string& folder, const data::SetInfo& set);
  void add(std::int64_t index, std::int32_t label, const std::string& of_class,
           const std::string& file, const std::string& source);
  void finish();

 private:
  void check() const;
  std::string path_;
  std::ofstream out_;
};

/// The files that a folder's list names, as far as it can be read: each "CLASS/NAME.png" within the
/// folder. Nothing when it has no such list. Any other name in it ends the reading.
[[nodiscard]] std::set<std::string> listed_files(const std::string& folder);
/// Whether a folder has such a list.
[[nodiscard]] bool has_unpacked_list(const std::string& folder);

}  // namespace lockstep::tools

#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// A file that is on the disk when close() returns. Every failure (a full disk above all) throws
/// Error naming the file.
class DurableFile {
 public:
  explicit DurableFile(const std::string& path);
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  void write(const void* data, std::size_t bytes);
  /// Syncs and closes.
  void close();

 private:
  std::string path_;
  int descriptor_;
};

/// Writes a whole small file, synced.
void write_durable(const std::string& path, const std::string& text);
/// Replaces `path` by rename, so that a reader sees the old text or the new one, never a part.
void replace_durable(const std::string& path, const std::string& text);
/// The same for several {path, text}: none is replaced before all are on the disk.
void replace_durable(const std::vector<std::pair<std::string, std::string>>& files);
/// Makes the entries of a folder durable (fsync of the folder).
void sync_folder(const std::string& folder);
/// The whole of a regular file of at most 64 MiB: texts that a run keeps, never weights. Throws
/// Error.
[[nodiscard]] std::string read_file(const std::string& path);

}  // namespace lockstep

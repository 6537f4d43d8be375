#include "lib/archive.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <exception>
#include <filesystem>
#include <memory>

#include "lib/gzip_file.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep::tools {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kLargestFile = 320LL << 20U;  // twice the largest of the known archives

[[noreturn]] void refuse(const std::string& input, const std::string& why) {
  throw Error("cannot read '" + input + "'", why, "check the file, or download it again");
}

/// What libarchive reads from. An error stays here: it must not pass through code in C.
struct Feed {
  GzipFile file;
  Bytes block = Bytes(1U << 18U);
  std::exception_ptr error = nullptr;
};

la_ssize_t feed_block(archive* /*reader*/, void* data, const void** block) noexcept {
  auto* feed = static_cast<Feed*>(data);
  try {
    *block = feed->block.data();
    return static_cast<la_ssize_t>(feed->file.read(feed->block));
  } catch (...) {
    feed->error = std::current_exception();
    return ARCHIVE_FATAL;
  }
}

/// The entries of a tar archive, one after the other.
class TarReader {
 public:
  explicit TarReader(const std::string& path)
      : path_(path), feed_{GzipFile(path)}, reader_(archive_read_new(), archive_read_free) {
    require(reader_ != nullptr, "cannot read '" + path + "'", "there is not enough memory",
            "free some");
    check(archive_read_support_format_tar(reader_.get()));
    check(archive_read_open(reader_.get(), &feed_, nullptr, feed_block, nullptr));
  }

  /// Goes to the next entry; false when there is none. Then all of the file was read and checked.
  bool next() {
    const int code = archive_read_next_header(reader_.get(), &entry_);
    if (code == ARCHIVE_EOF) {
      while (feed_.file.read(feed_.block) > 0) {
      }
      return false;
    }
    check(code);
    return true;
  }

  [[nodiscard]] bool is_file() const { return archive_entry_filetype(entry_) == AE_IFREG; }
  /// The last component of its name.
  [[nodiscard]] std::string name() const {
    const char* path = archive_entry_pathname(entry_);
    return path == nullptr ? "" : fs::path(path).filename().string();
  }

  /// Its contents, taken as they come: what the header says of their size is not believed.
  Bytes contents() {
    Bytes bytes;
    Bytes block(1U << 20U);
    while (true) {
      const la_ssize_t n = archive_read_data(reader_.get(), block.data(), block.size());
      if (n < 0) check(ARCHIVE_FATAL);
      if (n == 0) return bytes;
      bytes.insert(bytes.end(), block.begin(), block.begin() + n);
      if (static_cast<std::int64_t>(bytes.size()) > kLargestFile) {
        refuse(path_, "its file " + name() + " is larger than " +
                          std::to_string(kLargestFile >> 20U) + " MiB");
      }
    }
  }

 private:
  void check(int code) {
    if (code >= ARCHIVE_WARN) return;
    if (feed_.error) std::rethrow_exception(feed_.error);
    const char* text = archive_error_string(reader_.get());
    refuse(path_, std::string("as a tar archive: ") + (text == nullptr ? "it is damaged" : text));
  }

  std::string path_;
  Feed feed_;
  std::unique_ptr<archive, int (*)(archive*)> reader_;
  archive_entry* entry_ = nullptr;
};

std::map<std::string, Bytes> read_archive(const std::string& path,
                                          const std::set<std::string>& names) {
  std::map<std::string, Bytes> files;
  TarReader reader(path);
  while (reader.next()) {
    const std::string name = reader.name();
    if (!reader.is_file() || !names.contains(name)) continue;
    if (!files.emplace(name, reader.contents()).second) {
      refuse(path, "it holds two files " + name);
    }
  }
  return files;
}

std::map<std::string, Bytes> read_folder(const std::string& folder,
                                         const std::set<std::string>& names) {
  std::map<std::string, Bytes> files;
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    std::error_code error;
    if (!fs::is_regular_file(path, error)) continue;
    const std::string why = read_whole_file(path, kLargestFile, files[name]);
    if (!why.empty()) refuse(path, why);
  }
  return files;
}

}  // namespace

std::map<std::string, Bytes> read_named_files(const std::string& input,
                                              const std::set<std::string>& names) {
  std::error_code error;
  const fs::file_status status = fs::status(input, error);
  if (!fs::exists(status)) {
    throw UsageError("cannot read '" + input + "'",
                     error ? error.message() : "there is no such file or folder",
                     "give an archive, or the folder that it unpacks to");
  }
  return fs::is_directory(status) ? read_folder(input, names) : read_archive(input, names);
}

}  // namespace lockstep::tools

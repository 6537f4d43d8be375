#include <ATen/ops/empty.h>
#include <archive.h>
#include <archive_entry.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "lockstep/base/check.hpp"
#include "lockstep/base/utf8.hpp"
#include "torch_file.hpp"

namespace lockstep::train {
namespace {

/// The records of a zip archive, one after the other. (LibTorch has a reader of its own, which does
/// not compare the checksums.)
class ZipReader {
 public:
  explicit ZipReader(const std::string& file)
      : file_(file),
        file_bytes_(static_cast<std::int64_t>(std::filesystem::file_size(file))),
        reader_(archive_read_new(), archive_read_free) {
    require(reader_ != nullptr, "cannot read '" + file + "'", "there is not enough memory",
            "free some");
    constexpr std::size_t kBlock = 1U << 20U;
    check(archive_read_support_format_zip_seekable(reader_.get()));
    check(archive_read_open_filename(reader_.get(), file.c_str(), kBlock));
  }

  /// Goes to the next record; false when there is none.
  bool next() {
    const int code = archive_read_next_header(reader_.get(), &entry_);
    if (code == ARCHIVE_EOF) {
      return false;
    }
    const char* name = code == ARCHIVE_OK ? archive_entry_pathname_utf8(entry_) : nullptr;
    check(name == nullptr ? ARCHIVE_FATAL : code);
    name_ = name;
    return true;
  }

  [[nodiscard]] const std::string& name() const { return name_; }

  /// How many bytes the record has. torch.save compresses nothing: what is larger than the file
  /// is not believed.
  [[nodiscard]] std::int64_t size() const {
    const std::int64_t size = archive_entry_size(entry_);
    if (archive_entry_size_is_set(entry_) == 0 || size < 0 || size > file_bytes_) {
      refuse_torch_file(file_, "its record '" + escaped(name_) + "' is compressed");
    }
    return size;
  }

  /// All of the record, which has size() bytes.
  void read(void* out) {
    const auto bytes = static_cast<std::size_t>(size());
    std::size_t done = 0;
    while (done < bytes) {
      const std::size_t n = take(static_cast<char*>(out) + done, bytes - done);
      if (n == 0) {
        damaged_torch_file(file_, "its record '" + escaped(name_) + "' ends early");
      }
      done += n;
    }
    char more = 0;  // at the end the checksum is compared
    if (take(&more, 1) != 0) {
      damaged_torch_file(file_, "its record '" + escaped(name_) + "' has more bytes than it says");
    }
  }

 private:
  std::size_t take(char* out, std::size_t bytes) {
    const la_ssize_t n = archive_read_data(reader_.get(), out, bytes);
    check(n < 0 ? ARCHIVE_FATAL : ARCHIVE_OK);
    return static_cast<std::size_t>(n);
  }

  void check(int code) {
    if (code != ARCHIVE_OK) {
      const char* text = archive_error_string(reader_.get());
      damaged_torch_file(
          file_, "as a zip archive: " + std::string(text == nullptr ? "it is damaged" : text));
    }
  }

  std::string file_;
  std::int64_t file_bytes_;
  std::unique_ptr<archive, int (*)(archive*)> reader_;
  archive_entry* entry_ = nullptr;
  std::string name_;
};

/// The records that say what the others are.
struct Description {
  std::string folder;  ///< all records lie in it: "resnet18/"
  std::vector<std::uint8_t> pickle;
  std::string byte_order = "little";  ///< as files without that record have it
};

Description describe(const std::string& file) {
  constexpr std::string_view kPickle = "/data.pkl";
  constexpr std::string_view kByteOrder = "byteorder";
  Description found;
  std::set<std::string> names;
  std::string order_at;
  ZipReader zip(file);
  while (zip.next()) {
    if (!names.insert(zip.name()).second) {
      refuse_torch_file(file, "it has two records '" + escaped(zip.name()) + "'");
    }
    if (zip.name().ends_with(kPickle)) {
      if (!found.folder.empty()) {
        refuse_torch_file(file, "it has several records data.pkl");
      }
      found.folder = zip.name().substr(0, zip.name().size() - kPickle.size() + 1);
      found.pickle.resize(static_cast<std::size_t>(zip.size()));
      zip.read(found.pickle.data());
    } else if (zip.name().ends_with("/" + std::string(kByteOrder))) {
      found.byte_order.resize(static_cast<std::size_t>(zip.size()));
      zip.read(found.byte_order.data());
      order_at = zip.name();
    }
  }
  if (found.folder.empty()) {
    refuse_torch_file(file, "it is a zip archive without a record data.pkl");
  }
  if (!order_at.empty() && order_at != found.folder + std::string(kByteOrder)) {
    refuse_torch_file(file, "its record byteorder is not beside data.pkl");
  }
  return found;
}

LoadedStorages read_storages(const std::string& file, const std::string& folder,
                             const TorchStateDict& dict) {
  const std::set<std::string> needed = needed_storages(dict);
  const std::string prefix = folder + "data/";
  LoadedStorages loaded;
  ZipReader zip(file);
  while (zip.next()) {
    const std::string key =
        zip.name().starts_with(prefix) ? zip.name().substr(prefix.size()) : std::string();
    if (!needed.contains(key)) {
      continue;
    }
    const TorchStorage& storage = dict.storages.at(key);
    if (zip.size() != storage.bytes()) {
      damaged_torch_file(file, "storage '" + escaped(key) + "' has " + std::to_string(zip.size()) +
                                   " bytes, not " + std::to_string(storage.bytes()));
    }
    at::Tensor flat = at::empty({storage.elements}, at::TensorOptions().dtype(storage.type));
    zip.read(flat.mutable_data_ptr());
    loaded.emplace(key, std::move(flat));
  }
  for (const std::string& key : needed) {
    if (!loaded.contains(key)) {
      damaged_torch_file(file, "storage '" + escaped(key) + "' is missing");
    }
  }
  return loaded;
}

}  // namespace

bool is_torch_zip(std::string_view head) { return head.starts_with("PK\x03\x04"); }

TorchWeights read_torch_zip(const std::string& file) {
  Description found = describe(file);
  if (found.byte_order != "little") {
    refuse_torch_file(file, "it was written on a machine with its highest bytes first");
  }
  const Pickle pickle(std::move(found.pickle), file, torch_rules());
  const TorchStateDict dict = read_state_dict(pickle);
  return make_weights(dict, read_storages(file, found.folder, dict));
}

}  // namespace lockstep::train

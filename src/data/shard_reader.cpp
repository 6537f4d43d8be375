#include "lockstep/data/shard_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <optional>
#include <utility>

#include "hdf5_file.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/system.hpp"
#include "lockstep/data/set_digest.hpp"
#include "open_files.hpp"

namespace lockstep::data {
namespace {

constexpr const char* kHint = "pack the set again, or copy it again from where it was made";

[[noreturn]] void damaged(const std::string& path, const std::string& why) {
  throw Error("shard '" + path + "' cannot be used", why, kHint);
}

/// A file open for reading alone; without a descriptor, and errno set, when it cannot be opened.
class ReadFile {
 public:
  explicit ReadFile(const std::string& path)
      // A FIFO in place of a file would be waited for for ever.
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~ReadFile() { close(); }
  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  ReadFile(ReadFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ReadFile& operator=(ReadFile&&) = delete;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] bool is_regular() const {
    struct stat status {};
    return ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  }
  [[nodiscard]] std::int64_t size() const {
    struct stat status {};
    return ::fstat(descriptor_, &status) == 0 ? status.st_size : -1;
  }

 private:
  int descriptor_;
};

/// One shard, open: pictures by pread at `offset`, or through HDF5.
struct Shard {
  std::string path;
  std::int64_t begin = 0;  // id of its first sample
  ReadFile file;
  std::int64_t offset = -1;
  std::optional<Hdf5Rows> rows;
};

void check_identity(const Hdf5File& shard, const std::string& path, const SetInfo& info,
                    std::int64_t index) {
  if (shard.text(kFormatAttribute) != kFormatName) damaged(path, "it has another format");
  if (shard.integer(kVersionAttribute) != kFormatVersion) damaged(path, "it has another version");
  if (shard.text(kSetIdAttribute) != info.set_id) {
    damaged(path, "it belongs to another set (id " + shard.text(kSetIdAttribute) +
                      ", the set's is " + info.set_id + ")");
  }
  if (shard.integer(kShardIndexAttribute) != index) {
    damaged(path, "it is shard " + std::to_string(shard.integer(kShardIndexAttribute)) +
                      " of the set under the name of shard " + std::to_string(index));
  }
  const std::int64_t expected = info.shards[static_cast<std::size_t>(index)].samples;
  if (shard.integer(kSampleCountAttribute) != expected) {
    damaged(path, "it says it has " + std::to_string(shard.integer(kSampleCountAttribute)) +
                      " samples, the set says " + std::to_string(expected));
  }
  for (const char* name : {kImages, kLabels, kChecksums, kClasses, kSourcePaths}) {
    if (!shard.has_dataset(name)) damaged(path, std::string("it has no dataset ") + name);
  }
  const auto differs = [&](const char* attribute, const std::array<double, 3>& of_set) {
    const std::vector<double> own = shard.doubles(attribute);
    return !std::equal(own.begin(), own.end(), of_set.begin(), of_set.end());
  };
  if (differs(kMeanAttribute, info.mean) || differs(kStdAttribute, info.std)) {
    damaged(path, "its channel mean and std are not those of set.json");
  }
}

std::vector<std::int32_t> read_labels(const Hdf5File& shard, const std::string& path,
                                      const SetInfo& info, std::int64_t samples) {
  const DatasetInfo stored = shard.info(kLabels);
  if (stored.kind != DatasetInfo::Kind::kSigned || stored.element_bytes != 4 ||
      !stored.native_order) {
    damaged(path, "its labels are not int32 in this machine's byte order");
  }
  if (stored.dims != std::vector<std::int64_t>{samples}) {
    damaged(path, "its labels are not one for each of " + std::to_string(samples) + " samples");
  }
  std::vector<std::int32_t> labels = shard.read_int32(kLabels, samples);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || static_cast<std::size_t>(labels[i]) >= info.classes.size()) {
      damaged(path, "sample " + std::to_string(i) + " has label " + std::to_string(labels[i]) +
                        " of " + std::to_string(info.classes.size()) + " classes");
    }
  }
  return labels;
}

void check_images(const DatasetInfo& images, const std::string& path, const SetInfo& info,
                  std::int64_t samples) {
  const std::vector<std::int64_t> expected{samples, info.height, info.width, 3};
  if (images.kind != DatasetInfo::Kind::kUnsigned || images.element_bytes != 1) {
    damaged(path, "its pictures are not unsigned bytes");
  }
  if (images.dims != expected)
    damaged(path, "its pictures have another number or size than the set says");
}

}  // namespace

struct ShardSet::Impl {
  std::string folder;
  SetInfo info;
  std::vector<Shard> shards;
  std::vector<std::int32_t> labels;
  std::int64_t slow = 0;
  mutable std::once_flag checksums_once;
  mutable std::vector<std::uint32_t> checksums;

  void open_shard(std::int64_t index);
  [[noreturn]] void no_such_sample(std::int64_t id) const {
    throw Error("cannot read sample " + std::to_string(id) + " of '" + folder + "'",
                "the set has " + std::to_string(info.samples) + " samples", "report this as a bug");
  }
  [[nodiscard]] const Shard& shard_of(std::int64_t id) const {
    const auto after = std::upper_bound(shards.begin(), shards.end(), id,
                                        [](std::int64_t i, const Shard& s) { return i < s.begin; });
    return *(after - 1);
  }
};

void ShardSet::Impl::open_shard(std::int64_t index) {
  const ShardInfo& expected = info.shards[static_cast<std::size_t>(index)];
  const std::string path = folder + "/" + expected.file;
  ReadFile opened(path);
  if (opened.descriptor() < 0) {
    if (errno == EMFILE) too_many_shards(folder, static_cast<std::int64_t>(info.shards.size()));
    damaged(path, errno_text());
  }
  if (!opened.is_regular()) damaged(path, "it is not a regular file");
  Shard shard{path, static_cast<std::int64_t>(labels.size()), std::move(opened), -1, std::nullopt};
  const auto file = Hdf5File::open_read(path);
  check_identity(file, path, info, index);
  const DatasetInfo images = file.info(kImages);
  check_images(images, path, info, expected.samples);
  if (images.offset >= 0) {
    const std::int64_t end = images.offset + expected.samples * info.height * info.width * 3;
    if (end > shard.file.size()) {
      damaged(path, "it is cut off: it has " + std::to_string(shard.file.size()) +
                        " bytes, its pictures end at " + std::to_string(end));
    }
    shard.offset = images.offset;
  } else {
    shard.rows = file.open_rows(kImages);
    shard.file.close();  // HDF5 keeps it open itself
    ++slow;
  }
  const std::vector<std::int32_t> own = read_labels(file, path, info, expected.samples);
  if (file.read_text(kClasses, static_cast<std::int64_t>(info.classes.size())) != info.classes)
    damaged(path, "its classes are not those of the set");
  labels.insert(labels.end(), own.begin(), own.end());
  shards.push_back(std::move(shard));
}

ShardSet::ShardSet(const std::string& folder) : impl_(std::make_unique<Impl>()) {
  impl_->folder = folder;
  impl_->info = read_set_info(folder);
  allow_open_shards(folder, static_cast<std::int64_t>(impl_->info.shards.size()));
  for (std::size_t i = 0; i < impl_->info.shards.size(); ++i) {
    impl_->open_shard(static_cast<std::int64_t>(i));
  }
  std::vector<std::int64_t> counts(impl_->info.classes.size());
  for (const std::int32_t label : impl_->labels) ++counts[static_cast<std::size_t>(label)];
  require(counts == impl_->info.class_counts, "the set '" + folder + "' cannot be used",
          "the labels in its shards do not add up to the class counts of set.json", kHint);
}

ShardSet::~ShardSet() = default;
ShardSet::ShardSet(ShardSet&&) noexcept = default;
ShardSet& ShardSet::operator=(ShardSet&&) noexcept = default;

const SetInfo& ShardSet::info() const noexcept { return impl_->info; }
const std::string& ShardSet::folder() const noexcept { return impl_->folder; }
const std::vector<std::int32_t>& ShardSet::labels() const noexcept { return impl_->labels; }
std::int64_t ShardSet::slow_shards() const noexcept { return impl_->slow; }
void ShardSet::read(std::int64_t id, std::uint8_t* out) const {
  if (id < 0 || id >= size()) impl_->no_such_sample(id);
  const Shard& shard = impl_->shard_of(id);
  const std::int64_t row = id - shard.begin;
  if (shard.rows) {
    shard.rows->read(row, out);
    return;
  }
  const std::int64_t n =
      read_at(shard.file.descriptor(), out, static_cast<std::size_t>(sample_bytes()),
              shard.offset + row * sample_bytes());
  if (n < sample_bytes()) {
    damaged(shard.path, "reading sample " + std::to_string(row) +
                            (n < 0 ? ": " + errno_text() : ": the file ends early"));
  }
}

std::uint32_t ShardSet::stored_checksum(std::int64_t id) const {
  std::call_once(impl_->checksums_once, [this] {
    for (std::size_t i = 0; i < impl_->shards.size(); ++i) {
      const auto own = Hdf5File::open_read(impl_->shards[i].path)
                           .read_uint32(kChecksums, info().shards[i].samples);
      impl_->checksums.insert(impl_->checksums.end(), own.begin(), own.end());
    }
    require(impl_->checksums.size() == impl_->labels.size(), "'" + folder() + "' cannot be checked",
            "it has another number of checksums than of samples", kHint);
  });
  if (id < 0 || id >= size()) impl_->no_such_sample(id);
  return impl_->checksums[static_cast<std::size_t>(id)];
}

std::string labels_digest(const ShardSet& set) {
  StreamDigest digest;
  digest.add(set.labels().data(), set.labels().size() * sizeof(std::int32_t));
  return digest.text();
}

std::vector<std::string> ShardSet::source_paths() const {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < impl_->shards.size(); ++i) {
    const auto own = Hdf5File::open_read(impl_->shards[i].path)
                         .read_text(kSourcePaths, info().shards[i].samples);
    paths.insert(paths.end(), own.begin(), own.end());
  }
  require(paths.size() == impl_->labels.size(),
          "the source paths of '" + folder() + "' are unknown",
          "it has another number of paths than of samples", kHint);
  return paths;
}

}  // namespace lockstep::data

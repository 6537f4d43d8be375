#include "lockstep/data/shard_writer.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "hdf5_file.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/partition.hpp"
#include "lockstep/base/system.hpp"
#include "lockstep/data/set_digest.hpp"

namespace lockstep::data {
namespace {

constexpr const char* kDiskHint = "free space or give write permission; nothing was replaced";

/// A descriptor for writing pictures beside HDF5.
class RawFile {
 public:
  explicit RawFile(const std::string& path)
      : path_(path), descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    require(descriptor_ >= 0, "cannot write '" + path_ + "'", errno_text(), kDiskHint);
  }
  ~RawFile() { ::close(descriptor_); }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  void write(std::span<const std::uint8_t> bytes, std::int64_t offset) const {
    const bool written = write_at(descriptor_, bytes.data(), bytes.size(), offset);
    require(written, "cannot write '" + path_ + "'", errno_text(), kDiskHint);
  }
  void read(std::span<std::uint8_t> bytes, std::int64_t offset) const {
    const std::int64_t n = read_at(descriptor_, bytes.data(), bytes.size(), offset);
    require(n == static_cast<std::int64_t>(bytes.size()), "cannot read back '" + path_ + "'",
            n < 0 ? errno_text() : "the file ends early", kDiskHint);
  }
  /// Takes the blocks of the file now: a disk that is too small is known before any work is done.
  void reserve(std::int64_t bytes) const {
    int error = EINTR;  // tmpfs gives up at a signal, also at one that is handled
    while (error == EINTR) error = ::posix_fallocate(descriptor_, 0, bytes);
    if (error == EOPNOTSUPP || error == EINVAL) return;  // not every file system has it
    errno = error;
    require(error == 0, "cannot write '" + path_ + "'", errno_text(), kDiskHint);
  }
  void sync() const {
    const bool synced = ::fsync(descriptor_) == 0;
    require(synced, "cannot write '" + path_ + "'", errno_text(), kDiskHint);
  }

 private:
  std::string path_;
  int descriptor_;
};

}  // namespace

SampleDigest digest_sample(std::span<const std::uint8_t> rgb) noexcept {
  SampleDigest digest;
  digest.checksum = static_cast<std::uint32_t>(crc32_z(0, rgb.data(), rgb.size()));
  for (std::size_t i = 0; i + 2 < rgb.size(); i += 3) {
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint64_t value = rgb[i + c];
      digest.sum[c] += value;
      digest.sum_of_squares[c] += value * value;
    }
  }
  return digest;
}

void ChannelStatistics::add(const SampleDigest& digest, std::int64_t pixels) noexcept {
  pixels_ += pixels;
  for (std::size_t c = 0; c < 3; ++c) {
    sum_[c] += digest.sum[c];
    sum_of_squares_[c] += digest.sum_of_squares[c];
  }
}

std::array<double, 3> ChannelStatistics::mean() const noexcept {
  std::array<double, 3> mean{};
  for (std::size_t c = 0; c < 3 && pixels_ > 0; ++c) {
    mean[c] = static_cast<double>(sum_[c]) / static_cast<double>(pixels_) / 255;
  }
  return mean;
}

std::array<double, 3> ChannelStatistics::std() const noexcept {
  std::array<double, 3> deviation{};
  for (std::size_t c = 0; c < 3 && pixels_ > 0; ++c) {
    const double mean = static_cast<double>(sum_[c]) / static_cast<double>(pixels_);
    const double square = static_cast<double>(sum_of_squares_[c]) / static_cast<double>(pixels_);
    deviation[c] = std::sqrt(std::max(0.0, square - mean * mean)) / 255;
  }
  return deviation;
}

struct SetWriter::Impl {
  std::string folder;
  SetWriterOptions options;
  std::int64_t picture_bytes;
  std::vector<std::int32_t> labels;
  std::vector<std::uint32_t> checksums;
  std::vector<std::string> paths;
  ChannelStatistics statistics;
  std::int64_t open_shard = -1;
  std::unique_ptr<RawFile> file;
  std::int64_t offset = 0;

  [[nodiscard]] std::string shard_path(std::int64_t shard) const {
    return folder + "/" + shard_file_name(shard);
  }
  [[nodiscard]] Range planned(std::int64_t shard) const {
    return part_of({0, options.planned_samples}, shard, options.shards);
  }

  /// Makes the datasets of a shard and returns where its pictures lie.
  [[nodiscard]] std::int64_t lay_out(const std::string& path, std::int64_t count) const {
    auto shard = Hdf5File::create(path);
    shard.create_uint8(kImages, {count, options.height, options.width, 3});
    shard.create_int32(kLabels, count);
    shard.create_uint32(kChecksums, count);
    shard.create_text(kSourcePaths, count, options.path_bytes);
    std::size_t longest = 1;
    for (const std::string& name : options.classes) longest = std::max(longest, name.size());
    shard.create_text(kClasses, static_cast<std::int64_t>(options.classes.size()),
                      static_cast<std::int64_t>(longest));
    const std::int64_t place = shard.info(kImages).offset;
    shard.close();
    require(place >= 0, "cannot place pictures in '" + path + "'", "HDF5 gave them no offset",
            "report this as a defect");
    return place;
  }

  void start_shard(std::int64_t shard) {
    if (file) file->sync();
    open_shard = shard;
    offset = lay_out(shard_path(shard), planned(shard).size());
    file = std::make_unique<RawFile>(shard_path(shard));
    file->reserve(static_cast<std::int64_t>(std::filesystem::file_size(shard_path(shard))));
  }

  /// Fewer pictures came than were planned: the shard is laid out again for those that did.
  void shrink(std::int64_t shard, std::int64_t count) {
    const std::string path = shard_path(shard);
    const std::string smaller = path + ".small";
    const std::int64_t place = lay_out(smaller, count);
    {
      const RawFile to(smaller);
      std::vector<std::uint8_t> picture(static_cast<std::size_t>(picture_bytes));
      for (std::int64_t i = 0; i < count; ++i) {
        file->read(picture, offset + i * picture_bytes);
        to.write(picture, place + i * picture_bytes);
      }
    }
    const bool renamed = std::rename(smaller.c_str(), path.c_str()) == 0;
    require(renamed, "cannot write '" + path + "'", errno_text(), kDiskHint);
  }

  [[nodiscard]] std::string set_id() const {
    StreamDigest digest;
    digest.add(options.options_text + " shards " + std::to_string(options.shards));
    for (const std::string& name : options.classes) digest.add(name);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      digest.add(&checksums[i], sizeof checksums[i]);
      digest.add(&labels[i], sizeof labels[i]);
      digest.add(paths[i]);
    }
    return digest.text();
  }

  /// Everything but the pictures.
  void complete_shard(std::int64_t index, Range range, const SetInfo& info) const {
    const auto slice = [&](const auto& all) {
      return std::decay_t<decltype(all)>(all.begin() + range.begin, all.begin() + range.end);
    };
    auto shard = Hdf5File::open_write(shard_path(index));
    shard.write_int32(kLabels, slice(labels));
    shard.write_uint32(kChecksums, slice(checksums));
    shard.write_text(kSourcePaths, slice(paths));
    shard.write_text(kClasses, options.classes);
    shard.set_text(kFormatAttribute, kFormatName);
    shard.set_int(kVersionAttribute, kFormatVersion);
    shard.set_text(kSetIdAttribute, info.set_id);
    shard.set_int(kShardIndexAttribute, index);
    shard.set_int(kSampleCountAttribute, range.size());
    shard.set_doubles(kMeanAttribute, {info.mean.begin(), info.mean.end()});
    shard.set_doubles(kStdAttribute, {info.std.begin(), info.std.end()});
    shard.close();
    RawFile(shard_path(index)).sync();
  }
};

SetWriter::SetWriter(std::string folder, SetWriterOptions options)
    : impl_(std::make_unique<Impl>()) {
  impl_->folder = std::move(folder);
  impl_->options = std::move(options);
  impl_->options.path_bytes = std::max<std::int64_t>(1, impl_->options.path_bytes);
  impl_->options.shards = std::clamp<std::int64_t>(
      impl_->options.shards, 1, std::max<std::int64_t>(1, impl_->options.planned_samples));
  impl_->picture_bytes = impl_->options.height * impl_->options.width * 3;
}

SetWriter::~SetWriter() = default;

std::int64_t SetWriter::samples() const noexcept {
  return static_cast<std::int64_t>(impl_->labels.size());
}

void SetWriter::append(std::span<const std::uint8_t> rgb, const SampleDigest& digest,
                       std::int32_t label, const std::string& path) {
  Impl& w = *impl_;
  const std::int64_t id = samples();
  require(static_cast<std::int64_t>(rgb.size()) == w.picture_bytes && label >= 0 &&
              static_cast<std::size_t>(label) < w.options.classes.size() &&
              id < w.options.planned_samples,
          "cannot add '" + path + "' to the set", "its size, label or number is not as planned",
          "report this as a defect");
  if (w.open_shard < 0 || id >= w.planned(w.open_shard).end) w.start_shard(w.open_shard + 1);
  w.file->write(rgb, w.offset + (id - w.planned(w.open_shard).begin) * w.picture_bytes);
  w.labels.push_back(label);
  w.checksums.push_back(digest.checksum);
  w.paths.push_back(path);
  w.statistics.add(digest, w.options.height * w.options.width);
}

SetInfo SetWriter::finish() {
  Impl& w = *impl_;
  require(samples() > 0, "the set would be empty", "no picture could be used",
          "look at the reasons above");
  SetInfo info;
  info.set_id = w.set_id();
  info.samples = samples();
  info.height = w.options.height;
  info.width = w.options.width;
  info.packed = w.options.packed;
  info.classes = w.options.classes;
  info.class_counts.resize(info.classes.size());
  for (const std::int32_t label : w.labels) ++info.class_counts[static_cast<std::size_t>(label)];
  info.mean = w.statistics.mean();
  info.std = w.statistics.std();
  for (std::int64_t shard = 0; shard <= w.open_shard; ++shard) {
    Range range = w.planned(shard);
    if (range.end > samples()) {
      range.end = samples();
      w.shrink(shard, range.size());
    }
    w.complete_shard(shard, range, info);
    info.shards.push_back({shard_file_name(shard), range.size(), digest_file(w.shard_path(shard))});
  }
  w.file.reset();
  const std::string text = to_json(info);
  const RawFile set_file(w.folder + "/" + kSetFile);
  set_file.write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, 0);
  set_file.sync();
  sync_folder(w.folder, kDiskHint);
  return info;
}

}  // namespace lockstep::data

#include "lib/pack.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <fstream>
#include <mutex>
#include <thread>

#include "lib/staging.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/seed.hpp"
#include "lockstep/data/image_decode.hpp"
#include "lockstep/data/shard_writer.hpp"

namespace lockstep::tools {
namespace {

constexpr std::int64_t kShardBytes = std::int64_t{256} << 20U;
constexpr std::size_t kWindow = 64;  // decoded pictures waiting for their turn
constexpr std::size_t kBadExamples = 10;

std::vector<std::uint8_t> read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) throw data::ImageError(path, "unreadable file", errno_text(), "check its rights");
  std::vector<std::uint8_t> bytes(
      static_cast<std::size_t>(std::max<std::streamoff>(0, in.tellg())));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in) throw data::ImageError(path, "unreadable file", errno_text(), "check the disk");
  return bytes;
}

/// One picture on its way to the writer.
struct Slot {
  bool ready = false;
  data::Image image;
  data::SampleDigest digest;
  std::exception_ptr error;
};

/// Decodes pictures on threads and hands them over in order.
class DecodePool {
 public:
  DecodePool(const PackOptions& options, const std::vector<FoundFile>& files)
      : options_(options),
        files_(files),
        order_(derive_key(options.seed, Stream::kPacking), files.size()),
        slots_(std::max(kWindow, 2 * static_cast<std::size_t>(options.threads))) {
    for (std::int64_t i = 0; i < options.threads; ++i) {
      threads_.emplace_back([this] { work(); });
    }
  }
  ~DecodePool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;

  [[nodiscard]] const FoundFile& file(std::size_t position) const {
    return files_[order_(position)];
  }

  /// The picture at the next position.
  Slot take() {
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[taken_ % slots_.size()];
    changed_.wait(lock, [&] { return slot.ready; });
    Slot result = std::move(slot);
    slot = Slot();
    ++taken_;
    changed_.notify_all();
    return result;
  }

 private:
  void work() {
    while (true) {
      std::size_t position = 0;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] {
          return stop_ || claimed_ == files_.size() || claimed_ < taken_ + slots_.size();
        });
        if (stop_ || claimed_ == files_.size()) return;
        position = claimed_++;
      }
      Slot slot;
      try {
        decode(file(position), slot);
      } catch (...) {
        slot.error = std::current_exception();
      }
      slot.ready = true;
      const std::lock_guard lock(mutex_);
      slots_[position % slots_.size()] = std::move(slot);
      changed_.notify_all();
    }
  }

  void decode(const FoundFile& found, Slot& slot) const {
    const std::string path = options_.root + "/" + found.path;
    data::DecodeOptions decoding;
    decoding.background = options_.background;
    slot.image = data::decode_image(read_bytes(path), path, decoding);
    if (options_.size) {
      slot.image = data::fit_image(slot.image, {(*options_.size)[0], (*options_.size)[1],
                                                options_.fit, options_.background});
    }
    slot.digest = data::digest_sample(slot.image.rgb);
  }

  const PackOptions& options_;
  const std::vector<FoundFile>& files_;
  Permutation order_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::size_t claimed_ = 0;
  std::size_t taken_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

/// Says how far packing is: redrawn on a terminal, else a line every few seconds.
class PackProgress {
 public:
  explicit PackProgress(std::size_t total) : total_(total), terminal_(::isatty(2) == 1) {}
  ~PackProgress() {
    if (terminal_ && drawn_) std::fputs("\r\033[K", stderr);
  }
  PackProgress(const PackProgress&) = delete;
  PackProgress& operator=(const PackProgress&) = delete;
  void update(std::size_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(terminal_ ? 200 : 5000)) return;
    last_ = now;
    drawn_ = true;
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    std::fprintf(stderr, "%spacked %zu of %zu pictures, %.0f/s%s", terminal_ ? "\r\033[K" : "",
                 done, total_, static_cast<double>(done) / seconds, terminal_ ? "" : "\n");
    std::fflush(stderr);
  }

 private:
  std::size_t total_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = begin_;
};

data::SetWriterOptions writer_options(const PackOptions& options,
                                      const std::vector<std::string>& classes,
                                      const std::vector<FoundFile>& files,
                                      const data::Image& first) {
  data::SetWriterOptions writer;
  writer.height = first.height;
  writer.width = first.width;
  writer.classes = classes;
  writer.planned_samples = static_cast<std::int64_t>(files.size());
  const std::int64_t per_shard =
      options.shard_samples > 0
          ? options.shard_samples
          : std::max<std::int64_t>(1, kShardBytes / (first.height * first.width * 3));
  writer.shards = (writer.planned_samples + per_shard - 1) / per_shard;
  for (const FoundFile& file : files) {
    writer.path_bytes = std::max(writer.path_bytes, static_cast<std::int64_t>(file.path.size()));
  }
  writer.options_text = "raw " + std::to_string(first.height) + "x" + std::to_string(first.width) +
                        " fit " + std::to_string(static_cast<int>(options.fit)) + " background";
  for (const std::uint8_t value : options.background) {
    writer.options_text += " " + std::to_string(value);
  }
  return writer;
}

}  // namespace

std::int64_t PackSummary::bad_count() const {
  std::int64_t count = 0;
  for (const auto& [kind, files] : bad) count += files;
  return count;
}

PackSummary pack_files(const PackOptions& options, const std::vector<std::string>& classes,
                       const std::vector<FoundFile>& files, const std::string& folder) {
  PackSummary summary;
  DecodePool pool(options, files);
  PackProgress progress(files.size());
  std::unique_ptr<data::SetWriter> writer;
  std::string first_path;
  std::int64_t height = 0;
  std::int64_t width = 0;
  for (std::size_t position = 0; position < files.size(); ++position) {
    throw_if_stopped();
    const Slot slot = pool.take();
    const FoundFile& file = pool.file(position);
    try {
      if (slot.error) std::rethrow_exception(slot.error);
    } catch (const data::ImageError& error) {
      if (!options.skip_bad) throw;
      ++summary.bad[error.kind()];
      if (summary.bad_examples.size() < kBadExamples)
        summary.bad_examples.emplace_back(error.what());
      continue;
    }
    if (!writer) {
      writer = std::make_unique<data::SetWriter>(
          folder, writer_options(options, classes, files, slot.image));
      first_path = file.path;
      height = slot.image.height;
      width = slot.image.width;
    }
    if (slot.image.height != height || slot.image.width != width) {
      const auto text = [](std::int64_t h, std::int64_t w) {
        return std::to_string(h) + "x" + std::to_string(w);
      };
      throw UsageError("the pictures differ in size",
                       "'" + first_path + "' has " + text(height, width) + " pixels, '" +
                           file.path + "' has " + text(slot.image.height, slot.image.width),
                       "give --size");
    }
    writer->append(slot.image.rgb, slot.digest, file.label, file.path);
    progress.update(position + 1);
  }
  require(writer != nullptr, "the set would be empty", "no picture could be used",
          "look at the files, or give another folder");
  summary.info = writer->finish();
  return summary;
}

}  // namespace lockstep::tools

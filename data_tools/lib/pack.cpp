#include "lib/pack.hpp"

#include <algorithm>
#include <memory>

#include "lib/decode_pool.hpp"
#include "lib/progress.hpp"
#include "lib/stop.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/data/shard_writer.hpp"

namespace lockstep::tools {
namespace {

constexpr std::int64_t kShardBytes = std::int64_t{256} << 20U;
constexpr std::int64_t kShardSamples = 10'000;
constexpr std::size_t kBadExamples = 20;

std::int64_t shards_for(const PackOptions& options, std::int64_t samples, std::int64_t bytes) {
  if (options.shards > 0) {
    require(options.shards <= samples,
            "--shards " + std::to_string(options.shards) + " is too many",
            "there are " + std::to_string(samples) + " pictures", "ask for fewer shards");
    return options.shards;
  }
  const std::int64_t most = options.shard_samples > 0
                                ? options.shard_samples
                                : std::clamp<std::int64_t>(kShardBytes / bytes, 1, kShardSamples);
  return (samples + most - 1) / most;
}

/// The options that shape the bytes of a set; they are part of its id.
std::string options_text(const PackOptions& options, const data::Image& first) {
  std::string text = "raw " + std::to_string(first.height) + "x" + std::to_string(first.width);
  text += options.size ? " fit " + std::to_string(static_cast<int>(options.fit)) : " as is";
  text += " background";
  for (const std::uint8_t value : options.background) text += " " + std::to_string(value);
  return text;
}

data::SetWriterOptions writer_options(const PackOptions& options, const SampleSource& source,
                                      const data::Image& first) {
  data::SetWriterOptions writer;
  writer.height = first.height;
  writer.width = first.width;
  writer.packed = {options.size ? data::fit_name(options.fit) : data::kNoFit, options.background};
  writer.classes = source.classes;
  writer.planned_samples = static_cast<std::int64_t>(source.samples.size());
  writer.shards = shards_for(options, writer.planned_samples, first.height * first.width * 3);
  for (const Sample& sample : source.samples) {
    writer.path_bytes = std::max(writer.path_bytes, static_cast<std::int64_t>(sample.path.size()));
  }
  writer.options_text = options_text(options, first);
  return writer;
}

/// The size all pictures must share, and the file that set it.
struct CommonSize {
  std::string path;
  std::int64_t height = 0;
  std::int64_t width = 0;

  void check(const data::Image& image, const std::string& other) const {
    if (image.height == height && image.width == width) return;
    const auto text = [](std::int64_t h, std::int64_t w) {
      return std::to_string(h) + "x" + std::to_string(w);
    };
    throw UsageError("the pictures differ in size",
                     "'" + path + "' is " + text(height, width) + " (height x width), '" + other +
                         "' is " + text(image.height, image.width),
                     "give --size to bring them to one size");
  }
};

void check_classes(const PackSummary& summary, const std::vector<Sample>& samples) {
  for (const Sample& sample : samples) {
    const auto label = static_cast<std::size_t>(sample.label);
    require(summary.info.class_counts[label] > 0,
            "no picture of class '" + summary.info.classes[label] + "' could be packed",
            "all its files are bad",
            "repair them, remove the folder, or give --allow-empty-classes");
  }
}

}  // namespace

PackSummary pack_samples(const PackOptions& options, SampleSource source,
                         const std::string& folder) {
  PackSummary summary;
  std::sort(source.samples.begin(), source.samples.end(), comes_before);
  DecodePool pool(options, source);
  Progress progress("packed", source.samples.size());
  std::unique_ptr<data::SetWriter> writer;
  CommonSize common;
  for (std::size_t position = 0; position < source.samples.size(); ++position) {
    throw_if_stopped();
    const Decoded decoded = pool.take();
    const Sample& sample = pool.sample(position);
    try {
      if (decoded.error) std::rethrow_exception(decoded.error);
    } catch (const data::ImageError& error) {
      if (!options.skip_bad) throw;
      summary.bad.push_back({sample.origin, error.kind()});
      if (summary.bad_examples.size() < kBadExamples) {
        summary.bad_examples.emplace_back(error.what());
      }
      continue;
    }
    if (!writer) {
      common = {sample.path, decoded.image.height, decoded.image.width};
      writer =
          std::make_unique<data::SetWriter>(folder, writer_options(options, source, decoded.image));
    }
    common.check(decoded.image, sample.path);
    writer->append(decoded.image.rgb, decoded.digest, sample.label, sample.path);
    progress.update(position + 1);
  }
  require(writer != nullptr, "the set would be empty", "no picture could be used",
          summary.bad_examples.empty() ? "give a folder with pictures"
                                       : "the first reason is: " + summary.bad_examples.front());
  summary.info = writer->finish();
  if (!options.allow_empty_classes) check_classes(summary, source.samples);
  return summary;
}

}  // namespace lockstep::tools

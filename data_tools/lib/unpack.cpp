#include "lib/unpack.hpp"

#include <filesystem>

#include "lib/png_file.hpp"
#include "lib/progress.hpp"
#include "lib/staging.hpp"
#include "lib/stop.hpp"
#include "lib/unpack_names.hpp"
#include "lib/unpacked_list.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/system.hpp"
#include "lockstep/data/shard_writer.hpp"

namespace lockstep::tools {
namespace {

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require(!error, "cannot make folder '" + folder + "'", error.message(),
          "free space or give write permission; nothing was replaced");
}

data::Image read_checked(const data::ShardSet& set, std::int64_t index) {
  data::Image image{set.info().height, set.info().width, {}};
  image.rgb.resize(static_cast<std::size_t>(set.sample_bytes()));
  set.read(index, image.rgb.data());
  require(data::digest_sample(image.rgb).checksum == set.stored_checksum(index),
          "sample " + std::to_string(index) + " of '" + set.folder() + "' is damaged",
          "its picture differs from its checksum",
          "pack the set again, or copy it again; inspect_shards --verify finds all damage");
  return image;
}

}  // namespace

std::vector<UnpackedSample> unpack_samples(const data::ShardSet& set,
                                           const std::vector<std::int64_t>& indices,
                                           const std::string& output, bool overwrite) {
  StagingFolder staging(output, overwrite, unpacked_pictures());
  const std::vector<std::string> sources = set.source_paths();
  // Names of all samples, so that a sample has the same one whatever is written with it.
  const std::vector<std::string> files = picture_files(set.info().classes, set.labels(), sources);
  std::vector<UnpackedSample> samples;
  UnpackedListWriter list(staging.path(), set.info());
  for (const std::int64_t index : indices) {
    const auto i = static_cast<std::size_t>(index);
    const std::int32_t label = set.labels()[i];
    samples.push_back({index, files[i], sources[i]});
    list.add(index, label, set.info().classes[static_cast<std::size_t>(label)], files[i],
             sources[i]);
  }
  list.finish();
  Progress progress("unpacked", samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    throw_if_stopped();
    const std::string file = staging.path() + "/" + samples[i].file;
    make_folder(std::filesystem::path(file).parent_path().string());
    write_png(file, read_checked(set, samples[i].index));
    progress.update(i + 1);
  }
  // Before an older folder goes for it. All at once: fsync of each picture would take minutes.
  sync_file_system(staging.path(), "check the disk; nothing was replaced");
  throw_if_stopped();
  staging.commit();
  return samples;
}

}  // namespace lockstep::tools

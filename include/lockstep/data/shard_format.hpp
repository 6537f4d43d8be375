#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

/// The only truth about sets of shards: names of files, datasets and attributes, and the set.json
/// beside them. data_tools write with it, ShardSet reads with it; data_tools/FORMAT.md is its page.
namespace lockstep::data {

inline constexpr const char* kFormatName = "lockstep-shards";
inline constexpr std::int64_t kFormatVersion = 1;
inline constexpr const char* kSetFile = "set.json";
inline constexpr const char* kNoFit = "none";                ///< packed in the size they had
inline constexpr const char* kImages = "images";             ///< uint8 [N, H, W, 3]
inline constexpr const char* kLabels = "labels";             ///< int32 [N]
inline constexpr const char* kChecksums = "checksums";       ///< uint32 [N], CRC-32 of the sample
inline constexpr const char* kClasses = "classes";           ///< UTF-8 strings
inline constexpr const char* kSourcePaths = "source_paths";  ///< UTF-8 strings [N]

/// Attributes of the root group of every shard.
inline constexpr const char* kFormatAttribute = "format";             ///< kFormatName
inline constexpr const char* kVersionAttribute = "format_version";    ///< int64
inline constexpr const char* kSetIdAttribute = "set_id";              ///< 32 hex digits
inline constexpr const char* kShardIndexAttribute = "shard_index";    ///< int64, from 0
inline constexpr const char* kSampleCountAttribute = "sample_count";  ///< int64, of this shard
inline constexpr const char* kMeanAttribute = "mean";                 ///< float64 [3], of the set
inline constexpr const char* kStdAttribute = "std";                   ///< float64 [3], of the set

/// How the pictures of a set were brought to its size, so that others can be prepared alike.
struct PackedFit {
  std::string fit = kNoFit;                  ///< "crop", "pad", "stretch", or kNoFit
  std::array<std::uint8_t, 3> background{};  ///< behind transparent pixels, around padded pictures
  bool operator==(const PackedFit&) const = default;
};

struct ShardInfo {
  std::string file;  ///< "00000.h5"
  std::int64_t samples = 0;
  std::string digest;  ///< XXH3-128 of the file, 32 hex digits
};

/// What set.json says.
struct SetInfo {
  std::string set_id;  ///< digest of contents and packing options, 32 hex digits
  std::int64_t samples = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  PackedFit packed;
  std::vector<std::string> classes;
  std::vector<std::int64_t> class_counts;
  std::array<double, 3> mean{};  ///< per channel, values in [0, 1]
  std::array<double, 3> std{};   ///< population standard deviation, values in [0, 1]
  std::vector<ShardInfo> shards;
};

/// "00000.h5" for index 0.
[[nodiscard]] std::string shard_file_name(std::int64_t index);
[[nodiscard]] std::string to_json(const SetInfo& info);
/// Throws Error naming `source` on anything missing, of the wrong type or inconsistent.
[[nodiscard]] SetInfo set_info_from_json(const std::string& text, const std::string& source);
/// Reads FOLDER/set.json. Throws Error naming the folder when it is no set.
[[nodiscard]] SetInfo read_set_info(const std::string& folder);

}  // namespace lockstep::data

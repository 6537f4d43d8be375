#include "lib/picture_files.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "lib/whole_file.hpp"

namespace lockstep::tools {
namespace {

constexpr std::int64_t kLargestFile = 1LL << 30U;  // a picture file beyond this is no picture

Bytes read_picture(const std::string& path) {
  Bytes bytes;
  const std::string why = read_whole_file(path, kLargestFile, bytes);
  if (!why.empty()) {
    throw data::ImageError(path, "unreadable file", why, "check its rights, or remove it");
  }
  return bytes;
}

}  // namespace

bool has_picture_suffix(const std::string& name) {
  static constexpr std::array<const char*, 17> kSuffixes{
      ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp",  ".ppm", ".pgm",
      ".pbm", ".pnm",  ".tif", ".tiff", ".gif", ".heic", ".heif", ".avif"};
  std::string suffix = std::filesystem::path(name).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kSuffixes.begin(), kSuffixes.end(), suffix) != kSuffixes.end();
}

std::function<data::Image(const Sample&)> picture_decoder(
    const ScanResult& scan, const std::array<std::uint8_t, 3>& background) {
  data::DecodeOptions decoding;
  decoding.background = background;
  return [roots = scan.roots, decoding](const Sample& sample) {
    const ScannedRoot& root = roots[sample.origin];
    const std::string path = root.folder + "/" + sample.path.substr(root.prefix.size());
    return data::decode_image(read_picture(path), path, decoding);
  };
}

}  // namespace lockstep::tools

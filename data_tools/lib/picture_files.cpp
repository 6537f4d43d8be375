#include "lib/picture_files.hpp"

#include "lockstep/data/picture_files.hpp"

namespace lockstep::tools {

std::function<data::Image(const Sample&)> picture_decoder(
    const ScanResult& scan, const std::array<std::uint8_t, 3>& background) {
  data::DecodeOptions decoding;
  decoding.background = background;
  return [roots = scan.roots, decoding](const Sample& sample) {
    const ScannedRoot& root = roots[sample.origin];
    const std::string path = root.folder + "/" + sample.path.substr(root.prefix.size());
    return data::decode_image(data::read_picture_file(path), path, decoding);
  };
}

}  // namespace lockstep::tools

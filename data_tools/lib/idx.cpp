#include "lib/idx.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "lib/gzip_file.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/utf8.hpp"
#include "lockstep/base/whole_file.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::uint64_t kLargest = 8ULL << 30U;  // bytes of one file

[[noreturn]] void refuse(const std::string& file, const std::string& why,
                         const std::string& hint = "check the file, or download it again") {
  throw Error("cannot use the IDX file '" + file + "'", why, hint);
}

/// Values in rows of shape [n, ...].
struct IdxArray {
  std::vector<std::uint64_t> shape;
  Bytes values;
};

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (const std::uint64_t n : shape) text += (text == "[" ? "" : ", ") + std::to_string(n);
  return text + "]";
}

std::vector<std::uint64_t> read_header(GzipFile& in, const std::string& file) {
  std::array<std::uint8_t, 4> magic{};
  if (in.read(magic) < magic.size() || magic[0] != 0 || magic[1] != 0) {
    refuse(file, "it does not begin as IDX files do",
           "give the files as they are downloaded, such as train-images-idx3-ubyte.gz");
  }
  if (magic[2] != kUnsignedByte) {
    refuse(file,
           "its values are of type " + std::to_string(magic[2]) + ", unsigned bytes are type 8",
           "convert it to unsigned bytes");
  }
  std::vector<std::uint64_t> shape;
  for (int i = 0; i < magic[3]; ++i) {
    std::array<std::uint8_t, 4> size{};
    if (in.read(size) < size.size()) refuse(file, "its header is cut off");
    std::uint64_t value = 0;
    for (const std::uint8_t byte : size) value = (value << 8U) | byte;
    shape.push_back(value);
  }
  return shape;
}

/// Reads the values as they come, so that a header alone takes no memory.
Bytes read_values(GzipFile& in, std::uint64_t count, const std::string& file) {
  Bytes values;
  while (values.size() < count) {
    constexpr std::uint64_t kStep = 4U << 20U;
    const std::size_t before = values.size();
    values.resize(static_cast<std::size_t>(std::min<std::uint64_t>(count, before + kStep)));
    const std::size_t n = in.read(std::span(values).subspan(before));
    if (before + n < values.size()) {
      refuse(file, "its header announces " + std::to_string(count) + " values, there are " +
                       std::to_string(before + n));
    }
  }
  std::array<std::uint8_t, 1> more{};
  if (in.read(more) > 0) {
    refuse(file, "there are more values than the " + std::to_string(count) +
                     " that its header announces");
  }
  return values;
}

IdxArray read_array(const std::string& file) {
  GzipFile in(file);
  IdxArray array;
  array.shape = read_header(in, file);
  std::uint64_t count = 1;
  for (const std::uint64_t n : array.shape) {
    if (n == 0 || array.shape.size() > 4 || count > kLargest / n) {
      refuse(file, "its shape " + shape_text(array.shape) + " is none of pictures or labels");
    }
    count *= n;
  }
  array.values = read_values(in, count, file);
  return array;
}

IdxArray read_images(const std::string& file) {
  constexpr std::uint64_t kLongestSide = 65535;
  IdxArray images = read_array(file);
  const auto& shape = images.shape;
  if (shape.size() != 3 && !(shape.size() == 4 && shape[3] == 3)) {
    refuse(file, "its shape " + shape_text(shape) + " is not that of pictures",
           "give pictures of shape [n, height, width] or [n, height, width, 3], first, then the "
           "labels");
  }
  if (shape[1] > kLongestSide || shape[2] > kLongestSide) {
    refuse(file, "its pictures have more than " + std::to_string(kLongestSide) + " pixels a side");
  }
  return images;
}

IdxArray read_labels(const std::string& file, std::uint64_t pictures, std::size_t classes) {
  IdxArray labels = read_array(file);
  if (labels.shape.size() != 1) {
    refuse(file, "its shape " + shape_text(labels.shape) + " is not that of labels",
           "give the file of pictures first, then that of labels");
  }
  if (labels.shape[0] != pictures) {
    refuse(file,
           "it has " + std::to_string(labels.shape[0]) + " labels for " + std::to_string(pictures) +
               " pictures",
           "give two files that belong together");
  }
  const auto wrong = std::find_if(labels.values.begin(), labels.values.end(),
                                  [&](std::uint8_t label) { return label >= classes; });
  if (wrong != labels.values.end()) {
    refuse(file,
           "sample " + std::to_string(wrong - labels.values.begin()) + " has label " +
               std::to_string(*wrong) + " of " + std::to_string(classes) + " classes",
           "name all classes in a file and give it with --classes");
  }
  return labels;
}

data::Image picture_at(const IdxArray& images, std::uint64_t index) {
  data::Image image{
      static_cast<std::int64_t>(images.shape[1]), static_cast<std::int64_t>(images.shape[2]), {}};
  const std::size_t repeat = images.shape.size() == 3 ? 3 : 1;
  const std::size_t bytes = static_cast<std::size_t>(image.height * image.width) * 3 / repeat;
  image.rgb.reserve(bytes * repeat);
  const std::uint8_t* from = images.values.data() + index * bytes;
  for (std::size_t i = 0; i < bytes; ++i) {
    for (std::size_t k = 0; k < repeat; ++k) image.rgb.push_back(from[i]);
  }
  return image;
}

/// The file's own name, without what gzip adds: the beginning of source paths.
std::string source_name(const std::string& file) {
  std::string name = std::filesystem::path(file).filename().string();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return is_utf8(name) ? name : escaped(name);
}

}  // namespace

SampleSource read_idx(const std::string& images_file, const std::string& labels_file,
                      const std::vector<std::string>& classes) {
  const auto images = std::make_shared<const IdxArray>(read_images(images_file));
  const IdxArray labels = read_labels(labels_file, images->shape[0], classes.size());
  SampleSource source;
  source.classes = classes;
  const std::string name = source_name(images_file);
  for (std::size_t i = 0; i < labels.values.size(); ++i) {
    source.samples.push_back({labels.values[i], numbered(name, i), i});
  }
  source.decode = [images](const Sample& sample) { return picture_at(*images, sample.origin); };
  return source;
}

}  // namespace lockstep::tools

#include "lockstep/data/picture_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "lockstep/base/check.hpp"
#include "lockstep/base/system.hpp"
#include "lockstep/base/whole_file.hpp"

namespace lockstep::data {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kLargestFile = 1LL << 30U;  // a file beyond this is no picture

class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

bool begins_as_picture(const std::string& path) {
  const auto format = sniff_format(path);
  return format == ImageFormat::kJpeg || format == ImageFormat::kPng;
}

[[noreturn]] void refuse(const fs::path& path, const std::error_code& error) {
  throw Error("cannot look at '" + path.string() + "'", error.message(),
              "check its name, the length of its path and its rights, or leave it out");
}

/// Adds the pictures of a folder. `above` holds the real paths of the folders that contain it.
void add_folder(const fs::path& folder, std::set<std::string>& above,
                std::vector<std::string>& found) {
  std::error_code error;
  const std::string real = fs::canonical(folder, error).string();
  if (error) refuse(folder, error);
  if (!above.insert(real).second) return;
  fs::directory_iterator entries(folder, error);
  if (error) refuse(folder, error);
  for (const auto& entry : entries) {
    const std::string path = entry.path().string();
    if (entry.path().filename().string().starts_with('.')) continue;
    const fs::file_type type = fs::status(path, error).type();
    // A broken link stays a file: reading it will say what is wrong. What cannot be looked at for
    // another reason could be a folder full of pictures.
    if (type == fs::file_type::none && error != std::errc::too_many_symbolic_link_levels) {
      refuse(path, error);
    }
    const bool file = type == fs::file_type::regular || type == fs::file_type::not_found ||
                      type == fs::file_type::none || type == fs::file_type::unknown;
    if (type == fs::file_type::directory) {
      add_folder(path, above, found);
    } else if (file && (has_picture_suffix(path) || begins_as_picture(path))) {
      found.push_back(path);
    }
  }
  above.erase(real);
}

}  // namespace

bool has_picture_suffix(const std::string& name) {
  static constexpr std::array<const char*, 17> kSuffixes{
      ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp",  ".ppm", ".pgm",
      ".pbm", ".pnm",  ".tif", ".tiff", ".gif", ".heic", ".heif", ".avif"};
  std::string suffix = fs::path(name).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kSuffixes.begin(), kSuffixes.end(), suffix) != kSuffixes.end();
}

std::optional<ImageFormat> sniff_format(const std::string& path) {
  const OpenFile file(path);
  if (file.get() < 0) return std::nullopt;
  std::array<std::uint8_t, 32> bytes{};
  const std::int64_t n = read_at(file.get(), bytes.data(), bytes.size(), 0);
  if (n < 0) return std::nullopt;
  return detect_format(std::span(bytes).first(static_cast<std::size_t>(n)));
}

std::vector<std::string> list_pictures(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    throw UsageError("there is no '" + path + "'", error ? error.message() : "no such file",
                     "give a picture, or a folder of pictures");
  }
  std::vector<std::string> found;
  if (fs::is_directory(status)) {
    std::set<std::string> above;
    add_folder(path, above, found);
    std::sort(found.begin(), found.end());
  } else if (fs::is_regular_file(status)) {
    found.push_back(path);
  }
  if (found.empty()) {
    throw UsageError("there is no picture in '" + path + "'",
                     fs::is_directory(status) ? "neither in it nor in the folders below"
                                              : "it is neither a file nor a folder",
                     "give a picture, or a folder of pictures");
  }
  return found;
}

std::vector<std::uint8_t> read_picture_file(const std::string& path) {
  std::vector<std::uint8_t> bytes;
  const std::string why = read_whole_file(path, kLargestFile, bytes);
  if (!why.empty()) {
    throw ImageError(path, "unreadable file", why, "check its rights, or leave it out");
  }
  return bytes;
}

struct PictureFiles::Impl {
  std::vector<std::string> paths;
  ResizeOptions resize;
  std::vector<std::int32_t> labels;
  std::string name = "the picture files";
  std::mutex mutex;
  std::map<std::int64_t, std::string> problems;
};

PictureFiles::PictureFiles(std::vector<std::string> paths, const ResizeOptions& resize)
    : impl_(std::make_unique<Impl>()) {
  impl_->paths = std::move(paths);
  impl_->resize = resize;
  impl_->labels.assign(impl_->paths.size(), -1);
}

PictureFiles::~PictureFiles() = default;

std::int64_t PictureFiles::size() const noexcept {
  return static_cast<std::int64_t>(impl_->paths.size());
}
std::int64_t PictureFiles::height() const noexcept { return impl_->resize.height; }
std::int64_t PictureFiles::width() const noexcept { return impl_->resize.width; }
const std::vector<std::int32_t>& PictureFiles::labels() const noexcept { return impl_->labels; }
const std::string& PictureFiles::name() const noexcept { return impl_->name; }
const std::vector<std::string>& PictureFiles::paths() const noexcept { return impl_->paths; }

void PictureFiles::read(std::int64_t id, std::uint8_t* out) const {
  const std::string& path = impl_->paths.at(static_cast<std::size_t>(id));
  try {
    const Image image = fit_image(decode_image(read_picture_file(path), path), impl_->resize);
    std::memcpy(out, image.rgb.data(), image.rgb.size());
  } catch (const Error& error) {
    std::memset(out, 0, static_cast<std::size_t>(sample_bytes()));
    const std::lock_guard lock(impl_->mutex);
    impl_->problems[id] = error.what();
  }
}

std::string PictureFiles::problem(std::int64_t id) const {
  const std::lock_guard lock(impl_->mutex);
  const auto found = impl_->problems.find(id);
  return found == impl_->problems.end() ? std::string() : found->second;
}

}  // namespace lockstep::data

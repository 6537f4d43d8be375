#include "lockstep/base/durable_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "lockstep/base/check.hpp"
#include "lockstep/base/system.hpp"

namespace lockstep {
namespace {

constexpr const char* kHint =
    "free space or give the folder write permission; what was saved before is untouched";

[[noreturn]] void cannot_write(const std::string& path) {
  throw Error("cannot write '" + path + "'", errno_text(), kHint);
}

}  // namespace

DurableFile::DurableFile(const std::string& path)
    : path_(path),
      descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) {
    cannot_write(path_);
  }
}

DurableFile::~DurableFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void DurableFile::write(const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_, from, bytes);
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      cannot_write(path_);
    }
    from += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void DurableFile::close() {
  if (::fsync(descriptor_) != 0) {
    cannot_write(path_);
  }
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) {
    cannot_write(path_);
  }
}

void write_durable(const std::string& path, const std::string& text) {
  DurableFile file(path);
  file.write(text.data(), text.size());
  file.close();
}

void replace_durable(const std::string& path, const std::string& text) {
  replace_durable({{path, text}});
}

void replace_durable(const std::vector<std::pair<std::string, std::string>>& files) {
  const auto temporary = [](const std::string& path) { return path + ".tmp"; };
  try {
    for (const auto& [path, text] : files) {
      write_durable(temporary(path), text);
    }
  } catch (...) {
    for (const auto& [path, text] : files) {
      std::remove(temporary(path).c_str());
    }
    throw;
  }
  for (const auto& [path, text] : files) {
    if (std::rename(temporary(path).c_str(), path.c_str()) != 0) {
      cannot_write(path);
    }
  }
}

void sync_folder(const std::string& folder) { sync_folder(folder, kHint); }

std::string read_file(const std::string& path) {
  // A FIFO in place of a file would be waited for for ever.
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(path, error);
  if (!regular) {
    throw Error("cannot read '" + path + "'", error ? error.message() : "it is not a regular file",
                "check the path and its permissions");
  }
  const auto size = std::filesystem::file_size(path, error);
  constexpr std::uintmax_t kLargest = 64U << 20U;
  if (!error && size > kLargest) {
    throw Error("cannot read '" + path + "'", "it is larger than 64 MiB",
                "give a file that this program has written");
  }
  std::string text(error ? 0 : size, '\0');
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (error || !in.is_open() || in.gcount() != static_cast<std::streamsize>(text.size())) {
    throw Error("cannot read '" + path + "'", errno_text(), "check the path and its permissions");
  }
  return text;
}

}  // namespace lockstep

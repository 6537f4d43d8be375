#include "lockstep/data/set_digest.hpp"

#include <xxhash.h>

#include <cstdint>
#include <fstream>
#include <vector>

#include "lockstep/base/check.hpp"

namespace lockstep::data {

struct StreamDigest::State {
  XXH3_state_t* xxh = XXH3_createState();
  ~State() { XXH3_freeState(xxh); }
  State() { XXH3_128bits_reset(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

StreamDigest::StreamDigest() : state_(std::make_unique<State>()) {}
StreamDigest::~StreamDigest() = default;

void StreamDigest::add(const void* data, std::size_t bytes) {
  XXH3_128bits_update(state_->xxh, data, bytes);
}

void StreamDigest::add(const std::string& text) {
  const std::uint64_t length = text.size();
  add(&length, sizeof length);
  add(text.data(), text.size());
}

std::string StreamDigest::text() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_->xxh));
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::string digest_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  require(static_cast<bool>(in), "cannot read '" + path + "'", errno_text(), "check the file");
  StreamDigest digest;
  std::vector<char> block(1U << 20U);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    digest.add(block.data(), static_cast<std::size_t>(in.gcount()));
  }
  require(in.eof(), "cannot read '" + path + "'", errno_text(), "check the file");
  return digest.text();
}

}  // namespace lockstep::data

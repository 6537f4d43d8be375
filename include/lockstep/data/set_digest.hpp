#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace lockstep::data {

/// XXH3-128 over a stream of bytes, as 32 hex digits.
class StreamDigest {
 public:
  StreamDigest();
  ~StreamDigest();
  StreamDigest(const StreamDigest&) = delete;
  StreamDigest& operator=(const StreamDigest&) = delete;
  void add(const void* data, std::size_t bytes);
  /// The text and its length, so that neighbouring texts cannot run into each other.
  void add(const std::string& text);
  [[nodiscard]] std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Digest of a whole file. Throws Error.
[[nodiscard]] std::string digest_file(const std::string& path);

}  // namespace lockstep::data

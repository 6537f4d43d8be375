#pragma once

#include <array>
#include <cstdint>

namespace lockstep {

/// What a random draw is for. The number is part of every saved order: never renumber.
enum class Stream : std::uint32_t {
  kEpochOrder = 1,    ///< permutation of an epoch
  kAugmentation = 2,  ///< crop and flip of a sample
  kDropout = 3,       ///< dropout masks
  kInit = 4,          ///< initial weights
  kHoldout = 5,       ///< validation split
  kPacking = 6        ///< order of samples in a set
};

/// splitmix64's finalizer (Steele, Lea, Flood 2014): a bijection on 64-bit words.
[[nodiscard]] std::uint64_t mix64(std::uint64_t x) noexcept;

/// The 64-bit key of one family of draws: mix64 folded over (seed, stream, a, b):
///   k = mix64(seed); k = mix64(k ^ stream); k = mix64(k ^ a); k = mix64(k ^ b)
/// where each step adds 0x9E3779B97F4A7C15 to its input first (see mix64).
[[nodiscard]] std::uint64_t derive_key(std::uint64_t seed, Stream stream, std::uint64_t a = 0,
                                       std::uint64_t b = 0) noexcept;

/// Philox4x32-10 (Salmon et al., SC'11). Pure: four 32-bit words from a 128-bit counter and a
/// 64-bit key (low word first).
[[nodiscard]] std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                      std::uint64_t key) noexcept;

/// The four words for (key, item, block): counter = {item low, item high, block low, block high}.
[[nodiscard]] std::array<std::uint32_t, 4> random_words(std::uint64_t key, std::uint64_t item,
                                                        std::uint64_t block) noexcept;

/// Maps a 32-bit word to [0, bound) by multiply-high; bound > 0.
[[nodiscard]] constexpr std::uint32_t bounded(std::uint32_t word, std::uint32_t bound) noexcept {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(word) * bound) >> 32U);
}

/// Maps a 32-bit word to [0, 1): word * 2^-32.
[[nodiscard]] constexpr double unit_interval(std::uint32_t word) noexcept {
  return static_cast<double>(word) * 0x1p-32;
}

/// A keyed bijection on [0, size): a balanced Feistel network over the smallest even number of bits
/// that holds size-1, walked until the value falls below size (Black and Rogaway 2002). Constant
/// memory, any size up to 2^62; a pure function of (key, size). For every second key the images 0
/// and 1 change places, so that odd orders occur as often as even ones.
class Permutation {
 public:
  Permutation(std::uint64_t key, std::uint64_t size) noexcept;

  /// The image of position; position < size.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t position) const noexcept;
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  std::uint64_t key_;
  std::uint64_t size_;
  std::uint32_t half_bits_;
};

}  // namespace lockstep

#include "lockstep/base/seed.hpp"

#include <bit>

namespace lockstep {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

constexpr std::uint32_t low32(std::uint64_t x) noexcept { return static_cast<std::uint32_t>(x); }
constexpr std::uint32_t high32(std::uint64_t x) noexcept {
  return static_cast<std::uint32_t>(x >> 32U);
}

// Four rounds suffice in theory for wide halves. A half of a small set has only a few bits, where
// twelve make every order equally likely; the number is part of every saved order.
constexpr std::size_t kFeistelRounds = 12;

std::uint32_t half_bits_for(std::uint64_t size) noexcept {
  const auto bits = size < 2 ? 0U : static_cast<std::uint32_t>(std::bit_width(size - 1));
  return (bits + 1) / 2;
}

}  // namespace

std::uint64_t mix64(std::uint64_t x) noexcept {
  x += kGolden;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

std::uint64_t derive_key(std::uint64_t seed, Stream stream, std::uint64_t a,
                         std::uint64_t b) noexcept {
  std::uint64_t key = mix64(seed);
  key = mix64(key ^ static_cast<std::uint64_t>(stream));
  key = mix64(key ^ a);
  return mix64(key ^ b);
}

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::uint64_t key) noexcept {
  constexpr int kRounds = 10;
  std::uint32_t key0 = low32(key);
  std::uint32_t key1 = high32(key);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {high32(product1) ^ counter[1] ^ key0, low32(product1),
               high32(product0) ^ counter[3] ^ key1, low32(product0)};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return counter;
}

std::array<std::uint32_t, 4> random_words(std::uint64_t key, std::uint64_t item,
                                          std::uint64_t block) noexcept {
  return philox4x32({low32(item), high32(item), low32(block), high32(block)}, key);
}

Permutation::Permutation(std::uint64_t key, std::uint64_t size) noexcept
    : key_(key), size_(size), half_bits_(half_bits_for(size)) {}

std::uint64_t Permutation::operator()(std::uint64_t position) const noexcept {
  const auto round_key = [this](std::uint64_t round) {
    return mix64(key_ + round * 0xD1B54A32D192ED03ULL);
  };
  std::array<std::uint64_t, kFeistelRounds> round_keys{};
  for (std::size_t round = 0; round < kFeistelRounds; ++round) {
    round_keys[round] = round_key(round);
  }
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  // The domain is below four times the size, so the walk takes under four turns on average. It
  // ends: the cycle through `position` comes back to `position`, which lies inside.
  do {
    std::uint64_t left = position >> half_bits_;
    std::uint64_t right = position & mask;
    for (const std::uint64_t key : round_keys) {
      const std::uint64_t next = left ^ (mix64(key ^ right) & mask);
      left = right;
      right = next;
    }
    position = (left << half_bits_) | right;
  } while (position >= size_);
  // A Feistel network makes even permutations only (its halves wider than a bit), which shows in
  // the orders of small sets: every second key swaps two images, and both parities are equally
  // likely.
  return position < 2 && size_ > 1 ? position ^ (round_key(kFeistelRounds) & 1U) : position;
}

}  // namespace lockstep

// Hashes of what comes from input. They differ from run to run of the program, so that no input can
// be made whose names or numbers all fall into one place of a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace minihlo {

namespace internal {

/// Chosen anew by each run.
uint64_t choose_hash_seed();
inline const uint64_t kHashSeed = choose_hash_seed();

inline constexpr uint64_t kHashFactor = 0x9E3779B97F4A7C15u;

inline uint64_t load(const char* p, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, p, bytes);
  return value;
}

/// Both halves of the product.
inline uint64_t fold(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace internal

/// A hash of a text, the same within one run of the program. Two texts that differ almost never
/// have the same one.
inline uint64_t hash_text_wide(std::string_view text) {
  using internal::fold;
  using internal::load;
  const uint64_t seed = internal::kHashSeed;
  const char* p = text.data();
  size_t left = text.size();
  // Spread over all bits: what is short has its length told by it alone.
  uint64_t hash = (left ^ seed) * internal::kHashFactor;
  for (; left > 16; left -= 16, p += 16) hash = fold(load(p, 8) ^ seed, load(p + 8, 8) ^ hash);
  // The last 16 bytes or fewer, the two halves overlapping where need be.
  uint64_t low = 0, high = 0;
  if (left >= 8) {
    low = load(p, 8);
    high = load(p + left - 8, 8);
  } else if (left >= 4) {
    low = load(p, 4);
    high = load(p + left - 4, 4);
  } else if (left > 0) {
    low = load(p, 1) | load(p + left / 2, 1) << 8 | load(p + left - 1, 1) << 16;
  }
  return fold(low ^ seed, high ^ hash);
}

/// The same in 32 bits, for tables.
inline uint32_t narrowed(uint64_t hash) { return static_cast<uint32_t>(hash ^ (hash >> 32)); }
inline uint32_t hash_text(std::string_view text) { return narrowed(hash_text_wide(text)); }

/// For maps and sets that are keyed by texts or numbers from input. std::hash will not do: that of
/// numbers is the number itself, and multiples of a power of two would share a bucket.
struct TextHash {
  size_t operator()(std::string_view text) const { return hash_text_wide(text); }
};
struct IntegerHash {
  size_t operator()(int64_t value) const {
    return internal::fold(static_cast<uint64_t>(value) ^ internal::kHashSeed,
                          internal::kHashFactor);
  }
};

}  // namespace minihlo

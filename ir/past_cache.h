// Writing past the cache: what is larger than it leaves it before it is read, and lines that are
// written in full need not be read first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace minihlo {

/// Arrays of at least this many bytes are worth writing past the cache.
inline constexpr int64_t kPastCache = int64_t{16} << 20;

inline constexpr int64_t kCacheLine = 64;

inline constexpr int64_t kCacheWord = 16;

/// memcpy of whole words, `to` aligned to them, past the cache where the machine can. It gains
/// where whole lines are written one behind the other. What follows may see it once
/// finish_past_cache() was called.
inline void copy_words_past_cache(const std::byte* from, std::byte* to, int64_t bytes) {
#if defined(__SSE2__)
  static_assert(sizeof(__m128i) == kCacheWord);
  const auto* in = reinterpret_cast<const __m128i*>(from);
  auto* out = reinterpret_cast<__m128i*>(to);
  const auto* end = reinterpret_cast<const __m128i*>(from + bytes);
  constexpr int64_t kWords = kCacheLine / kCacheWord;
  for (; end - in >= kWords; in += kWords, out += kWords) {
    const __m128i words[] = {_mm_loadu_si128(in), _mm_loadu_si128(in + 1), _mm_loadu_si128(in + 2),
                             _mm_loadu_si128(in + 3)};
    _mm_stream_si128(out, words[0]);
    _mm_stream_si128(out + 1, words[1]);
    _mm_stream_si128(out + 2, words[2]);
    _mm_stream_si128(out + 3, words[3]);
  }
  for (; in < end; ++in, ++out) _mm_stream_si128(out, _mm_loadu_si128(in));
#else
  std::memcpy(to, from, static_cast<size_t>(bytes));
#endif
}

/// memcpy that writes the whole lines among its bytes past the cache.
inline void copy_past_cache(const std::byte* from, std::byte* to, int64_t bytes) {
  const auto head =
      static_cast<int64_t>(-reinterpret_cast<uintptr_t>(to) & uintptr_t{kCacheLine - 1});
  const int64_t lines = bytes > head ? (bytes - head) / kCacheLine * kCacheLine : 0;
  const int64_t before = lines > 0 ? head : bytes;
  if (before > 0) std::memcpy(to, from, static_cast<size_t>(before));
  copy_words_past_cache(from + before, to + before, lines);
  const int64_t behind = bytes - before - lines;
  if (behind > 0) {
    std::memcpy(to + before + lines, from + before + lines, static_cast<size_t>(behind));
  }
}

/// Other threads see what was written past the cache before.
inline void finish_past_cache() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace minihlo

// Searches in HLO text that look at sixteen characters at a time.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace minihlo::internal {

enum : uint8_t { kBlank = 1, kDigit = 2, kWordStart = 4, kWordPart = 8 };

inline constexpr std::array<uint8_t, 256> kClasses = [] {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = classes[c - 'a' + 'A'] = kWordStart | kWordPart;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kDigit | kWordPart;
  classes['_'] = kWordStart | kWordPart;
  classes['.'] = classes['-'] = kWordPart;
  classes[' '] = classes['\t'] = classes['\r'] = classes['\n'] = kBlank;
  return classes;
}();

inline bool is(char c, uint8_t what) { return kClasses[static_cast<unsigned char>(c)] & what; }

// Sixteen characters, looked at together. Comparisons give all bits for yes.
typedef uint8_t Block __attribute__((vector_size(16)));

inline Block load_block(const char* place) {
  Block block;
  std::memcpy(&block, place, sizeof(Block));
  return block;
}

// How many characters stand before the first for which the comparison said yes; 16 if it did for
// none.
inline size_t first_of(Block found) {
#ifdef __SSE2__
  const auto bits = static_cast<unsigned>(_mm_movemask_epi8(std::bit_cast<__m128i>(found)));
  return static_cast<size_t>(std::countr_zero(bits | 1u << sizeof(Block)));
#else
  size_t before = 0;
  while (before < sizeof(Block) && found[before] == 0) ++before;
  return before;
#endif
}

// The offset of the first character at or behind `at` that `stops` says yes for, or the text's end.
// `stops_block` says the same of a block.
template <class StopsBlock, class Stops>
[[gnu::always_inline]] inline size_t skip_until(std::string_view text, size_t at,
                                                StopsBlock stops_block, Stops stops) {
  for (; at + sizeof(Block) <= text.size(); at += sizeof(Block)) {
    const size_t before = first_of(Block(stops_block(load_block(text.data() + at))));
    if (before < sizeof(Block)) return at + before;
  }
  while (at < text.size() && !stops(text[at])) ++at;
  return at;
}

// The offset behind the characters of a word that go on from `at`.
inline size_t end_of_word(std::string_view text, size_t at) {
  auto stops_block = [](Block c) {
    const Block letter = (c | 0x20) - 'a', digit = c - '-';  // - . / 0 ... 9
    return (letter > 'z' - 'a') & ((digit > '9' - '-') | (c == '/')) & (c != '_');
  };
  return skip_until(text, at, stops_block, [](char c) { return !is(c, kWordPart); });
}

}  // namespace minihlo::internal

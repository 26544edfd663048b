#include "ir/text_repeats.h"

#include <algorithm>
#include <bit>

namespace minihlo {

bool TextRepeats::any() const {
  // Texts share few bits in a map with 16 for each; only those that do are compared.
  struct Word {  // side by side, for the cache
    uint64_t once = 0, twice = 0;
  };
  const size_t words = std::bit_ceil(hashes_.size() / 4 + 1);
  std::vector<Word> map(words);
  auto word_of = [&](uint64_t hash) -> Word& { return map[(hash >> 6) & (words - 1)]; };
  for (const uint64_t hash : hashes_) {
    Word& word = word_of(hash);
    const uint64_t bit = uint64_t{1} << (hash & 63);
    word.twice |= word.once & bit;
    word.once |= bit;
  }
  std::vector<uint64_t> shared;
  for (const uint64_t hash : hashes_) {
    if (word_of(hash).twice >> (hash & 63) & 1) shared.push_back(hash);
  }
  std::sort(shared.begin(), shared.end());
  return std::adjacent_find(shared.begin(), shared.end()) != shared.end();
}

}  // namespace minihlo

#include "ir/text_repeats.h"

#include <algorithm>
#include <bit>

namespace minihlo {

bool TextRepeats::any() const {
  // Texts share few bits in a map with 16 for each; only those that do are compared.
  const size_t words = std::bit_ceil(hashes_.size() / 4 + 1);
  std::vector<uint64_t> once(words), twice(words);
  for (const uint64_t hash : hashes_) {
    const size_t word = (hash >> 6) & (words - 1);
    const uint64_t bit = uint64_t{1} << (hash & 63);
    twice[word] |= once[word] & bit;
    once[word] |= bit;
  }
  std::vector<uint64_t> shared;
  for (const uint64_t hash : hashes_) {
    if (twice[(hash >> 6) & (words - 1)] >> (hash & 63) & 1) shared.push_back(hash);
  }
  std::sort(shared.begin(), shared.end());
  return std::adjacent_find(shared.begin(), shared.end()) != shared.end();
}

}  // namespace minihlo

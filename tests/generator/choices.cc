#include "tests/generator/choices.h"

#include <algorithm>

namespace minihlo::generator {

uint8_t Choices::byte() {
  if (bytes_.empty()) return 0;
  const auto first = static_cast<uint8_t>(bytes_.front());
  bytes_.remove_prefix(1);
  return first;
}

uint64_t Choices::bits() {
  if (!from_bytes_) return engine_();
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | byte();
  return value;
}

int64_t Choices::below(int64_t count) {
  if (count <= 1) return 0;
  const auto bound = static_cast<uint64_t>(count);
  if (!from_bytes_) return static_cast<int64_t>(engine_() % bound);
  // As few bytes as decide, so that most mutations change one decision.
  uint64_t value = byte();
  for (uint64_t reach = 255; reach < bound - 1; reach = reach << 8 | 255)
    value = value << 8 | byte();
  return static_cast<int64_t>(value % bound);
}

std::vector<int64_t> Choices::permutation(int64_t count) {
  std::vector<int64_t> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  shuffle(all);
  return all;
}

std::vector<int64_t> Choices::subset(int64_t count, int64_t chosen) {
  std::vector<int64_t> all = permutation(count);
  all.resize(static_cast<size_t>(std::clamp(chosen, int64_t{0}, count)));
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace minihlo::generator

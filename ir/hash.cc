#include "ir/hash.h"

#include <chrono>

namespace minihlo::internal {

uint64_t choose_hash_seed() {
  // The time, and where the stack lies.
  int64_t now = std::chrono::system_clock::now().time_since_epoch().count();
  const uint64_t here = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(&now));
  return fold(static_cast<uint64_t>(now) ^ 0xD6E8FEB86659FD93u, here * kHashFactor) | 1;
}

}  // namespace minihlo::internal

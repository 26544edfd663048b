// Memory for arrays.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace minihlo {

inline constexpr int64_t kArrayAlignment = 64;

namespace internal {
// Large blocks lie on large pages where the system has them: a fresh page costs more than the
// elements in it, and what is read from small ones is not fetched ahead beyond their ends.
inline constexpr int64_t kLargePage = int64_t{2} << 20;
inline bool is_large(int64_t bytes) { return bytes >= 2 * kLargePage; }
inline std::align_val_t alignment_of(int64_t bytes) {
  return std::align_val_t(is_large(bytes) ? kLargePage : kArrayAlignment);
}
}  // namespace internal

/// Memory for `bytes` > 0 bytes, aligned to kArrayAlignment, or null where there is no more.
inline std::byte* take_memory(int64_t bytes) {
  void* data =
      ::operator new(static_cast<size_t>(bytes), internal::alignment_of(bytes), std::nothrow);
  if (data && internal::is_large(bytes)) {
    madvise(data, static_cast<size_t>(bytes / internal::kLargePage * internal::kLargePage),
            MADV_HUGEPAGE);
  }
  return static_cast<std::byte*>(data);
}

/// Gives back what take_memory(bytes) gave.
inline void give_memory(std::byte* data, int64_t bytes) {
  ::operator delete(data, internal::alignment_of(bytes));
}

}  // namespace minihlo

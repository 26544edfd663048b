// operator new of each program that links mimalloc, but for those that count what is allocated.
#include <mimalloc.h>

#include <cstddef>
#include <new>

namespace {

void* given(void* block) {
  if (!block) throw std::bad_alloc();
  return block;
}

}  // namespace

// Debian's mimalloc is C, whose operator new can't throw and aborts instead.
void* operator new(std::size_t size) { return given(mi_malloc(size)); }
void* operator new[](std::size_t size) { return given(mi_malloc(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return given(mi_malloc_aligned(size, static_cast<std::size_t>(alignment)));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return given(mi_malloc_aligned(size, static_cast<std::size_t>(alignment)));
}

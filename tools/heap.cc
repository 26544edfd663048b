// The heap of each program that links mimalloc lies on large pages, where the system has them: to
// touch fresh memory page by page takes a fifth of reading a module.
#include <mimalloc.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace {

[[gnu::constructor]] void use_large_pages() {
  mi_option_set_enabled_default(mi_option_large_os_pages, true);
  // mimalloc has taken its first segment by now, small pages and all: 32 MiB, aligned to that. Were
  // it laid out otherwise, the hint would do no harm.
  constexpr uintptr_t kSegment = uintptr_t{32} << 20;
  void* block = mi_malloc(1);
  const auto place = reinterpret_cast<uintptr_t>(block);
  madvise(reinterpret_cast<void*>(place - place % kSegment), kSegment, MADV_HUGEPAGE);
  mi_free(block);
}

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

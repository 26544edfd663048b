// The heap of each program that links mimalloc lies on large pages, where the system has them: to
// touch fresh memory page by page takes a fifth of reading a module.
#include <mimalloc.h>
#include <sys/mman.h>

#include <cstdint>

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

}  // namespace

// Loops over elements, compiled for the vector instructions that most machines have and for the
// platform's baseline, of which one is chosen when the program runs.
#pragma once

// Of what is called from a loop, and of lambdas with loops: it becomes part of its caller, and is
// compiled for what that is compiled for.
#define MINIHLO_ALWAYS_INLINE __attribute__((always_inline))

namespace minihlo {

#if defined(__x86_64__)
namespace internal {
template <class Loop>
__attribute__((target("avx2"))) void run_with_avx2(const Loop& loop) {
  loop();
}
}  // namespace internal

/// Calls `loop`, a lambda that is MINIHLO_ALWAYS_INLINE. Both ways give the same bits: neither
/// fuses or reorders operations.
template <class Loop>
void run_vectorized(const Loop& loop) {
  if (__builtin_cpu_supports("avx2")) return internal::run_with_avx2(loop);
  loop();
}
#else
template <class Loop>
void run_vectorized(const Loop& loop) {
  loop();
}
#endif

}  // namespace minihlo

// Loops over elements, compiled for the vector instructions that most machines have and for the
// platform's baseline, of which one is chosen when the program runs.
#pragma once

#include <type_traits>

// Of what is called from a loop, and of lambdas with loops: it becomes part of its caller, and is
// compiled for what that is compiled for.
#define MINIHLO_ALWAYS_INLINE __attribute__((always_inline))

// Before a loop of a constant number of steps, so that arrays that it goes through can lie in
// registers.
#if defined(__clang__)
#define MINIHLO_UNROLLED _Pragma("clang loop unroll(full)")
#else
#define MINIHLO_UNROLLED _Pragma("GCC unroll 64")
#endif

namespace minihlo {

/// Bytes of a vector register, as a type.
template <int bytes>
using VectorBytes = std::integral_constant<int, bytes>;

#if defined(__x86_64__)
namespace internal {
template <class Loop>
__attribute__((target("avx2"))) void run_with_avx2(const Loop& loop) {
  if constexpr (std::is_invocable_v<const Loop&, VectorBytes<32>>) {
    loop(VectorBytes<32>{});
  } else {
    loop();
  }
}
}  // namespace internal
#endif

/// Calls `loop`, a lambda that is MINIHLO_ALWAYS_INLINE, with VectorBytes<> if it takes them. All
/// ways give the same bits: none fuses or reorders operations.
template <class Loop>
void run_vectorized(const Loop& loop) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return internal::run_with_avx2(loop);
#endif
  if constexpr (std::is_invocable_v<const Loop&, VectorBytes<16>>) {
    loop(VectorBytes<16>{});
  } else {
    loop();
  }
}

}  // namespace minihlo

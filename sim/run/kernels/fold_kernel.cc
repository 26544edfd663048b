#include "sim/run/kernels/fold_kernel.h"

#include <algorithm>
#include <type_traits>

#include "ir/transpose_tile.h"
#include "ir/vector_code.h"
#include "sim/run/kernels/fold_opcodes.h"

namespace minihlo {
namespace {

// As many elements of each line at a time: so many streams the machine fetches ahead well. Those of
// few bits have the longer code.
template <class T>
constexpr int64_t kAtOnce = IsMiniFloat<T>::value ? 2 : 8;

// kCount elements of each line; kStarts: the first of them starts the result.
template <class Function, class T, int64_t kCount, bool kStarts>
MINIHLO_ALWAYS_INLINE inline void fold_some(int64_t lines, int64_t stride, const T* from, T* to) {
  using Wide = FoldedAs<T>;
  const Function function{};
  MINIHLO_INDEPENDENT
  for (int64_t i = 0; i < lines; ++i) {
    auto value = static_cast<Wide>(kStarts ? from[i] : to[i]);
    MINIHLO_UNROLLED
    for (int64_t k = kStarts; k < kCount; ++k) {
      value = function(value, static_cast<Wide>(from[k * stride + i]));
      if constexpr (IsMiniFloat<T>::value) value = static_cast<Wide>(T(value));
    }
    to[i] = static_cast<T>(elementwise::canonical(value));
  }
}

template <class Function, class T>
void fold_columns(int64_t lines, int64_t count, int64_t stride, bool starts,
                  const std::byte* elements, std::byte* results) {
  const T* from = reinterpret_cast<const T*>(elements);
  T* to = reinterpret_cast<T*>(results);
  run_vectorized([&]() MINIHLO_ALWAYS_INLINE {
    int64_t k = 0;
    if (starts && count >= kAtOnce<T>) {
      fold_some<Function, T, kAtOnce<T>, true>(lines, stride, from, to);
      k = kAtOnce<T>;
    } else if (starts) {
      fold_some<Function, T, 1, true>(lines, stride, from, to);
      k = 1;
    }
    for (; k + kAtOnce<T> <= count; k += kAtOnce<T>) {
      fold_some<Function, T, kAtOnce<T>, false>(lines, stride, from + k * stride, to);
    }
    for (; k < count; ++k) fold_some<Function, T, 1, false>(lines, stride, from + k * stride, to);
  });
}

// As many rows as a vector has elements are turned in registers, few elements of each at a time:
// what is written of them stays small, for memory with the same low bits of the address waits for
// it.
template <class Function, class T>
int64_t fold_rows(int64_t lines, int64_t count, int64_t stride, bool starts,
                  const std::byte* elements, std::byte* results) {
  const T* from = reinterpret_cast<const T*>(elements);
  T* to = reinterpret_cast<T*>(results);
  int64_t done = 0;
  run_vectorized([&](auto bytes) MINIHLO_ALWAYS_INLINE {
    constexpr int64_t kRows = bytes / sizeof(T), kColumns = 16 / sizeof(T);
    constexpr int64_t kSteps = kAtOnce<T>;
    const Function function{};
    alignas(64) T turned[kSteps * kRows];
    const int64_t whole = lines / kRows * kRows;
    for (; done < whole; done += kRows, from += kRows * stride, to += kRows) {
      // A number that the compiler does not know, or it takes the vectors apart.
      const int64_t rows = std::min(kRows, lines - done);
      int64_t k = 0;
      for (; k + kSteps <= count; k += kSteps) {
        MINIHLO_UNROLLED
        for (int64_t c = 0; c < kSteps; c += kColumns) {
          internal::transpose_vectors<bytes / 16>(from + k + c, stride, turned + c * kRows, kRows);
        }
        if (starts && k == 0) {
          fold_some<Function, T, kSteps, true>(rows, kRows, turned, to);
        } else {
          fold_some<Function, T, kSteps, false>(rows, kRows, turned, to);
        }
      }
      for (; k < count; ++k) {
        for (int64_t r = 0; r < kRows; ++r) {
          const T element = from[r * stride + k];
          to[r] = starts && k == 0 ? element : elementwise::canonical(function(to[r], element));
        }
      }
    }
  });
  return done;
}

// The type to compute in where that gives the same bits: sums and products wrap alike with a sign
// and without.
template <class Function, class T>
struct Computed {
  using type = T;
};
template <class Function, std::signed_integral T>
requires std::same_as<Function, elementwise::Add> || std::same_as<Function, elementwise::Multiply>
struct Computed<Function, T> {
  using type = std::make_unsigned_t<T>;
};

// The types that have kernels.
template <class Function, class T>
constexpr bool kHasKernel = std::same_as<T, BF16> || std::same_as<T, F16> ||
                            ((std::integral<T> || std::floating_point<T>)&&sizeof(T) >= 4) ||
                            (std::same_as<T, Pred> && (std::same_as<Function, elementwise::And> ||
                                                       std::same_as<Function, elementwise::Or>));

}  // namespace

FoldKernels fold_kernels(Opcode opcode, ElementType type) {
  FoldKernels kernels;
  with_fold_function(opcode, [&]<class Function>(std::type_identity<Function>) {
    kernels = dispatch(type, []<class T>(std::type_identity<T>) -> FoldKernels {
      if constexpr (kHasKernel<Function, T> && folds<Function, T>) {
        using Type = typename Computed<Function, T>::type;
        if constexpr (sizeof(T) >= 4) {
          return {fold_columns<Function, Type>, fold_rows<Function, Type>};
        } else {
          return {fold_columns<Function, Type>, nullptr};
        }
      }
      return {};
    });
  });
  return kernels;
}

}  // namespace minihlo

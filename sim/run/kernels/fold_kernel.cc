#include "sim/run/kernels/fold_kernel.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "ir/transpose_tile.h"
#include "ir/vector_code.h"
#include "sim/run/kernels/fold_opcodes.h"

namespace minihlo {
namespace {

// Whether the order of the elements is all one: nothing rounds, and zeros and NaNs have an order.
template <class Function, class T>
constexpr bool kAnyOrder = std::integral<T> || std::same_as<Function, elementwise::Maximum> ||
                           std::same_as<Function, elementwise::Minimum>;

// As many elements of each line at a time: so many streams the machine fetches ahead well.
constexpr int64_t kAtOnce = 8;

// kCount elements of each line; kStarts: the first of them starts the result.
template <class Function, class T, int64_t kCount, bool kStarts>
MINIHLO_ALWAYS_INLINE inline void fold_some(int64_t lines, int64_t stride, const T* from, T* to) {
  const Function function{};
  MINIHLO_INDEPENDENT
  for (int64_t i = 0; i < lines; ++i) {
    T value = kStarts ? from[i] : to[i];
    MINIHLO_UNROLLED
    for (int64_t k = kStarts; k < kCount; ++k) value = function(value, from[k * stride + i]);
    to[i] = elementwise::canonical(value);
  }
}

// The value of an element, and a value as an element has it. Of BF16 that is less than in general.
template <class T>
MINIHLO_ALWAYS_INLINE inline float widened(T element) {
  if constexpr (std::same_as<T, BF16>) return std::bit_cast<float>(uint32_t{element.bits} << 16);
  return static_cast<float>(element);
}
template <class T>
MINIHLO_ALWAYS_INLINE inline float rounded(float value) {
  if constexpr (std::same_as<T, BF16>) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t nearest = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000;
    return value != value ? std::numeric_limits<float>::quiet_NaN() : std::bit_cast<float>(nearest);
  }
  return static_cast<float>(T(value));
}

// Elements of few bits, a few lines at a time in wider ones, rounded at every step.
template <class Function, class T>
MINIHLO_ALWAYS_INLINE inline void fold_few_bits(int64_t lines, int64_t count, int64_t stride,
                                                bool starts, const T* from, T* to) {
  constexpr int64_t kLines = 256;
  const Function function{};
  alignas(64) float values[kLines];
  for (int64_t first = 0; first < lines; first += kLines) {
    const int64_t some = std::min(kLines, lines - first);
    const T* start = (starts ? from : to) + first;
    for (int64_t i = 0; i < some; ++i) values[i] = widened(start[i]);
    for (int64_t k = starts; k < count; ++k) {
      const T* next = from + k * stride + first;
      for (int64_t i = 0; i < some; ++i) {
        const float value = function(values[i], widened(next[i]));
        values[i] = kAnyOrder<Function, T> ? value : rounded<T>(value);
      }
    }
    for (int64_t i = 0; i < some; ++i) to[first + i] = T(elementwise::canonical(values[i]));
  }
}

template <class Function, class T>
void fold_columns(int64_t lines, int64_t count, int64_t stride, bool starts,
                  const std::byte* elements, std::byte* results) {
  const T* from = reinterpret_cast<const T*>(elements);
  T* to = reinterpret_cast<T*>(results);
  run_vectorized([&]() MINIHLO_ALWAYS_INLINE {
    if constexpr (IsMiniFloat<T>::value) {
      fold_few_bits<Function>(lines, count, stride, starts, from, to);
      return;
    } else {
      int64_t k = 0;
      if (starts && count >= kAtOnce) {
        fold_some<Function, T, kAtOnce, true>(lines, stride, from, to);
        k = kAtOnce;
      } else if (starts) {
        fold_some<Function, T, 1, true>(lines, stride, from, to);
        k = 1;
      }
      for (; k + kAtOnce <= count; k += kAtOnce) {
        fold_some<Function, T, kAtOnce, false>(lines, stride, from + k * stride, to);
      }
      for (; k < count; ++k) fold_some<Function, T, 1, false>(lines, stride, from + k * stride, to);
    }
  });
}

// Each row by itself, in several vectors of elements.
template <class Function, class T, int64_t kCount>
MINIHLO_ALWAYS_INLINE inline void fold_any_order(int64_t lines, int64_t count, int64_t stride,
                                                 bool starts, const T* from, T* to) {
  using Wide = FoldedAs<T>;
  const Function function{};
  alignas(64) Wide parts[kCount];
  for (int64_t i = 0; i < lines; ++i, from += stride) {
    for (int64_t j = 0; j < kCount; ++j) parts[j] = static_cast<Wide>(from[j]);
    int64_t k = kCount;
    for (; k + kCount <= count; k += kCount) {
      MINIHLO_INDEPENDENT
      for (int64_t j = 0; j < kCount; ++j) {
        if constexpr (IsMiniFloat<T>::value) {
          parts[j] = function(parts[j], widened(from[k + j]));
        } else {
          parts[j] = function(parts[j], from[k + j]);
        }
      }
    }
    MINIHLO_UNROLLED
    for (int64_t half = kCount / 2; half > 0; half /= 2) {
      MINIHLO_INDEPENDENT
      for (int64_t j = 0; j < half; ++j) parts[j] = function(parts[j], parts[j + half]);
    }
    Wide value = parts[0];
    if (!starts) value = function(static_cast<Wide>(to[i]), value);
    for (; k < count; ++k) value = function(value, static_cast<Wide>(from[k]));
    to[i] = static_cast<T>(elementwise::canonical(value));
  }
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
    if constexpr (kAnyOrder<Function, T>) {
      constexpr int64_t kVector = bytes / sizeof(FoldedAs<T>);
      if (count >= 32 * kVector) {
        fold_any_order<Function, T, 8 * kVector>(lines, count, stride, starts, from, to);
        done = lines;
      } else if (count >= 4 * kVector) {
        fold_any_order<Function, T, 2 * kVector>(lines, count, stride, starts, from, to);
        done = lines;
      }
    }
    if constexpr (!IsMiniFloat<T>::value) {
      constexpr int64_t kRows = bytes / sizeof(T), kColumns = 16 / sizeof(T);
      constexpr int64_t kSteps = kAtOnce;
      const Function function{};
      alignas(64) T turned[kSteps * kRows];
      const int64_t whole = done < lines ? lines / kRows * kRows : 0;
      for (; done < whole; done += kRows, from += kRows * stride, to += kRows) {
        // A number that the compiler does not know, or it takes the vectors apart.
        const int64_t rows = std::min(kRows, lines - done);
        // The machine does not see that rows follow which are read a little at a time.
        const int64_t ahead = std::min<int64_t>(count * static_cast<int64_t>(sizeof(T)), 256);
        for (int64_t r = kRows; r < 2 * kRows; ++r) {
          const auto row =
              reinterpret_cast<uintptr_t>(from) + static_cast<uintptr_t>(r * stride) * sizeof(T);
          for (int64_t at = 0; at < ahead; at += 64) {
            __builtin_prefetch(reinterpret_cast<const void*>(row + static_cast<uintptr_t>(at)));
          }
        }
        int64_t k = 0;
        for (; k + kSteps <= count; k += kSteps) {
          MINIHLO_UNROLLED
          for (int64_t c = 0; c < kSteps; c += kColumns) {
            internal::transpose_vectors<bytes / 16>(from + k + c, stride, turned + c * kRows,
                                                    kRows);
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
        if constexpr (sizeof(T) >= 4 || (IsMiniFloat<T>::value && kAnyOrder<Function, T>)) {
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

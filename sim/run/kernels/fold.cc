#include "sim/run/kernels/fold.h"

#include <algorithm>
#include <vector>

#include "ir/numbers.h"
#include "ir/semantics/elementwise_arithmetic.h"
#include "ir/semantics/elementwise_bits.h"
#include "ir/transpose_tile.h"
#include "ir/vector_code.h"

namespace minihlo {
namespace {

// Of these types rows are turned, some elements of each at a time, so that vectors hold an element
// of each row.
template <class T>
constexpr bool kIsTurned = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                           std::is_same_v<T, BF16> || std::is_same_v<T, F16>;

template <class Function, class T>
void fold_rows(int64_t rows, int64_t count, int64_t row_stride, bool starts,
               const std::byte* elements, std::byte* results) {
  constexpr bool kDecoded = IsMiniFloat<T>::value;
  using Wide = std::conditional_t<kDecoded, float, T>;
  // Rows that are worked on together: each is a chain of dependent operations, which leaves room
  // for others beside it.
  constexpr int64_t kRows = kIsTurned<T> ? 16 : 8, kDepth = 32;
  const Function function{};
  const T* from = reinterpret_cast<const T*>(elements);
  T* to = reinterpret_cast<T*>(results);
  // `used` is a constant where there are as many rows as can be.
  auto fold = [&](int64_t first, auto used) MINIHLO_ALWAYS_INLINE {
    Wide value[kRows];
    auto add = [&](int64_t r, Wide element) MINIHLO_ALWAYS_INLINE {
      Wide next = function(value[r], element);
      if constexpr (kDecoded) next = static_cast<Wide>(T(next));
      value[r] = next;
    };
    for (int64_t r = 0; r < used; ++r) {
      value[r] = static_cast<Wide>(starts ? from[(first + r) * row_stride] : to[first + r]);
    }
    const T* start = from + first * row_stride;
    if constexpr (kIsTurned<T>) {
      alignas(64) Wide turned[kDepth * kRows];
      for (int64_t done = starts; done < count; done += kDepth) {
        const int64_t depth = std::min(kDepth, count - done);
        if constexpr (kDecoded) {
          alignas(64) Wide decoded[kRows * kDepth];
          for (int64_t r = 0; r < used; ++r) {
            for (int64_t k = 0; k < depth; ++k) {
              decoded[r * kDepth + k] = static_cast<Wide>(start[r * row_stride + done + k]);
            }
          }
          transpose_tile(decoded, kDepth, used, depth, turned, kRows);
        } else {
          transpose_tile(start + done, row_stride, used, depth, turned, kRows);
        }
        for (int64_t k = 0; k < depth; ++k) {
          for (int64_t r = 0; r < used; ++r) add(r, turned[k * kRows + r]);
        }
      }
    } else {
      for (int64_t k = starts; k < count; ++k) {
        for (int64_t r = 0; r < used; ++r) add(r, static_cast<Wide>(start[r * row_stride + k]));
      }
    }
    for (int64_t r = 0; r < used; ++r) {
      to[first + r] = static_cast<T>(elementwise::canonical(value[r]));
    }
  };
  auto fold_all = [&]() MINIHLO_ALWAYS_INLINE {
    int64_t row = 0;
    for (; row + kRows <= rows; row += kRows) fold(row, std::integral_constant<int64_t, kRows>{});
    if (row < rows) fold(row, rows - row);
  };
  if (count == 0) return;
  if constexpr (kIsTurned<T>) {
    run_vectorized(fold_all);
  } else {
    fold_all();
  }
}

// Elements, `stride` apart, and what they give, each where its element is. What a block of them
// gives as a whole is folded in turn, and combined with the results of the next block, or going
// backwards of the one before. The start value is null where the first element takes its part.
template <class Function, class T>
void run_folds(int64_t count, int64_t stride, bool backwards, const T* start, const T* from,
               T* to) {
  using Wide = std::conditional_t<IsMiniFloat<T>::value, float, T>;
  auto combine = [](T a, T b) {
    const Function function{};
    return static_cast<T>(
        elementwise::canonical(function(static_cast<Wide>(a), static_cast<Wide>(b))));
  };
  constexpr int64_t kExtent = kRunningBlockExtent;
  const int64_t blocks = (count + kExtent - 1) / kExtent;
  std::vector<T> totals;
  totals.reserve(static_cast<size_t>(blocks));
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = block * kExtent, end = std::min(count, first + kExtent);
    const bool starts = start && block == (backwards ? blocks - 1 : 0);
    // Every result is a fold of its own in the order of the window, which is memory's.
    for (int64_t i = first; i < end; ++i) {
      T value = from[i * stride];
      if (!backwards && i > first) {
        value = combine(to[(i - 1) * stride], value);
      } else if (starts) {
        value = combine(*start, value);
      }
      for (int64_t k = i + 1; backwards && k < end; ++k) value = combine(value, from[k * stride]);
      to[i * stride] = value;
    }
    totals.push_back(to[(backwards ? first : end - 1) * stride]);
  }
  if (blocks <= 1) return;
  run_folds<Function, T>(blocks, 1, backwards, nullptr, totals.data(), totals.data());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t other = i / kExtent + (backwards ? 1 : -1);
    if (other < 0 || other >= blocks) continue;
    to[i * stride] = combine(to[i * stride], totals[static_cast<size_t>(other)]);
  }
}

template <class Function, class T>
void run_fold(int64_t count, int64_t stride, bool backwards, const std::byte* init,
              const std::byte* elements, std::byte* results) {
  run_folds<Function, T>(count, stride, backwards, reinterpret_cast<const T*>(init),
                         reinterpret_cast<const T*>(elements), reinterpret_cast<T*>(results));
}

template <class Function>
struct Kernels {
  template <class T>
  static constexpr bool kIsDefined =
      std::invocable<const Function&, std::conditional_t<IsMiniFloat<T>::value, float, T>,
                     std::conditional_t<IsMiniFloat<T>::value, float, T>>;

  static FoldKernel fold(ElementType type) {
    return dispatch(type, []<class T>(std::type_identity<T>) -> FoldKernel {
      if constexpr (kIsDefined<T>) return fold_rows<Function, T>;
      return nullptr;
    });
  }
  static RunningFoldKernel running(ElementType type) {
    return dispatch(type, []<class T>(std::type_identity<T>) -> RunningFoldKernel {
      if constexpr (kIsDefined<T>) return run_fold<Function, T>;
      return nullptr;
    });
  }
};

// Calls `get` with the kernels of an opcode; null where there are none.
template <class Get>
auto with_kernels(Opcode opcode, Get get) -> decltype(get(Kernels<elementwise::Add>{})) {
  switch (opcode) {
    case Opcode::kAdd:
      return get(Kernels<elementwise::Add>{});
    case Opcode::kMultiply:
      return get(Kernels<elementwise::Multiply>{});
    case Opcode::kMaximum:
      return get(Kernels<elementwise::Maximum>{});
    case Opcode::kMinimum:
      return get(Kernels<elementwise::Minimum>{});
    case Opcode::kAnd:
      return get(Kernels<elementwise::And>{});
    case Opcode::kOr:
      return get(Kernels<elementwise::Or>{});
    default:
      return nullptr;
  }
}

}  // namespace

FoldKernel fold_kernel(Opcode opcode, ElementType type) {
  return with_kernels(opcode, [&](auto kernels) { return kernels.fold(type); });
}

RunningFoldKernel running_fold_kernel(Opcode opcode, ElementType type) {
  return with_kernels(opcode, [&](auto kernels) { return kernels.running(type); });
}

}  // namespace minihlo

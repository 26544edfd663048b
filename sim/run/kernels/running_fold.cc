#include "sim/run/kernels/running_fold.h"

#include <algorithm>
#include <vector>

#include "ir/numbers.h"
#include "sim/run/kernels/fold_opcodes.h"

namespace minihlo {
namespace {

// Elements, `stride` apart, and what they give, each where its element is. What a block of them
// gives as a whole is folded in turn, and combined with the results of the next block, or going
// backwards of the one before. The start value is null where the first element takes its part.
template <class Function, class T>
void run_folds(int64_t count, int64_t stride, bool backwards, const T* start, const T* from,
               T* to) {
  using Wide = FoldedAs<T>;
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

}  // namespace

RunningFoldKernel running_fold_kernel(Opcode opcode, ElementType type) {
  RunningFoldKernel kernel = nullptr;
  with_fold_function(opcode, [&]<class Function>(std::type_identity<Function>) {
    kernel = dispatch(type, []<class T>(std::type_identity<T>) -> RunningFoldKernel {
      if constexpr (folds<Function, T>) return run_fold<Function, T>;
      return nullptr;
    });
  });
  return kernel;
}

}  // namespace minihlo

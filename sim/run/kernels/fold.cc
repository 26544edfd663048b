#include "sim/run/kernels/fold.h"

#include <algorithm>

#include "ir/numbers.h"
#include "ir/semantics/elementwise_arithmetic.h"
#include "ir/semantics/elementwise_bits.h"

namespace minihlo {
namespace {

// Rows at work at the same time: each is a chain of dependent operations, which leaves room for
// others beside it.
constexpr int kRows = 8;

template <class Function, class T>
void fold_rows(int64_t rows, int64_t count, int64_t row_stride, const std::byte* elements,
               std::byte* results) {
  constexpr bool kDecoded = IsMiniFloat<T>::value;
  using Wide = std::conditional_t<kDecoded, float, T>;
  const Function function{};
  const T* from = reinterpret_cast<const T*>(elements);
  T* to = reinterpret_cast<T*>(results);
  if (count == 0) return;
  auto fold = [&]<int width>(std::integral_constant<int, width>, int64_t row) {
    Wide value[width];
    for (int r = 0; r < width; ++r) value[r] = static_cast<Wide>(to[row + r]);
    const T* start = from + row * row_stride;
    for (int64_t i = 0; i < count; ++i) {
      for (int r = 0; r < width; ++r) {
        Wide next = function(value[r], static_cast<Wide>(start[r * row_stride + i]));
        if constexpr (kDecoded) next = static_cast<Wide>(T(next));
        value[r] = next;
      }
    }
    for (int r = 0; r < width; ++r) to[row + r] = static_cast<T>(elementwise::canonical(value[r]));
  };
  int64_t row = 0;
  for (; row + kRows <= rows; row += kRows) fold(std::integral_constant<int, kRows>{}, row);
  for (; row < rows; ++row) fold(std::integral_constant<int, 1>{}, row);
}

template <class Function>
FoldKernel kernel_for(ElementType type) {
  return dispatch(type, []<class T>(std::type_identity<T>) -> FoldKernel {
    using Wide = std::conditional_t<IsMiniFloat<T>::value, float, T>;
    if constexpr (std::invocable<const Function&, Wide, Wide>) {
      return fold_rows<Function, T>;
    } else {
      return nullptr;
    }
  });
}

}  // namespace

FoldKernel fold_kernel(Opcode opcode, ElementType type) {
  switch (opcode) {
    case Opcode::kAdd:
      return kernel_for<elementwise::Add>(type);
    case Opcode::kMultiply:
      return kernel_for<elementwise::Multiply>(type);
    case Opcode::kMaximum:
      return kernel_for<elementwise::Maximum>(type);
    case Opcode::kMinimum:
      return kernel_for<elementwise::Minimum>(type);
    case Opcode::kAnd:
      return kernel_for<elementwise::And>(type);
    case Opcode::kOr:
      return kernel_for<elementwise::Or>(type);
    default:
      return nullptr;
  }
}

}  // namespace minihlo

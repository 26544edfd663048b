#include "ir/semantics/elementwise_bits.h"

namespace minihlo::elementwise {
namespace {

/// A type of the same size: what only moves needs no kernel a type.
template <class T>
using Storage = std::conditional_t<
    sizeof(T) == 1, uint8_t,
    std::conditional_t<sizeof(T) == 2, uint16_t,
                       std::conditional_t<sizeof(T) == 4, uint32_t,
                                          std::conditional_t<sizeof(T) == 8, uint64_t, T>>>>;

constexpr KernelRow make_select_row() {
  KernelRow row{};
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    row[i] = dispatch(type, [&]<class T>(std::type_identity<T>) {
      return KernelEntry{kernel<Select, Pred, Storage<T>, Storage<T>>, type};
    });
  }
  return row;
}

}  // namespace

const KernelRow* bitwise_row(Opcode opcode) {
  static constexpr auto kUnary = rows<1, Not, PopulationCount, CountLeadingZeros, Negate, Abs,
                                      RealPart, ImaginaryPart, IsFinite, ReducePrecision>();
  static constexpr auto kBinary =
      rows<2, And, Or, Xor, ShiftLeft, ShiftRightLogical, ShiftRightArithmetic, MakeComplex>();
  const KernelRow* row = find_row(kUnary, opcode);
  return row ? row : find_row(kBinary, opcode);
}

const KernelRow& select_row() {
  static constexpr KernelRow kRow = make_select_row();
  return kRow;
}

ElementwiseKernel move_kernel(ElementType type) {
  return dispatch(type, []<class T>(std::type_identity<T>) -> ElementwiseKernel {
    return kernel<Move, Storage<T>>;
  });
}

}  // namespace minihlo::elementwise

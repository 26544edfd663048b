// From a function on elements to a row of kernels, one an element type that the function takes.
// For the elementwise_*.cc files only.
//
// A function is a small class whose call operator is constrained to the types that it takes: that
// constraint is the one statement of what the opcode is defined on. It is called with the value
// types of ir/numbers.h; floats of at most 16 bits that it doesn't take are given to it as float.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

#include "ir/numbers.h"
#include "ir/semantics/elementwise.h"
#include "ir/vector_code.h"

// Iterations are independent; the result may be an operand's own memory, so that __restrict would
// be wrong. Clang finds out at run time.
#if defined(__clang__)
#define MINIHLO_INDEPENDENT
#else
#define MINIHLO_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace minihlo::elementwise {

template <class T>
concept Integer = std::integral<T> || IsNarrowInt<T>::value;
template <class T>
concept SignedInteger = Integer<T> && is_signed(element_type_of<T>);
template <class T>
concept Real = std::floating_point<T>;
template <class T>
concept Complex = std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;
/// A float as it is stored, for functions on its bits.
template <class T>
concept AnyFloat = Real<T> || IsMiniFloat<T>::value;
template <class T>
concept Number = Integer<T> || Real<T> || Complex<T>;

template <Real T>
using BitsOf = typename internal::IeeeTraits<T>::Bits;

/// An arithmetic result: any NaN becomes the canonical one, whatever the hardware makes.
template <class T>
inline T canonical(T value) {
  if constexpr (Real<T>) {
    return value != value ? std::numeric_limits<T>::quiet_NaN() : value;
  } else if constexpr (Complex<T>) {
    return T(canonical(value.real()), canonical(value.imag()));
  } else {
    return value;
  }
}

/// Functions that only move bits say so by `static constexpr bool kMoves = true`; the NaNs of all
/// others are made canonical.
template <class Function>
concept Moves = requires {
  requires Function::kMoves;
};

template <class Function>
Function make_function(const ElementwiseParameters& parameters) {
  if constexpr (std::constructible_from<Function, const ElementwiseParameters&>) {
    return Function(parameters);
  } else {
    return Function{};
  }
}

template <class Function, class... Operands>
using ResultOf = std::invoke_result_t<const Function&, Operands...>;

template <class Function, class... Operands, size_t... i>
void apply(int64_t count, const std::byte* const* operands, std::byte* result,
           const ElementwiseParameters& parameters, std::index_sequence<i...>) {
  using Result = ResultOf<Function, Operands...>;
  const Function function = make_function<Function>(parameters);
  auto loop = [&](Result* out, const Operands*... in) MINIHLO_ALWAYS_INLINE {
    MINIHLO_INDEPENDENT
    for (int64_t k = 0; k < count; ++k) {
      if constexpr (Moves<Function>) {
        out[k] = function(in[k]...);
      } else {
        out[k] = canonical(function(in[k]...));
      }
    }
  };
  run_vectorized([&]() MINIHLO_ALWAYS_INLINE {
    loop(reinterpret_cast<Result*>(result), reinterpret_cast<const Operands*>(operands[i])...);
  });
}

template <class Function, class... Operands>
void kernel(int64_t count, const std::byte* const* operands, std::byte* result,
            const ElementwiseParameters& parameters) {
  apply<Function, Operands...>(count, operands, result, parameters,
                               std::index_sequence_for<Operands...>{});
}

struct KernelEntry {
  ElementwiseKernel kernel = nullptr;  // null where the function doesn't take the type
  ElementType result = ElementType::PRED;
};
/// An entry for each element type of the operands.
using KernelRow = std::array<KernelEntry, kElementTypeCount>;

template <class Function, class... Operands>
constexpr KernelEntry entry() {
  if constexpr (std::invocable<const Function&, Operands...>) {
    return {kernel<Function, Operands...>, element_type_of<ResultOf<Function, Operands...>>};
  } else {
    return {};
  }
}

template <class Function, int arity>
constexpr KernelRow make_row() {
  KernelRow row{};
  for (int i = 0; i < kElementTypeCount; ++i) {
    row[i] = dispatch(static_cast<ElementType>(i), []<class T>(std::type_identity<T>) {
      if constexpr (arity == 1) return entry<Function, T>();
      if constexpr (arity == 2) return entry<Function, T, T>();
      if constexpr (arity == 3) return entry<Function, T, T, T>();
    });
  }
  return row;
}

/// The kernels of an opcode's function.
struct OpcodeRow {
  Opcode opcode;
  const KernelRow* row;
};
template <class Function, int arity>
inline constexpr KernelRow kRow = make_row<Function, arity>();

/// Rows of a list of functions that say which opcode they are.
template <int arity, class... Functions>
constexpr std::array<OpcodeRow, sizeof...(Functions)> rows() {
  return {OpcodeRow{Functions::kOpcode, &kRow<Functions, arity>}...};
}

template <size_t size>
const KernelRow* find_row(const std::array<OpcodeRow, size>& rows, Opcode opcode) {
  for (const OpcodeRow& row : rows) {
    if (row.opcode == opcode) return row.row;
  }
  return nullptr;
}

// The rows, by file; null where the opcode is not among them.
const KernelRow* arithmetic_row(Opcode opcode);  // elementwise_arithmetic.cc: two operands
const KernelRow* bitwise_row(Opcode opcode);     // elementwise_bits.cc
const KernelRow* rounding_row(Opcode opcode);    // elementwise_rounding.cc: one operand, exact
const KernelRow* math_row(Opcode opcode);        // elementwise_math.cc
const KernelRow& compare_row(ComparisonDirection direction, bool total_order);
const KernelRow& clamp_row();
/// Entries by the type of what is selected; the first operand is pred.
const KernelRow& select_row();
/// To the type at the same place in ElementType; from a type that is no float below f32. To a
/// float below f32 the kernel gives f32 or f64, from which the result is to be encoded.
KernelEntry convert_kernel(ElementType from, ElementType to);
/// Copies elements of that type.
ElementwiseKernel move_kernel(ElementType type);
/// From f32 or f64, with random bits of `random`.
ElementwiseKernel stochastic_convert_kernel(ElementType from, ElementType random, ElementType to);

}  // namespace minihlo::elementwise

// What the elementwise opcodes (Family::kElementwise) mean on elements: the one place that the
// simulator's kernels, constant folding and reducers ask. The rules are those of docs/numerics.md;
// one function an opcode stands in elementwise_*.h beside this file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <tl/expected.hpp>

#include "ir/element_type.h"
#include "ir/instruction.h"
#include "ir/opcode.h"

namespace minihlo {

/// Whether the order of the two operands doesn't matter, bit for bit, given that any NaN equals any
/// NaN. Of complex numbers it may: their products are rounded part by part.
constexpr bool is_commutative(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kAnd:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kMultiply:
    case Opcode::kMulhi:
    case Opcode::kOr:
    case Opcode::kXor:
      return true;
    default:
      return false;
  }
}

/// What a function may need to know beside its operands.
struct ElementwiseParameters {
  // reduce-precision: fields to round to, no wider than the operand's.
  int exponent_bits = 0;
  int mantissa_bits = 0;
};

/// Applies a function to `count` consecutive elements of types that it computes with.
using ElementwiseKernel = void (*)(int64_t count, const std::byte* const* operands,
                                   std::byte* result, const ElementwiseParameters& parameters);

/// An elementwise opcode for given element types: a small value that is called on arrays. Calls
/// may run at the same time. An element of the result depends on the same element of each operand
/// and on nothing else, neither on its position nor on how the work was split.
class ElementwiseOp {
 public:
  static constexpr int kMaxOperands = 3;

  /// Writes `count` elements to `result`. Operand i is read from operands[i] on, and advances by
  /// steps[i] elements, 0 or 1, from one element to the next: 0 is a scalar for all. Elements are
  /// stored as in a Literal, and the pointers are aligned to their size (a component's, where they
  /// are complex). `result` may be the very memory of an operand with step 1 whose elements have
  /// the same number of bytes as the result's; otherwise it overlaps none.
  void operator()(int64_t count, const std::byte* const* operands, const int64_t* steps,
                  std::byte* result) const;

  int operand_count() const { return operand_count_; }
  ElementType operand_type(int i) const { return operands_[i].type; }
  ElementType result_type() const { return result_type_; }

 private:
  friend class ElementwiseLookup;

  // How the kernel sees an operand: as it is stored, or decoded to f32.
  struct Operand {
    ElementType type = ElementType::PRED;
    bool decoded = false;
    uint8_t bytes = 1;  // of an element as the kernel reads it
  };
  enum class Encode : uint8_t { kNo, kFromF32, kFromF64 };

  ElementwiseKernel kernel_ = nullptr;
  ElementwiseParameters parameters_;
  Operand operands_[kMaxOperands];
  int8_t operand_count_ = 0;
  ElementType result_type_ = ElementType::PRED;
  Encode encode_ = Encode::kNo;
};

/// What an elementwise instruction is, as far as its elements go.
struct ElementwiseSignature {
  Opcode opcode;
  std::span<const ElementType> operands;
  ElementType result;
  std::span<const Attribute> attributes;  // direction, type, exponent_bits, mantissa_bits
};

/// The operation, or a sentence that names the opcode and the types that it does not take.
tl::expected<ElementwiseOp, std::string> elementwise_op(const ElementwiseSignature& signature);
/// The same for an instruction.
tl::expected<ElementwiseOp, std::string> elementwise_op(const Instruction& instruction);

}  // namespace minihlo

#include <algorithm>

#include "passes/simplify/rules.h"

namespace minihlo::simplify {
namespace {

bool all_are(const std::optional<std::span<const std::byte>>& value, std::byte byte) {
  return value && std::ranges::all_of(*value, [&](std::byte own) { return own == byte; });
}

// Whether an integer array is 0, 1, or has all bits set, everywhere.
bool is_zero(const Instruction& array) { return all_are(splat(array), std::byte{0}); }
bool is_one(const Instruction& array) {
  auto value = splat(array);
  return value && (*value)[0] == std::byte{1} && all_are(value->subspan(1), std::byte{0});
}
bool is_ones(const Instruction& array) {
  const ElementType type = array.shape()->element_type();
  const int bits = info(type).bits;
  const int byte = bits < 8 && is_unsigned(type) ? (1 << bits) - 1 : 0xff;
  return all_are(splat(array), static_cast<std::byte>(byte));
}

// Whether a truth value is stored as 0 or 1, whatever else a byte could be.
bool is_truth(const Instruction& array) {
  switch (array.opcode()) {
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
    case Opcode::kNot:
    case Opcode::kCompare:
    case Opcode::kIsFinite:
      return true;
    default:
      return false;
  }
}

Instruction* fill(Emitter& emit, const Instruction& at, int64_t value) {
  return repeat(emit, emit.scalar(at.shape()->element_type(), value), at.shape());
}

// x op y, where integers of any width wrap.
Instruction* integer_binary(Emitter& emit, const Instruction& at) {
  Instruction *x = at.operand(0), *y = at.operand(1);
  switch (at.opcode()) {
    case Opcode::kAdd:
      if (is_zero(*y)) return x;
      return is_zero(*x) ? y : nullptr;
    case Opcode::kSubtract:
      if (is_zero(*y)) return x;
      return x == y ? fill(emit, at, 0) : nullptr;
    case Opcode::kMultiply:
      if (is_one(*y)) return x;
      if (is_one(*x)) return y;
      if (is_zero(*y)) return y;
      return is_zero(*x) ? x : nullptr;
    case Opcode::kDivide:
      return is_one(*y) ? x : nullptr;
    case Opcode::kRemainder:
      return is_one(*y) ? fill(emit, at, 0) : nullptr;
    case Opcode::kAnd:
      if (x == y || is_ones(*y) || is_zero(*x)) return x;
      return is_ones(*x) || is_zero(*y) ? y : nullptr;
    case Opcode::kOr:
      if (x == y || is_zero(*y) || is_ones(*x)) return x;
      return is_zero(*x) || is_ones(*y) ? y : nullptr;
    case Opcode::kXor:
      if (is_zero(*y)) return x;
      if (is_zero(*x)) return y;
      return x == y ? fill(emit, at, 0) : nullptr;
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
      return is_zero(*y) ? x : nullptr;
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      return x == y ? x : nullptr;
    default:
      return nullptr;
  }
}

// (x op a) op b with known a and b, which become one.
Instruction* reassociated(Emitter& emit, const Instruction& at) {
  switch (at.opcode()) {
    case Opcode::kAdd:
    case Opcode::kMultiply:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      break;
    default:
      return nullptr;
  }
  const Instruction* inner = operand_of(at, 0, at.opcode());
  Instruction* b = at.operand(1);
  if (!inner || !splat(*b)) return nullptr;
  Instruction* a = inner->operand(1);
  if (!splat(*a) || splat(*inner->operand(0))) return nullptr;
  Instruction* both = emit.make(at.opcode(), {a, b}, {}, at.shape());
  return emit.make(at.opcode(), {inner->operand(0), both}, {}, at.shape());
}

// Where `and` and `or` have truth values for operands that they hand on.
Instruction* pred_binary(Emitter& emit, const Instruction& at) {
  Instruction *x = at.operand(0), *y = at.operand(1);
  auto on = [](Instruction* one) { return is_truth(*one) ? one : nullptr; };
  switch (at.opcode()) {
    case Opcode::kAnd:
      if (x == y || is_one(*y)) return on(x);
      if (is_zero(*y) || is_zero(*x)) return fill(emit, at, 0);
      return is_one(*x) ? on(y) : nullptr;
    case Opcode::kOr:
      if (x == y || is_zero(*y)) return on(x);
      if (is_one(*y) || is_one(*x)) return fill(emit, at, 1);
      return is_zero(*x) ? on(y) : nullptr;
    case Opcode::kXor:
      if (x == y) return fill(emit, at, 0);
      if (is_zero(*y)) return on(x);
      return is_zero(*x) ? on(y) : nullptr;
    default:
      return nullptr;
  }
}

// Whether negate flips the sign bit of every value that it changes, NaN among them.
bool has_sign_bit(ElementType type) { return is_float(type) && type != ElementType::F8E8M0FNU; }

Instruction* unary(Emitter& emit, const Instruction& at) {
  const ElementType type = at.operand(0)->shape()->element_type();
  const bool has_sign = is_integer(type) || has_sign_bit(type);
  switch (at.opcode()) {
    case Opcode::kNegate: {
      const Instruction* inner = operand_of(at, 0, Opcode::kNegate);
      return inner && has_sign ? inner->operand(0) : nullptr;
    }
    case Opcode::kAbs: {
      if (!has_sign) return nullptr;
      if (Instruction* inner = operand_of(at, 0, Opcode::kAbs);
          inner && !is_complex(inner->operand(0)->shape()->element_type())) {
        return inner;
      }
      const Instruction* inner = operand_of(at, 0, Opcode::kNegate);
      return inner ? emit.make(Opcode::kAbs, {inner->operand(0)}, {}, at.shape()) : nullptr;
    }
    case Opcode::kNot: {
      const Instruction* inner = operand_of(at, 0, Opcode::kNot);
      if (!inner) return nullptr;
      return is_integer(type) || is_truth(*inner->operand(0)) ? inner->operand(0) : nullptr;
    }
    case Opcode::kReal:
    case Opcode::kImag: {
      const Instruction* inner = operand_of(at, 0, Opcode::kComplex);
      return inner ? inner->operand(at.opcode() == Opcode::kReal ? 0 : 1) : nullptr;
    }
    default:
      return nullptr;
  }
}

ComparisonDirection opposite(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kEq:
      return ComparisonDirection::kNe;
    case ComparisonDirection::kNe:
      return ComparisonDirection::kEq;
    case ComparisonDirection::kGe:
      return ComparisonDirection::kLt;
    case ComparisonDirection::kGt:
      return ComparisonDirection::kLe;
    case ComparisonDirection::kLe:
      return ComparisonDirection::kGt;
    case ComparisonDirection::kLt:
      return ComparisonDirection::kGe;
  }
  return direction;
}

bool is_equality(ComparisonDirection direction) {
  return direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe;
}

// With a NaN only NE holds, so what is no equality has no opposite.
Instruction* not_compare(Emitter& emit, const Instruction& at) {
  if (at.opcode() != Opcode::kNot) return nullptr;
  const Instruction* compare = operand_of(at, 0, Opcode::kCompare);
  if (!compare) return nullptr;
  const ComparisonDirection direction = compare->get(attr::direction);
  const bool has_order = compare->comparison_type() != ComparisonType::kFloat &&
                         !is_complex(compare->operand(0)->shape()->element_type());
  if (!has_order && !is_equality(direction)) return nullptr;
  std::vector<Attribute> attributes = {make_attribute(attr::direction, opposite(direction))};
  if (auto type = compare->find(attr::comparison_type)) {
    attributes.push_back(make_attribute(attr::comparison_type, *type));
  }
  if (auto order = compare->find(attr::comparison_order)) {
    attributes.push_back(make_attribute(attr::comparison_order, *order));
  }
  return emit.make(Opcode::kCompare, compare->operands(), attributes, at.shape());
}

Instruction* compare(Emitter& emit, const Instruction& at) {
  Instruction *x = at.operand(0), *y = at.operand(1);
  const ElementType type = x->shape()->element_type();
  const ComparisonDirection direction = at.get(attr::direction);
  if (x == y) {
    const bool is_strict =
        direction == ComparisonDirection::kLt || direction == ComparisonDirection::kGt;
    if (is_strict && !is_complex(type)) return fill(emit, at, 0);
    if (is_integer(type)) return fill(emit, at, direction != ComparisonDirection::kNe);
  }
  if (!is_unsigned(type) || y->shape() != x->shape()) return nullptr;
  // Nothing is less than 0.
  if (is_zero(*y) && direction == ComparisonDirection::kLt) return fill(emit, at, 0);
  if (is_zero(*y) && direction == ComparisonDirection::kGe) return fill(emit, at, 1);
  if (is_zero(*x) && direction == ComparisonDirection::kGt) return fill(emit, at, 0);
  if (is_zero(*x) && direction == ComparisonDirection::kLe) return fill(emit, at, 1);
  return nullptr;
}

Instruction* select(Emitter& emit, const Instruction& at) {
  Instruction *which = at.operand(0), *a = at.operand(1), *b = at.operand(2);
  if (a == b) return a;
  if (auto known = splat(*which)) return all_are(known, std::byte{0}) ? b : a;
  if (Instruction* inner = operand_of(at, 0, Opcode::kNot)) {
    return emit.make(Opcode::kSelect, {inner->operand(0), b, a}, {}, at.shape());
  }
  return nullptr;
}

Instruction* complex(const Instruction& at) {
  const Instruction *real = at.operand(0), *imag = at.operand(1);
  if (real->opcode() != Opcode::kReal || imag->opcode() != Opcode::kImag ||
      real->operand(0) != imag->operand(0)) {
    return nullptr;
  }
  return real->operand(0);
}

Instruction* candidate(Emitter& emit, const Instruction& at) {
  switch (at.opcode()) {
    case Opcode::kSelect:
      return select(emit, at);
    case Opcode::kCompare:
      return compare(emit, at);
    case Opcode::kComplex:
      return complex(at);
    default:
      break;
  }
  if (at.operand_count() == 1) {
    Instruction* by = unary(emit, at);
    return by ? by : not_compare(emit, at);
  }
  if (at.operand_count() != 2) return nullptr;
  const ElementType type = at.shape()->element_type();
  for (const Instruction* operand : at.operands()) {
    if (operand->shape()->element_type() != type) return nullptr;
  }
  if (type == ElementType::PRED) return pred_binary(emit, at);
  if (!is_integer(type)) return nullptr;
  Instruction* by = integer_binary(emit, at);
  return by ? by : reassociated(emit, at);
}

}  // namespace

Instruction* elementwise(Emitter& emit, const Instruction& at) {
  if (info(at.opcode()).family != Family::kElementwise) return nullptr;
  Instruction* by = candidate(emit, at);
  return by ? same_shape(at, by) : nullptr;
}

}  // namespace minihlo::simplify

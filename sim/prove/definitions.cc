// Functions in words of others: fewer functions are left for identities to know.
#include "sim/prove/constants.h"
#include "sim/prove/rules.h"
#include "sim/prove/types.h"

namespace minihlo::prove {
namespace {

using Ref = TermBuilder::Ref;

struct Definition {
  const Signature& what;
  std::span<const Ref> x;  // arguments
  Functions& functions;
  TermBuilder& make;

  ElementType type() const { return what.operand_types.back(); }
  Ref number(uint64_t bits) const {
    return make.constant(type(), integer_constant(type(), bits).span());
  }
  Ref exact(Opcode opcode, ElementType of, std::vector<Ref> arguments) const {
    return make.apply(functions.exact_fold(opcode, of), std::move(arguments));
  }
  Ref inverse(Ref truth) const {
    const Constant one = integer_constant(ElementType::PRED, 1);
    return exact(Opcode::kXor, ElementType::PRED,
                 {truth, make.constant(ElementType::PRED, one.span())});
  }
};

// Truth values are numbers of one bit whose sums don't wrap.
Opcode on_truths(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kMaximum:
      return Opcode::kOr;
    case Opcode::kMultiply:
    case Opcode::kMinimum:
      return Opcode::kAnd;
    default:
      return opcode;
  }
}

std::optional<Ref> exact_operation(const Definition& d) {
  return d.exact(*d.what.opcode, d.type(), {d.x.begin(), d.x.end()});
}
std::optional<Ref> operation_on_truths(const Definition& d) {
  return d.exact(on_truths(*d.what.opcode), d.type(), {d.x.begin(), d.x.end()});
}
// -x = (-1) x
std::optional<Ref> negate_integer(const Definition& d) {
  return d.exact(Opcode::kMultiply, d.type(), {d.x[0], d.number(~uint64_t{0})});
}
// x - y = x + (-1) y
std::optional<Ref> subtract_integers(const Definition& d) {
  const Ref negative = d.exact(Opcode::kMultiply, d.type(), {d.x[1], d.number(~uint64_t{0})});
  return d.exact(Opcode::kAdd, d.type(), {d.x[0], negative});
}
// x - y = x + -y: the sum is rounded once, and zeros have the same signs.
std::optional<Ref> subtract_floats(const Definition& d) {
  const Ref negative = d.make.apply(d.functions.of(Opcode::kNegate, d.type()), {d.x[1]});
  return d.make.apply(d.functions.of(Opcode::kAdd, d.type()), {d.x[0], negative});
}
// not x = x ^ ~0
std::optional<Ref> invert(const Definition& d) {
  return d.exact(Opcode::kXor, d.type(), {d.x[0], d.number(~uint64_t{0})});
}
// clamp(low, x, high) = min(max(x, low), high)
std::optional<Ref> clamp(const Definition& d) {
  const ElementType type = d.type();
  const bool is_truth = type == ElementType::PRED;
  const Opcode up = is_truth ? Opcode::kOr : Opcode::kMaximum;
  const Opcode down = is_truth ? Opcode::kAnd : Opcode::kMinimum;
  return d.exact(down, type, {d.exact(up, type, {d.x[0], d.x[1]}), d.x[2]});
}
// All comparisons by =, <, and where NaN are unordered <=.
std::optional<Ref> compare(const Definition& d) {
  using enum ComparisonDirection;
  const bool is_total = find(d.what.attributes, attr::comparison_type).has_value();
  const bool is_ordered = is_total || (!is_float(d.type()) && !is_complex(d.type()));
  const Ref a = d.x[0], b = d.x[1];
  auto by = [&](ComparisonDirection direction, Ref left, Ref right) {
    return d.make.apply(d.functions.compare(direction, is_total, d.type()), {left, right});
  };
  switch (get(d.what.attributes, attr::direction)) {
    case kNe:
      return d.inverse(by(kEq, a, b));
    case kGt:
      return by(kLt, b, a);
    case kGe:
      return is_ordered ? d.inverse(by(kLt, a, b)) : by(kLe, b, a);
    case kLe:
      if (is_ordered) return d.inverse(by(kLt, b, a));
      break;
    default:
      break;
  }
  return std::nullopt;
}

struct Row {
  Opcode opcode;
  unsigned types;
  std::optional<Ref> (*define)(const Definition&);
};

constexpr Row kRows[] = {
    {Opcode::kAdd, kIntegers, exact_operation},
    {Opcode::kAdd, kPreds, operation_on_truths},
    {Opcode::kAnd, kIntegers, exact_operation},
    {Opcode::kAnd, kPreds, operation_on_truths},
    {Opcode::kClamp, kIntegers | kPreds | kFloats | kScales, clamp},
    {Opcode::kCompare, ~0u, compare},
    {Opcode::kMaximum, kIntegers | kFloats | kScales, exact_operation},
    {Opcode::kMaximum, kPreds, operation_on_truths},
    {Opcode::kMinimum, kIntegers | kFloats | kScales, exact_operation},
    {Opcode::kMinimum, kPreds, operation_on_truths},
    {Opcode::kMultiply, kIntegers, exact_operation},
    {Opcode::kMultiply, kPreds, operation_on_truths},
    {Opcode::kNegate, kIntegers, negate_integer},
    {Opcode::kNot, kIntegers | kPreds, invert},
    {Opcode::kOr, kIntegers, exact_operation},
    {Opcode::kOr, kPreds, operation_on_truths},
    {Opcode::kSubtract, kIntegers, subtract_integers},
    {Opcode::kSubtract, kFloats, subtract_floats},
    {Opcode::kXor, kIntegers | kPreds, exact_operation},
};

}  // namespace

std::optional<Ref> Rules::defined(uint32_t function, std::span<const Ref> arguments,
                                  TermBuilder& make) {
  const Signature& what = functions_[function];
  if (!what.opcode || !what.op) return std::nullopt;
  const ElementType type = what.operand_types.back();
  if (what.kind == Signature::Kind::kPointwise && is_float(type) && what.result_type == type &&
      is_in_any_order(*what.opcode, type)) {
    return make.apply(functions_.exact_fold(*what.opcode, type),
                      {arguments.begin(), arguments.end()});
  }
  if (what.kind == Signature::Kind::kFold) {
    // Of truth values there are fewer folds than opcodes.
    const Opcode canonical = on_truths(*what.opcode);
    if (type != ElementType::PRED || canonical == *what.opcode) return std::nullopt;
    return make.apply(functions_.exact_fold(canonical, type), {arguments.begin(), arguments.end()});
  }
  for (const Row& row : kRows) {
    if (row.opcode != *what.opcode || (row.types & set_of(type)) == 0) continue;
    return row.define({what, arguments, functions_, make});
  }
  return std::nullopt;
}

}  // namespace minihlo::prove

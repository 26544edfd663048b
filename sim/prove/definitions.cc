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
  bool keeps_nan_bits;

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
// x is finite where |x| < inf.
std::optional<Ref> is_finite(const Definition& d) {
  if (!has_infinity(d.type())) return std::nullopt;
  const Ref size = d.make.apply(d.functions.of(Opcode::kAbs, d.type()), {d.x[0]});
  const Ref bound = d.make.constant(d.type(), float_constant(d.type(), HUGE_VAL).span());
  return d.make.apply(d.functions.compare(ComparisonDirection::kLt, false, d.type()),
                      {size, bound});
}

Ref real(const Definition& d, size_t i) {
  return d.make.apply(d.functions.of(Opcode::kReal, d.type(), part_of(d.type())), {d.x[i]});
}
Ref imaginary(const Definition& d, size_t i) {
  return d.make.apply(d.functions.of(Opcode::kImag, d.type(), part_of(d.type())), {d.x[i]});
}
Ref complex_of(const Definition& d, ElementType type, Ref real_part, Ref imaginary_part) {
  return d.make.apply(d.functions.of(Opcode::kComplex, part_of(type), type),
                      {real_part, imaginary_part});
}
// Sums, differences and negations of complex numbers are those of their parts.
std::optional<Ref> by_parts(const Definition& d) {
  const uint32_t part = d.functions.of(*d.what.opcode, part_of(d.type()));
  std::vector<Ref> reals, imaginaries;
  for (size_t i = 0; i < d.x.size(); ++i) {
    reals.push_back(real(d, i));
    imaginaries.push_back(imaginary(d, i));
  }
  return complex_of(d, d.type(), d.make.apply(part, reals), d.make.apply(part, imaginaries));
}
// (a + bi) (c + di) = (ac - bd) + (ad + bc) i
std::optional<Ref> multiply_complex(const Definition& d) {
  const ElementType part = part_of(d.type());
  auto by = [&](Opcode opcode, Ref x, Ref y) {
    return d.make.apply(d.functions.of(opcode, part), {x, y});
  };
  const Ref a = real(d, 0), b = imaginary(d, 0), c = real(d, 1), e = imaginary(d, 1);
  const Ref ac = by(Opcode::kMultiply, a, c), be = by(Opcode::kMultiply, b, e);
  const Ref ae = by(Opcode::kMultiply, a, e), bc = by(Opcode::kMultiply, b, c);
  return complex_of(d, d.type(), by(Opcode::kSubtract, ac, be), by(Opcode::kAdd, ae, bc));
}
// From and to complex numbers: their real part, with an imaginary one of +0.
std::optional<Ref> convert_parts(const Definition& d) {
  const ElementType from = d.type(), to = d.what.result_type;
  if (from == to || d.keeps_nan_bits) return std::nullopt;
  auto converted = [&](Ref value, ElementType source, ElementType target) {
    if (source == target) return value;
    return d.make.apply(d.functions.of(Opcode::kConvert, source, target), {value});
  };
  if (is_complex(from)) {
    if (to == ElementType::PRED) return std::nullopt;
    if (!is_complex(to)) return converted(real(d, 0), part_of(from), to);
    return complex_of(d, to, converted(real(d, 0), part_of(from), part_of(to)),
                      converted(imaginary(d, 0), part_of(from), part_of(to)));
  }
  if (!is_complex(to)) return std::nullopt;
  const ElementType part = part_of(to);
  return complex_of(d, to, converted(d.x[0], from, part),
                    d.make.constant(part, float_constant(part, 0).span()));
}
// A truth value as a number is 1 where it holds and else 0.
std::optional<Ref> convert_truth(const Definition& d) {
  const ElementType to = d.what.result_type;
  if (to == ElementType::PRED || !d.what.op) return std::nullopt;
  Ref numbers[2];
  for (size_t truth = 0; truth < 2; ++truth) {
    const std::byte value{static_cast<unsigned char>(truth)};
    const std::byte* data[] = {&value};
    const int64_t steps[] = {0};
    alignas(16) Constant number{{}, static_cast<size_t>(info(to).bytes)};
    (*d.what.op)(1, data, steps, number.bytes.data());
    numbers[truth] = d.make.constant(to, number.span());
  }
  return d.make.apply(d.functions.select(to), {d.x[0], numbers[1], numbers[0]});
}

// All comparisons by = and <, those of complex numbers by <= too, and by = of their parts.
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
      if (is_complex(d.type())) break;
      return d.exact(Opcode::kOr, ElementType::PRED, {by(kLt, a, b), by(kEq, a, b)});
    case kEq:
      if (is_complex(d.type())) {
        const uint32_t equal = d.functions.compare(kEq, false, part_of(d.type()));
        return d.exact(Opcode::kAnd, ElementType::PRED,
                       {d.make.apply(equal, {real(d, 0), real(d, 1)}),
                        d.make.apply(equal, {imaginary(d, 0), imaginary(d, 1)})});
      }
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
    {Opcode::kAdd, kComplexes, by_parts},
    {Opcode::kAnd, kIntegers, exact_operation},
    {Opcode::kAnd, kPreds, operation_on_truths},
    {Opcode::kClamp, kIntegers | kPreds | kFloats | kScales, clamp},
    {Opcode::kCompare, ~0u, compare},
    {Opcode::kConvert, kPreds, convert_truth},
    {Opcode::kConvert, ~unsigned{kPreds}, convert_parts},
    {Opcode::kIsFinite, kFloats, is_finite},
    {Opcode::kMaximum, kIntegers | kFloats | kScales, exact_operation},
    {Opcode::kMaximum, kPreds, operation_on_truths},
    {Opcode::kMinimum, kIntegers | kFloats | kScales, exact_operation},
    {Opcode::kMinimum, kPreds, operation_on_truths},
    {Opcode::kMultiply, kIntegers, exact_operation},
    {Opcode::kMultiply, kPreds, operation_on_truths},
    {Opcode::kMultiply, kComplexes, multiply_complex},
    {Opcode::kNegate, kIntegers, negate_integer},
    {Opcode::kNegate, kComplexes, by_parts},
    {Opcode::kNot, kIntegers | kPreds, invert},
    {Opcode::kOr, kIntegers, exact_operation},
    {Opcode::kOr, kPreds, operation_on_truths},
    {Opcode::kSubtract, kIntegers, subtract_integers},
    {Opcode::kSubtract, kFloats, subtract_floats},
    {Opcode::kSubtract, kComplexes, by_parts},
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
    return row.define({what, arguments, functions_, make, precision_.nan_bits});
  }
  return std::nullopt;
}

}  // namespace minihlo::prove

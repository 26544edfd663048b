#include "sim/prove/identities.h"

#include <algorithm>
#include <cmath>

#include "ir/semantics/convert_chains.h"
#include "sim/prove/types.h"

namespace minihlo::prove {

using Ref = TermBuilder::Ref;

namespace {

struct Row {
  Opcode opcode;
  unsigned operands;  // sets of types of the last operand
  std::optional<Ref> (Identities::*identity)(const Application&);
};

// In the order in which they are asked.
constexpr Row kRows[] = {
    {Opcode::kAbs, kIntegers | kFloats, &Identities::magnitude},
    {Opcode::kAdd, kFloats, &Identities::float_sum},
    {Opcode::kBitcastConvert, ~0u, &Identities::bit_cast},
    {Opcode::kCompare, ~0u, &Identities::comparison},
    {Opcode::kComplex, ~0u, &Identities::parts},
    {Opcode::kConvert, ~0u, &Identities::conversion},
    {Opcode::kDivide, kIntegers, &Identities::quotient},
    {Opcode::kDivide, kFloats, &Identities::signs},
    {Opcode::kDivide, kFloats, &Identities::float_quotient},
    {Opcode::kDivide, kFloats, &Identities::by_reciprocal},
    {Opcode::kImag, kComplexes, &Identities::part},
    {Opcode::kLogistic, kFloats, &Identities::by_reciprocal},
    {Opcode::kMultiply, kFloats, &Identities::signs},
    {Opcode::kMultiply, kFloats, &Identities::float_product},
    {Opcode::kNegate, kFloats, &Identities::negation},
    {Opcode::kPower, kFloats | kIntegers, &Identities::power},
    {Opcode::kReal, kComplexes, &Identities::part},
    {Opcode::kReducePrecision, kFloats, &Identities::full_precision},
    {Opcode::kRsqrt, kFloats, &Identities::by_reciprocal},
    {Opcode::kRemainder, kIntegers, &Identities::remainder},
    {Opcode::kSelect, ~0u, &Identities::selection},
    {Opcode::kShiftLeft, kIntegers, &Identities::shift},
    {Opcode::kShiftRightArithmetic, kIntegers, &Identities::shift},
    {Opcode::kShiftRightLogical, kIntegers, &Identities::shift},
};

}  // namespace

Ref Identities::apply(uint32_t function, std::vector<Ref> arguments) {
  Application at{function, functions_[function], std::move(arguments)};
  if (!at.what.opcode || (!at.what.op && *at.what.opcode != Opcode::kBitcastConvert)) {
    if (at.what.commutative) std::ranges::sort(at.arguments);
    return store_.make(function, at.arguments);
  }
  if (std::optional<Ref> value = known(at)) return *value;
  if (std::optional<Ref> other = rules_.defined(function, at.arguments, *this)) return *other;
  if (std::optional<Ref> other = of_constant_arms(at)) return *other;
  if (at.what.kind == Signature::Kind::kFold) {
    if (std::optional<Ref> other = unconverted_fold(at)) return *other;
    switch (*at.what.opcode) {
      case Opcode::kAdd:
        return is_float(at.what.result_type) ? rounded(at) : sum(at);
      case Opcode::kMultiply:
        return is_float(at.what.result_type) ? rounded(at) : product(at);
      case Opcode::kXor:
        return exclusive(at);
      default:
        return bound(at);
    }
  }
  if (store_.splits_rounding()) {
    if (std::optional<Ref> other = rounded_from_f32(at)) return *other;
  }
  for (const Row& row : kRows) {
    if (row.opcode != *at.what.opcode || (row.operands & set_of(at.operand_type())) == 0) continue;
    if (std::optional<Ref> equal = (this->*row.identity)(at)) return *equal;
  }
  if (at.what.commutative && !std::ranges::is_sorted(at.arguments)) {
    use("commute");
    std::ranges::sort(at.arguments);
  }
  return store_.make(function, at.arguments);
}

bool Identities::is(Ref term, Opcode opcode) const {
  const std::optional<uint32_t> function = store_.function(term);
  return function && functions_[*function].kind == Signature::Kind::kPointwise &&
         functions_[*function].opcode == opcode;
}

std::optional<uint64_t> Identities::integer(Ref term, ElementType type) const {
  auto value = store_.literal(term, type);
  if (!value) return std::nullopt;
  return bits_of(type, *value);
}

bool Identities::is_constant(Ref term, ElementType type, const Constant& value) const {
  auto own = store_.literal(term, type);
  return own && std::ranges::equal(*own, value.span());
}

std::optional<Ref> Identities::negated(Ref term) const {
  if (!is(term, Opcode::kNegate)) return std::nullopt;
  return store_.arguments(term)[0];
}

std::optional<Ref> Identities::inverse(Ref term) {
  const uint32_t function = functions_.exact_fold(Opcode::kXor, ElementType::PRED);
  if (!is(term, function)) return std::nullopt;
  std::vector<Ref> rest = store_.arguments(term);
  const auto one = std::ranges::find_if(
      rest, [&](Ref argument) { return integer(argument, ElementType::PRED).has_value(); });
  if (one == rest.end()) return std::nullopt;
  rest.erase(one);
  return apply(function, std::move(rest));
}

// What constants give is a constant.
std::optional<Ref> Identities::known(const Application& at) {
  if (!at.what.op || at.what.kind != Signature::Kind::kPointwise) return std::nullopt;
  std::vector<Constant> values;
  for (size_t i = 0; i < at.arguments.size(); ++i) {
    auto value = store_.literal(at.arguments[i], at.what.operand_types[i]);
    if (!value) return std::nullopt;
    Constant& own = values.emplace_back();
    own.size = value->size();
    std::ranges::copy(*value, own.bytes.begin());
  }
  alignas(16) std::byte operands[ElementwiseOp::kMaxOperands][16] = {};
  alignas(16) Constant result{{}, static_cast<size_t>(info(at.what.result_type).bytes)};
  const std::byte* data[ElementwiseOp::kMaxOperands] = {};
  const int64_t steps[ElementwiseOp::kMaxOperands] = {};
  for (size_t i = 0; i < values.size(); ++i) {
    std::ranges::copy(values[i].bytes, operands[i]);
    data[i] = operands[i];
  }
  (*at.what.op)(1, data, steps, result.bytes.data());
  return store_.constant(at.what.result_type, result.span());
}

// A function of select(p, a, b), of which all but p is known, is a select of what it gives of both.
std::optional<Ref> Identities::of_constant_arms(const Application& at) {
  if (*at.what.opcode == Opcode::kSelect) return std::nullopt;
  const bool is_fold = at.what.kind == Signature::Kind::kFold;
  std::optional<size_t> choice;
  for (size_t i = 0; i < at.arguments.size(); ++i) {
    const ElementType type = at.what.operand_types[is_fold ? 0 : i];
    if (store_.literal(at.arguments[i], type)) continue;
    if (choice || !is(at.arguments[i], Opcode::kSelect)) return std::nullopt;
    const std::vector<Ref> inner = store_.arguments(at.arguments[i]);
    if (!store_.literal(inner[1], type) || !store_.literal(inner[2], type)) return std::nullopt;
    choice = i;
  }
  if (!choice) return std::nullopt;
  const std::vector<Ref> inner = store_.arguments(at.arguments[*choice]);
  Ref arms[2];
  for (size_t arm = 0; arm < 2; ++arm) {
    std::vector<Ref> own = at.arguments;
    own[*choice] = inner[1 + arm];
    arms[arm] = apply(at.function, std::move(own));
  }
  use("selects");
  return apply(functions_.select(at.what.result_type), {inner[0], arms[0], arms[1]});
}

// -(-x): both flip the sign bit, of NaN too; where there is no -0, zero and NaN stay.
std::optional<Ref> Identities::negation(const Application& at) {
  const std::optional<Ref> inner = negated(at.arguments[0]);
  if (inner) use("signs");
  return inner;
}

std::optional<Ref> Identities::magnitude(const Application& at) {
  const ElementType type = at.operand_type();
  const Ref x = at.arguments[0];
  if (at.what.result_type != type) return std::nullopt;
  if (is_unsigned(type) || is(x, at.function)) {
    use("signs");
    return x;
  }
  if (is_float(type)) {
    const std::optional<Ref> inner = negated(x);
    if (!inner) return std::nullopt;
    use("signs");
    return apply(at.function, {*inner});
  }
  // Of x and -x, which have the same, one stands for both.
  const Ref minus =
      apply(functions_.exact_fold(Opcode::kMultiply, type), {x, integer(type, ~uint64_t{0})});
  if (minus >= x) return std::nullopt;
  use("signs");
  return apply(at.function, {minus});
}

// What is left of comparisons (definitions.cc): =, <, and <= of floats.
std::optional<Ref> Identities::comparison(const Application& at) {
  const ElementType type = at.operand_type();
  const Ref a = at.arguments[0], b = at.arguments[1];
  const ComparisonDirection direction = get(at.what.attributes, attr::direction);
  const bool is_equality = direction == ComparisonDirection::kEq;
  const bool is_less = direction == ComparisonDirection::kLt;
  const bool has_nan = (is_float(type) || is_complex(type)) &&
                       !find(at.what.attributes, attr::comparison_type).has_value();
  if (a == b && (is_less || !has_nan)) {
    use("comparisons");
    return truth(!is_less);
  }
  if (is_less && is_unsigned(type) && integer(b, type) == uint64_t{0}) {
    use("comparisons");
    return truth(false);
  }
  if (type == ElementType::PRED) {
    use("comparisons");
    const uint32_t exclusive = functions_.exact_fold(Opcode::kXor, type);
    if (is_equality) return apply(exclusive, {a, b, truth(true)});
    return apply(functions_.exact_fold(Opcode::kAnd, type),
                 {apply(exclusive, {a, truth(true)}), b});
  }
  if (find(at.what.attributes, attr::comparison_type).has_value()) return std::nullopt;
  if (is_integer(type) && is_equality) {
    if (std::optional<Ref> sides = balanced(at)) return sides;
  }
  // -a < -b where b < a, and -a = -b where a = b.
  if ((set_of(type) & kFloats) != 0) {
    const std::optional<Ref> left = negated(a), right = negated(b);
    const uint32_t negate = functions_.of(Opcode::kNegate, type);
    if ((left && (right || store_.literal(b, type))) || (right && store_.literal(a, type))) {
      use("signs");
      const Ref from = left ? *left : apply(negate, {a}), to = right ? *right : apply(negate, {b});
      return apply(at.function, {to, from});
    }
  }
  std::optional<Unconverted> inner = unconverted(at.arguments, type);
  if (!inner || inner->type == ElementType::PRED) return std::nullopt;
  use("conversions");
  return apply(functions_.compare(direction, false, inner->type), std::move(inner->arguments));
}

// Integers are equal if their difference is 0: of what that leaves, one stands on each side.
std::optional<Ref> Identities::balanced(const Application& at) {
  const ElementType type = at.operand_type();
  const uint32_t add = functions_.exact_fold(Opcode::kAdd, type);
  const uint32_t multiply = functions_.exact_fold(Opcode::kMultiply, type);
  if (!is(at.arguments[0], add) && !is(at.arguments[1], add)) return std::nullopt;
  const Ref minus_one = integer(type, ~uint64_t{0});
  const auto negative = [&](Ref term) { return apply(multiply, {term, minus_one}); };
  const Ref apart = apply(add, {at.arguments[0], negative(at.arguments[1])});
  if (std::optional<uint64_t> value = integer(apart, type)) {
    use("linear-form");
    return truth(*value == 0);
  }
  std::vector<Ref> sides = {apart, integer(type, 0)};
  if (is(apart, add)) {
    sides = store_.arguments(apart);
    if (sides.size() != 2) return std::nullopt;
    // The negative one, or else the second, goes to the other side.
    if (as_multiple(type, sides[0]).factor == all_ones(type)) std::swap(sides[0], sides[1]);
    sides[1] = negative(sides[1]);
  }
  std::ranges::sort(sides);
  std::vector<Ref> before = at.arguments;
  std::ranges::sort(before);
  if (sides == before || is(sides[0], add) || is(sides[1], add)) return std::nullopt;
  use("linear-form");
  return apply(at.function, std::move(sides));
}

std::optional<Ref> Identities::selection(const Application& at) {
  const ElementType type = at.what.result_type;
  const Ref test = at.arguments[0];
  Ref a = at.arguments[1], b = at.arguments[2];
  if (std::optional<uint64_t> known = integer(test, ElementType::PRED)) {
    use("select-known");
    return *known != 0 ? a : b;
  }
  auto settled = [&](Ref arm, size_t which) {
    if (!is(arm, at.function)) return arm;
    const std::vector<Ref> inner = store_.arguments(arm);
    return inner[0] == test ? inner[which] : arm;
  };
  a = settled(a, 1);
  b = settled(b, 2);
  if (a == b) {
    use("selects");
    return a;
  }
  if (std::optional<Ref> other = inverse(test)) {
    use("selects");
    return apply(at.function, {*other, b, a});
  }
  if (type == ElementType::PRED) {
    auto both = [&](Opcode opcode, Ref x, Ref y) {
      use("selects");
      return apply(functions_.exact_fold(opcode, type), {x, y});
    };
    auto not_test = [&] {
      return apply(functions_.exact_fold(Opcode::kXor, type), {test, truth(true)});
    };
    if (auto value = integer(a, type)) {
      return *value != 0 ? both(Opcode::kOr, test, b) : both(Opcode::kAnd, not_test(), b);
    }
    if (auto value = integer(b, type)) {
      return *value != 0 ? both(Opcode::kOr, not_test(), a) : both(Opcode::kAnd, test, a);
    }
  }
  if (a == at.arguments[1] && b == at.arguments[2]) return std::nullopt;
  use("selects");
  return apply(at.function, {test, a, b});
}

// The real part of complex(a, b).
std::optional<Ref> Identities::part(const Application& at) {
  if (!is(at.arguments[0], Opcode::kComplex)) return std::nullopt;
  use("complex-parts");
  return store_.arguments(at.arguments[0])[*at.what.opcode == Opcode::kReal ? 0 : 1];
}

// complex(real z, imag z)
std::optional<Ref> Identities::parts(const Application& at) {
  const Ref real = at.arguments[0], imaginary = at.arguments[1];
  if (!is(real, Opcode::kReal) || !is(imaginary, Opcode::kImag)) return std::nullopt;
  const Ref whole = store_.arguments(real)[0];
  const std::optional<uint32_t> function = store_.function(real);
  if (store_.arguments(imaginary)[0] != whole ||
      !is_complex(functions_[*function].operand_types[0])) {
    return std::nullopt;
  }
  use("complex-parts");
  return whole;
}

}  // namespace minihlo::prove

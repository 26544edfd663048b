// Identities of sums, products, quotients, powers and shifts that look at one operation.
#include <bit>
#include <cmath>

#include "ir/float_format.h"
#include "sim/prove/identities.h"
#include "sim/prove/types.h"

namespace minihlo::prove {

using Ref = TermBuilder::Ref;

// A product or quotient has the sign that both signs make: one is left, on a constant where there
// is one. The NaN that come out of it are the canonical one.
std::optional<Ref> Identities::signs(const Application& at) {
  const ElementType type = at.operand_type();
  std::vector<Ref> bare;
  bool is_odd = false;
  for (Ref argument : at.arguments) {
    const std::optional<Ref> inner = negated(argument);
    bare.push_back(inner.value_or(argument));
    if (inner) is_odd = !is_odd;
  }
  if (*at.what.opcode == Opcode::kMultiply && bare[0] == bare[1] && is(bare[0], Opcode::kAbs)) {
    use("signs");
    const Ref inner = store_.arguments(bare[0])[0];
    Ref square = apply(at.function, {inner, inner});
    return is_odd ? apply(functions_.of(Opcode::kNegate, type), {square}) : square;
  }
  if (bare == at.arguments) return std::nullopt;
  if (at.what.commutative) std::ranges::sort(bare);
  if (is_odd) {
    Ref& place = store_.literal(bare[1], type) ? bare[1] : bare[0];
    place = apply(functions_.of(Opcode::kNegate, type), {place});
  }
  std::vector<Ref> before = at.arguments;
  if (at.what.commutative) {
    std::ranges::sort(before);
    std::vector<Ref> after = bare;
    std::ranges::sort(after);
    if (before == after) return std::nullopt;
  } else if (before == bare) {
    return std::nullopt;
  }
  use("signs");
  return apply(at.function, std::move(bare));
}

// x + x is 2x. x + -0 is x; of types without -0, x + 0. x + 0 is not, for -0 + 0 is 0.
std::optional<Ref> Identities::float_sum(const Application& at) {
  if (at.arguments[0] == at.arguments[1]) {
    use("powers-of-two");
    const Constant two = float_constant(at.operand_type(), 2);
    return apply(functions_.of(Opcode::kMultiply, at.operand_type()),
                 {at.arguments[0], store_.constant(at.operand_type(), two.span())});
  }
  if (keeps_nan_bits()) return std::nullopt;
  const Constant zero = float_constant(at.operand_type(), -0.0);
  for (size_t i = 0; i < 2; ++i) {
    if (!is_constant(at.arguments[i], at.operand_type(), zero)) continue;
    use("neutral-element");
    return at.arguments[1 - i];
  }
  return std::nullopt;
}

std::optional<Ref> Identities::float_product(const Application& at) {
  if (keeps_nan_bits()) return std::nullopt;
  const ElementType type = at.operand_type();
  const Constant one = float_constant(type, 1), minus_one = float_constant(type, -1);
  for (size_t i = 0; i < 2; ++i) {
    if (is_constant(at.arguments[i], type, one)) {
      use("neutral-element");
      return at.arguments[1 - i];
    }
    if (is_constant(at.arguments[i], type, minus_one)) {
      use("signs");
      return apply(functions_.of(Opcode::kNegate, type), {at.arguments[1 - i]});
    }
  }
  return std::nullopt;
}

// x / c is x · (1 / c) where 1 / c is a number of the type: both are the same number rounded once.
std::optional<Ref> Identities::float_quotient(const Application& at) {
  const ElementType type = at.operand_type();
  auto divisor = store_.literal(at.arguments[1], type);
  if (!divisor) return std::nullopt;
  const double value = decode_float(type, divisor->data());
  int exponent = 0;
  if (value == 0 || !std::isfinite(value) || std::abs(std::frexp(value, &exponent)) != 0.5) {
    return std::nullopt;
  }
  const double inverse = 1 / value;
  const Constant factor = float_constant(type, inverse);
  if (!std::isfinite(inverse) || decode_float(type, factor.bytes.data()) != inverse) {
    return std::nullopt;
  }
  use("powers-of-two");
  return apply(functions_.of(Opcode::kMultiply, type),
               {at.arguments[0], store_.constant(type, factor.span())});
}

// x^0 is 1, x^1 is x, x^2 is x · x, x^-1 is 1 / x: of floats where a power is computed in more bits
// than two such have, so that what it gives is rounded once.
std::optional<Ref> Identities::power(const Application& at) {
  constexpr uint64_t kMaxFactors = 8;
  const ElementType type = at.operand_type();
  const Ref x = at.arguments[0];
  auto exponent = store_.literal(at.arguments[1], type);
  if (!exponent) return std::nullopt;
  if (is_integer(type)) {
    const uint64_t count = bits_of(type, *exponent);
    const bool is_negative = is_signed(type) && count > all_ones(type) / 2;
    if (count > kMaxFactors || is_negative) return std::nullopt;
    use("powers");
    if (count == 0) return integer(type, 1);
    return apply(functions_.exact_fold(Opcode::kMultiply, type), std::vector<Ref>(count, x));
  }
  const double value = decode_float(type, exponent->data());
  const uint32_t multiply = functions_.of(Opcode::kMultiply, type);
  const auto one = [&] { return store_.constant(type, float_constant(type, 1).span()); };
  if (value == 0) {
    use("powers");
    return one();
  }
  if (value == 1 && !keeps_nan_bits()) {
    use("powers");
    return x;
  }
  const bool is_exact = info(type).bits <= 32;
  if (value == 2 && (is_exact || !counts_rounding())) {
    use("powers");
    return apply(multiply, {x, x});
  }
  if (value == -1 && (is_exact || !counts_rounding())) {
    use("powers");
    return apply(functions_.of(Opcode::kDivide, type), {one(), x});
  }
  if (value == 3 && !counts_rounding()) {
    use("powers");
    rules_.relax("reassociate");
    return apply(multiply, {x, apply(multiply, {x, x})});
  }
  return std::nullopt;
}

// Where rounding does not count: x / y is x · (1 / y), rsqrt x is 1 / sqrt x, logistic x is
// 1 / (1 + exp -x). Of the few numbers of narrow types most have no reciprocal near them.
std::optional<Ref> Identities::by_reciprocal(const Application& at) {
  const ElementType type = at.operand_type();
  if (keeps_formulas() || info(type).bits <= 8) return std::nullopt;
  const uint32_t divide = functions_.of(Opcode::kDivide, type);
  const Ref one = store_.constant(type, float_constant(type, 1).span());
  const Ref x = at.arguments[0];
  if (*at.what.opcode == Opcode::kDivide) {
    if (x == one) return std::nullopt;
    const auto divisor = store_.literal(at.arguments[1], type);
    if (divisor && !holds_rounded(type, 1 / decode_float(type, divisor->data()))) {
      return std::nullopt;
    }
    rules_.relax("reciprocal");
    return apply(functions_.of(Opcode::kMultiply, type),
                 {x, apply(divide, {one, at.arguments[1]})});
  }
  rules_.relax("reciprocal");
  if (*at.what.opcode == Opcode::kRsqrt) {
    return apply(divide, {one, apply(functions_.of(Opcode::kSqrt, type), {x})});
  }
  const Ref negative = apply(functions_.of(Opcode::kNegate, type), {x});
  const Ref power = apply(functions_.of(Opcode::kExp, type), {negative});
  return apply(divide, {one, apply(functions_.of(Opcode::kAdd, type), {one, power})});
}

// Fields as wide as the type's own change nothing.
std::optional<Ref> Identities::full_precision(const Application& at) {
  const int64_t exponent = get(at.what.attributes, attr::exponent_bits);
  const int64_t mantissa = get(at.what.attributes, attr::mantissa_bits);
  const ElementType type = at.operand_type();
  // Narrower types have no infinity, or not that of the field.
  const bool is_full = info(type).bits > 8 && mantissa == significand_bits(type) - 1 &&
                       exponent == info(type).bits - significand_bits(type);
  if (!is_full || keeps_nan_bits()) return std::nullopt;
  use("neutral-element");
  return at.arguments[0];
}

std::optional<Ref> Identities::shift(const Application& at) {
  const ElementType type = at.operand_type();
  const std::optional<uint64_t> amount = integer(at.arguments[1], type);
  if (!amount) return std::nullopt;
  const auto bits = static_cast<uint64_t>(info(type).bits);
  const Ref x = at.arguments[0];
  if (*amount == 0) {
    use("neutral-element");
    return x;
  }
  if (*at.what.opcode == Opcode::kShiftLeft) {
    use("powers-of-two");
    if (*amount >= bits) return integer(type, 0);
    return apply(functions_.exact_fold(Opcode::kMultiply, type),
                 {x, integer(type, uint64_t{1} << *amount)});
  }
  if (*amount < bits) return std::nullopt;
  use("powers-of-two");
  if (*at.what.opcode == Opcode::kShiftRightLogical) return integer(type, 0);
  return apply(at.function, {x, integer(type, bits - 1)});  // sign bits alone
}

std::optional<Ref> Identities::quotient(const Application& at) {
  const ElementType type = at.operand_type();
  const std::optional<uint64_t> divisor = integer(at.arguments[1], type);
  if (!divisor) return std::nullopt;
  if (*divisor == 1) {
    use("neutral-element");
    return at.arguments[0];
  }
  if (is_signed(type) && *divisor == all_ones(type)) {
    use("linear-form");
    return apply(functions_.exact_fold(Opcode::kMultiply, type),
                 {at.arguments[0], at.arguments[1]});
  }
  if (!std::has_single_bit(*divisor)) return std::nullopt;
  const auto amount = static_cast<uint64_t>(std::countr_zero(*divisor));
  return of_magnitude(at, [&](Ref x) {
    return apply(functions_.of(Opcode::kShiftRightLogical, type), {x, integer(type, amount)});
  });
}

// A quotient or remainder by a power of two: cut off towards 0, it is that of the magnitude, which
// is a number of the unsigned type, with the dividend's sign.
std::optional<Ref> Identities::of_magnitude(const Application& at,
                                            const std::function<Ref(Ref)>& unsigned_result) {
  const ElementType type = at.operand_type();
  const Ref x = at.arguments[0];
  if (!is_signed(type)) {
    use("powers-of-two");
    return unsigned_result(x);
  }
  if (*integer(at.arguments[1], type) > all_ones(type) / 2) return std::nullopt;
  use("powers-of-two");
  const auto negative = [&](Ref term) {
    return apply(functions_.exact_fold(Opcode::kMultiply, type),
                 {term, integer(type, ~uint64_t{0})});
  };
  const Ref is_negative =
      apply(functions_.compare(ComparisonDirection::kLt, false, type), {x, integer(type, 0)});
  return apply(functions_.select(type),
               {is_negative, negative(unsigned_result(negative(x))), unsigned_result(x)});
}

std::optional<Ref> Identities::remainder(const Application& at) {
  const ElementType type = at.operand_type();
  const std::optional<uint64_t> divisor = integer(at.arguments[1], type);
  if (!divisor) return std::nullopt;
  const bool is_unit = *divisor == 1 || (is_signed(type) && *divisor == all_ones(type));
  if (is_unit) {
    use("powers-of-two");
    return integer(type, 0);
  }
  if (!std::has_single_bit(*divisor)) return std::nullopt;
  return of_magnitude(at, [&](Ref x) {
    return apply(functions_.exact_fold(Opcode::kAnd, type), {x, integer(type, *divisor - 1)});
  });
}

}  // namespace minihlo::prove

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
    {Opcode::kImag, kComplexes, &Identities::part},
    {Opcode::kMultiply, kFloats, &Identities::signs},
    {Opcode::kMultiply, kFloats, &Identities::float_product},
    {Opcode::kNegate, kFloats, &Identities::negation},
    {Opcode::kReal, kComplexes, &Identities::part},
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
  if (std::optional<Ref> other = rules_.defined(function, at.arguments, *this)) return *other;
  if (at.what.kind == Signature::Kind::kFold) {
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
  if (std::optional<Ref> value = known(at)) return *value;
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
  if (!at.what.op) return std::nullopt;
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

// x + -0 is x; of types without -0, x + 0. x + 0 is not, for -0 + 0 is 0.
std::optional<Ref> Identities::float_sum(const Application& at) {
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
  if (is_signed(type)) {
    if (*divisor != all_ones(type)) return std::nullopt;
    use("linear-form");
    return apply(functions_.exact_fold(Opcode::kMultiply, type),
                 {at.arguments[0], at.arguments[1]});
  }
  if (!std::has_single_bit(*divisor)) return std::nullopt;
  use("powers-of-two");
  const auto amount = static_cast<uint64_t>(std::countr_zero(*divisor));
  return apply(functions_.of(Opcode::kShiftRightLogical, type),
               {at.arguments[0], integer(type, amount)});
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
  if (is_signed(type) || !std::has_single_bit(*divisor)) return std::nullopt;
  use("powers-of-two");
  return apply(functions_.exact_fold(Opcode::kAnd, type),
               {at.arguments[0], integer(type, *divisor - 1)});
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
  if (!is_equality || !is_integer(type)) return std::nullopt;
  // Whether a converted truth value is 0.
  for (size_t i = 0; i < 2; ++i) {
    const Ref converted = at.arguments[i];
    if (integer(at.arguments[1 - i], type) != uint64_t{0}) continue;
    if (!is(converted, functions_.of(Opcode::kConvert, ElementType::PRED, type))) continue;
    use("conversions");
    return apply(functions_.exact_fold(Opcode::kXor, ElementType::PRED),
                 {store_.arguments(converted)[0], truth(true)});
  }
  return std::nullopt;
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

std::optional<Ref> Identities::conversion(const Application& at) {
  const ElementType to = at.operand_type(), result = at.what.result_type;
  const Ref x = at.arguments[0];
  if (to == result) return x;
  if (result == ElementType::PRED && !is_complex(to) && to != ElementType::F8E8M0FNU) {
    // Whether it is other than 0, as NaN is.
    use("conversions");
    const Constant zero{{}, static_cast<size_t>(info(to).bytes)};
    const Ref is_zero = apply(functions_.compare(ComparisonDirection::kEq, false, to),
                              {x, store_.constant(to, zero.span())});
    return apply(functions_.exact_fold(Opcode::kXor, result), {is_zero, truth(true)});
  }
  if (!is(x, Opcode::kConvert)) return std::nullopt;
  const ElementType from = functions_[*store_.function(x)].operand_types[0];
  const Ref first = store_.arguments(x)[0];
  // Back where it comes from a NaN may have lost its bits.
  const bool returns =
      from == result && holds_values(from, to) && (!keeps_nan_bits() || !is_float(from));
  if (!returns && !converts_through(from, to, result)) return std::nullopt;
  use("conversions");
  return from == result ? first : apply(functions_.of(Opcode::kConvert, from, result), {first});
}

// The same bits under one type after the other.
std::optional<Ref> Identities::bit_cast(const Application& at) {
  const ElementType to = at.operand_type(), result = at.what.result_type;
  const Ref x = at.arguments[0];
  if (to == result) return x;
  if (auto value = store_.literal(x, to)) {
    Constant same{{}, value->size()};
    std::ranges::copy(*value, same.bytes.begin());
    return store_.constant(result, same.span());
  }
  if (!is(x, Opcode::kBitcastConvert)) return std::nullopt;
  use("bit-casts");
  const ElementType from = functions_[*store_.function(x)].operand_types[0];
  const Ref first = store_.arguments(x)[0];
  return from == result ? first
                        : apply(functions_.of(Opcode::kBitcastConvert, from, result), {first});
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

// Identities of converts: where they change nothing, and what they commute with.
#include "ir/semantics/convert_chains.h"
#include "sim/prove/identities.h"
#include "sim/prove/types.h"

namespace minihlo::prove {

using Ref = TermBuilder::Ref;

// Operations on floats of at most 16 bits are those of f32, rounded once (docs/numerics.md).
std::optional<Ref> Identities::rounded_from_f32(const Application& at) {
  const ElementType type = at.what.result_type;
  if ((set_of(type) & (kNarrowFloats | kScales)) == 0 || !at.what.attributes.empty() ||
      !at.what.op) {
    return std::nullopt;
  }
  switch (*at.what.opcode) {
    case Opcode::kAbs:
    case Opcode::kConvert:
    case Opcode::kImag:
    case Opcode::kNegate:
    case Opcode::kReal:
    case Opcode::kSelect:
      return std::nullopt;
    default:
      break;
  }
  const auto has_type = [&](ElementType own) { return own == type; };
  if (!std::ranges::all_of(at.what.operand_types, has_type)) return std::nullopt;
  const uint32_t widen = functions_.of(Opcode::kConvert, type, ElementType::F32);
  std::vector<Ref> wide;
  for (Ref argument : at.arguments) wide.push_back(apply(widen, {argument}));
  use("narrow-floats");
  return apply(functions_.of(Opcode::kConvert, ElementType::F32, type),
               {apply(functions_.of(*at.what.opcode, ElementType::F32), std::move(wide))});
}

// What arguments are converted from, if all are from the same type and it holds those that are
// known: that type and the arguments as it has them.
std::optional<Identities::Unconverted> Identities::unconverted(std::span<const Ref> arguments,
                                                               ElementType type) {
  std::optional<ElementType> from;
  for (Ref argument : arguments) {
    if (store_.literal(argument, type)) continue;
    if (!is(argument, Opcode::kConvert)) return std::nullopt;
    const ElementType own = functions_[*store_.function(argument)].operand_types[0];
    if (from && *from != own) return std::nullopt;
    from = own;
  }
  if (!from || *from == type || !holds_values(*from, type)) return std::nullopt;
  Unconverted made{*from, {}};
  for (Ref argument : arguments) {
    if (!store_.literal(argument, type)) {
      made.arguments.push_back(store_.arguments(argument)[0]);
      continue;
    }
    const Ref narrow = apply(functions_.of(Opcode::kConvert, type, *from), {argument});
    if (apply(functions_.of(Opcode::kConvert, *from, type), {narrow}) != argument) {
      return std::nullopt;
    }
    made.arguments.push_back(narrow);
  }
  return made;
}

// Minima and maxima keep order, and bits what fills up: they commute with a convert to a type that
// holds all values.
std::optional<Ref> Identities::unconverted_fold(const Application& at) {
  const ElementType type = at.what.result_type;
  const Opcode opcode = *at.what.opcode;
  const bool is_bound = opcode == Opcode::kMinimum || opcode == Opcode::kMaximum;
  const bool is_bits = opcode == Opcode::kAnd || opcode == Opcode::kOr || opcode == Opcode::kXor;
  if (!is_bound && !(is_bits && is_integer(type))) return std::nullopt;
  if (is_float(type) && keeps_nan_bits()) return std::nullopt;
  std::optional<Unconverted> inner = unconverted(at.arguments, type);
  if (!inner || (is_bits && !is_integer(inner->type))) return std::nullopt;
  use("conversions");
  const Ref narrow = apply(functions_.exact_fold(opcode, inner->type), std::move(inner->arguments));
  return apply(functions_.of(Opcode::kConvert, inner->type, type), {narrow});
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
  if (std::optional<Ref> signs = converted_sign(at)) return signs;
  if (std::optional<Ref> narrow = narrowed_integer(at)) return narrow;
  if (!counts_rounding() && is_float(to) && is_float(result) && holds_values(result, to) &&
      !is(x, Opcode::kConvert)) {
    if (std::optional<Ref> narrow = narrowed(x, to, result)) return narrow;
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

// Rounding does not depend on the sign.
std::optional<Ref> Identities::converted_sign(const Application& at) {
  const ElementType from = at.operand_type(), to = at.what.result_type;
  if ((set_of(from) & kFloats) == 0 || (set_of(to) & kFloats) == 0 || keeps_nan_bits() ||
      (has_nan(from) && !has_nan(to))) {
    return std::nullopt;
  }
  for (Opcode opcode : {Opcode::kAbs, Opcode::kNegate}) {
    // From where there is no -0 none can come.
    if (opcode == Opcode::kNegate && !has_negative_zero(from)) continue;
    if (!is(at.arguments[0], opcode)) continue;
    use("signs");
    const Ref inner = store_.arguments(at.arguments[0])[0];
    return apply(functions_.of(opcode, to),
                 {apply(functions_.of(Opcode::kConvert, from, to), {inner})});
  }
  return std::nullopt;
}

// The lower bits of sums, products and bit operations depend on lower bits alone.
std::optional<Ref> Identities::narrowed_integer(const Application& at) {
  const ElementType from = at.operand_type(), to = at.what.result_type;
  if (!is_integer(from) || !is_integer(to) || info(to).bits > info(from).bits ||
      rewritten_ > kMaxRewritten) {
    return std::nullopt;
  }
  for (Opcode opcode : {Opcode::kAdd, Opcode::kMultiply, Opcode::kAnd, Opcode::kOr, Opcode::kXor}) {
    if (!is(at.arguments[0], functions_.exact_fold(opcode, from))) continue;
    use("conversions");
    std::vector<Ref> narrow;
    for (Ref term : store_.arguments(at.arguments[0])) {
      ++rewritten_;
      narrow.push_back(apply(at.function, {term}));
    }
    return apply(functions_.exact_fold(opcode, to), std::move(narrow));
  }
  return std::nullopt;
}

// Sums and products, in a wider type, of numbers of a narrow one, which they are rounded to in the
// end: they may be rounded on the way.
std::optional<Ref> Identities::narrowed(Ref term, ElementType wide, ElementType narrow) {
  if (is(term, functions_.of(Opcode::kConvert, narrow, wide))) return store_.arguments(term)[0];
  if (store_.literal(term, wide)) {
    const Ref own = apply(functions_.of(Opcode::kConvert, wide, narrow), {term});
    const Ref back = apply(functions_.of(Opcode::kConvert, narrow, wide), {own});
    return back == term ? std::optional(own) : std::nullopt;
  }
  if (is(term, functions_.of(Opcode::kNegate, wide))) {
    const std::optional<Ref> inner = narrowed(store_.arguments(term)[0], wide, narrow);
    if (!inner) return std::nullopt;
    return apply(functions_.of(Opcode::kNegate, narrow), {*inner});
  }
  for (Opcode opcode : {Opcode::kAdd, Opcode::kMultiply}) {
    if (!is(term, functions_.exact_fold(opcode, wide)) || ++rewritten_ > kMaxRewritten) continue;
    std::vector<Ref> arguments;
    for (Ref argument : store_.arguments(term)) {
      const std::optional<Ref> own = narrowed(argument, wide, narrow);
      if (!own) return std::nullopt;
      arguments.push_back(*own);
    }
    rules_.relax("excess-precision");
    return apply(functions_.exact_fold(opcode, narrow), std::move(arguments));
  }
  return std::nullopt;
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

}  // namespace minihlo::prove

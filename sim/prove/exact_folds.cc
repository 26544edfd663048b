// Sums, products, bounds and bit operations whose order is nobody's business (is_exact_reduction):
// integers and pred, minima and maxima. Integer sums are linear forms: each term once, times a
// number modulo 2 to the width.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/prove/identities.h"

namespace minihlo::prove {
namespace {

// A row of n sums of sums holds n^2 / 2 arguments; longer ones stay within.
constexpr size_t kMaxArguments = 1024;

}  // namespace

using Ref = TermBuilder::Ref;

// The arguments, and those of arguments that are the same fold.
std::vector<Ref> Identities::flattened(const Application& at) {
  std::vector<Ref> flat;
  for (Ref argument : at.arguments) {
    std::vector<Ref> inner;
    if (is(argument, at.function)) inner = store_.arguments(argument);
    if (inner.empty() || inner.size() > kMaxArguments) {
      flat.push_back(argument);
      continue;
    }
    use("associate");
    flat.insert(flat.end(), inner.begin(), inner.end());
  }
  return flat;
}

Ref Identities::fold_of(uint32_t function, std::vector<Ref> arguments) {
  if (!std::ranges::is_sorted(arguments)) {
    use("commute");
    std::ranges::sort(arguments);
  }
  return store_.make(function, arguments);
}

Identities::Multiple Identities::as_multiple(ElementType type, Ref term) {
  const uint32_t product = functions_.exact_fold(Opcode::kMultiply, type);
  if (!is(term, product)) return {term, 1};
  std::vector<Ref> factors = store_.arguments(term);
  const auto known =
      std::ranges::find_if(factors, [&](Ref factor) { return integer(factor, type).has_value(); });
  if (known == factors.end()) return {term, 1};
  const uint64_t factor = *integer(*known, type);
  factors.erase(known);
  if (factors.size() == 1) return {factors[0], factor};
  return {fold_of(product, std::move(factors)), factor};
}

Ref Identities::scaled(ElementType type, const Multiple& multiple) {
  if (multiple.factor == 1) return multiple.term;
  const uint32_t product = functions_.exact_fold(Opcode::kMultiply, type);
  std::vector<Ref> factors = {multiple.term};
  if (is(multiple.term, product)) factors = store_.arguments(multiple.term);
  factors.push_back(integer(type, multiple.factor));
  std::ranges::sort(factors);
  return store_.make(product, factors);
}

// The sum of multiples.
Ref Identities::linear(ElementType type, std::vector<Multiple> terms) {
  const uint32_t sum = functions_.exact_fold(Opcode::kAdd, type);
  std::vector<Multiple> parts;
  uint64_t constant = 0;
  auto add = [&](Ref term, uint64_t factor) {
    if (std::optional<uint64_t> value = integer(term, type)) {
      constant += factor * *value;
      return;
    }
    Multiple own = as_multiple(type, term);
    parts.push_back({own.term, own.factor * factor});
  };
  for (const Multiple& one : terms) {
    std::vector<Ref> inner;
    if (is(one.term, sum)) inner = store_.arguments(one.term);
    if (inner.empty() || inner.size() > kMaxArguments) {
      add(one.term, one.factor);
      continue;
    }
    use("associate");
    for (Ref term : inner) add(term, one.factor);
  }
  if (!std::ranges::is_sorted(parts, {}, &Multiple::term)) {
    use("commute");
    std::ranges::sort(parts, {}, &Multiple::term);
  }
  std::vector<Ref> arguments;
  for (size_t i = 0; i < parts.size();) {
    uint64_t factor = 0;
    const size_t first = i;
    for (; i < parts.size() && parts[i].term == parts[first].term; ++i) factor += parts[i].factor;
    if (i > first + 1) use("linear-form");
    factor &= all_ones(type);
    if (factor == 0) {
      use("linear-form");
    } else {
      arguments.push_back(scaled(type, {parts[first].term, factor}));
    }
  }
  constant &= all_ones(type);
  if (constant != 0 || arguments.empty()) arguments.push_back(integer(type, constant));
  if (arguments.size() == 1) return arguments[0];
  std::ranges::sort(arguments);
  return store_.make(sum, arguments);
}

Ref Identities::sum(const Application& at) {
  const ElementType type = at.what.result_type;
  std::vector<Multiple> terms;
  for (Ref argument : at.arguments) {
    if (integer(argument, type) == uint64_t{0}) use("neutral-element");
    terms.push_back({argument, 1});
  }
  return linear(type, std::move(terms));
}

Ref Identities::product(const Application& at) {
  const ElementType type = at.what.result_type;
  uint64_t constant = 1;
  std::vector<Ref> factors;
  for (Ref argument : flattened(at)) {
    std::optional<uint64_t> value = integer(argument, type);
    if (value) {
      constant *= *value;
      use(*value == 1 ? "neutral-element" : "linear-form");
    } else {
      factors.push_back(argument);
    }
  }
  constant &= all_ones(type);
  if (constant == 0 || factors.empty()) return integer(type, constant);
  if (factors.size() == 1) return linear(type, {{factors[0], constant}});
  if (constant != 1) factors.push_back(integer(type, constant));
  return fold_of(at.function, std::move(factors));
}

// Constants of a fold of floats as one, where that loses nothing of them but the last place.
std::optional<double> Identities::together(std::span<const double> constants, bool is_sum) {
  double all = is_sum ? 0 : 1, largest = 0;
  for (double constant : constants) {
    all = is_sum ? all + constant : all * constant;
    largest = std::max(largest, std::abs(constant));
  }
  if (!std::isfinite(all) || (!is_sum && all == 0)) return std::nullopt;
  if (is_sum && std::abs(all) < largest / 2) return std::nullopt;
  return all;
}

// c (x + y) is cx + cy.
std::optional<Ref> Identities::distributed(ElementType type, std::vector<Ref> factors) {
  constexpr size_t kMaxTerms = 32;
  if (keeps_formulas()) return std::nullopt;
  const uint32_t sum = functions_.exact_fold(Opcode::kAdd, type);
  const auto one = std::ranges::find_if(factors, [&](Ref factor) { return is(factor, sum); });
  if (one == factors.end() || rewritten_ > kMaxRewritten) return std::nullopt;
  std::vector<Ref> terms = store_.arguments(*one);
  if (terms.size() > kMaxTerms) return std::nullopt;
  factors.erase(one);
  rules_.relax("distribute");
  for (Ref& term : terms) {
    ++rewritten_;
    std::vector<Ref> own = factors;
    own.push_back(term);
    term = apply(functions_.exact_fold(Opcode::kMultiply, type), std::move(own));
  }
  return apply(sum, std::move(terms));
}

// Sums and products of floats, where rounding does not count.
Ref Identities::rounded(const Application& at) {
  const ElementType type = at.what.result_type;
  const bool is_sum = *at.what.opcode == Opcode::kAdd;
  const double neutral = is_sum ? 0 : 1;
  std::vector<Ref> terms, known;
  std::vector<double> constants;
  for (Ref argument : flattened(at)) {
    auto value = store_.literal(argument, type);
    const double number = value ? decode_float(type, value->data()) : NAN;
    if (number == neutral) {
      if (is_sum) rules_.relax("signed-zero");
      use("neutral-element");
    } else if (value) {
      known.push_back(argument);
      constants.push_back(number);
    } else {
      terms.push_back(argument);
    }
  }
  if (known.size() > 1) {
    const std::optional<double> all = together(constants, is_sum);
    const Constant constant = float_constant(type, all.value_or(NAN));
    if (all && holds_rounded(type, *all)) {
      rules_.relax("reassociate");
      known.clear();
      if (*all != neutral) known.push_back(store_.constant(type, constant.span()));
    }
  }
  terms.insert(terms.end(), known.begin(), known.end());
  if (terms.size() > 2) rules_.relax("reassociate");
  if (terms.empty()) return at.arguments[0];
  // A NaN alone would keep its bits.
  if (terms.size() == 1 && keeps_nan_bits()) return fold_of(at.function, at.arguments);
  if (terms.size() == 1) return terms[0];
  if (!std::ranges::is_sorted(terms)) {
    use("commute");
    std::ranges::sort(terms);
  }
  if (!is_sum) {
    if (std::optional<Ref> other = distributed(type, terms)) return *other;
    return fold_of(at.function, std::move(terms));
  }
  // What occurs n times is n times that.
  std::vector<Ref> once;
  for (size_t i = 0; i < terms.size();) {
    size_t end = i + 1;
    while (end < terms.size() && terms[end] == terms[i]) ++end;
    const auto count = static_cast<double>(end - i);
    const Constant factor = float_constant(type, count);
    if (end - i > 1 && decode_float(type, factor.bytes.data()) == count) {
      once.push_back(apply(functions_.exact_fold(Opcode::kMultiply, type),
                           {terms[i], store_.constant(type, factor.span())}));
    } else {
      once.insert(once.end(), terms.begin() + static_cast<ptrdiff_t>(i),
                  terms.begin() + static_cast<ptrdiff_t>(end));
    }
    i = end;
  }
  if (once.size() == 1) return once[0];
  return fold_of(at.function, std::move(once));
}

// max(c, min(d, x)) is min(d, max(c, x)) where c <= d.
std::optional<Ref> Identities::bounded_above_last(const Application& at, const Constant& low,
                                                  Ref term) {
  const ElementType type = at.what.result_type;
  const uint32_t least = functions_.exact_fold(Opcode::kMinimum, type);
  if (*at.what.opcode != Opcode::kMaximum || !is(term, least)) return std::nullopt;
  std::vector<Ref> inner = store_.arguments(term);
  if (inner.size() != 2) return std::nullopt;
  if (store_.literal(inner[0], type)) std::swap(inner[0], inner[1]);
  if (!store_.literal(inner[1], type) || store_.literal(inner[0], type)) return std::nullopt;
  const Ref below = store_.constant(type, low.span());
  if (apply(at.function, {below, inner[1]}) != inner[1]) return std::nullopt;
  use("lattice");
  return apply(least, {inner[1], apply(at.function, {below, inner[0]})});
}

// minimum, maximum, and, or: an argument counts once.
Ref Identities::bound(const Application& at) {
  const ElementType type = at.what.result_type;
  const Opcode opcode = *at.what.opcode;
  std::vector<Ref> arguments = flattened(at);
  // Constants are one.
  std::optional<Constant> constant;
  std::vector<Ref> terms;
  for (Ref argument : arguments) {
    auto value = store_.literal(argument, type);
    if (!value) {
      terms.push_back(argument);
      continue;
    }
    Constant own{{}, value->size()};
    std::ranges::copy(*value, own.bytes.begin());
    if (!constant) {
      constant = own;
      continue;
    }
    alignas(16) Constant a = *constant, b = own, both = own;
    const std::byte* data[] = {a.bytes.data(), b.bytes.data()};
    const int64_t steps[] = {0, 0};
    (*at.what.op)(1, data, steps, both.bytes.data());
    constant = both;
    use("lattice");
  }
  if (!std::ranges::is_sorted(terms)) {
    use("commute");
    std::ranges::sort(terms);
  }
  const bool is_rounded = is_float(type);
  if (auto last = std::unique(terms.begin(), terms.end()); last != terms.end()) {
    use("lattice");
    terms.erase(last, terms.end());
    // Minima and maxima make any NaN the canonical one, a single argument wouldn't.
    if (terms.size() == 1 && is_rounded && keeps_nan_bits() && !constant) {
      terms.push_back(terms[0]);
    }
  }
  if (constant && !terms.empty()) {
    Constant least, greatest;
    if (is_rounded) {
      least = float_constant(type, -std::numeric_limits<double>::infinity());
      greatest = float_constant(type, std::numeric_limits<double>::infinity());
    } else {
      const uint64_t top = all_ones(type) ^ (all_ones(type) >> 1);
      const bool is_ordered = opcode == Opcode::kMinimum || opcode == Opcode::kMaximum;
      least = integer_constant(type, is_ordered && is_signed(type) ? top : 0);
      greatest = integer_constant(type, is_ordered && is_signed(type) ? ~top : ~uint64_t{0});
    }
    const bool goes_up = opcode == Opcode::kMaximum || opcode == Opcode::kOr;
    const Constant& neutral = goes_up ? least : greatest;
    const Constant& absorbing = goes_up ? greatest : least;
    auto equals = [&](const Constant& other) {
      return std::ranges::equal(constant->span(), other.span());
    };
    if (!is_rounded && equals(absorbing)) {
      use("lattice");
      return store_.constant(type, absorbing.span());
    }
    // Where there is no infinity the constant is a NaN, or what rounds to it.
    const bool is_neutral =
        equals(neutral) && (!is_rounded || std::isinf(decode_float(type, neutral.bytes.data())));
    if (is_neutral && (!is_rounded || terms.size() > 1 || !keeps_nan_bits())) {
      use("neutral-element");
      constant.reset();
    }
  }
  if (constant && terms.size() == 1) {
    if (std::optional<Ref> other = bounded_above_last(at, *constant, terms[0])) return *other;
  }
  if (constant) terms.push_back(store_.constant(type, constant->span()));
  if (terms.size() == 1) return terms[0];
  std::ranges::sort(terms);
  return store_.make(at.function, terms);
}

// xor: what occurs twice cancels.
Ref Identities::exclusive(const Application& at) {
  const ElementType type = at.what.result_type;
  uint64_t constant = 0;
  std::vector<Ref> terms;
  for (Ref argument : flattened(at)) {
    if (std::optional<uint64_t> value = integer(argument, type)) {
      constant ^= *value;
      if (*value == 0) use("neutral-element");
    } else {
      terms.push_back(argument);
    }
  }
  if (!std::ranges::is_sorted(terms)) {
    use("commute");
    std::ranges::sort(terms);
  }
  std::vector<Ref> odd;
  for (Ref term : terms) {
    if (!odd.empty() && odd.back() == term) {
      use("lattice");
      odd.pop_back();
    } else {
      odd.push_back(term);
    }
  }
  if (constant != 0 || odd.empty()) odd.push_back(integer(type, constant));
  if (odd.size() == 1) return odd[0];
  std::ranges::sort(odd);
  return store_.make(at.function, odd);
}

}  // namespace minihlo::prove

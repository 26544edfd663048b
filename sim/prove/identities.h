// The identities of rules.h at work on one application.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "sim/prove/constants.h"
#include "sim/prove/rules.h"

namespace minihlo::prove {

/// A function and what it is applied to.
struct Application {
  uint32_t function;
  const Signature& what;
  std::vector<TermBuilder::Ref> arguments;

  ElementType operand_type() const { return what.operand_types.back(); }
};

class Identities : public TermBuilder {
 public:
  Identities(Rules& rules, TermStore& store)
      : rules_(rules), functions_(rules.functions_), store_(store) {}

  Ref constant(ElementType type, std::span<const std::byte> value) override {
    return store_.constant(type, value);
  }
  Ref apply(uint32_t function, std::vector<Ref> arguments) override;

  // Each gives what the application is equal to, or nothing. identities.cc has the table.
  std::optional<Ref> known(const Application& at);
  std::optional<Ref> negation(const Application& at);
  std::optional<Ref> magnitude(const Application& at);
  std::optional<Ref> signs(const Application& at);
  std::optional<Ref> float_sum(const Application& at);
  std::optional<Ref> float_product(const Application& at);
  std::optional<Ref> float_quotient(const Application& at);
  std::optional<Ref> by_reciprocal(const Application& at);
  std::optional<Ref> power(const Application& at);
  std::optional<Ref> full_precision(const Application& at);
  std::optional<Ref> shift(const Application& at);
  std::optional<Ref> quotient(const Application& at);
  std::optional<Ref> remainder(const Application& at);
  std::optional<Ref> comparison(const Application& at);
  std::optional<Ref> selection(const Application& at);
  std::optional<Ref> conversion(const Application& at);
  std::optional<Ref> bit_cast(const Application& at);
  std::optional<Ref> part(const Application& at);
  std::optional<Ref> parts(const Application& at);

  // exact_folds.cc: folds by opcodes that are exact in any order. These always give a term.
  Ref sum(const Application& at);
  Ref product(const Application& at);
  Ref bound(const Application& at);
  Ref exclusive(const Application& at);
  Ref rounded(const Application& at);
  std::optional<Ref> unconverted_fold(const Application& at);

  // What is asked of any function.
  std::optional<Ref> of_constant_arms(const Application& at);
  std::optional<Ref> rounded_from_f32(const Application& at);

 private:
  /// A term times a number, modulo 2 to the width.
  struct Multiple {
    Ref term;
    uint64_t factor;
  };
  /// Arguments as the type has them that they are converted from.
  struct Unconverted {
    ElementType type;
    std::vector<Ref> arguments;
  };
  std::optional<Unconverted> unconverted(std::span<const Ref> arguments, ElementType type);
  std::optional<Ref> balanced(const Application& at);
  std::optional<Ref> converted_sign(const Application& at);
  std::optional<Ref> narrowed_integer(const Application& at);
  static std::optional<double> together(std::span<const double> constants, bool is_sum);
  std::optional<Ref> distributed(ElementType type, std::vector<Ref> factors);
  std::optional<Ref> bounded_above_last(const Application& at, const Constant& low, Ref term);
  std::optional<Ref> narrowed(Ref term, ElementType wide, ElementType narrow);
  std::optional<Ref> of_magnitude(const Application& at,
                                  const std::function<Ref(Ref)>& unsigned_result);
  Ref linear(ElementType type, std::vector<Multiple> terms);
  Multiple as_multiple(ElementType type, Ref term);
  Ref scaled(ElementType type, const Multiple& multiple);
  std::vector<Ref> flattened(const Application& at);
  Ref fold_of(uint32_t function, std::vector<Ref> arguments);

  void use(std::string_view rule) { rules_.used_.insert(rule); }
  bool counts_rounding() const { return rules_.precision_.rounding; }
  bool keeps_formulas() const { return rules_.precision_.formulas; }
  bool keeps_nan_bits() const { return rules_.precision_.nan_bits; }
  /// Whether a term is an opcode applied to what has this type.
  bool is(Ref term, Opcode opcode) const;
  bool is(Ref term, uint32_t function) const { return store_.function(term) == function; }
  /// The term whose float negation this is.
  std::optional<Ref> negated(Ref term) const;
  /// The truth value whose negation this is.
  std::optional<Ref> inverse(Ref term);
  bool is_constant(Ref term, ElementType type, const Constant& value) const;
  std::optional<uint64_t> integer(Ref term, ElementType type) const;
  Ref integer(ElementType type, uint64_t bits) {
    return store_.constant(type, integer_constant(type, bits).span());
  }
  Ref truth(bool value) { return integer(ElementType::PRED, value ? 1 : 0); }

  Rules& rules_;
  Functions& functions_;
  TermStore& store_;
  /// Terms that were taken apart to be made anew, which may take others apart in turn.
  static constexpr int kMaxRewritten = 256;
  int rewritten_ = 0;
};

}  // namespace minihlo::prove

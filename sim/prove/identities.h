// The identities of rules.h at work on one application.
#pragma once

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

 private:
  /// A term times a number, modulo 2 to the width.
  struct Multiple {
    Ref term;
    uint64_t factor;
  };
  Ref linear(ElementType type, std::vector<Multiple> terms);
  Multiple as_multiple(ElementType type, Ref term);
  Ref scaled(ElementType type, const Multiple& multiple);
  std::vector<Ref> flattened(const Application& at);
  Ref fold_of(uint32_t function, std::vector<Ref> arguments);

  void use(std::string_view rule) { rules_.used_.insert(rule); }
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
};

}  // namespace minihlo::prove

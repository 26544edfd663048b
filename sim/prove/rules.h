// The rules on elements: what brings applications of functions into normal form.
//
// There are two steps. Definitions say functions in words of others: x - y is x + (-1) y, a > b is
// b < a. They hold for whole tensors. Identities look at what the arguments are: x + 0, max(x, x),
// a sum of sums. They are asked where the arguments are the same elements of rows, and of single
// elements. Both see terms through an interface, so that tensors and elements share them.
//
// Each rule holds bit for bit for every value of the types that it is used for; those that keep a
// NaN only up to its sign and payload are left out where a module looks at these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "sim/prove/functions.h"

namespace minihlo::prove {

/// The names of the rules that a proof used (docs/prover.md explains each).
using RuleNames = std::set<std::string_view>;

/// What rules take for equal.
struct Precision {
  bool nan_bits = false;  // NaN of different bits are not
  bool rounding = true;   // sums and products of floats in another order are not
  bool formulas = true;   // nor are they if they are distributed or by way of a reciprocal
};

/// Makes terms. A Ref is a term's number: equal numbers are equal terms.
class TermBuilder {
 public:
  using Ref = uint64_t;
  virtual ~TermBuilder() = default;
  /// One value.
  virtual Ref constant(ElementType type, std::span<const std::byte> value) = 0;
  /// A function in normal form.
  virtual Ref apply(uint32_t function, std::vector<Ref> arguments) = 0;
};

/// Terms that identities look into.
class TermStore {
 public:
  using Ref = TermBuilder::Ref;
  virtual ~TermStore() = default;
  virtual Ref constant(ElementType type, std::span<const std::byte> value) = 0;
  /// A function of these very arguments.
  virtual Ref make(uint32_t function, std::span<const Ref> arguments) = 0;
  /// The value of a constant, of a known type.
  virtual std::optional<std::span<const std::byte>> literal(Ref ref, ElementType type) const = 0;
  /// The function that a term applies to elements; nothing for other terms.
  virtual std::optional<uint32_t> function(Ref ref) const = 0;
  virtual std::vector<Ref> arguments(Ref ref) const = 0;
  /// Whether an operation on narrow floats is taken for one in f32 that is rounded. Terms that are
  /// evaluated in wider arithmetic must not be: a convert there says that it rounds.
  virtual bool splits_rounding() const { return false; }
};

/// Whether something in the module tells NaN apart by their bits.
bool observes_nan_bits(const Module& module);

class Rules {
 public:
  using Ref = TermBuilder::Ref;

  Rules(Terms& terms, const Precision& precision) : functions_(terms), precision_(precision) {}

  /// Whether a fold gives the same in any order of its elements.
  bool is_in_any_order(Opcode opcode, ElementType type) const;

  Functions& functions() { return functions_; }
  /// The rules that changed something since the last clear().
  const RuleNames& used() const { return used_; }
  void use(std::string_view rule) { used_.insert(rule); }
  void clear() { used_.clear(); }
  /// The ways in which values may differ that are equal as rules see it.
  const RuleNames& relaxations() const { return relaxations_; }
  void relax(std::string_view relaxation) { relaxations_.insert(relaxation); }

  /// The function in words of others; nothing where it is not defined by such.
  std::optional<Ref> defined(uint32_t function, std::span<const Ref> arguments, TermBuilder& make);
  /// A function of arguments that are in normal form, in normal form.
  Ref normal(uint32_t function, std::vector<Ref> arguments, TermStore& store);

 private:
  friend class Identities;

  Functions functions_;
  RuleNames used_, relaxations_;
  const Precision precision_;
};

}  // namespace minihlo::prove

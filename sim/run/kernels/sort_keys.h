// Comparators of sort that ask for the order of keys: which of two elements has the lesser key, or
// among several keys the lesser one in the first that differs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/module.h"
#include "ir/semantics/elementwise.h"

namespace minihlo {

/// A key: a function of the elements of a sort's operands, which both sides are given to.
class SortKey {
 public:
  /// Numbers for keys wider than 32 bits are uint64_t, else uint32_t.
  bool is_wide() const { return info(type_).bits > 32; }
  int64_t number_bytes() const { return is_wide() ? 8 : 4; }
  /// Whether there may be keys that are neither before nor behind nor equal to any: NaN where the
  /// comparison is IEEE's. Their numbers have all bits set, and no other numbers have.
  bool may_be_unordered() const { return is_float(type_) && !is_total_order_; }

  /// Writes numbers whose order, ascending, is that of the keys of elements [begin, end) of the
  /// operands, each to its element's place in `numbers`. Equal keys have equal numbers.
  void number(std::span<const std::byte* const> operands, int64_t begin, int64_t end,
              std::byte* numbers) const;

 private:
  friend class ComparatorReader;
  struct Constant {
    alignas(16) std::byte bytes[16];
  };
  // An operand of the sort, a constant, what `op` makes of other values, or else the bits of
  // another value. Inputs are numbers of values that stand before it.
  struct Value {
    ElementType type = ElementType::PRED;
    int operand = -1;
    std::optional<Constant> constant;
    std::optional<ElementwiseOp> op;
    std::array<int, ElementwiseOp::kMaxOperands> inputs{};
    bool is_single = false;  // one for all elements
  };

  std::vector<Value> values_;  // the key is the last
  ElementType type_ = ElementType::PRED;
  bool descending_ = false;
  bool is_total_order_ = false;
};

struct SortKeys {
  std::vector<SortKey> keys;  // at least one; of several, none that may be unordered
  bool is_strict = true;      // equal elements are not before each other; else each is
};

/// The keys of a comparator, if it asks for those: compare with LT, GT, LE or GE of one function of
/// either side, or `or(lt(x), and(eq(x), rest))`, where `rest` asks for further keys in the same
/// way. Functions are made of elementwise instructions.
std::optional<SortKeys> sort_keys(const Computation& comparator);

}  // namespace minihlo

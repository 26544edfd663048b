// The functions on elements that terms apply, as signatures: one number for one function, whichever
// instruction or rule it comes from.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "ir/semantics/elementwise.h"
#include "sim/prove/terms.h"

namespace minihlo::prove {

class Functions {
 public:
  explicit Functions(Terms& terms) : terms_(terms) {}

  const Signature& operator[](uint32_t number) const { return terms_.signature(number); }

  /// An opcode on elements of these types, attributes that change nothing of the values left out.
  /// `shown` is the instruction that reports name for it, or null.
  uint32_t elementwise(const ElementwiseSignature& what, const Instruction* shown = nullptr);
  /// One without attributes, on operands of one type.
  uint32_t of(Opcode opcode, ElementType operand, ElementType result);
  uint32_t of(Opcode opcode, ElementType type) { return of(opcode, type, type); }
  uint32_t select(ElementType type);
  uint32_t compare(ComparisonDirection direction, bool total_order, ElementType operands);
  /// An opcode for which is_exact_reduction() holds, of any number of arguments in any order.
  uint32_t exact_fold(Opcode opcode, ElementType type);

 private:
  template <class Make>
  uint32_t cached(uint64_t key, Make make);

  Terms& terms_;
  std::unordered_map<uint64_t, uint32_t> made_;
};

}  // namespace minihlo::prove

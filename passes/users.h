// Who uses each instruction of a computation, and what goes when nobody does any more.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "ir/module.h"

namespace minihlo {

/// The users as they are when this is made. Asked only about instructions that stand then.
class Users {
 public:
  explicit Users(const Computation& computation);

  /// Those whose operand it is, in the order of the list; once for each place.
  std::span<Instruction* const> of(const Instruction& instruction) const {
    return std::span(users_).subspan(
        starts_[instruction.number()],
        starts_[instruction.number() + 1] - starts_[instruction.number()]);
  }
  bool is_root(const Instruction& instruction) const { return &instruction == root_; }
  /// The number of the first instruction that has it as a control predecessor; kNobody: none has.
  uint32_t first_waiting(const Instruction& instruction) const {
    return first_waiting_[instruction.number()];
  }
  static constexpr uint32_t kNobody = std::numeric_limits<uint32_t>::max();
  bool is_waited_for(const Instruction& instruction) const {
    return first_waiting(instruction) != kNobody;
  }
  /// The only place where it is used; null where there are several, or none, or it is the root.
  Instruction* only(const Instruction& instruction) const {
    return is_root(instruction) || of(instruction).size() != 1 ? nullptr : of(instruction)[0];
  }

 private:
  const Instruction* root_;
  std::vector<Instruction*> users_;
  std::vector<size_t> starts_;
  std::vector<uint32_t> first_waiting_;
};

/// Removes those of `candidates` that have no use and nothing waits for, and what only they used:
/// elementwise operations, movement, ids, constants, tuples and their elements, and what is of one
/// of the opcodes `also`. Candidates that are gone already are passed over.
void remove_unused(Computation* computation, std::vector<Instruction*> candidates,
                   std::span<const Opcode> also = {});

}  // namespace minihlo

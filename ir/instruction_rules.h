// What an instruction must have to be made at all, in whatever form it is read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/instruction.h"

namespace minihlo {

struct BrokenRule {
  std::string_view rule;  // a stable name, as of a Diagnostic
  std::string message;
};

/// Whether the opcode takes that many operands, and all attributes are there that it needs.
std::optional<BrokenRule> check_instruction(Opcode opcode, std::span<Instruction* const> operands,
                                            std::span<const Attribute> attributes);

}  // namespace minihlo

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

/// Whether the opcode takes that many operands. `written`: what messages call it.
std::optional<BrokenRule> check_operand_count(Opcode opcode, std::string_view written,
                                              size_t count);
/// Whether all attributes are there that it needs with these operands, whatever their number.
std::optional<BrokenRule> check_required_attributes(Opcode opcode, std::string_view written,
                                                    std::span<Instruction* const> operands,
                                                    std::span<const Attribute> attributes);

}  // namespace minihlo

#include "ir/instruction_rules.h"

#include <fmt/format.h>

namespace minihlo {

std::optional<BrokenRule> check_instruction(Opcode opcode, std::span<Instruction* const> operands,
                                            std::span<const Attribute> attributes) {
  const OpcodeInfo& row = info(opcode);
  const bool too_few = operands.size() < static_cast<size_t>(row.min_operands);
  const bool too_many =
      row.max_operands >= 0 && operands.size() > static_cast<size_t>(row.max_operands);
  if (too_few || too_many) {
    const int bound = too_few ? row.min_operands : row.max_operands;
    const std::string_view more = row.max_operands == row.min_operands ? ""
                                  : too_few                            ? "at least "
                                                                       : "at most ";
    return BrokenRule{"operand-count",
                      fmt::format("'{}' takes {}{} operand{}, not {}", row.text, more, bound,
                                  bound == 1 ? "" : "s", operands.size())};
  }
  auto lacks = [&](AttributeId id) { return find_attribute(attributes, id) == nullptr; };
  auto missing = [&](AttributeId id) {
    return BrokenRule{"missing-attribute",
                      fmt::format("'{}' needs the attribute '{}'", row.text, info(id).text)};
  };
  for (const AttributeUse& use : row.attributes) {
    if (use.required && lacks(use.id)) return missing(use.id);
  }
  if (opcode == Opcode::kConditional) {
    // The index decides which spelling is meant.
    const Shape* index = operands[0]->shape();
    if (index->is_array() && index->element_type() == ElementType::PRED) {
      for (AttributeId id : {AttributeId::true_computation, AttributeId::false_computation}) {
        if (lacks(id)) return missing(id);
      }
    } else if (lacks(AttributeId::branch_computations)) {
      return missing(AttributeId::branch_computations);
    }
  }
  if (opcode == Opcode::kBroadcast && !operands[0]->shape()->is_scalar() &&
      lacks(AttributeId::dimensions)) {
    return missing(AttributeId::dimensions);
  }
  return std::nullopt;
}

}  // namespace minihlo

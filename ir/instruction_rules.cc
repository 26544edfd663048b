#include "ir/instruction_rules.h"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace minihlo {
namespace {

// The attributes that an opcode needs.
std::span<const AttributeId> required_attributes(Opcode opcode) {
  static const auto* const all = [] {
    auto* table = new std::array<std::vector<AttributeId>, kOpcodeCount>;
    for (size_t i = 0; i < table->size(); ++i) {
      for (const AttributeUse& use : info(static_cast<Opcode>(i)).attributes) {
        if (use.required) (*table)[i].push_back(use.id);
      }
    }
    return table;
  }();
  return (*all)[static_cast<size_t>(opcode)];
}

}  // namespace

std::optional<BrokenRule> check_operand_count(Opcode opcode, std::string_view written,
                                              size_t count) {
  const OpcodeInfo& row = info(opcode);
  const bool too_few = count < static_cast<size_t>(row.min_operands);
  if (!too_few && (row.max_operands < 0 || count <= static_cast<size_t>(row.max_operands))) {
    return std::nullopt;
  }
  const int bound = too_few ? row.min_operands : row.max_operands;
  const std::string_view more = row.max_operands == row.min_operands ? ""
                                : too_few                            ? "at least "
                                                                     : "at most ";
  return BrokenRule{"operand-count", fmt::format("'{}' takes {}{} operand{}, not {}", written, more,
                                                 bound, bound == 1 ? "" : "s", count)};
}

std::optional<BrokenRule> check_required_attributes(Opcode opcode, std::string_view written,
                                                    std::span<Instruction* const> operands,
                                                    std::span<const Attribute> attributes) {
  auto require = [&](AttributeId id) -> std::optional<BrokenRule> {
    if (find_attribute(attributes, id)) return std::nullopt;
    const std::string_view text = info(id).text;
    return BrokenRule{"missing-attribute",
                      text.empty() ? fmt::format("'{}' needs a value in its parentheses", written)
                                   : fmt::format("'{}' needs the attribute '{}'", written, text)};
  };
  for (const AttributeId id : required_attributes(opcode)) {
    if (!find_attribute(attributes, id)) return require(id);
  }
  if (operands.empty()) return std::nullopt;
  const Shape* first = operands[0]->shape();
  if (opcode == Opcode::kConditional) {
    // The index decides which spelling is meant.
    if (!first->is_array() || first->element_type() != ElementType::PRED) {
      return require(AttributeId::branch_computations);
    }
    auto broken = require(AttributeId::true_computation);
    return broken ? broken : require(AttributeId::false_computation);
  }
  if (opcode == Opcode::kBroadcast && !first->is_scalar()) return require(AttributeId::dimensions);
  return std::nullopt;
}

}  // namespace minihlo

#include <algorithm>

#include "ir/hash.h"
#include "ir/text/printing_order.h"
#include "ir/text/text_printer.h"

namespace minihlo::internal {

void TextPrinter::print(const Instruction& instruction) {
  print_name(instruction);
  out_ += " = ";
  print_shape(instruction.shape());
  out_ += ' ';
  const Instruction* wrapped = nullptr;
  print_opcode(instruction, wrapped);
  out_ += '(';
  print_operands(instruction);
  out_ += ')';
  print_attributes(instruction, wrapped);
}

const Instruction* TextPrinter::sugar(const Instruction& start) const {
  return options_.async_sugar ? sugared_operation(start, options_) : nullptr;
}

void TextPrinter::print_opcode(const Instruction& instruction, const Instruction*& wrapped) {
  const Instruction* start = nullptr;
  std::string_view suffix;
  switch (instruction.opcode()) {
    case Opcode::kAsyncStart:
      start = &instruction;
      suffix = "-start";
      break;
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      suffix = instruction.opcode() == Opcode::kAsyncDone ? "-done" : "-update";
      // To the start, by way of the updates that are known already.
      start = instruction.operand_count() > 0 ? instruction.operand(0) : nullptr;
      while (start && start->opcode() == Opcode::kAsyncUpdate && start->operand_count() > 0) {
        auto known = async_starts_.find(start);
        start = known != async_starts_.end() ? known->second : start->operand(0);
      }
      if (start) async_starts_[&instruction] = start;
      break;
    default:
      out_ += to_string(instruction.opcode());
      return;
  }
  const Instruction* operation = start ? sugar(*start) : nullptr;
  if (!operation) {
    out_ += to_string(instruction.opcode());
    return;
  }
  if (start == &instruction) wrapped = operation;
  out_ += to_string(operation->opcode());
  out_ += suffix;
}

void TextPrinter::print_operands(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kParameter) {
    print_number(instruction.get(attr::parameter_number));
    return;
  }
  if (instruction.opcode() == Opcode::kConstant) {
    append_literal(out_, *instruction.get(attr::literal_value), options_.largest_constant);
    return;
  }
  size_t index = 0;
  for (const Instruction* operand : instruction.operands()) {
    print_separator(index++, options_.index_comments);
    if (options_.operand_shapes) {
      print_shape(operand->shape());
      out_ += ' ';
    }
    print_name(*operand);
  }
}

bool says_something(const Attribute& attribute) {
  switch (info(attribute.id).kind) {
    case AttributeKind::kBool:
    case AttributeKind::kInt:
    case AttributeKind::kEnum:
      return attribute.integer != default_value(attribute.id);
    case AttributeKind::kFloat:
      return attribute.real != 0;
    case AttributeKind::kWords: {
      auto words = attribute_value<std::span<const std::string_view>>(attribute);
      return std::any_of(words.begin(), words.end(),
                         [](std::string_view word) { return word != "default"; });
    }
    case AttributeKind::kMetadata: {
      auto values = attribute_value<std::span<const Attribute>>(attribute);
      return std::any_of(values.begin(), values.end(), says_something);
    }
    case AttributeKind::kJson:
      return !attribute_value<const JsonText*>(attribute)->text.empty();
    case AttributeKind::kShape:
    case AttributeKind::kProgramShape:
    case AttributeKind::kLiteral:
    case AttributeKind::kSharding:
    case AttributeKind::kDeviceGroups:
    case AttributeKind::kComputation:
    case AttributeKind::kDomain:
      return attribute.data != nullptr;
    default:
      return attribute.size > 0;
  }
}

// Of an attribute that is there, or of one that is always printed.
bool TextPrinter::is_printed(const AttributeUse& use, const Attribute* attribute) const {
  if (hides(options_, use.id)) return false;
  if (info(use.id).text.empty()) return false;
  if (use.printed == AttributeUse::Printed::kAlways) return true;
  if (!attribute) return false;
  if (use.required || use.printed == AttributeUse::Printed::kWherePresent) return true;
  return says_something(*attribute);
}

namespace {

// Whether both have the same values at the same places.
bool have_equal_attributes(const Instruction& a, const Instruction& b) {
  return std::ranges::equal(
      a.attributes(), b.attributes(), [](const Attribute& one, const Attribute& other) {
        return one.id == other.id && one.size == other.size && one.integer == other.integer;
      });
}

}  // namespace

TextPrinter::PrintedAttributes* TextPrinter::attributes_like(const Instruction& instruction) {
  // A comparison's type may go without saying.
  if (printed_attributes_.empty() || instruction.opcode() == Opcode::kCompare) return nullptr;
  uint64_t hash = static_cast<uint64_t>(instruction.opcode());
  for (const Attribute& attribute : instruction.attributes()) {
    switch (info(attribute.id).kind) {
      case AttributeKind::kComputation:
      case AttributeKind::kComputations:
      case AttributeKind::kInstructions:
        return nullptr;
      default:
        hash = fold(hash ^ static_cast<uint64_t>(attribute.integer), kHashFactor);
    }
  }
  return &printed_attributes_[hash & (printed_attributes_.size() - 1)];
}

void TextPrinter::print_attributes(const Instruction& instruction, const Instruction* wrapped) {
  // Most instructions of a model have the attributes of an earlier one.
  PrintedAttributes* const like = wrapped ? nullptr : attributes_like(instruction);
  if (like && like->instruction && like->instruction->opcode() == instruction.opcode() &&
      have_equal_attributes(*like->instruction, instruction)) {
    return out_.repeat(like->begin, like->size);
  }
  const size_t begin = out_.size();
  auto print_uses = [&](const Instruction& of, std::span<const AttributeUse> uses, bool common) {
    for (const AttributeUse& use : uses) {
      const Attribute* attribute = find_attribute(of.attributes(), use.id);
      // It has its place among the common ones, and belongs to the work itself.
      if (use.id == AttributeId::result_accuracy) {
        if (!common) continue;
        if (wrapped) attribute = find_attribute(wrapped->attributes(), use.id);
      }
      if (!attribute && use.printed != AttributeUse::Printed::kAlways) continue;
      if (!is_printed(use, attribute)) continue;
      // The comparison's type goes without saying where it is that of the operands.
      if (use.id == AttributeId::comparison_type && of.operand_count() > 0 &&
          of.find(attr::comparison_type).value_or(of.default_comparison_type()) ==
              of.default_comparison_type()) {
        continue;
      }
      // The work itself is printed in place of the computation that wraps it.
      if (wrapped && &of == &instruction && use.id == AttributeId::calls && !options_.full_bodies) {
        continue;
      }
      out_ += ", ";
      if (attribute) {
        print_attribute(*attribute);
      } else {
        print_default(use.id);
      }
    }
  };
  std::span<const AttributeUse> own = info(instruction.opcode()).attributes;
  if (wrapped) {
    // The thread of a start comes before what the work says.
    print_uses(instruction, own.first(1), false);
    print_uses(*wrapped, info(wrapped->opcode()).attributes, false);
    own = own.subspan(1);
  }
  print_uses(instruction, own, false);
  if (!instruction.attributes().empty()) print_uses(instruction, common_attributes(), true);
  if (like) *like = {&instruction, begin, out_.size() - begin};
}

}  // namespace minihlo::internal

#include "ir/text/printer.h"

#include <algorithm>

#include "ir/text/text_printer.h"

namespace minihlo {
namespace internal {

const Instruction* sugared_operation(const Instruction& start) {
  if (start.opcode() != Opcode::kAsyncStart) return nullptr;
  const Computation* computation = start.get(attr::calls);
  if (!computation || !computation->root()) return nullptr;
  const Instruction* root = computation->root();
  if (info(root->opcode()).family == Family::kAsync || root->opcode() == Opcode::kParameter ||
      computation->size() != start.operand_count() + 1 ||
      root->operand_count() != start.operand_count()) {
    return nullptr;
  }
  for (size_t i = 0; i < root->operand_count(); ++i) {
    const Instruction* operand = root->operand(i);
    if (operand->opcode() != Opcode::kParameter ||
        operand->get(attr::parameter_number) != static_cast<int64_t>(i) ||
        operand->attributes().size() != 1 || operand->shape() != start.operand(i)->shape()) {
      return nullptr;
    }
  }
  const Shape* shape = start.shape();
  if (!shape->is_tuple() || shape->elements().size() < 2 || !shape->element(0)->is_tuple() ||
      shape->element(1) != root->shape()) {
    return nullptr;
  }
  std::string text(to_string(root->opcode()));
  if (opcode_from(text + "-start") || opcode_from(text + "-done")) return nullptr;
  if (start.find(attr::async_execution_thread).value_or("main") !=
      computation->execution_thread()) {
    return nullptr;
  }
  // What the work says beside its own attributes must be what the start says too, since it is
  // printed once.
  for (const AttributeUse& use : common_attributes()) {
    const Attribute* inner = find_attribute(root->attributes(), use.id);
    if (!inner || use.id == AttributeId::result_accuracy) continue;
    const Attribute* outer = find_attribute(start.attributes(), use.id);
    if (!outer || outer->data != inner->data || outer->size != inner->size) return nullptr;
  }
  return root;
}

std::vector<const Instruction*> printing_order(const Computation& computation) {
  std::span<Instruction* const> list = computation.instructions();
  if (computation.module()->get(attr::is_scheduled)) return {list.begin(), list.end()};
  std::vector<bool> used(list.size());
  for (const Instruction* instruction : list) {
    for (const Instruction* operand : instruction->operands()) used[operand->number()] = true;
  }
  enum : uint8_t { kNew, kEntered, kLeft };
  std::vector<uint8_t> state(list.size(), kNew);
  std::vector<const Instruction*> order, stack;
  order.reserve(list.size());
  for (const Instruction* sink : list) {
    if (used[sink->number()]) continue;
    stack.push_back(sink);
    while (!stack.empty()) {
      const Instruction* top = stack.back();
      uint8_t& seen = state[top->number()];
      if (seen != kNew) {
        stack.pop_back();
        if (seen == kEntered) order.push_back(top);
        seen = kLeft;
        continue;
      }
      seen = kEntered;
      std::span<Instruction* const> operands = top->operands();
      for (size_t i = operands.size(); i-- > 0;) {
        if (state[operands[i]->number()] == kNew) stack.push_back(operands[i]);
      }
      for (const Instruction* predecessor : top->get(attr::control_predecessors)) {
        if (state[predecessor->number()] == kNew) stack.push_back(predecessor);
      }
    }
  }
  return order;
}

std::vector<const Computation*> printing_order(const Module& module) {
  std::span<Computation* const> list = module.computations();
  std::vector<std::vector<const Computation*>> callees(list.size());
  std::vector<bool> called(list.size());
  for (const Computation* computation : list) {
    for (const Instruction* instruction : printing_order(*computation)) {
      if (!instruction->calls_computations()) continue;
      for (const Computation* callee : instruction->called_computations()) {
        callees[computation->number()].push_back(callee);
        called[callee->number()] = true;
      }
    }
  }
  std::vector<bool> entered(list.size());
  std::vector<const Computation*> order;
  struct Visit {
    const Computation* computation;
    size_t next;
  };
  std::vector<Visit> stack;
  for (const Computation* root : list) {
    if (called[root->number()]) continue;
    entered[root->number()] = true;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      Visit& top = stack.back();
      const auto& next = callees[top.computation->number()];
      if (top.next == next.size()) {
        order.push_back(top.computation);
        stack.pop_back();
        continue;
      }
      const Computation* callee = next[top.next++];
      if (entered[callee->number()]) continue;
      entered[callee->number()] = true;
      stack.push_back({callee, 0});
    }
  }
  return order;
}

void TextPrinter::print_separator(size_t index) {
  if (index == 0) return;
  out_ += ", ";
  if (options_.index_comments && index % 5 == 0) {
    out_ += "/*index=";
    append_number(out_, static_cast<int64_t>(index));
    out_ += "*/";
  }
}

void TextPrinter::print(const Module& module) {
  print_header(module);
  std::vector<const Computation*> order = printing_order(module);
  // A computation that is written as X-start is not printed.
  std::vector<bool> hidden(order.size());
  for (const Computation* computation : order) {
    for (const Instruction* instruction : computation->instructions()) {
      if (sugared_operation(*instruction)) {
        hidden[instruction->get(attr::calls)->number()] = true;
      }
    }
  }
  // Unless something else calls it, too.
  for (const Computation* computation : order) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!instruction->calls_computations() || sugared_operation(*instruction)) continue;
      for (const Computation* callee : instruction->called_computations()) {
        hidden[callee->number()] = false;
      }
    }
  }
  for (const Computation* computation : order) {
    if (hidden[computation->number()]) continue;
    print(*computation);
    out_ += "\n\n";
  }
}

void TextPrinter::print_header(const Module& module) {
  out_ += "HloModule ";
  out_ += module.name();
  for (const AttributeUse& use : module_attributes()) {
    const Attribute* attribute = find_attribute(module.attributes(), use.id);
    if (!attribute || !is_printed(use, attribute)) continue;
    if (use.id == AttributeId::allow_spmd_sharding_propagation_to_parameters ||
        use.id == AttributeId::allow_spmd_sharding_propagation_to_output) {
      // One `false` is what nothing stands for.
      auto values = attribute_value<std::span<const bool>>(*attribute);
      if (values.size() == 1 && !values[0]) continue;
    }
    out_ += ", ";
    print_attribute(*attribute);
  }
  out_ += '\n';
  if (options_.metadata && !module.stack_frames().empty()) {
    print_stack_frames(module.stack_frames());
  }
  out_ += '\n';
}

void TextPrinter::print_stack_frames(const StackFrames& tables) {
  auto rows = [&](std::string_view title, const auto& list, auto row) {
    fmt::format_to(std::back_inserter(out_), "\n{}\n", title);
    int64_t id = 0;
    for (const auto& one : list) {
      append_number(out_, ++id);
      out_ += ' ';
      row(one);
      out_ += '\n';
    }
  };
  auto text = [&](std::string_view value) { print_string(value); };
  rows("FileNames", tables.file_names, text);
  rows("FunctionNames", tables.function_names, text);
  rows("FileLocations", tables.file_locations, [&](const StackFrames::FileLocation& place) {
    fmt::format_to(std::back_inserter(out_),
                   "{{file_name_id={} function_name_id={} line={} end_line={} column={} "
                   "end_column={}}}",
                   place.file_name_id, place.function_name_id, place.line, place.end_line,
                   place.column, place.end_column);
  });
  rows("StackFrames", tables.frames, [&](const StackFrames::Frame& frame) {
    fmt::format_to(std::back_inserter(out_), "{{file_location_id={} parent_frame_id={}}}",
                   frame.file_location_id, frame.parent_frame_id);
  });
  out_ += '\n';
}

void TextPrinter::print_signature(const Computation& computation) {
  out_ += " (";
  bool first = true;
  for (const Instruction* parameter : computation.parameters()) {
    if (!parameter) continue;
    if (!std::exchange(first, false)) out_ += ", ";
    out_ += parameter->name();
    out_ += ": ";
    append(out_, parameter->shape(), false);
  }
  out_ += ") -> ";
  append(out_, computation.root()->shape(), false);
}

void TextPrinter::print(const Computation& computation) {
  if (computation.module()->entry() == &computation) out_ += "ENTRY ";
  print_name(computation.name());
  if (options_.program_shape && computation.root()) print_signature(computation);
  out_ += " {\n";
  for (const Instruction* instruction : printing_order(computation)) {
    out_ += instruction == computation.root() ? "  ROOT " : "  ";
    print(*instruction);
    out_ += '\n';
  }
  out_ += '}';
  if (computation.execution_thread() != "main") {
    out_ += ", execution_thread=";
    print_string(computation.execution_thread());
  }
}

void TextPrinter::print(const Instruction& instruction) {
  print_name(instruction.name());
  out_ += " = ";
  append(out_, instruction.shape());
  out_ += ' ';
  const Instruction* wrapped = nullptr;
  print_opcode(instruction, wrapped);
  out_ += '(';
  print_operands(instruction);
  out_ += ')';
  print_attributes(instruction, wrapped);
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
  const Instruction* operation = start ? sugared_operation(*start) : nullptr;
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
    append_number(out_, instruction.get(attr::parameter_number));
    return;
  }
  if (instruction.opcode() == Opcode::kConstant) {
    const Literal* literal = instruction.get(attr::literal_value);
    constexpr int64_t kElidedAbove = 10;
    bool elided = !options_.large_constants && literal->shape->is_array() &&
                  literal->shape->element_count() > kElidedAbove;
    if (elided) {
      out_ += "{...}";
    } else {
      append_literal(out_, *literal);
    }
    return;
  }
  size_t index = 0;
  for (const Instruction* operand : instruction.operands()) {
    print_separator(index++);
    if (options_.operand_shapes) {
      append(out_, operand->shape());
      out_ += ' ';
    }
    print_name(operand->name());
  }
}

bool TextPrinter::is_printed(const AttributeUse& use, const Attribute* attribute) const {
  if (!options_.metadata && use.id == AttributeId::metadata) return false;
  if (!options_.backend_config && use.id == AttributeId::backend_config) return false;
  if (info(use.id).text.empty()) return false;
  if (use.printed == AttributeUse::Printed::kAlways) return true;
  if (!attribute) return false;
  if (use.required || use.printed == AttributeUse::Printed::kWherePresent) return true;
  switch (info(use.id).kind) {
    case AttributeKind::kBool:
    case AttributeKind::kInt:
    case AttributeKind::kEnum:
      return attribute->integer != default_value(use.id);
    case AttributeKind::kFloat:
      return attribute->real != 0;
    case AttributeKind::kWords: {
      auto words = attribute_value<std::span<const std::string_view>>(*attribute);
      return std::any_of(words.begin(), words.end(),
                         [](std::string_view word) { return word != "default"; });
    }
    case AttributeKind::kShape:
    case AttributeKind::kProgramShape:
    case AttributeKind::kLiteral:
    case AttributeKind::kSharding:
    case AttributeKind::kDeviceGroups:
    case AttributeKind::kComputation:
    case AttributeKind::kJson:
    case AttributeKind::kDomain:
      return attribute->data != nullptr;
    default:
      return attribute->size > 0;
  }
}

void TextPrinter::print_attributes(const Instruction& instruction, const Instruction* wrapped) {
  auto print_uses = [&](const Instruction& of, std::span<const AttributeUse> uses, bool common) {
    for (const AttributeUse& use : uses) {
      const Attribute* attribute = find_attribute(of.attributes(), use.id);
      // It has its place among the common ones, and belongs to the work itself.
      if (use.id == AttributeId::result_accuracy) {
        if (!common) continue;
        if (wrapped) attribute = find_attribute(wrapped->attributes(), use.id);
      }
      if (!is_printed(use, attribute)) continue;
      // The comparison's type goes without saying where it is that of the operands.
      if (use.id == AttributeId::comparison_type && of.operand_count() > 0 &&
          of.comparison_type() == of.default_comparison_type()) {
        continue;
      }
      // The work itself is printed in place of the computation that wraps it.
      if (wrapped && &of == &instruction && use.id == AttributeId::calls) continue;
      out_ += ", ";
      if (attribute) {
        print_attribute(*attribute);
      } else {
        print_default(use.id);
      }
    }
  };
  if (wrapped) print_uses(*wrapped, info(wrapped->opcode()).attributes, false);
  print_uses(instruction, info(instruction.opcode()).attributes, false);
  print_uses(instruction, common_attributes(), true);
}

}  // namespace internal

std::string print_text(const Module& module, const PrintOptions& options) {
  std::string out;
  internal::TextPrinter(options, out).print(module);
  return out;
}

std::string print_text(const Computation& computation, const PrintOptions& options) {
  std::string out;
  internal::TextPrinter(options, out).print(computation);
  return out;
}

std::string print_text(const Instruction& instruction, const PrintOptions& options) {
  std::string out;
  internal::TextPrinter(options, out).print(instruction);
  return out;
}

std::string print_text(const Attribute& attribute, const PrintOptions& options) {
  std::string out;
  internal::TextPrinter(options, out).print_attribute(attribute);
  return out;
}

std::string print_text(const Literal& literal) {
  std::string out;
  internal::append_literal(out, literal);
  return out;
}

}  // namespace minihlo

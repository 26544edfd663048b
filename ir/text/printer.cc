#include "ir/text/printer.h"

#include "ir/text/printing_order.h"
#include "ir/text/text_printer.h"

namespace minihlo {
namespace internal {

void TextPrinter::print_separator(size_t index, bool comments) {
  if (index == 0) return;
  out_ += ", ";
  if (comments && index % 5 == 0) {
    out_ += "/*index=";
    print_number(static_cast<int64_t>(index));
    out_ += "*/";
  }
}

void TextPrinter::print_cached(const Shape* shape) {
  std::string_view& text = shapes_[shape];
  if (text.empty()) {
    std::string made;
    append(made, shape);
    text = shape_texts_.copy_string(made);
  }
  out_ += text;
}

void TextPrinter::print_name(const Instruction& instruction) {
  print_percent();
  if (numbered_ == instruction.parent()) {
    out_ += "tmp_";
    print_number(positions_[instruction.number()]);
  } else {
    out_ += instruction.name();
  }
}

void TextPrinter::print_name(const Computation& computation) {
  print_percent();
  if (auto number = computation_numbers_.find(&computation); number != computation_numbers_.end()) {
    out_ += "computation_";
    out_.append_number(number->second);
  } else {
    out_ += computation.name();
  }
}

void TextPrinter::print(const Module& module) {
  std::vector<const Computation*> order = printing_order(module);
  // A computation that is written as X-start is not printed, unless something else calls it, too.
  std::vector<bool> sugared(order.size()), named(order.size());
  for (const Computation* computation : order) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!instruction->calls_computations()) continue;
      std::vector<bool>& calls = sugar(*instruction) ? sugared : named;
      for (const Computation* callee : instruction->called_computations()) {
        calls[callee->number()] = true;
      }
    }
  }
  std::erase_if(order, [&](const Computation* computation) {
    return sugared[computation->number()] && !named[computation->number()];
  });
  if (options_.names == PrintOptions::Names::kAllNumbered) {
    for (const Computation* computation : order) {
      computation_numbers_.try_emplace(computation, computation_numbers_.size());
    }
  }
  constexpr size_t kMostTimes = 1000, kMostInstructions = size_t{1} << 20;
  if (options_.full_bodies) {
    const size_t count = module.instruction_count();
    bodies_allowed_ = std::min(kMostTimes * count, std::max(10 * count, kMostInstructions));
  }
  constexpr size_t kRemembered = 4096;
  printed_attributes_.resize(std::bit_ceil(std::min(module.instruction_count(), kRemembered)));
  print_header(module);
  for (const Computation* computation : order) {
    print(*computation);
    out_ += "\n\n";
  }
}

void TextPrinter::print_header(const Module& module) {
  out_ += "HloModule ";
  if (options_.names == PrintOptions::Names::kAllNumbered) {
    out_ += "module";
  } else {
    out_ += module.name();
  }
  for (const AttributeUse& use : module_attributes()) {
    const Attribute* attribute = find_attribute(module.attributes(), use.id);
    if (!attribute || !is_printed(use, attribute)) continue;
    if (use.id == AttributeId::allow_spmd_sharding_propagation_to_parameters ||
        use.id == AttributeId::allow_spmd_sharding_propagation_to_output) {
      // One `false` is what nothing stands for.
      auto values = attribute_value<std::span<const bool>>(*attribute);
      if (values.size() == 1 && !values[0]) continue;
    }
    out_ += use.id == AttributeId::debug_attributes ? ",\n" : ", ";
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
    out_ += '\n';
    out_ += title;
    out_ += '\n';
    int64_t id = 0;
    for (const auto& one : list) {
      print_number(++id);
      out_ += ' ';
      row(one);
      out_ += '\n';
    }
  };
  auto text = [&](std::string_view value) { print_string(value); };
  auto field = [&](std::string_view key, int64_t value) {
    out_ += key;
    print_number(value);
  };
  rows("FileNames", tables.file_names, text);
  rows("FunctionNames", tables.function_names, text);
  rows("FileLocations", tables.file_locations, [&](const StackFrames::FileLocation& place) {
    field("{file_name_id=", place.file_name_id);
    field(" function_name_id=", place.function_name_id);
    field(" line=", place.line);
    field(" end_line=", place.end_line);
    field(" column=", place.column);
    field(" end_column=", place.end_column);
    out_ += '}';
  });
  rows("StackFrames", tables.frames, [&](const StackFrames::Frame& frame) {
    field("{file_location_id=", frame.file_location_id);
    field(" parent_frame_id=", frame.parent_frame_id);
    out_ += '}';
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
    print_cached(parameter->shape()->bare());
  }
  out_ += ") -> ";
  print_cached(computation.root()->shape()->bare());
}

void TextPrinter::print(const Computation& computation) {
  if (computation.module()->entry() == &computation) out_ += "ENTRY ";
  print_name(computation);
  if (options_.program_shape && computation.root()) print_signature(computation);
  out_ += ' ';
  print_body(computation);
  if (computation.execution_thread() != "main") {
    out_ += ", execution_thread=";
    print_string(computation.execution_thread());
  }
}

void TextPrinter::print_body(const Computation& computation) {
  // As in XLA, only what stands on its own keeps to the schedule.
  const std::vector<const Instruction*> order =
      depth_ == 0 ? printing_order(computation) : post_order(computation);
  std::vector<uint32_t> outer_positions;
  const Computation* const outer = numbered_;
  if (options_.names != PrintOptions::Names::kOwn) {
    outer_positions = std::move(positions_);
    positions_.assign(computation.size(), 0);
    for (size_t i = 0; i < order.size(); ++i) {
      positions_[order[i]->number()] = static_cast<uint32_t>(i);
    }
    numbered_ = &computation;
  }
  out_ += "{\n";
  const std::vector<bool>* const shown = depth_ == 0 ? shown_ : nullptr;
  ++depth_;
  bool gap = false;
  for (const Instruction* instruction : order) {
    const bool left_out = shown && !(*shown)[instruction->number()];
    if (left_out && gap) continue;
    gap = left_out;
    print_line_start();
    if (left_out) {
      out_ += "...\n";
      continue;
    }
    if (instruction == computation.root()) out_ += "ROOT ";
    print(*instruction);
    out_ += '\n';
  }
  --depth_;
  print_line_start();
  out_ += '}';
  positions_ = std::move(outer_positions);
  numbered_ = outer;
}

}  // namespace internal

PrintOptions PrintOptions::short_parsable() {
  PrintOptions options;
  options.metadata = false;
  options.control_predecessors = false;
  options.index_comments = false;
  options.program_shape = false;
  options.percent = false;
  return options;
}

PrintOptions PrintOptions::xla_canonical() {
  PrintOptions options = short_parsable();
  options.backend_config = false;
  options.operand_shapes = true;
  options.full_bodies = true;
  options.names = Names::kNumbered;
  options.largest_constant = 10;
  return options;
}

PrintOptions PrintOptions::canonical() {
  PrintOptions options = short_parsable();
  options.control_predecessors = true;
  options.backend_config = false;
  options.names = Names::kAllNumbered;
  return options;
}

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

std::string print_text(const Computation& computation, const PrintOptions& options,
                       const std::vector<bool>& shown) {
  std::string out;
  internal::TextPrinter(options, out, &shown).print(computation);
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
  {
    internal::TextBuffer buffer(out);
    internal::append_literal(buffer, literal, std::numeric_limits<int64_t>::max());
  }
  return out;
}

}  // namespace minihlo

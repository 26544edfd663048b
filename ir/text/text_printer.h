// The printer's state, shared by the files that implement it:
//
//   printer.cc              module and computations
//   printer_instruction.cc  one instruction: opcode, operands, which attributes
//   printer_attributes.cc   values of attributes
//   printer_sharding.cc     sharding, device groups, meshes
//   printer_literal.cc      values of constants
#pragma once

#include <tsl/robin_map.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/arena.h"
#include "ir/module.h"
#include "ir/text/printer.h"
#include "ir/text/text_buffer.h"

namespace minihlo::internal {

/// Appends the value of an array or tuple as it stands in constant(...). Arrays of more than
/// `largest` elements are elided.
void append_literal(TextBuffer& out, const Literal& literal, int64_t largest);

class TextPrinter {
 public:
  /// `shown`: of a computation that is printed by itself, the instructions to print; null: all.
  TextPrinter(const PrintOptions& options, std::string& out,
              const std::vector<bool>* shown = nullptr)
      : options_(options), out_(out), shown_(shown) {}

  void print(const Module& module);
  void print(const Computation& computation);
  void print(const Instruction& instruction);
  void print_attribute(const Attribute& attribute);  // printer_attributes.cc

 private:
  // printer.cc
  void print_header(const Module& module);
  void print_stack_frames(const StackFrames& tables);
  void print_signature(const Computation& computation);
  /// The braces and what is between them.
  void print_body(const Computation& computation);
  void print_name(const Instruction& instruction);
  void print_name(const Computation& computation);
  void print_percent() {
    if (options_.percent) out_ += '%';
  }
  void print_line_start() {
    for (int i = 0; i < depth_; ++i) out_ += "  ";
  }
  /// Layouts are written where the options say so.
  void print_shape(const Shape* shape) { print_cached(options_.layouts ? shape : shape->bare()); }
  void print_cached(const Shape* shape);
  /// ", ", and the comment that counts every fifth element.
  void print_separator(size_t index, bool comments);

  // printer_instruction.cc
  void print_operands(const Instruction& instruction);
  void print_attributes(const Instruction& instruction, const Instruction* wrapped);
  struct PrintedAttributes {
    const Instruction* instruction = nullptr;
    size_t begin = 0, size = 0;  // in out_
  };
  /// Where the attributes of instructions like this one are found; null where what is printed tells
  /// of more than their values.
  PrintedAttributes* attributes_like(const Instruction& instruction);
  void print_opcode(const Instruction& instruction, const Instruction*& wrapped);
  const Instruction* sugar(const Instruction& start) const;
  bool is_printed(const AttributeUse& use, const Attribute* attribute) const;

  // printer_attributes.cc
  /// The value that an absent attribute of this kind stands for.
  void print_default(AttributeId id);
  void print_value(const Attribute& attribute);
  void print_computation(const Computation& computation);
  void print_computations(std::span<Computation* const> computations);
  /// Whether the computation's body stands for its name here, and one more fits.
  bool takes_body(const Computation& computation);
  void print_nested_body(const Computation& computation);
  void print_dictionary(std::span<const Attribute> values);
  void print_shaped_literal(const Literal& literal);
  void print_window(std::span<const WindowDimension> dims);
  void print_string(std::string_view text);
  void print_json(std::string_view text, bool raw);
  void print_aliases(std::span<const Alias> aliases, bool of_module);

  // printer_sharding.cc
  void print_groups(const DeviceGroups& groups);
  void print_mesh(const DeviceMesh& mesh);
  void print_axis(const AxisRef& axis);
  void print_sharding(const Sharding& sharding);
  void print_tiles(const Sharding& sharding);
  void print_iota(const IotaOrder& order);

  void print_number(int64_t value) { out_.append_number(value); }
  template <class Range, class Element>
  void print_list(const Range& range, std::string_view open, std::string_view separator,
                  std::string_view close, Element element) {
    out_ += open;
    bool first = true;
    for (const auto& one : range) {
      if (!std::exchange(first, false)) out_ += separator;
      element(one);
    }
    out_ += close;
  }
  void print_ints(std::span<const int64_t> values, std::string_view open = "{",
                  std::string_view close = "}") {
    print_list(values, open, ",", close, [&](int64_t value) { print_number(value); });
  }

  const PrintOptions& options_;
  TextBuffer out_;
  const std::vector<bool>* const shown_;
  int depth_ = 0;              // of bodies within bodies
  size_t bodies_allowed_ = 0;  // instructions in bodies that may still be written out
  // Where each instruction of the computation at hand is printed, where that makes its name.
  std::vector<uint32_t> positions_;
  const Computation* numbered_ = nullptr;  // whose positions they are
  tsl::robin_map<const Computation*, size_t> computation_numbers_;
  tsl::robin_map<const Instruction*, const Instruction*> async_starts_;
  tsl::robin_map<const Shape*, std::string_view> shapes_;
  Arena shape_texts_;
  // By hash; a later one takes the place of an earlier one. Empty where less than a module is
  // printed.
  std::vector<PrintedAttributes> printed_attributes_;
};

}  // namespace minihlo::internal

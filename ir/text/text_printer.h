// The printer's state, shared by the files that implement it:
//
//   printer.cc             module, computations, instructions, and their order
//   printer_attributes.cc  values of attributes
//   printer_literal.cc     values of constants
#pragma once

#include <fmt/format.h>
#include <tsl/robin_map.h>

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "ir/text/printer.h"

namespace minihlo::internal {

/// Appends the value of an array or tuple as it stands in constant(...).
void append_literal(std::string& out, const Literal& literal);

inline void append_number(std::string& out, int64_t value) {
  char digits[24];
  char* end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  out.append(digits, end);
}

class TextPrinter {
 public:
  TextPrinter(const PrintOptions& options, std::string& out) : options_(options), out_(out) {}

  void print(const Module& module);
  void print(const Computation& computation);
  void print(const Instruction& instruction);
  void print_attribute(const Attribute& attribute);  // printer_attributes.cc

 private:
  // printer.cc
  void print_header(const Module& module);
  void print_stack_frames(const StackFrames& tables);
  void print_signature(const Computation& computation);
  void print_operands(const Instruction& instruction);
  void print_attributes(const Instruction& instruction, const Instruction* wrapped);
  void print_opcode(const Instruction& instruction, const Instruction*& wrapped);
  bool is_printed(const AttributeUse& use, const Attribute* attribute) const;
  void print_name(std::string_view name) {
    if (options_.percent) out_ += '%';
    out_ += name;
  }
  /// ", ", and the comment that counts every fifth element.
  void print_separator(size_t index);

  // printer_attributes.cc
  /// The value that an absent attribute of this kind stands for.
  void print_default(AttributeId id);
  void print_value(const Attribute& attribute);
  void print_dictionary(std::span<const Attribute> values);
  void print_window(std::span<const WindowDimension> dims);
  void print_groups(const DeviceGroups& groups);
  void print_mesh(const DeviceMesh& mesh);
  void print_axis(const AxisRef& axis);
  void print_sharding(const Sharding& sharding);
  void print_tiles(const Sharding& sharding);
  void print_iota(const IotaOrder& order);
  void print_string(std::string_view text);
  void print_json(std::string_view text, bool raw);
  void print_aliases(std::span<const Alias> aliases, bool of_module);
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
    print_list(values, open, ",", close, [&](int64_t value) { append_number(out_, value); });
  }

  const PrintOptions& options_;
  std::string& out_;
  tsl::robin_map<const Instruction*, const Instruction*> async_starts_;
};

/// The work that an async-start stands for, where X-start can be written for it: its computation
/// is X applied to its own parameters in order, and X has no asynchronous form of its own.
const Instruction* sugared_operation(const Instruction& start);

/// The order in which XLA prints (HloComputation::MakeInstructionPostOrder): the list as it is when
/// it is a schedule, else from each instruction without users, operands first.
std::vector<const Instruction*> printing_order(const Computation& computation);
std::vector<const Computation*> printing_order(const Module& module);

}  // namespace minihlo::internal

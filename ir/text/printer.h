// IR to HLO text, as XLA prints it (xla/hlo/ir/hlo_instruction.cc, hlo_module.cc).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ir/module.h"

namespace minihlo {

/// What is printed and how. The defaults are XLA's, but for large constants, which XLA elides;
/// the member functions below are XLA's presets (xla/hlo/ir/hlo_print_options.h).
struct PrintOptions {
  /// What instructions, and the rest, are called.
  enum class Names : uint8_t {
    kOwn,
    kNumbered,     // instructions tmp_0, tmp_1, ... in each computation, as they are printed
    kAllNumbered,  // computations too, computation_0, ..., and the module is called `module`
  };

  bool metadata = true;  // metadata={...} and the stack-frame tables
  bool backend_config = true;
  bool control_predecessors = true;
  /// Further attributes to leave out.
  std::vector<AttributeId> hidden;
  /// Array constants of more elements are elided: {...}. XLA's default is 10.
  int64_t largest_constant = std::numeric_limits<int64_t>::max();
  bool index_comments = true;   // /*index=5*/ before every fifth operand
  bool percent = true;          // %name
  bool program_shape = true;    // (p: f32[2]) -> f32[2] behind a computation's name
  bool operand_shapes = false;  // f32[2]{0} %name
  bool layouts = true;          // f32[2]{0} of results and operands, not f32[2]
  bool async_sugar = true;      // X-start for an async-start whose computation does X alone
  /// Called computations are written out where they are called, too. Those that nest more than
  /// a hundred deep, or would make the text a thousand times as long, are named all the same.
  bool full_bodies = false;
  Names names = Names::kOwn;

  /// XLA's ShortParsable. It leaves out control predecessors.
  static PrintOptions short_parsable();
  /// XLA's Canonical, but for `to_apply` where XLA writes `calls` and then can't read it again.
  static PrintOptions xla_canonical();
  /// Modules that differ in names, metadata and backend_config alone are printed alike, and what
  /// is printed can be read again.
  static PrintOptions canonical();
};

std::string print_text(const Module& module, const PrintOptions& options = {});
std::string print_text(const Computation& computation, const PrintOptions& options = {});
/// The lines of the instructions whose numbers are marked alone, and `...` for what is left out.
std::string print_text(const Computation& computation, const PrintOptions& options,
                       const std::vector<bool>& shown);
/// One line, without indentation and line end.
std::string print_text(const Instruction& instruction, const PrintOptions& options = {});
/// name=value, as it stands behind the operands.
std::string print_text(const Attribute& attribute, const PrintOptions& options = {});
/// A literal as it stands in constant(...).
std::string print_text(const Literal& literal);

}  // namespace minihlo

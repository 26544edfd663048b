// IR to HLO text, as XLA prints it (xla/hlo/ir/hlo_instruction.cc, hlo_module.cc).
#pragma once

#include <string>

#include "ir/module.h"

namespace minihlo {

struct PrintOptions {
  bool metadata = true;  // metadata={...} and the stack-frame tables
  bool backend_config = true;
  bool large_constants = true;  // XLA's default elides those of more than 10 elements
  bool index_comments = true;   // /*index=5*/ before every fifth operand and tuple element
  bool percent = true;          // %name
  bool program_shape = true;    // (p: f32[2]) -> f32[2] behind a computation's name
  bool operand_shapes = false;  // f32[2]{0} %name
};

std::string print_text(const Module& module, const PrintOptions& options = {});
std::string print_text(const Computation& computation, const PrintOptions& options = {});
/// One line, without indentation and line end.
std::string print_text(const Instruction& instruction, const PrintOptions& options = {});
/// name=value, as it stands behind the operands.
std::string print_text(const Attribute& attribute, const PrintOptions& options = {});
/// A literal as it stands in constant(...).
std::string print_text(const Literal& literal);

}  // namespace minihlo

// The result shape of an opcode (xla/service/shape_inference.cc), and whether operands and
// attributes allow one at all.
#pragma once

#include <span>
#include <string>

#include <tl/expected.hpp>

#include "ir/instruction.h"
#include "ir/shape.h"

namespace minihlo {

/// What an instruction would be made of.
struct InstructionParts {
  Opcode opcode;
  std::span<Instruction* const> operands;
  std::span<const Attribute> attributes;
  /// The shape as written; null where it is to be inferred. Opcodes whose text must give the shape
  /// (ResultShape::kGiven) take from it what operands and attributes leave open.
  const Shape* written = nullptr;
};

/// Whether infer_shape knows the opcode. For others the written shape is taken as it is.
bool has_shape_inference(Opcode opcode);

/// The shape, or what is wrong, in words that name operands and attributes. An array that is shaped
/// anew has the default layout; where the result has an operand's dimensions or passes it on, it
/// has that operand's layout, as in XLA. Requires the number of operands and the attributes that
/// the opcode's row asks for. Attributes may hold any numbers. Sizes of groups of devices are taken
/// from the written shape.
tl::expected<const Shape*, std::string> infer_shape(ShapePool& shapes,
                                                    const InstructionParts& parts);

}  // namespace minihlo

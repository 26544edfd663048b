// Where messages keep the attributes of instructions (ir/proto/attribute_fields.def).
#pragma once

#include <array>
#include <span>

#include "ir/opcode.h"
#include "ir/proto/schema.h"

namespace minihlo::proto {

/// The way to an attribute's field, from HloInstructionProto on.
struct AttributeField {
  AttributeUse use;
  uint8_t depth;              // messages that the field lies in, besides the instruction
  std::array<Field, 3> path;  // depth + 1 fields
  Field field() const { return path[depth]; }
};

/// The fields for the attributes that `opcode` takes, in the order of their numbers, so that those
/// that lie in one message follow one another.
std::span<const AttributeField> attribute_fields(Opcode opcode);

}  // namespace minihlo::proto

// The opcodes and what the tables say of each (ir/opcodes.def).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ir/attributes.h"

namespace minihlo {

enum class Opcode : uint8_t {
#define OPCODE(name, text, min, max, family, shape, traits, attributes) name,
#include "ir/opcodes.def"
#undef OPCODE
};

enum class Family : uint8_t {
  kStructure,    // parameter, constant, tuple, ...: names and groups values
  kIdentity,     // replica-id, partition-id
  kElementwise,  // each element of the result from the same element of each operand
  kMovement,     // moves elements, never looks at them
  kReduction,    // combines elements by a computation
  kContraction,  // dot, convolution, linear algebra
  kCollective,   // devices exchange data
  kAsync,        // the start, update and done of work that goes on beside
  kEffect,       // talks to the host or to another device
  kControl,      // runs computations
  kCustom,       // custom-call
  kRandom,
};
/// The family's name in lists and documentation: "movement".
std::string_view to_string(Family family);

enum class ResultShape : uint8_t { kGiven, kInferred };

/// An attribute in an opcode's row.
struct AttributeUse {
  enum class Printed : uint8_t { kUnlessDefault, kWherePresent, kAlways };
  AttributeId id;
  bool required;
  Printed printed;
};

/// What else an opcode's row says of it (see opcodes.def).
struct OpcodeTraits {
  bool carries = false;
  bool mixes_floats = false;
  bool keeps_types = false;
  bool writes_buffers = false;
};

struct OpcodeInfo {
  std::string_view text;
  int min_operands;
  int max_operands;  // -1: any number
  Family family;
  ResultShape result_shape;
  OpcodeTraits traits;
  std::span<const AttributeUse> attributes;  // in the order in which they are printed
};

inline constexpr int kOpcodeCount = 0
#define OPCODE(name, text, min, max, family, shape, traits, attributes) +1
#include "ir/opcodes.def"
#undef OPCODE
    ;

const OpcodeInfo& info(Opcode opcode);
inline std::string_view to_string(Opcode opcode) { return info(opcode).text; }
/// The opcode that HLO text spells `text`, or nothing.
std::optional<Opcode> opcode_from(std::string_view text);

/// The attribute that `opcode` takes under the name `text`, own or common; null if there is none.
const AttributeUse* find_attribute_use(Opcode opcode, std::string_view text);

/// The one of `uses` that is called `text`, or null.
const AttributeUse* find_attribute_use(std::span<const AttributeUse> uses, std::string_view text);

/// Attributes that any opcode takes, in the order in which they are printed.
std::span<const AttributeUse> common_attributes();
/// Attributes of the module header and of metadata={...}, likewise.
std::span<const AttributeUse> module_attributes();
std::span<const AttributeUse> metadata_attributes();

}  // namespace minihlo

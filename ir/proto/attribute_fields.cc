#include "ir/proto/attribute_fields.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace minihlo::proto {
namespace {

struct Row {
  std::optional<Opcode> opcode;  // nothing: any that takes the attribute
  AttributeId id;
  uint8_t depth;
  std::array<Field, 3> path;
};

constexpr Row kRows[] = {
#define ATTRIBUTE_FIELD(attribute, field) \
  {std::nullopt, AttributeId::attribute, 0, {HloInstructionProto::field}},
#define ATTRIBUTE_PART(attribute, field, Message, part) \
  {std::nullopt, AttributeId::attribute, 1, {HloInstructionProto::field, Message::part}},
#define OPCODE_PART(opcode, attribute, field, Message, part) \
  {Opcode::opcode, AttributeId::attribute, 1, {HloInstructionProto::field, Message::part}},
#define OPCODE_DEEP_PART(opcode, attribute, field, Message, inner, Inner, part) \
  {Opcode::opcode,                                                              \
   AttributeId::attribute,                                                      \
   2,                                                                           \
   {HloInstructionProto::field, Message::inner, Inner::part}},
#include "ir/proto/attribute_fields.def"
#undef ATTRIBUTE_FIELD
#undef ATTRIBUTE_PART
#undef OPCODE_PART
#undef OPCODE_DEEP_PART
};

const Row* find_row(Opcode opcode, AttributeId id) {
  const Row* found = nullptr;
  for (const Row& row : kRows) {
    if (row.id != id || (row.opcode && *row.opcode != opcode)) continue;
    if (!found || row.opcode) found = &row;
  }
  return found;
}

std::vector<AttributeField> fields_of(Opcode opcode) {
  std::vector<AttributeField> fields;
  auto add = [&](const AttributeUse& use) {
    if (const Row* row = find_row(opcode, use.id)) fields.push_back({use, row->depth, row->path});
  };
  for (const AttributeUse& use : info(opcode).attributes) add(use);
  for (const AttributeUse& use : common_attributes()) {
    // Of the common ones, this is taken only by the opcodes that name it.
    if (use.id != AttributeId::result_accuracy) add(use);
  }
  std::stable_sort(fields.begin(), fields.end(),
                   [](const AttributeField& a, const AttributeField& b) {
                     return std::lexicographical_compare(
                         a.path.begin(), a.path.begin() + a.depth + 1, b.path.begin(),
                         b.path.begin() + b.depth + 1,
                         [](const Field& x, const Field& y) { return x.number < y.number; });
                   });
  return fields;
}

}  // namespace

std::span<const AttributeField> attribute_fields(Opcode opcode) {
  static const auto table = [] {
    std::array<std::vector<AttributeField>, kOpcodeCount> made;
    for (int i = 0; i < kOpcodeCount; ++i) {
      made[static_cast<size_t>(i)] = fields_of(static_cast<Opcode>(i));
    }
    return made;
  }();
  return table[static_cast<size_t>(opcode)];
}

}  // namespace minihlo::proto

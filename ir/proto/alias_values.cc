// Aliases between outputs and inputs, and donated inputs.
#include <algorithm>

#include <fmt/format.h>

#include "ir/proto/attribute_values.h"
#include "ir/proto/structures.h"

namespace minihlo::proto {
namespace {

bool read_index(Reading& reading, const Message& in, Field field, std::span<const int64_t>& list) {
  std::vector<int64_t> values;
  if (!in.integers(field, values)) return false;
  list = reading.arena.copy(values);
  return true;
}

struct AliasKind {
  std::string_view text;
  std::string_view name;  // in Kind
};
constexpr AliasKind kAliasKinds[] = {{"may-alias", "MAY_ALIAS"}, {"must-alias", "MUST_ALIAS"}};

bool read_kind(const Message& in, std::string_view& text) {
  const int64_t number = in.integer(AliasEntryProto::kind);
  for (const AliasKind& kind : kAliasKinds) {
    if (value_name(EnumId::Kind, number) == kind.name) text = kind.text;
  }
  if (!text.empty()) return true;
  return in.fail("unknown-value", AliasEntryProto::kind,
                 fmt::format("there is no kind of alias of number {}", number));
}

}  // namespace

bool read_aliases(Reading& reading, const Message& in, Field field, std::span<const Alias>& list) {
  std::vector<Alias> aliases;
  const bool of_module = field.message_type() == MessageId::AliasEntryProto;
  if (!in.each(field, [&](const Message& entry) {
        Alias& alias = aliases.emplace_back(Alias{});
        if (!of_module) {
          alias.parameter = entry.integer(OutputOperandAliasing::operand_index);
          return read_index(reading, entry, OutputOperandAliasing::output_shape_index,
                            alias.output_index) &&
                 read_index(reading, entry, OutputOperandAliasing::operand_shape_index,
                            alias.parameter_index);
        }
        alias.parameter = entry.integer(AliasEntryProto::parameter_number);
        return read_index(reading, entry, AliasEntryProto::output_shape_index,
                          alias.output_index) &&
               read_index(reading, entry, AliasEntryProto::parameter_shape_index,
                          alias.parameter_index) &&
               read_kind(entry, alias.kind);
      })) {
    return false;
  }
  list = reading.arena.copy(aliases);
  return true;
}

void write_aliases(Writer& out, Field field, std::span<const Alias> list) {
  for (const Alias& alias : list) {
    out.message(field, [&](Writer& entry) {
      if (field.message_type() == MessageId::OutputOperandAliasing) {
        entry.integers<int64_t>(OutputOperandAliasing::output_shape_index, alias.output_index);
        entry.integer(OutputOperandAliasing::operand_index, alias.parameter);
        entry.integers<int64_t>(OutputOperandAliasing::operand_shape_index, alias.parameter_index);
        return;
      }
      entry.integers<int64_t>(AliasEntryProto::output_shape_index, alias.output_index);
      entry.integer(AliasEntryProto::parameter_number, alias.parameter);
      entry.integers<int64_t>(AliasEntryProto::parameter_shape_index, alias.parameter_index);
      for (const AliasKind& kind : kAliasKinds) {
        if (kind.text == alias.kind) {
          entry.integer(AliasEntryProto::kind, *value_number(EnumId::Kind, kind.name));
        }
      }
    });
  }
}

bool read_donors(Reading& reading, const Message& in, Field field, std::span<const Donor>& list) {
  std::vector<Donor> donors;
  if (!read_structures(reading, in, field, donors)) return false;
  list = reading.arena.copy(donors);
  return true;
}

void write_donors(Writer& out, Field field, std::span<const Donor> list) {
  write_structures(out, field, list);
}

}  // namespace minihlo::proto

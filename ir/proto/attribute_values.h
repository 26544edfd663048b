// Values of attributes by kind: how each looks in a message.
#pragma once

#include "ir/opcode.h"
#include "ir/proto/reading.h"
#include "ir/proto/writing.h"

namespace minihlo::proto {

// attribute_reading.cc

/// Reads the value of an attribute from the field of `in` that holds it. `present` says whether
/// there is one. False after an error.
bool read_value(Reading& reading, const Message& in, Field field, AttributeId id, Attribute& value,
                bool& present);

// attribute_writing.cc

/// Writes the value to the field. With `always`, also a number or truth value that is 0, so that
/// its presence shows. False where the field can't hold the value as it is.
bool write_value(Writing& writing, Writer& out, Field field, const Attribute& value, bool always,
                 Location location);

// text_values.cc

/// An attribute that no field holds as it is, as HLO text; for MinihloAttribute.
bool read_text_value(Reading& reading, const Message& in, AttributeId id, Attribute& value);
void write_text_value(Writer& out, const Attribute& value);

// alias_values.cc

/// input_output_alias (AliasEntryProto) and output_to_operand_aliasing (OutputOperandAliasing).
bool read_aliases(Reading& reading, const Message& in, Field field, std::span<const Alias>& list);
void write_aliases(Writer& out, Field field, std::span<const Alias> list);
bool read_donors(Reading& reading, const Message& in, Field field, std::span<const Donor>& list);
void write_donors(Writer& out, Field field, std::span<const Donor> list);

// dimension_values.cc

/// dim_labels=b01f_01io->b01f and ConvolutionDimensionNumbers. Writing is false, and nothing is
/// written, where the labels are not well-formed.
bool read_dim_labels(const Message& in, std::string& text);
bool write_dim_labels(Writer& out, Field field, std::string_view text);

/// slice_sizes={{1,2},{3,4}} of in-place permutes, which messages keep as one list: the list cut
/// into the sizes of each slice, as many as the input, or the input's elements in turn, have
/// dimensions. What does not come out even is one slice.
std::span<const std::span<const int64_t>> split_slice_sizes(Arena& arena,
                                                            std::span<Instruction* const> operands,
                                                            std::span<const int64_t> sizes);

}  // namespace minihlo::proto

// Attributes that the IR keeps as text and messages keep in parts: statistics, accuracies, original
// values, sparsity.
#pragma once

#include <string>
#include <string_view>

#include "ir/attributes.h"
#include "ir/proto/message.h"
#include "ir/proto/writer.h"

namespace minihlo::proto {

/// The text that an attribute of them has for its field of `instruction`, as XLA would print it.
bool read_parts(AttributeId id, const Message& instruction, std::string& text);

/// Appends the field of HloInstructionProto for the attribute's text. Text that is not of the
/// attribute's form leaves things as they were; the answer is whether there was no such text.
bool write_parts(AttributeId id, std::string_view text, std::string& instruction);
/// The text that will be read from what write_parts() has written; nothing where it is refused.
std::string parts_text(AttributeId id, std::string instruction);

}  // namespace minihlo::proto

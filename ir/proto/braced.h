// Attributes that the IR keeps as text and messages keep in parts: statistics, accuracies, original
// values and the table to recover them by, what is to be logged, sparsity, scales.
#pragma once

#include <string>
#include <string_view>

#include "ir/attributes.h"
#include "ir/proto/message.h"
#include "ir/proto/writer.h"

namespace minihlo::proto {

/// The text that an attribute of them has for its field of `owner`, which is the message of an
/// instruction or of the module, as XLA would print it.
bool read_parts(AttributeId id, const Message& owner, std::string& text);

/// Writes the field of the owner's message for the attribute's text. False where what is written,
/// if anything, will not be read as the same text.
bool write_parts(AttributeId id, std::string_view text, Writer& owner);

}  // namespace minihlo::proto

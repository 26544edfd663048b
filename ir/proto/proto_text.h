// Protobuf's text format (.pbtxt) of the messages that hold a module, to and from the wire format.
// Both go by the schema alone, so whatever the one form can say the other can.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/diagnostics.h"

namespace minihlo {

/// Whether a text begins as such a message does: with one of its fields.
bool looks_like_proto_text(std::string_view text);

/// The message in the wire format; nothing when `source` is not well-formed, which is reported with
/// lines and columns. Unknown fields are warned of and left out.
std::optional<std::string> proto_text_to_wire(const Source& source, Diagnostics& diagnostics);

/// A HloProto in the text format, a field a line. Requires that `wire` is one that print_proto()
/// made.
std::string wire_to_proto_text(const std::string& wire);

}  // namespace minihlo

// Which values of the original program instructions stand for, and how to recover those that are
// gone: OriginalValueProto, OriginalValueRecoveryTableProto and their text.
#pragma once

#include <string>

#include "ir/proto/message.h"
#include "ir/proto/text_cursor.h"
#include "ir/proto/writer.h"

namespace minihlo::proto {

/// {({"a" {0}}, {}, ({"b"}))}: the leaves of the shape, each with an array that it is.
bool read_origin(const Message& in, std::string& text);
bool write_origin(TextCursor& from, Writer& out);

/// { {"a"} : {"b"}, "HloModule ..." }: what was replaced by what, and the module that computes the
/// one from the other. Such a module's own table is not taken over.
bool read_recovery_table(const Message& in, std::string& text);
bool write_recovery_table(TextCursor& from, Writer& out);

/// {"a" {0}}:({log_mode=default,callback_id=1},{partitioned=true}): what is to be logged of a
/// value. One entry of the table.
bool read_debug_attributes(const Message& in, std::string& text);
bool write_debug_attributes(TextCursor& from, Writer& out);

}  // namespace minihlo::proto

// Tables of shape inference: operands, instruction, and what comes of it.
#pragma once

#include <span>

namespace minihlo {

struct InferenceRow {
  const char* operands;     // shapes of p0, p1, ..., blank-separated
  const char* written;      // the shape of the instruction as written, or empty
  const char* instruction;  // opcode(p0, ...), attributes; computations are those of rows.cc
  const char* expected;     // the shape with its layout, or "error: " and what is wrong
};

/// Checks each row.
void check_rows(std::span<const InferenceRow> rows);

}  // namespace minihlo

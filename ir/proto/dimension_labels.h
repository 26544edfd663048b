// dim_labels=b01f_01io->b01f and ConvolutionDimensionNumbers.
#pragma once

#include <string>
#include <string_view>

#include "ir/proto/message.h"
#include "ir/proto/writer.h"

namespace minihlo::proto {

bool read_dim_labels(const Message& in, std::string& text);
/// False, and nothing is written, where the labels are not well-formed.
bool write_dim_labels(Writer& out, Field field, std::string_view text);

}  // namespace minihlo::proto

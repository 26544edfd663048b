// NumPy's .npy files: one array, with its element type as numpy spells it.
//
// Element types that numpy lacks are read as their ml_dtypes write themselves (bytes without a
// meaning: "V1", "V2"), and written the same way, but for integers narrower than a byte, which are
// written as int8 and uint8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "sim/run/tensor.h"
#include "tools/tensors/stored_tensor.h"

namespace minihlo {

/// Whether `bytes` begin as an .npy file does.
bool is_npy(std::string_view bytes);

/// What stands before the elements takes no more bytes than these; numpy's own limit is lower.
inline constexpr size_t kMaxNpyHeader = size_t{1} << 14;

struct NpyHeader {
  StoredTensor tensor;    // without a name, and nothing to read from
  size_t data_begin = 0;  // where the elements begin
};
/// Reads what stands before the elements; `start` is the file or its first kMaxNpyHeader bytes.
/// Structured types, strings, dates, Python objects and floats without a counterpart are refused.
tl::expected<NpyHeader, std::string> read_npy_header(std::string_view start);

/// What stands before the elements of an array.
std::string npy_header(const HostTensor& tensor);

}  // namespace minihlo

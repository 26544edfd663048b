// Safetensors files: named tensors behind a header in JSON.
//
// Element types without a name in the format are stored as stored_tensor.h allows:
// integers narrower than a byte as I8 or U8, floats as U8 with their bits,
// c128 as pairs of F64. F4 and F6 are packed, as the format demands; where their elements do not
// fill whole bytes they are U8 too.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "ir/diagnostics.h"
#include "sim/run/tensor.h"
#include "tools/tensors/stored_tensor.h"

namespace minihlo {

/// Whether `bytes` begin as a safetensors file does whose header is not cut.
bool is_safetensors(std::string_view bytes);

/// The tensors of a file, which the results keep in memory.
tl::expected<std::vector<StoredTensor>, std::string> read_safetensors(
    const std::shared_ptr<const Source>& source);

/// Writes a file piece by piece; gives up and returns false when `write` does.
bool write_safetensors(std::span<const NamedTensor> tensors,
                       const std::function<bool(std::string_view)>& write);

}  // namespace minihlo

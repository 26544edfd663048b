// NumPy's .npz files: a zip archive with an .npy file for each tensor, whose name goes without the
// ending.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "ir/diagnostics.h"
#include "tools/tensors/stored_tensor.h"

namespace minihlo {

/// Whether `bytes` begin as a zip archive does.
bool is_npz(std::string_view bytes);

/// The tensors of an archive. Only their headers are unpacked; elements are when they are read, as
/// many as the header says and no more.
tl::expected<std::vector<StoredTensor>, std::string> read_npz(
    const std::shared_ptr<const Source>& source);

/// Writes an archive without compression, as numpy.savez does. Says what went wrong, or nothing.
std::string write_npz(std::span<const NamedTensor> tensors, const std::string& path);

}  // namespace minihlo

// Files of tensors: safetensors, .npy and .npz, told apart by their content.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "ir/diagnostics.h"
#include "tools/tensors/stored_tensor.h"

namespace minihlo {

enum class TensorForm : uint8_t { kSafetensors, kNpy, kNpz };

/// The form of a file by its content; nothing where it is none of them.
std::optional<TensorForm> tensor_form(std::string_view bytes);
/// The form that the ending of a file's name stands for: .safetensors, .npy, .npz.
std::optional<TensorForm> tensor_form_of_name(std::string_view path);

/// The tensors of a file, which the results keep in memory. The one of an .npy file is called as
/// the file is, without folder and ending.
tl::expected<std::vector<StoredTensor>, std::string> read_tensors(
    const std::shared_ptr<const Source>& source, TensorForm form);

/// Writes a file; an .npy file takes one tensor. Says what went wrong, or nothing.
std::string write_tensors(std::span<const NamedTensor> tensors, TensorForm form,
                          const std::string& path);

}  // namespace minihlo

#include "tools/tensors/tensor_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "tools/tensors/npy.h"
#include "tools/tensors/npz.h"
#include "tools/tensors/safetensors.h"

namespace minihlo {
namespace {

tl::expected<std::vector<StoredTensor>, std::string> read_npy(
    const std::shared_ptr<const Source>& source) {
  auto header = read_npy_header(source->text().substr(0, kMaxNpyHeader));
  if (!header) return tl::unexpected(std::move(header.error()));
  const std::string_view elements = source->text().substr(header->data_begin);
  const auto needed = static_cast<size_t>(header->tensor.stored_bytes());
  if (elements.size() != needed) {
    return tl::unexpected(
        fmt::format("it has {} bytes of elements, but its shape says {}", elements.size(), needed));
  }
  StoredTensor tensor = std::move(header->tensor);
  tensor.name = std::filesystem::path(source->name()).stem().string();
  tensor.read = [source, elements](std::span<std::byte> to) {
    if (!to.empty()) std::memcpy(to.data(), elements.data(), to.size());
    return std::string();
  };
  return std::vector<StoredTensor>{std::move(tensor)};
}

}  // namespace

std::optional<TensorForm> tensor_form(std::string_view bytes) {
  if (is_npy(bytes)) return TensorForm::kNpy;
  if (is_npz(bytes)) return TensorForm::kNpz;
  if (is_safetensors(bytes)) return TensorForm::kSafetensors;
  return std::nullopt;
}

std::optional<TensorForm> tensor_form_of_name(std::string_view path) {
  if (path.ends_with(".safetensors")) return TensorForm::kSafetensors;
  if (path.ends_with(".npy")) return TensorForm::kNpy;
  if (path.ends_with(".npz")) return TensorForm::kNpz;
  return std::nullopt;
}

tl::expected<std::vector<StoredTensor>, std::string> read_tensors(
    const std::shared_ptr<const Source>& source, TensorForm form) {
  switch (form) {
    case TensorForm::kSafetensors:
      return read_safetensors(source);
    case TensorForm::kNpy:
      return read_npy(source);
    case TensorForm::kNpz:
      return read_npz(source);
  }
  return {};
}

std::string write_tensors(std::span<const NamedTensor> tensors, TensorForm form,
                          const std::string& path) {
  if (form == TensorForm::kNpz) return write_npz(tensors, path);
  errno = 0;
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return std::strerror(errno);
  auto write = [file](std::string_view bytes) {
    return std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  };
  bool written;
  if (form == TensorForm::kSafetensors) {
    written = write_safetensors(tensors, write);
  } else {
    const HostTensor& tensor = tensors.front().tensor;
    written = write(npy_header(tensor)) && write({reinterpret_cast<const char*>(tensor.data.get()),
                                                  static_cast<size_t>(tensor.bytes)});
  }
  const int error = errno;
  if (std::fclose(file) == 0 && written) return "";
  return std::strerror(written ? errno : error);
}

}  // namespace minihlo

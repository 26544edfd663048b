#include <fmt/format.h>

#include "tests/fuzz/targets.h"
#include "tools/tensors/npy.h"
#include "tools/tensors/safetensors.h"
#include "tools/tensors/tensor_file.h"

namespace minihlo::fuzz {
namespace {

// Of larger tensors no elements are read: a few bytes of a packed file may stand for any number.
constexpr int64_t kMaxBytes = int64_t{1} << 20;

// The tensors of a file that are small enough, each as an array of the type that it is stored as.
tl::expected<std::vector<NamedTensor>, std::string> read_small(const std::string& bytes,
                                                               TensorForm form) {
  const auto stored = read_tensors(Source::from_string("input", bytes), form);
  if (!stored) return tl::unexpected(stored.error());
  std::vector<NamedTensor> result;
  for (const StoredTensor& tensor : *stored) {
    if (tensor.stored_bytes() > kMaxBytes) continue;
    auto array = to_host(tensor, tensor.type, tensor.dims);
    if (!array && array.error().empty()) return tl::make_unexpected(std::string());
    if (array) result.push_back({tensor.name, *std::move(array)});
  }
  return result;
}

std::string compared(const std::vector<NamedTensor>& tensors, std::string_view bytes,
                     TensorForm form) {
  const auto again = read_small(std::string(bytes), form);
  if (!again) return "what was written is not read: " + again.error();
  if (again->size() != tensors.size()) return "tensors were lost";
  for (size_t i = 0; i < tensors.size(); ++i) {
    const HostTensor &first = tensors[i].tensor, &second = (*again)[i].tensor;
    const Difference difference = compare(first, second, {.nan_payload = true});
    // Of types without a name in the form the bytes are kept, which the other tests look at.
    if (first.type != second.type) continue;
    if (!difference.what.empty() || difference.count > 0) return "a tensor was changed";
  }
  return "";
}

}  // namespace

std::string tensors(std::string_view input) {
  const std::optional<TensorForm> form = tensor_form(input);
  if (!form) return "";
  const auto read = read_small(std::string(input), *form);
  if (!read) return read.error().empty() ? "refused without a message" : "";
  std::string written;
  write_safetensors(*read, [&](std::string_view bytes) {
    written += bytes;
    return true;
  });
  if (std::string wrong = compared(*read, written, TensorForm::kSafetensors); !wrong.empty()) {
    return wrong;
  }
  for (const NamedTensor& one : *read) {
    const HostTensor& tensor = one.tensor;
    written = npy_header(tensor);
    written.append(reinterpret_cast<const char*>(tensor.data.get()),
                   static_cast<size_t>(tensor.bytes));
    if (std::string wrong = compared({one}, written, TensorForm::kNpy); !wrong.empty()) {
      return wrong;
    }
  }
  return "";
}

}  // namespace minihlo::fuzz

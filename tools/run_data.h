// What a run is given in files: inputs, or the outputs that are expected.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "ir/semantics/mesh.h"
#include "tools/case_file.h"
#include "tools/tensors/tensor_set.h"

namespace minihlo {

/// `{device}`, `{replica}` and `{partition}` in a path, replaced for a device.
std::string path_of_device(const std::string& path, const Mesh& mesh, int64_t device);
/// Whether there is one of them in a path.
bool is_path_of_devices(std::string_view path);

/// A case, or tensors from any number of files. A path with `{device}` or the like stands for a
/// file a device.
class RunData {
 public:
  /// Data for these leaves. Of one leaf an .npy file is the tensor, whatever the file is called.
  explicit RunData(std::vector<LeafName> leaves) : leaves_(std::move(leaves)) {}

  /// Reads all files that are for all devices. Says what is wrong, or nothing.
  std::string open(const std::vector<std::string>& paths);
  /// The case, where it is one.
  const Case* of_case() const { return case_ ? &*case_ : nullptr; }

  /// Opens the files a device of these devices. Says what is wrong, or nothing.
  std::string open_devices(const Mesh& mesh, std::span<const int> devices);
  /// Bytes that take() will take.
  int64_t needed_bytes(std::span<const int> devices) {
    return tensors_.needed_bytes(leaves_, devices);
  }
  /// Of tensors: those of the leaves, as TensorSet::take gives them.
  tl::expected<std::vector<std::vector<HostTensor>>, std::vector<std::string>> take(
      std::span<const int> devices) {
    return tensors_.take(leaves_, devices);
  }
  /// A sentence a file whose tensors nobody took; see TensorSet::unused.
  std::vector<std::string> unused(char but, const Mesh& mesh, std::span<const int> devices) const;

 private:
  std::string open_file(const std::string& path, int64_t device);

  std::vector<LeafName> leaves_;
  std::vector<std::string> paths_;
  std::optional<Case> case_;
  TensorSet tensors_;
};

}  // namespace minihlo

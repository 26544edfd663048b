// Tensors of several files by their names (see tensor_names.h), handed out to the devices of a
// mesh.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "ir/semantics/mesh.h"
#include "tools/tensors/stored_tensor.h"
#include "tools/tensors/tensor_names.h"

namespace minihlo {

class TensorSet {
 public:
  /// Takes over the tensors of a file. Where `device` is not negative they are those of that
  /// device: names without a device are its own, those of other devices are left out. Says what is
  /// wrong, or nothing.
  std::string add(const std::string& file, std::vector<StoredTensor> tensors, int64_t device);

  /// Bytes of the arrays that take() will give, those that devices share once; the most that 64
  /// bits hold where there are more.
  int64_t needed_bytes(std::span<const LeafName> leaves, std::span<const int> devices);

  /// For each device the arrays of all leaves; one entry for all devices, where none has tensors of
  /// its own. What is missing or wrong: one message a leaf.
  tl::expected<std::vector<std::vector<HostTensor>>, std::vector<std::string>> take(
      std::span<const LeafName> leaves, std::span<const int> devices);

  /// Names that nothing has taken so far, by file in order. Left out are those that begin with
  /// `but` behind the device, and those of devices of the mesh that are not among `devices`.
  std::vector<std::pair<std::string, std::vector<std::string>>> unused(
      char but, const Mesh& mesh, std::span<const int> devices) const;

 private:
  struct Entry {
    StoredTensor tensor;
    std::string file;
    bool is_used = false;
  };
  Entry* find(int64_t device, const LeafName& leaf);

  std::map<std::pair<int64_t, std::string>, Entry> entries_;  // by device, -1 for all, and name
};

}  // namespace minihlo

#include "tools/tensors/tensor_set.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/walk.h"

namespace minihlo {
namespace {

constexpr int64_t kAllDevices = -1;

}  // namespace

std::string TensorSet::add(const std::string& file, std::vector<StoredTensor> tensors,
                           int64_t device) {
  for (StoredTensor& tensor : tensors) {
    std::string_view name = tensor.name;
    const int64_t named = take_device(name);
    if (device >= 0 && named >= 0 && named != device) continue;
    const std::pair key(device >= 0 ? device : named, std::string(name));
    const auto [at, is_new] = entries_.try_emplace(key);
    if (!is_new) {
      return fmt::format("'{}' is in '{}' too", tensor.name, at->second.file);
    }
    at->second = {std::move(tensor), file};
  }
  return "";
}

TensorSet::Entry* TensorSet::find(int64_t device, const LeafName& leaf) {
  for (const std::string& name : {leaf.name, leaf.own}) {
    if (name.empty()) continue;
    const auto at = entries_.find({device, name});
    if (at != entries_.end()) return &at->second;
  }
  return nullptr;
}

int64_t TensorSet::needed_bytes(std::span<const LeafName> leaves, std::span<const int> devices) {
  int64_t total = 0;
  for (const LeafName& leaf : leaves) {
    if (!leaf.shape->is_array() || leaf.shape->is_dynamic()) continue;
    int64_t count = 0;
    bool is_shared = false;
    for (const int device : devices) {
      if (find(device, leaf)) {
        ++count;
      } else {
        is_shared = true;
      }
    }
    if (is_shared && find(kAllDevices, leaf)) ++count;
    int64_t bytes;
    if (__builtin_mul_overflow(leaf.shape->byte_count(), count, &bytes) ||
        __builtin_add_overflow(total, bytes, &total)) {
      return std::numeric_limits<int64_t>::max();
    }
  }
  return total;
}

tl::expected<std::vector<std::vector<HostTensor>>, std::vector<std::string>> TensorSet::take(
    std::span<const LeafName> leaves, std::span<const int> devices) {
  std::vector<std::vector<HostTensor>> result(devices.size());
  std::vector<std::string> wrong;
  bool is_uniform = true;
  for (const LeafName& leaf : leaves) {
    const Shape* shape = leaf.shape;
    if (!shape->is_array() || shape->is_dynamic()) {
      wrong.push_back(
          fmt::format("{}: no tensor can stand for {}", leaf.description, to_string(shape)));
      continue;
    }
    auto converted = [&](Entry& entry) -> tl::expected<HostTensor, std::string> {
      entry.is_used = true;
      auto tensor = to_host(entry.tensor, shape->element_type(), shape->dims());
      if (tensor) return tensor;
      return tl::unexpected(fmt::format("{}: '{}' in '{}': {}", leaf.description, entry.tensor.name,
                                        entry.file, tensor.error()));
    };
    Entry* const shared = find(kAllDevices, leaf);
    HostTensor of_all;
    std::vector<int> missing;
    size_t position = 0;
    for (const int device : devices) {
      std::vector<HostTensor>& arrays = result[position++];
      Entry* const own = find(device, leaf);
      is_uniform &= own == nullptr;
      if (!own && !shared) {
        missing.push_back(device);
      } else if (!own && of_all.data) {
        arrays.push_back(of_all);
      } else {
        auto tensor = converted(own ? *own : *shared);
        if (!tensor) {
          wrong.push_back(std::move(tensor.error()));
          break;
        }
        if (!own) of_all = *tensor;
        arrays.push_back(*std::move(tensor));
      }
    }
    if (missing.empty()) continue;
    wrong.push_back(fmt::format("{}: no tensor for {}: '{}' or '{}' is needed, {}",
                                leaf.description, device_list(missing), leaf.name,
                                with_device(missing.front(), leaf.name), to_string(shape, false)));
  }
  if (!wrong.empty()) return tl::unexpected(std::move(wrong));
  if (is_uniform) result.resize(1);
  return result;
}

std::vector<std::pair<std::string, std::vector<std::string>>> TensorSet::unused(
    char but, const Mesh& mesh, std::span<const int> devices) const {
  std::vector<std::pair<std::string, std::vector<std::string>>> result;
  std::map<std::string, size_t> of_file;
  for (const auto& [key, entry] : entries_) {
    const auto& [device, name] = key;
    if (entry.is_used || name.starts_with(but)) continue;
    const bool is_in_mesh = device >= 0 && device < mesh.device_count();
    if (is_in_mesh && !std::ranges::binary_search(devices, static_cast<int>(device))) continue;
    const auto [at, is_new] = of_file.try_emplace(entry.file, result.size());
    if (is_new) result.emplace_back(entry.file, std::vector<std::string>());
    result[at->second].second.push_back(entry.tensor.name);
  }
  return result;
}

}  // namespace minihlo

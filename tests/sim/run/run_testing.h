// Short modules on short meshes, for tests of the walker and the simulator.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "sim/run/simulator.h"

namespace minihlo::testing {

/// Parses and verifies; a test fails where that does.
std::unique_ptr<Module> parsed(std::string_view text);

/// Runs a module; its inputs are made from seed 1 where none are given.
tl::expected<RunResult, Stop> run_text(std::string_view text, int64_t replicas, int64_t partitions,
                                       const RunOptions& options = {});

/// Output `leaf` of a device.
template <class T>
std::vector<T> values(const RunResult& result, size_t device, size_t leaf = 0) {
  const HostTensor& tensor = result.outputs.at(device).at(leaf);
  std::vector<T> out(static_cast<size_t>(tensor.bytes) / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), tensor.data.get(), out.size() * sizeof(T));
  return out;
}

/// The first element of output 0 of each device.
template <class T>
std::vector<T> per_device(const RunResult& result) {
  std::vector<T> out;
  for (size_t i = 0; i < result.outputs.size(); ++i) out.push_back(values<T>(result, i).at(0));
  return out;
}

/// A tensor of these values.
template <class T>
HostTensor tensor(ElementType type, std::vector<int64_t> dims, const std::vector<T>& elements) {
  auto bytes = static_cast<int64_t>(elements.size() * sizeof(T));
  std::shared_ptr<std::byte> data = allocate_host(bytes);
  if (bytes > 0) std::memcpy(data.get(), elements.data(), static_cast<size_t>(bytes));
  return {type, std::move(dims), std::move(data), bytes};
}

}  // namespace minihlo::testing

// The mesh: R replicas by P partitions, each cell of which is one device.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <tl/expected.hpp>

namespace minihlo {

/// More devices than this are refused: what is kept a device must fit in memory.
inline constexpr int64_t kMaxMeshDevices = int64_t{1} << 20;

/// Made by make_mesh. A device is known by its flattened id, replica * partitions + partition
/// (xla/service/computation_placer.cc, with the default assignment).
struct Mesh {
  int64_t replicas = 1;
  int64_t partitions = 1;

  int64_t device_count() const { return replicas * partitions; }
  int64_t replica(int64_t device) const { return device / partitions; }
  int64_t partition(int64_t device) const { return device % partitions; }
  int64_t flattened(int64_t replica, int64_t partition) const {
    return replica * partitions + partition;
  }
  bool operator==(const Mesh&) const = default;
};

/// A mesh whose counts are positive and multiply to at most kMaxMeshDevices.
inline tl::expected<Mesh, std::string> make_mesh(int64_t replicas, int64_t partitions) {
  if (replicas < 1 || partitions < 1) {
    return tl::make_unexpected(fmt::format("a mesh of {} replicas and {} partitions has no devices",
                                           replicas, partitions));
  }
  if (replicas > kMaxMeshDevices || partitions > kMaxMeshDevices ||
      replicas * partitions > kMaxMeshDevices) {
    return tl::make_unexpected(
        fmt::format("a mesh of {} replicas and {} partitions has more than {} devices", replicas,
                    partitions, kMaxMeshDevices));
  }
  return Mesh{replicas, partitions};
}

}  // namespace minihlo

// replica_groups in its three written forms, and the one list of groups that they all mean.
//
//   {{0,1},{2,3}}                            lists
//   [2,4]<=[4,2]T(1,0)                       iota: rows of a reshaped, transposed 0,1,2,...
//   mesh['a'=2,'b'=4] {'b'}                  mesh: devices that differ only along the named axes
//
// What the numbers stand for (replicas, partitions, flattened ids) is not said here: see
// ir/semantics/groups.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minihlo {

/// 0, 1, 2, ... reshaped to `reshape_dims`, transposed by `transpose_perm` (empty: identity), read
/// in row-major order. `dims` is the shape it is given in the end (xla/hlo/ir/tile_assignment.cc).
struct IotaOrder {
  std::span<const int64_t> dims;
  std::span<const int64_t> reshape_dims;
  std::span<const int64_t> transpose_perm;

  int64_t size() const;
  std::vector<int64_t> materialize() const;
};

/// A named axis of a device mesh.
struct MeshAxis {
  std::string_view name;
  int64_t size;
};

/// An axis, or the part `(pre)size` of one.
struct AxisRef {
  std::string_view name;
  int64_t pre = 0;  // 0: the whole axis
  int64_t size = 0;
};

/// mesh['a'=2,'b'=4] with the order of its devices: iota where nothing is said.
struct DeviceMesh {
  std::span<const MeshAxis> axes;
  std::span<const int64_t> device_ids;  // explicit order; empty: iota
  const IotaOrder* order = nullptr;     // device_ids=([2,4]T(1,0)): reshape and transpose
  bool maximal = false;                 // maximal_mesh[device_id=N]: N is device_ids[0]

  int64_t size() const;
  std::vector<int64_t> materialize() const;
};

struct DeviceGroups {
  enum class Form : uint8_t { kLists, kIota, kMesh };

  Form form = Form::kLists;
  std::span<const std::span<const int64_t>> lists;
  const IotaOrder* iota = nullptr;  // dims: number of groups, size of each
  const DeviceMesh* mesh = nullptr;
  std::span<const AxisRef> axes;

  /// The groups, in rank order. Requires what check() finds well-formed.
  std::vector<std::vector<int64_t>> materialize() const;
  /// What is wrong with the iota or mesh form (sizes that do not multiply out, unknown axes, a
  /// permutation that is none, more than 2^24 devices); empty when nothing is.
  std::string check() const;
  bool empty() const { return form == Form::kLists && lists.empty(); }
};

}  // namespace minihlo

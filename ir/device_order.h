// The one way in which XLA says an order of devices (xla/hlo/ir/tile_assignment.cc).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/arena.h"
#include "ir/device_groups.h"
#include "ir/text_map.h"

namespace minihlo {

/// The shortest order that means the same: no extents of 1, axes that stay side by side as one, no
/// permutation of a single axis. An order that is none is left as it is.
IotaOrder canonical(const IotaOrder& order, Arena& arena);

/// Why it is no order: extents that are not positive or multiply to more than 63 bits, a
/// permutation that is none. Empty where it is one.
std::string problem_of(const IotaOrder& order);
/// Why it is no mesh (Mesh::Validate() of xla/hlo/ir/mesh_and_axis.cc): two axes of one name, other
/// devices in number than the axes span, devices that are none in some order, or in the order that
/// goes without saying. Empty where it is one.
std::string problem_of(const DeviceMesh& mesh);

/// The axes of a mesh, by name.
class MeshAxes {
 public:
  explicit MeshAxes(const DeviceMesh& mesh);

  /// The axis' place in the mesh; nothing where there is none of that name.
  std::optional<size_t> find(std::string_view name) const;
  /// Why a list of axes can't stand in a sharding or in groups of devices: parts that are no parts
  /// of an axis of the mesh, or follow each other where one would do. Whether they overlap is not
  /// looked at. Empty where nothing is wrong.
  std::string problem_of(std::span<const AxisRef> axes) const;

 private:
  const DeviceMesh& mesh_;
  TextMap<size_t> places_;
};

/// Gives a mesh an order in its canonical form; iota goes without saying. Requires the axes.
void set_order(DeviceMesh& mesh, const IotaOrder& order, Arena& arena);

}  // namespace minihlo

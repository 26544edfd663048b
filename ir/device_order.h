// The one way in which XLA says an order of devices (xla/hlo/ir/tile_assignment.cc).
#pragma once

#include <string>

#include "ir/arena.h"
#include "ir/device_groups.h"

namespace minihlo {

/// The shortest order that means the same: no extents of 1, axes that stay side by side as one, no
/// permutation of a single axis. An order that is none is left as it is.
IotaOrder canonical(const IotaOrder& order, Arena& arena);

/// Why it is no order: extents that are not positive or multiply to more than 63 bits, a
/// permutation that is none. Empty where it is one.
std::string problem_of(const IotaOrder& order);
/// Why it is no mesh: two axes of one name, or other devices in number than the axes span. Empty
/// where it is one.
std::string problem_of(const DeviceMesh& mesh);

/// Gives a mesh an order in its canonical form; iota goes without saying. Requires the axes.
void set_order(DeviceMesh& mesh, const IotaOrder& order, Arena& arena);

}  // namespace minihlo

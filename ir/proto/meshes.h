// Device meshes and orders of devices, of which shardings and groups are made.
#pragma once

#include "ir/proto/reading.h"
#include "ir/proto/writer.h"

namespace minihlo::proto {

bool read_ints(Reading& reading, const Message& in, Field field, std::span<const int64_t>& list);

/// An order of devices whose extents and permutation are in these fields of `in`. Text leaves the
/// permutation out where there is but one axis.
bool read_iota(Reading& reading, const Message& in, Field reshape, Field perm,
               std::span<const int64_t> dims, const IotaOrder*& order);
void write_iota(Writer& out, Field reshape, Field perm, const IotaOrder& order);

bool read_mesh(Reading& reading, const Message& in, const DeviceMesh*& mesh);
void write_mesh(Writer& out, const DeviceMesh& mesh);

/// The axes of `mesh` that a repeated field refers to.
bool read_axes(const Message& in, Field field, const DeviceMesh& mesh, std::vector<AxisRef>& axes);
void write_axis(Writer& out, Field field, const DeviceMesh& mesh, const AxisRef& axis);

}  // namespace minihlo::proto

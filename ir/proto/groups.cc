// replica_groups, in the fields of all versions.
#include <algorithm>

#include <fmt/format.h>

#include "ir/proto/meshes.h"
#include "ir/proto/writing.h"

namespace minihlo::proto {
namespace {

bool read_lists(Reading& reading, const Message& in, Field field, DeviceGroups& groups) {
  std::vector<std::span<const int64_t>> lists;
  if (!in.each(field, [&](const Message& group) {
        return read_ints(reading, group, ReplicaGroup::replica_ids, lists.emplace_back());
      })) {
    return false;
  }
  groups.form = DeviceGroups::Form::kLists;
  groups.lists = reading.arena.copy(lists);
  return true;
}

bool read_iota_groups(Reading& reading, const Message& in, DeviceGroups& groups) {
  groups.form = DeviceGroups::Form::kIota;
  const int64_t dims[] = {in.integer(IotaReplicaGroupListProto::num_replica_groups),
                          in.integer(IotaReplicaGroupListProto::num_devices_per_group)};
  return read_iota(reading, in, IotaReplicaGroupListProto::iota_reshape_dims,
                   IotaReplicaGroupListProto::iota_transpose_perm,
                   reading.arena.copy(std::vector<int64_t>(dims, dims + 2)), groups.iota);
}

bool read_mesh_groups(Reading& reading, const Message& in, DeviceGroups& groups) {
  groups.form = DeviceGroups::Form::kMesh;
  if (!in.has(MeshAxesReplicaGroupListProto::mesh)) {
    return in.fail("missing-field", MeshAxesReplicaGroupListProto::mesh, "the mesh is missing");
  }
  std::vector<AxisRef> axes;
  if (!in.each(MeshAxesReplicaGroupListProto::mesh,
               [&](const Message& mesh) { return read_mesh(reading, mesh, groups.mesh); }) ||
      !read_axes(in, MeshAxesReplicaGroupListProto::axes, *groups.mesh, axes)) {
    return false;
  }
  groups.axes = reading.arena.copy(axes);
  return true;
}

void write_iota_groups(Writer& out, const IotaOrder& iota) {
  out.integer(IotaReplicaGroupListProto::num_replica_groups, iota.dims[0]);
  out.integer(IotaReplicaGroupListProto::num_devices_per_group, iota.dims[1]);
  write_iota(out, IotaReplicaGroupListProto::iota_reshape_dims,
             IotaReplicaGroupListProto::iota_transpose_perm, iota);
}

}  // namespace

bool read_groups(Reading& reading, const Message& instruction, const DeviceGroups*& groups) {
  const Message& in = instruction;
  DeviceGroups made;
  const Field all[] = {HloInstructionProto::iota_collective_device_list,
                       HloInstructionProto::mesh_axes_replica_group_list,
                       HloInstructionProto::collective_device_list,
                       HloInstructionProto::replica_groups};
  auto* used = std::find_if(std::begin(all), std::end(all), [&](Field f) { return in.has(f); });
  if (used == std::end(all)) return true;
  // The others say the same for readers of other versions.
  for (Field field : all) in.use(field);
  bool read = false;
  if (*used == HloInstructionProto::replica_groups) {
    read = read_lists(reading, in, *used, made);
  } else {
    read = in.each(*used, [&](const Message& inner) {
      if (*used == HloInstructionProto::iota_collective_device_list) {
        return read_iota_groups(reading, inner, made);
      }
      if (*used == HloInstructionProto::mesh_axes_replica_group_list) {
        return read_mesh_groups(reading, inner, made);
      }
      if (!inner.has(CollectiveDeviceListProto::iota_replica_group_list)) {
        return read_lists(reading, inner, CollectiveDeviceListProto::replica_groups, made);
      }
      inner.use(CollectiveDeviceListProto::replica_groups);
      return inner.each(CollectiveDeviceListProto::iota_replica_group_list,
                        [&](const Message& iota) { return read_iota_groups(reading, iota, made); });
    });
  }
  if (!read) return false;
  if (std::string wrong = made.check(); !wrong.empty()) {
    return in.fail("invalid-groups", *used, wrong);
  }
  groups = reading.arena.make<DeviceGroups>(made);
  return true;
}

// XLA before 2025 knows lists alone, until the end of 2025 iota in a field that later versions
// don't look at. So what is no list is written in all ways that say the same; every version takes
// the first that it knows.
void write_groups(Writing& writing, Writer& instruction, const DeviceGroups& groups,
                  Location location) {
  if (groups.form != DeviceGroups::Form::kLists) {
    constexpr int64_t kMostListed = int64_t{1} << 16;
    const int64_t devices =
        groups.form == DeviceGroups::Form::kIota ? groups.iota->size() : groups.mesh->size();
    if (devices > kMostListed) {
      writing.diagnostics.warning(
          "not-for-xla", location,
          fmt::format("groups of {} devices are not listed for XLA before 2025", devices));
    } else {
      for (const std::vector<int64_t>& group : groups.materialize()) {
        instruction.message(HloInstructionProto::replica_groups, [&](Writer& inner) {
          inner.integers<int64_t>(ReplicaGroup::replica_ids, group);
        });
      }
    }
  }
  switch (groups.form) {
    case DeviceGroups::Form::kLists:
      for (std::span<const int64_t> group : groups.lists) {
        instruction.message(HloInstructionProto::replica_groups, [&](Writer& inner) {
          inner.integers<int64_t>(ReplicaGroup::replica_ids, group);
        });
      }
      return;
    case DeviceGroups::Form::kIota:
      instruction.message(HloInstructionProto::collective_device_list, [&](Writer& list) {
        list.message(CollectiveDeviceListProto::iota_replica_group_list,
                     [&](Writer& inner) { write_iota_groups(inner, *groups.iota); });
      });
      instruction.message(HloInstructionProto::iota_collective_device_list,
                          [&](Writer& inner) { write_iota_groups(inner, *groups.iota); });
      return;
    case DeviceGroups::Form::kMesh:
      instruction.message(HloInstructionProto::mesh_axes_replica_group_list, [&](Writer& inner) {
        inner.message(MeshAxesReplicaGroupListProto::mesh,
                      [&](Writer& mesh) { write_mesh(mesh, *groups.mesh); });
        for (const AxisRef& axis : groups.axes) {
          write_axis(inner, MeshAxesReplicaGroupListProto::axes, *groups.mesh, axis);
        }
      });
      return;
  }
}

}  // namespace minihlo::proto

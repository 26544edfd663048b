#include "tests/generator/groups.h"

#include <algorithm>

#include <fmt/format.h>
#include "ir/device_order.h"

namespace minihlo::generator {
namespace {

const DeviceGroups* lists(Builder& b, int64_t ids, int64_t size, bool uniform) {
  std::vector<int64_t> order = b.choices.permutation(ids);
  if (b.choices.chance(40)) std::sort(order.begin(), order.end());
  std::vector<std::span<const int64_t>> made;
  for (int64_t at = 0; at < ids;) {
    const int64_t count = uniform ? size : b.choices.between(1, ids - at);
    const auto from = order.begin() + at;
    made.push_back(b.ints({from, from + count}));
    at += count;
  }
  DeviceGroups groups;
  groups.lists = b.arena().copy(made);
  return b.arena().make<DeviceGroups>(groups);
}

IotaOrder iota_order(Builder& b, int64_t ids, std::vector<int64_t> dims) {
  IotaOrder order;
  order.dims = b.ints(dims);
  const std::vector<int64_t> reshape = factors(b.choices, ids);
  order.reshape_dims = b.ints(reshape);
  if (reshape.size() > 1) {
    order.transpose_perm = b.ints(b.choices.permutation(static_cast<int64_t>(reshape.size())));
  }
  return canonical(order, b.arena());
}

const DeviceGroups* iota(Builder& b, int64_t ids, int64_t size) {
  DeviceGroups groups;
  groups.form = DeviceGroups::Form::kIota;
  groups.iota = b.arena().make<IotaOrder>(iota_order(b, ids, {ids / size, size}));
  return b.arena().make<DeviceGroups>(groups);
}

// The axes choose the size of the groups, which is more than one.
const DeviceGroups* mesh(Builder& b, int64_t ids, int64_t& size) {
  const std::vector<int64_t> sizes = factors(b.choices, ids);
  DeviceMesh mesh;
  std::vector<MeshAxis> axes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    axes.push_back({b.module.keep_name(fmt::format("axis_{}", i)), sizes[i]});
  }
  mesh.axes = b.arena().copy(axes);
  std::vector<int64_t> order = b.choices.permutation(ids);
  // On its way to XLA's CPU backend, through StableHLO, a mesh loses its order.
  if (!b.oracle() && b.choices.chance(30) && !std::is_sorted(order.begin(), order.end())) {
    mesh.device_ids = b.ints(order);
  } else if (!b.oracle() && b.choices.chance(30)) {
    set_order(mesh, iota_order(b, ids, sizes), b.arena());
  }
  std::vector<int64_t> chosen = b.choices.permutation(static_cast<int64_t>(axes.size()));
  std::erase_if(chosen, [&](int64_t i) { return sizes[static_cast<size_t>(i)] == 1; });
  chosen.resize(static_cast<size_t>(b.choices.between(1, static_cast<int64_t>(chosen.size()))));
  std::vector<AxisRef> refs;
  size = 1;
  for (int64_t i : chosen) {
    const MeshAxis& axis = axes[static_cast<size_t>(i)];
    AxisRef ref = {axis.name};
    int64_t count = axis.size;
    if (axis.size == 4 && b.choices.chance(50)) {
      ref.pre = b.choices.pick({1, 2});
      ref.size = count = 2;
    }
    refs.push_back(ref);
    size *= count;
  }
  DeviceGroups groups;
  groups.form = DeviceGroups::Form::kMesh;
  groups.mesh = b.arena().make<DeviceMesh>(mesh);
  groups.axes = b.arena().copy(refs);
  return b.arena().make<DeviceGroups>(groups);
}

}  // namespace

std::vector<int64_t> factors(Choices& choices, int64_t product) {
  std::vector<int64_t> found;
  while (product > 1) {
    std::vector<int64_t> divisors;
    for (int64_t d = 2; d <= product; ++d) {
      if (product % d == 0) divisors.push_back(d);
    }
    found.push_back(choices.pick(divisors));
    product /= found.back();
  }
  if (found.empty() || choices.chance(5)) found.push_back(1);
  choices.shuffle(found);
  return found;
}

Groups random_groups(Builder& b, Opcode opcode, bool uniform) {
  const bool has_global = std::ranges::any_of(info(opcode).attributes, [](const AttributeUse& use) {
    return use.id == AttributeId::use_global_device_ids;
  });
  Groups groups;
  groups.mode = has_global ? b.choices.pick({GroupMode::kCrossReplica, GroupMode::kFlattenedId,
                                             GroupMode::kCrossReplicaAndPartition})
                           : b.choices.pick({GroupMode::kCrossReplica, GroupMode::kCrossPartition});
  if (groups.mode != GroupMode::kCrossReplica) {
    groups.attributes.push_back(make_attribute(attr::channel_id, b.next_channel));
    if (!b.choices.chance(20)) ++b.next_channel;
  }
  if (groups.mode == GroupMode::kFlattenedId) {
    groups.attributes.push_back(make_attribute(attr::use_global_device_ids, true));
  }
  const int64_t ids = id_count(groups.mode, b.mesh);
  std::vector<int64_t> sizes;
  for (int64_t size = ids; size >= 1; --size) {
    if (ids % size == 0) sizes.push_back(size);
  }
  int64_t size = b.choices.pick(sizes);
  const DeviceGroups* made = nullptr;
  switch (b.choices.below(ids > 1 ? 4 : 3)) {
    case 0:
      if (groups.mode == GroupMode::kFlattenedId) {
        made = lists(b, ids, size, true);
      } else {
        size = ids;
        made = b.arena().make<DeviceGroups>();
      }
      break;
    case 1: {
      const bool same = uniform || b.choices.chance(60);
      made = lists(b, ids, size, same);
      if (!same) size = static_cast<int64_t>(made->lists[0].size());
      break;
    }
    case 2:
      made = iota(b, ids, size);
      break;
    default:
      made = mesh(b, ids, size);
      break;
  }
  groups.attributes.push_back(make_attribute(attr::replica_groups, made));
  groups.members =
      groups.mode == GroupMode::kCrossReplicaAndPartition ? size * b.mesh.partitions : size;
  return groups;
}

std::vector<Attribute> random_pairs(Builder& b) {
  std::vector<Attribute> attributes;
  const bool partitions = b.choices.chance(50);
  if (partitions) attributes.push_back(make_attribute(attr::channel_id, b.next_channel++));
  const int64_t ids = partitions ? b.mesh.partitions : b.mesh.replicas;
  const std::vector<int64_t> targets = b.choices.permutation(ids);
  std::vector<SourceTarget> pairs;
  for (int64_t source : b.choices.permutation(ids)) {
    if (!b.choices.chance(20)) pairs.push_back({source, targets[static_cast<size_t>(source)]});
  }
  attributes.push_back(make_attribute(attr::source_target_pairs, b.arena().copy(pairs)));
  return attributes;
}

}  // namespace minihlo::generator

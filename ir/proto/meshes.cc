#include "ir/proto/meshes.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/device_order.h"

namespace minihlo::proto {

bool read_ints(Reading& reading, const Message& in, Field field, std::span<const int64_t>& list) {
  std::vector<int64_t> values;
  if (!in.integers(field, values)) return false;
  list = reading.arena.copy(values);
  return true;
}

bool read_iota(Reading& reading, const Message& in, Field reshape, Field perm,
               std::span<const int64_t> dims, const IotaOrder*& order) {
  IotaOrder made;
  made.dims = dims;
  if (!read_ints(reading, in, reshape, made.reshape_dims) ||
      !read_ints(reading, in, perm, made.transpose_perm)) {
    return false;
  }
  if (std::string wrong = problem_of(made); !wrong.empty()) {
    return in.fail("invalid-sharding", reshape, std::move(wrong));
  }
  order = reading.arena.make<IotaOrder>(canonical(made, reading.arena));
  return true;
}

void write_iota(Writer& out, Field reshape, Field perm, const IotaOrder& order) {
  out.integers<int64_t>(reshape, order.reshape_dims);
  if (!order.transpose_perm.empty()) {
    out.integers<int64_t>(perm, order.transpose_perm);
    return;
  }
  std::vector<int64_t> identity(order.reshape_dims.size());
  for (size_t i = 0; i < identity.size(); ++i) identity[i] = static_cast<int64_t>(i);
  out.integers<int64_t>(perm, identity);
}

bool read_mesh(Reading& reading, const Message& in, const DeviceMesh*& mesh) {
  DeviceMesh made;
  const IotaOrder* order = nullptr;
  std::vector<minihlo::MeshAxis> axes;
  if (!in.each(MeshProto::axes,
               [&](const Message& axis) {
                 axes.push_back({axis.text(MeshAxis::name), axis.integer(MeshAxis::size)});
                 if (axes.back().size > 0) return true;
                 return axis.fail("invalid-mesh", MeshAxis::size, "an axis must be positive");
               }) ||
      !read_ints(reading, in, MeshProto::device_ids, made.device_ids) ||
      !in.each(MeshProto::iota_transform, [&](const Message& inner) {
        return read_iota(reading, inner, IotaTransform::reshape_dims, IotaTransform::transpose_perm,
                         {}, order);
      })) {
    return false;
  }
  made.axes = reading.arena.copy(axes);
  if (order) set_order(made, *order, reading.arena);
  made.maximal = axes.empty() && made.device_ids.size() == 1;
  if (std::string wrong = problem_of(made); !wrong.empty()) {
    return in.fail("invalid-mesh", std::move(wrong));
  }
  mesh = reading.arena.make<DeviceMesh>(made);
  return true;
}

void write_mesh(Writer& out, const DeviceMesh& mesh) {
  for (const minihlo::MeshAxis& axis : mesh.axes) {
    out.message(MeshProto::axes, [&](Writer& inner) {
      inner.text(MeshAxis::name, axis.name);
      inner.integer(MeshAxis::size, axis.size);
    });
  }
  out.integers<int64_t>(MeshProto::device_ids, mesh.device_ids);
  if (mesh.order) {
    out.message(MeshProto::iota_transform, [&](Writer& inner) {
      write_iota(inner, IotaTransform::reshape_dims, IotaTransform::transpose_perm, *mesh.order);
    });
  }
}

bool read_axes(const Message& in, Field field, const DeviceMesh& mesh, std::vector<AxisRef>& axes) {
  return in.each(field, [&](const Message& axis) {
    const int64_t index = axis.integer(AxisRefProto::mesh_axis_index);
    if (index < 0 || static_cast<size_t>(index) >= mesh.axes.size()) {
      return axis.fail("invalid-mesh", AxisRefProto::mesh_axis_index,
                       fmt::format("the mesh has no axis {}", index));
    }
    AxisRef ref{mesh.axes[static_cast<size_t>(index)].name};
    axes.push_back(ref);
    return axis.each(AxisRefProto::sub_axis_info, [&](const Message& part) {
      axes.back().pre = part.integer(SubAxis::pre_size);
      axes.back().size = part.integer(SubAxis::size);
      return (axes.back().pre > 0 && axes.back().size > 0) ||
             part.fail("invalid-mesh", "the part of an axis must be positive");
    });
  });
}

void write_axis(Writer& out, Field field, const DeviceMesh& mesh, const AxisRef& axis) {
  out.message(field, [&](Writer& inner) {
    auto found = std::find_if(mesh.axes.begin(), mesh.axes.end(),
                              [&](const minihlo::MeshAxis& one) { return one.name == axis.name; });
    // An axis that is not of the mesh gets a number that is none either.
    inner.integer(AxisRefProto::mesh_axis_index, found - mesh.axes.begin());
    if (axis.pre == 0) return;
    inner.message(AxisRefProto::sub_axis_info, [&](Writer& part) {
      part.integer(SubAxis::pre_size, axis.pre);
      part.integer(SubAxis::size, axis.size);
    });
  });
}

}  // namespace minihlo::proto

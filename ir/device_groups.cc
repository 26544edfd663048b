#include "ir/device_groups.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ir/device_order.h"
#include "ir/row_major.h"
#include "ir/text_map.h"

namespace minihlo {
namespace {

constexpr int64_t kMaxDevices = int64_t{1} << 24;

// The product of positive numbers, or -1 where one is not positive or the product exceeds
// kMaxDevices.
int64_t product(std::span<const int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes) {
    if (size <= 0 || size > kMaxDevices) return -1;
    result *= size;
    if (result > kMaxDevices) return -1;
  }
  return result;
}

// The elements of `values`, an array of `dims`, with its axes in the order `perm`.
std::vector<int64_t> transpose(const std::vector<int64_t>& values, std::span<const int64_t> dims,
                               std::span<const int64_t> perm) {
  std::vector<int64_t> strides = row_major_strides(dims);
  std::vector<int64_t> result(values.size());
  std::vector<int64_t> index(dims.size(), 0);
  int64_t from = 0;
  for (int64_t& element : result) {
    element = values[static_cast<size_t>(from)];
    for (size_t axis = perm.size(); axis-- > 0;) {
      int64_t dim = perm[axis];
      from += strides[dim];
      if (++index[axis] < dims[dim]) break;
      from -= strides[dim] * dims[dim];
      index[axis] = 0;
    }
  }
  return result;
}

std::string check_iota(const IotaOrder& iota) {
  int64_t size = product(iota.reshape_dims);
  if (size < 0) return "its sizes must be positive and multiply to at most 2^24";
  if (product(iota.dims) != size) return "its sizes do not multiply to those behind <=";
  if (!iota.transpose_perm.empty() &&
      !is_permutation(iota.transpose_perm, iota.reshape_dims.size())) {
    return "T(...) is no permutation of the axes";
  }
  return "";
}

std::string check_mesh(const DeviceMesh& mesh) {
  if (mesh.maximal) return "a mesh of one device has no groups";
  std::vector<int64_t> sizes;
  for (const MeshAxis& axis : mesh.axes) sizes.push_back(axis.size);
  int64_t size = product(sizes);
  if (size < 0) return "its axes must be positive and multiply to at most 2^24";
  if (!mesh.device_ids.empty() && static_cast<int64_t>(mesh.device_ids.size()) != size) {
    return "device_ids does not list as many devices as the mesh has";
  }
  if (mesh.order) {
    if (product(mesh.order->reshape_dims) != size) return "device_ids does not fit the mesh";
    if (!mesh.order->transpose_perm.empty() &&
        !is_permutation(mesh.order->transpose_perm, mesh.order->reshape_dims.size())) {
      return "T(...) is no permutation of the axes";
    }
  }
  return "";
}

// A mesh axis cut into the parts that some reference names.
struct Part {
  size_t axis;
  int64_t pre;  // product of the parts of the same axis before it
  int64_t size;
  int rank;  // position among the listed axes, or -1
};

// The mesh's axes, split where references name a part; empty when a reference fits no axis.
std::vector<Part> split_axes(const DeviceMesh& mesh, std::span<const AxisRef> refs) {
  TextMap<size_t> axes;
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis) axes.insert(mesh.axes[axis].name, axis);
  std::vector<std::vector<std::pair<AxisRef, int>>> refs_of(mesh.axes.size());
  for (size_t i = 0; i < refs.size(); ++i) {
    const auto* axis = axes.find(refs[i].name);
    if (!axis) return {};
    refs_of[axis->value].push_back({refs[i], static_cast<int>(i)});
  }
  std::vector<Part> parts;
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    std::vector<std::pair<AxisRef, int>>& own = refs_of[axis];
    std::sort(own.begin(), own.end(),
              [](const auto& a, const auto& b) { return a.first.pre < b.first.pre; });
    int64_t size = mesh.axes[axis].size;
    int64_t done = 1;
    for (const auto& [ref, rank] : own) {
      int64_t pre = ref.pre == 0 ? 1 : ref.pre;
      int64_t part = ref.pre == 0 ? size : ref.size;
      if (part <= 0 || pre % done != 0 || pre > size || size % pre != 0 ||
          (size / pre) % part != 0) {
        return {};
      }
      if (pre > done) parts.push_back({axis, done, pre / done, -1});
      parts.push_back({axis, pre, part, rank});
      done = pre * part;
    }
    if (done < size || own.empty()) parts.push_back({axis, done, size / done, -1});
  }
  return parts;
}

}  // namespace

int64_t IotaOrder::size() const { return product(reshape_dims); }

std::vector<int64_t> IotaOrder::materialize() const {
  std::vector<int64_t> iota(static_cast<size_t>(size()));
  std::iota(iota.begin(), iota.end(), 0);
  if (transpose_perm.empty()) return iota;
  return transpose(iota, reshape_dims, transpose_perm);
}

int64_t DeviceMesh::size() const {
  int64_t result = 1;
  for (const MeshAxis& axis : axes) result *= axis.size;
  return result;
}

std::vector<int64_t> DeviceMesh::materialize() const {
  if (!device_ids.empty()) return {device_ids.begin(), device_ids.end()};
  if (order) return order->materialize();
  std::vector<int64_t> iota(static_cast<size_t>(size()));
  std::iota(iota.begin(), iota.end(), 0);
  return iota;
}

std::string DeviceGroups::check() const {
  switch (form) {
    case Form::kLists:
      return "";
    case Form::kIota:
      if (iota->dims.size() != 2) return "it needs two sizes: groups, and devices in each";
      return check_iota(*iota);
    case Form::kMesh: {
      if (std::string wrong = check_mesh(*mesh); !wrong.empty()) return wrong;
      if (std::string wrong = MeshAxes(*mesh).problem_of(axes); !wrong.empty()) return wrong;
      const std::vector<Part> parts = split_axes(*mesh, axes);
      if (parts.empty() && !axes.empty()) {
        return "an axis is not one of the mesh, or overlaps another";
      }
      int64_t group_size = 1;
      for (const Part& part : parts) group_size *= part.rank >= 0 ? part.size : 1;
      return group_size > 1 ? "" : "a group along axes of a mesh has more than one device";
    }
  }
  return "";
}

std::vector<std::vector<int64_t>> DeviceGroups::materialize() const {
  std::vector<std::vector<int64_t>> groups;
  auto cut = [&](const std::vector<int64_t>& ids, size_t group_size) {
    for (size_t i = 0; i < ids.size(); i += group_size) {
      groups.emplace_back(ids.begin() + static_cast<int64_t>(i),
                          ids.begin() + static_cast<int64_t>(i + group_size));
    }
  };
  switch (form) {
    case Form::kLists:
      for (std::span<const int64_t> list : lists) groups.emplace_back(list.begin(), list.end());
      break;
    case Form::kIota:
      cut(iota->materialize(), static_cast<size_t>(iota->dims[1]));
      break;
    case Form::kMesh: {
      // Unlisted parts first, in the order of the mesh, count the groups; the listed ones, in the
      // order of the list, are the ranks.
      std::vector<Part> parts = split_axes(*mesh, axes);
      std::vector<int64_t> dims, perm;
      size_t group_size = 1;
      for (const Part& part : parts) dims.push_back(part.size);
      for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].rank < 0) perm.push_back(static_cast<int64_t>(i));
      }
      std::vector<int64_t> listed(axes.size());
      for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].rank < 0) continue;
        listed[static_cast<size_t>(parts[i].rank)] = static_cast<int64_t>(i);
        group_size *= static_cast<size_t>(parts[i].size);
      }
      perm.insert(perm.end(), listed.begin(), listed.end());
      cut(transpose(mesh->materialize(), dims, perm), group_size);
      break;
    }
  }
  return groups;
}

IotaOrder canonical(const IotaOrder& order, Arena& arena) {
  std::span<const int64_t> reshape_dims = order.reshape_dims;
  const size_t rank = reshape_dims.size();
  std::vector<int64_t> perm(order.transpose_perm.begin(), order.transpose_perm.end());
  if (perm.empty()) {
    perm.resize(rank);
    std::iota(perm.begin(), perm.end(), 0);
  }
  if (rank == 0 || product(reshape_dims) < 0 || !is_permutation(perm, rank)) return order;
  std::erase_if(perm, [&](int64_t axis) { return reshape_dims[static_cast<size_t>(axis)] == 1; });
  // The axis before this one, but for those of extent 1.
  std::vector<int64_t> before(rank, -1);
  for (size_t axis = 0, last = rank; axis < rank; ++axis) {
    if (reshape_dims[axis] == 1) continue;
    if (last < rank) before[axis] = static_cast<int64_t>(last);
    last = axis;
  }
  // Each run of neighbours becomes the axis that it begins with.
  std::vector<int64_t> extents(rank, 1);
  std::vector<int64_t> heads;
  for (size_t i = 0; i < perm.size(); ++i) {
    const auto axis = static_cast<size_t>(perm[i]);
    if (i == 0 || before[axis] != perm[i - 1]) heads.push_back(perm[i]);
    extents[static_cast<size_t>(heads.back())] *= reshape_dims[axis];
  }
  IotaOrder made{order.dims, {}, {}};
  if (heads.size() <= 1) {
    made.reshape_dims = arena.copy(std::vector<int64_t>{order.size()});
    return made;
  }
  std::vector<int64_t> place(rank), kept;
  for (size_t axis = 0; axis < rank; ++axis) {
    place[axis] = static_cast<int64_t>(kept.size());
    if (extents[axis] != 1) kept.push_back(extents[axis]);
  }
  for (int64_t& head : heads) head = place[static_cast<size_t>(head)];
  made.reshape_dims = arena.copy(kept);
  made.transpose_perm = arena.copy(heads);
  return made;
}

std::string problem_of(const IotaOrder& order) {
  if (!positive_product(order.reshape_dims)) {
    return "the extents must be positive and their product fit 63 bits";
  }
  if (!order.transpose_perm.empty() &&
      !is_permutation(order.transpose_perm, order.reshape_dims.size())) {
    return fmt::format("{{{}}} does not order {} axes", fmt::join(order.transpose_perm, ","),
                       order.reshape_dims.size());
  }
  return "";
}

std::string problem_of(const DeviceMesh& mesh) {
  std::vector<std::string_view> names;
  std::vector<int64_t> sizes;
  for (const MeshAxis& axis : mesh.axes) {
    names.push_back(axis.name);
    sizes.push_back(axis.size);
  }
  std::sort(names.begin(), names.end());
  if (auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    return fmt::format("the mesh has two axes '{}'", *twice);
  }
  if (mesh.order && positive_product(sizes) != positive_product(mesh.order->reshape_dims)) {
    return fmt::format("the mesh has axes of {}, and devices of {}", fmt::join(sizes, " x "),
                       fmt::join(mesh.order->reshape_dims, " x "));
  }
  if (!mesh.device_ids.empty() &&
      positive_product(sizes) != static_cast<int64_t>(mesh.device_ids.size())) {
    return fmt::format("the mesh has axes of {}, and {} devices", fmt::join(sizes, " x "),
                       mesh.device_ids.size());
  }
  if (mesh.maximal || mesh.device_ids.empty()) return "";
  if (!is_permutation(mesh.device_ids, mesh.device_ids.size())) {
    return fmt::format("the devices of the mesh must be 0 to {}, each once",
                       mesh.device_ids.size() - 1);
  }
  if (std::is_sorted(mesh.device_ids.begin(), mesh.device_ids.end())) {
    return "the devices of the mesh are in the order that goes without saying";
  }
  return "";
}

MeshAxes::MeshAxes(const DeviceMesh& mesh) : mesh_(mesh) {
  for (size_t i = 0; i < mesh.axes.size(); ++i) places_.insert(mesh.axes[i].name, i);
}

std::optional<size_t> MeshAxes::find(std::string_view name) const {
  const auto* found = places_.find(name);
  return found ? std::optional(found->value) : std::nullopt;
}

std::string MeshAxes::problem_of(std::span<const AxisRef> axes) const {
  const AxisRef* before = nullptr;
  for (const AxisRef& axis : axes) {
    if (axis.pre != 0) {
      const std::optional<size_t> place = find(axis.name);
      if (!place) return fmt::format("the mesh has no axis '{}'", axis.name);
      const int64_t whole = mesh_.axes[*place].size;
      const int64_t sizes[] = {axis.pre, axis.size};
      const std::optional<int64_t> end = positive_product(sizes);
      if (axis.size < 2 || axis.size >= whole || !end || whole % *end != 0) {
        return fmt::format("'{}':({}){} is no part of the {} devices of that axis", axis.name,
                           axis.pre, axis.size, whole);
      }
      if (before && before->name == axis.name && before->pre != 0 &&
          before->pre * before->size == axis.pre) {
        return fmt::format("'{0}':({1}){2} and '{0}':({3}){4} are one part of the axis", axis.name,
                           before->pre, before->size, axis.pre, axis.size);
      }
    }
    before = &axis;
  }
  return "";
}

void set_order(DeviceMesh& mesh, const IotaOrder& order, Arena& arena) {
  const IotaOrder made = canonical(order, arena);
  std::vector<int64_t> sizes;
  for (const MeshAxis& axis : mesh.axes) sizes.push_back(axis.size);
  const bool is_plain = made.reshape_dims.size() == 1 && made.reshape_dims[0] == product(sizes);
  mesh.order = is_plain ? nullptr : arena.make<IotaOrder>(made);
}

}  // namespace minihlo

#include "ir/text/named_sharding.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "ir/device_order.h"
#include "ir/text/strings.h"

namespace minihlo {
namespace {

void append_axes(std::string& out, std::span<const AxisRef> axes, bool open = false) {
  out += '{';
  for (const AxisRef& axis : axes) {
    if (out.back() != '{') out += ", ";
    out += fmt::format("'{}'", escaped(axis.name));
    if (axis.pre != 0) out += fmt::format(":({}){}", axis.pre, axis.size);
  }
  if (open) out += out.back() == '{' ? "?" : ", ?";
  out += '}';
}

// Whether these are the axes of the mesh, all, whole and in order.
bool are_all(std::span<const AxisRef> axes, const DeviceMesh& mesh) {
  return !axes.empty() &&
         std::ranges::equal(axes, mesh.axes, [](const AxisRef& axis, const MeshAxis& of_mesh) {
           return axis.name == of_mesh.name && axis.pre == 0;
         });
}

// An axis, or a part of one, and where it is: the axis' place in the mesh, and what precedes the
// part.
struct Placed {
  const AxisRef* axis;
  std::pair<size_t, int64_t> place;
  bool operator<(const Placed& other) const { return place < other.place; }
};

}  // namespace

std::string problem_of(const DeviceMesh& mesh, const NamedAxes& axes) {
  const MeshAxes of_mesh(mesh);
  std::vector<Placed> all;
  auto take = [&](std::span<const AxisRef> list) {
    for (const AxisRef& axis : list) {
      all.push_back({&axis, {of_mesh.find(axis.name).value_or(0), std::max<int64_t>(axis.pre, 1)}});
    }
    return of_mesh.problem_of(list);
  };
  for (const NamedAxes::Dimension& dimension : axes.dims) {
    if (std::string wrong = take(dimension.axes); !wrong.empty()) return wrong;
  }
  const std::pair<std::string_view, const std::vector<AxisRef>*> kinds[] = {
      {"replicated", &axes.replicated}, {"unreduced", &axes.unreduced}, {"manual", &axes.manual}};
  for (const auto& [kind, list] : kinds) {
    const size_t before = all.size();
    if (std::string wrong = take(*list); !wrong.empty()) return wrong;
    if (!std::is_sorted(all.begin() + static_cast<int64_t>(before), all.end())) {
      return fmt::format("{} axes must stand in the order of the mesh", kind);
    }
  }
  std::sort(all.begin(), all.end());
  for (size_t i = 1; i < all.size(); ++i) {
    const AxisRef& a = *all[i - 1].axis;
    const AxisRef& b = *all[i].axis;
    if (a.name == b.name && (a.pre == 0 || b.pre == 0 || b.pre % (a.pre * a.size) != 0)) {
      return fmt::format("parts of the axis '{}' overlap", a.name);
    }
  }
  return "";
}

std::string named_text(const DeviceMesh& mesh, const NamedAxes& axes) {
  const bool replicated = !axes.replicated.empty();
  const bool unreduced = !axes.unreduced.empty() || !axes.reduction.empty();
  const bool manual = !axes.manual.empty();
  if (axes.dims.empty()) {
    if (!replicated && !unreduced && !manual) return mesh.maximal ? "" : "replicated";
    if (!replicated && !manual && are_all(axes.unreduced, mesh)) {
      return fmt::format("unreduced{}{}", axes.reduction.empty() ? "" : "=", axes.reduction);
    }
    if (!replicated && !manual && !axes.reduction.empty()) {
      std::string text = fmt::format("unreduced={}", axes.reduction);
      append_axes(text, axes.unreduced);
      return text;
    }
    if (!replicated && !unreduced && are_all(axes.manual, mesh)) return "manual";
  }
  std::string text = "[";
  for (const NamedAxes::Dimension& dimension : axes.dims) {
    if (text.size() > 1) text += ", ";
    append_axes(text, dimension.axes, dimension.open);
  }
  text += ']';
  if (replicated) {
    text += ", replicated=";
    append_axes(text, axes.replicated);
  }
  if (unreduced) {
    text += fmt::format(", unreduced={}", axes.reduction);
    append_axes(text, axes.unreduced);
  }
  if (manual) {
    text += ", manual=";
    append_axes(text, axes.manual);
  }
  return text;
}

}  // namespace minihlo

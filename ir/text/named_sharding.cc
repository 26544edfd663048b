#include "ir/text/named_sharding.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

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

}  // namespace

std::string named_text(const DeviceMesh& mesh, const NamedAxes& axes) {
  const bool replicated = !axes.replicated.empty();
  const bool unreduced = !axes.unreduced.empty() || !axes.reduction.empty();
  const bool manual = !axes.manual.empty();
  if (axes.dims.empty()) {
    if (!replicated && !unreduced && !manual) return mesh.maximal ? "" : "replicated";
    if (!replicated && !manual && axes.reduction.empty() && are_all(axes.unreduced, mesh)) {
      return "unreduced";
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
    text += ", unreduced=";
    if (!axes.reduction.empty()) text += fmt::format("[{}]", axes.reduction);
    append_axes(text, axes.unreduced);
  }
  if (manual) {
    text += ", manual=";
    append_axes(text, axes.manual);
  }
  return text;
}

}  // namespace minihlo

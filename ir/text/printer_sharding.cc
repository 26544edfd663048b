#include "ir/text/strings.h"
#include "ir/text/text_printer.h"

namespace minihlo::internal {

// [4,2]T(1,0), without the arrow.
void TextPrinter::print_iota(const IotaOrder& order) {
  print_ints(order.reshape_dims, "[", "]");
  if (order.reshape_dims.size() <= 1) return;
  out_ += 'T';
  if (!order.transpose_perm.empty()) return print_ints(order.transpose_perm, "(", ")");
  std::vector<int64_t> identity(order.reshape_dims.size());
  for (size_t i = 0; i < identity.size(); ++i) identity[i] = static_cast<int64_t>(i);
  print_ints(identity, "(", ")");
}

void TextPrinter::print_axis(const AxisRef& axis) {
  out_ += '\'';
  append_escaped(out_, axis.name);
  out_ += '\'';
  if (axis.pre == 0) return;
  out_ += ":(";
  print_number(axis.pre);
  out_ += ')';
  print_number(axis.size);
}

void TextPrinter::print_mesh(const DeviceMesh& mesh) {
  if (mesh.maximal) {
    out_ += "maximal_mesh[device_id=";
    print_number(mesh.device_ids[0]);
    out_ += ']';
    return;
  }
  print_list(mesh.axes, "mesh[", ",", "]", [&](const MeshAxis& axis) {
    print_axis({axis.name});
    out_ += '=';
    print_number(axis.size);
  });
  if (mesh.order) {
    out_ += ", device_ids=(";
    print_iota(*mesh.order);
    out_ += ')';
  } else if (!mesh.device_ids.empty()) {
    out_ += ", device_ids=";
    print_ints(mesh.device_ids, "(", ")");
  }
}

void TextPrinter::print_groups(const DeviceGroups& groups) {
  switch (groups.form) {
    case DeviceGroups::Form::kLists:
      return print_list(groups.lists, "{", ",", "}",
                        [&](std::span<const int64_t> list) { print_ints(list); });
    case DeviceGroups::Form::kIota:
      print_ints(groups.iota->dims, "[", "]");
      out_ += "<=";
      return print_iota(*groups.iota);
    case DeviceGroups::Form::kMesh:
      print_mesh(*groups.mesh);
      return print_list(groups.axes, " {", ",", "}",
                        [&](const AxisRef& axis) { print_axis(axis); });
  }
}

void TextPrinter::print_tiles(const Sharding& sharding) {
  out_ += "devices=";
  print_ints(sharding.tile_dims, "[", "]");
  if (sharding.iota) {
    out_ += "<=";
    print_iota(*sharding.iota);
  } else {
    print_ints(sharding.devices, "", "");
  }
  if (sharding.replicate_last) out_ += " last_tile_dim_replicate";
  if (!sharding.last_tile_dims.empty()) {
    print_list(sharding.last_tile_dims, " last_tile_dims={", ", ", "}",
               [&](Sharding::Subgroup kind) {
                 constexpr std::string_view kNames[] = {"replicated", "manual", "unreduced"};
                 out_ += kNames[static_cast<size_t>(kind)];
               });
  }
}

void TextPrinter::print_sharding(const Sharding& sharding) {
  using Form = Sharding::Form;
  out_ += '{';
  switch (sharding.form) {
    case Form::kReplicated:
      out_ += "replicated";
      break;
    case Form::kManual:
      out_ += "manual";
      break;
    case Form::kUnknown:
      out_ += "unknown";
      break;
    case Form::kUnreduced:
      out_ += "unreduced";
      break;
    case Form::kMaximal:
      out_ += "maximal device=";
      print_number(sharding.device);
      break;
    case Form::kTiled:
      print_tiles(sharding);
      break;
    case Form::kTuple: {
      size_t index = 0;
      for (const Sharding* element : sharding.elements) {
        print_separator(index++, true);
        print_sharding(*element);
      }
      break;
    }
    case Form::kNamed:
      print_mesh(*sharding.mesh);
      if (!sharding.named.empty()) {
        out_ += ", ";
        out_ += sharding.named;
      }
      break;
  }
  if (sharding.shard_group != Sharding::ShardGroup::kNone) {
    bool as = sharding.shard_group == Sharding::ShardGroup::kAs;
    out_ += as ? " shard_as " : " shard_like ";
    print_number(sharding.shard_group_id);
  }
  if (options_.metadata && !sharding.metadata.empty()) {
    out_ += sharding.form == Form::kNamed ? ", metadata=" : " metadata=";
    bool list = sharding.metadata_list || sharding.metadata.size() > 1;
    print_list(sharding.metadata, list ? "{" : "", ", ", list ? "}" : "",
               [&](std::span<const Attribute> values) { print_dictionary(values); });
  }
  out_ += '}';
}

}  // namespace minihlo::internal

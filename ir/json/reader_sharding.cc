// What shardings, meshes and groups must have beyond their keys, as in HLO text.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "ir/device_order.h"
#include "ir/json/reader.h"
#include "ir/row_major.h"
#include "ir/text/named_sharding.h"
#include "ir/text/printer.h"

namespace minihlo::internal {
namespace {

// The text behind the mesh as XLA writes it; nothing where the text parser does not take it for
// just that.
std::optional<std::string> named_text_of(const Sharding& sharding) {
  Sharding plain;
  plain.form = Sharding::Form::kNamed;
  plain.mesh = sharding.mesh;
  plain.named = sharding.named;
  const std::string text = fmt::format("ENTRY e {{ ROOT p = f32[] parameter(0), {} }}",
                                       print_text(make_attribute(attr::sharding, &plain)));
  auto source = Source::from_string("", text);
  Diagnostics diagnostics(source);
  std::unique_ptr<Module> module = parse_text(source, diagnostics);
  if (!module || module->entry()->root()->attributes().size() != 2) return std::nullopt;
  const Sharding* again = module->entry()->root()->get(attr::sharding);
  if (!again || again->form != Sharding::Form::kNamed || !again->metadata.empty()) {
    return std::nullopt;
  }
  return std::string(again->named);
}

std::string problem_of(const Sharding& sharding) {
  switch (sharding.form) {
    case Sharding::Form::kTiled: {
      const std::optional<int64_t> tiles = positive_product(sharding.tile_dims);
      if (!tiles) {
        return "the numbers of tiles must be positive and their product fit 63 bits";
      }
      if (sharding.iota) {
        const bool fits = positive_product(sharding.iota->reshape_dims) == tiles &&
                          std::ranges::equal(sharding.iota->dims, sharding.tile_dims);
        return fits ? "" : "the tiles and the devices differ in number";
      }
      if (static_cast<int64_t>(sharding.devices.size()) == tiles) return "";
      return fmt::format("{} tiles are given {} devices", *tiles, sharding.devices.size());
    }
    case Sharding::Form::kNamed:
      return sharding.mesh ? "" : "a named sharding needs a mesh";
    default:
      return "";
  }
}

}  // namespace

bool JsonReader::check(const JsonValue& place, AxisRef& axis) {
  if (axis.pre == 0 && axis.size == 0) return true;
  return (axis.pre > 0 && axis.size > 0) ||
         fail("invalid-mesh", place, "the part of an axis must be positive");
}

bool JsonReader::check(const JsonValue& place, IotaOrder& order) {
  if (std::string wrong = minihlo::problem_of(order); !wrong.empty()) {
    return fail("invalid-sharding", place, std::move(wrong));
  }
  order = canonical(order, arena());
  return true;
}

bool JsonReader::check(const JsonValue& place, DeviceMesh& mesh) {
  if (mesh.maximal) {
    return mesh.device_ids.size() == 1 ||
           fail("invalid-mesh", place, "a maximal mesh has one device");
  }
  if (std::string wrong = minihlo::problem_of(mesh); !wrong.empty()) {
    return fail("invalid-mesh", place, std::move(wrong));
  }
  if (mesh.order) set_order(mesh, *mesh.order, arena());
  return true;
}

bool JsonReader::check(const JsonValue& place, DeviceGroups& groups) {
  using Form = DeviceGroups::Form;
  const bool complete = (groups.form == Form::kIota) == (groups.iota != nullptr) &&
                        (groups.form == Form::kMesh) == (groups.mesh != nullptr);
  std::string wrong = complete ? groups.check() : "'form' and the other keys don't go together";
  return wrong.empty() || fail("invalid-groups", place, "replica_groups: " + wrong);
}

bool JsonReader::check(const JsonValue& place, Sharding& sharding) {
  // The tiles are the shape of the order, said or not.
  if (sharding.iota && sharding.iota->dims.empty()) {
    IotaOrder order = *sharding.iota;
    order.dims = sharding.tile_dims;
    sharding.iota = arena().make<IotaOrder>(order);
  }
  sharding.metadata_list = lists_metadata(sharding);
  std::string wrong = problem_of(sharding);
  if (wrong.empty() && sharding.form == Sharding::Form::kNamed) {
    if (const std::optional<std::string> named = named_text_of(sharding)) {
      sharding.named = arena().copy_string(*named);
    } else {
      wrong = "'named' is not what HLO text writes behind a mesh";
    }
  }
  return wrong.empty() || fail("invalid-sharding", place, std::move(wrong));
}

}  // namespace minihlo::internal

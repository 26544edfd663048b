// What shardings, meshes and groups must have beyond their keys, as in HLO text.
#include <fmt/format.h>

#include "ir/json/reader.h"
#include "ir/row_major.h"
#include "ir/text/printer.h"

namespace minihlo::internal {
namespace {

// Whether the text behind the mesh is one that the text parser takes for just that.
bool is_named_text(const Sharding& sharding) {
  Sharding plain;
  plain.form = Sharding::Form::kNamed;
  plain.mesh = sharding.mesh;
  plain.named = sharding.named;
  const std::string text = fmt::format("ENTRY e {{ ROOT p = f32[] parameter(0), {} }}",
                                       print_text(make_attribute(attr::sharding, &plain)));
  auto source = Source::from_string("", text);
  Diagnostics diagnostics(source);
  std::unique_ptr<Module> module = parse_text(source, diagnostics);
  if (!module) return false;
  const Sharding* again = module->entry()->root()->get(attr::sharding);
  return again && again->form == Sharding::Form::kNamed && again->named == sharding.named;
}

std::string problem_of(const Sharding& sharding) {
  switch (sharding.form) {
    case Sharding::Form::kTiled: {
      const std::optional<int64_t> tiles = positive_product(sharding.tile_dims);
      if (!tiles) {
        return "the numbers of tiles must be positive and their product fit 63 bits";
      }
      if (sharding.iota) {
        const bool fits = positive_product(sharding.iota->reshape_dims) == tiles;
        return fits ? "" : "the tiles and the devices differ in number";
      }
      if (static_cast<int64_t>(sharding.devices.size()) == tiles) return "";
      return fmt::format("{} tiles are given {} devices", *tiles, sharding.devices.size());
    }
    case Sharding::Form::kNamed:
      if (!sharding.mesh) return "a named sharding needs a mesh";
      return is_named_text(sharding) ? "" : "'named' is not what HLO text writes behind a mesh";
    default:
      return "";
  }
}

}  // namespace

bool JsonReader::check(const JsonValue& place, const AxisRef& axis) {
  if (axis.pre == 0 && axis.size == 0) return true;
  return (axis.pre > 0 && axis.size > 0) ||
         fail("invalid-mesh", place, "the part of an axis must be positive");
}

bool JsonReader::check(const JsonValue& place, const DeviceMesh& mesh) {
  if (mesh.maximal && mesh.device_ids.size() != 1) {
    return fail("invalid-mesh", place, "a maximal mesh has one device");
  }
  tsl::robin_set<std::string_view> names;
  for (const MeshAxis& axis : mesh.axes) {
    if (!names.insert(axis.name).second) {
      return fail("invalid-mesh", place, fmt::format("the mesh has two axes '{}'", axis.name));
    }
  }
  return true;
}

bool JsonReader::check(const JsonValue& place, const DeviceGroups& groups) {
  using Form = DeviceGroups::Form;
  const bool complete = (groups.form == Form::kIota) == (groups.iota != nullptr) &&
                        (groups.form == Form::kMesh) == (groups.mesh != nullptr);
  std::string wrong = complete ? groups.check() : "'form' and the other keys don't go together";
  return wrong.empty() || fail("invalid-groups", place, "replica_groups: " + wrong);
}

bool JsonReader::check(const JsonValue& place, const Sharding& sharding) {
  std::string wrong = problem_of(sharding);
  return wrong.empty() || fail("invalid-sharding", place, std::move(wrong));
}

}  // namespace minihlo::internal

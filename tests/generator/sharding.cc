#include <fmt/format.h>

#include "ir/device_order.h"
#include "ir/text/named_sharding.h"
#include "tests/generator/builder.h"
#include "tests/generator/groups.h"

namespace minihlo::generator {
namespace {

using Form = Sharding::Form;

// Splits the devices over the dimensions, and what is left over as subgroups.
void tile(Builder& b, const Shape* shape, Sharding& made) {
  const int64_t devices = b.sharding_devices();
  const std::vector<int64_t> parts = factors(b.choices, devices);
  std::vector<int64_t> dims(static_cast<size_t>(shape->rank()), 1);
  int64_t left_over = 1;
  for (int64_t part : parts) {
    const int64_t at = b.choices.below(shape->rank() + 1);
    (at < shape->rank() ? dims[static_cast<size_t>(at)] : left_over) *= part;
  }
  if (left_over > 1 || shape->rank() == 0) {
    dims.push_back(left_over);
    if (b.choices.chance(60)) {
      made.replicate_last = true;
    } else {
      using Subgroup = Sharding::Subgroup;
      std::vector<Subgroup> kinds = {Subgroup::kManual};
      if (b.choices.chance(50)) {
        kinds.push_back(Subgroup::kReplicated);
        dims.push_back(1);
      }
      made.last_tile_dims = b.arena().copy(kinds);
    }
  }
  made.form = Form::kTiled;
  made.tile_dims = b.ints(dims);
  if (b.choices.chance(40)) {
    made.devices = b.ints(b.choices.permutation(devices));
    return;
  }
  IotaOrder order;
  order.dims = made.tile_dims;
  const std::vector<int64_t> reshape = factors(b.choices, devices);
  order.reshape_dims = b.ints(reshape);
  if (reshape.size() > 1) {
    order.transpose_perm = b.ints(b.choices.permutation(static_cast<int64_t>(reshape.size())));
  }
  made.iota = b.arena().make<IotaOrder>(canonical(order, b.arena()));
}

// mesh['a'=2,'b'=4], [{'a'}, {}, {?}], replicated={'b'}
void name_axes(Builder& b, const Shape* shape, Sharding& made) {
  made.form = Form::kNamed;
  const std::vector<int64_t> sizes = factors(b.choices, b.sharding_devices());
  DeviceMesh mesh;
  std::vector<MeshAxis> axes;
  NamedAxes used;
  used.dims.resize(static_cast<size_t>(shape->rank()));
  std::vector<AxisRef> rest;
  for (size_t i = 0; i < sizes.size(); ++i) {
    axes.push_back({b.module.keep_name(fmt::format("x{}", i)), sizes[i]});
    const int64_t at = b.choices.below(shape->rank() + 2);
    const AxisRef axis{axes.back().name};
    if (at < shape->rank()) used.dims[static_cast<size_t>(at)].axes.push_back(axis);
    if (at == shape->rank()) rest.push_back(axis);
  }
  for (NamedAxes::Dimension& dimension : used.dims) dimension.open = b.choices.chance(20);
  (b.choices.pick({&used.replicated, &used.unreduced, &used.manual}))->swap(rest);
  mesh.axes = b.arena().copy(axes);
  made.mesh = b.arena().make<DeviceMesh>(mesh);
  made.named = b.module.keep_name(named_text(mesh, used));
}

}  // namespace

const Sharding* Builder::sharding(const Shape* shape) {
  Sharding made;
  if (shape->is_tuple() && choices.chance(85)) {
    made.form = Form::kTuple;
    std::vector<const Sharding*> elements;
    auto add = [&](auto& self, const Shape* part) -> void {
      if (!part->is_tuple()) return elements.push_back(sharding(part));
      for (const Shape* element : part->elements()) self(self, element);
    };
    add(add, shape);
    made.elements = arena().copy(elements);
    return arena().make<Sharding>(made);
  }
  // One device splits nothing.
  const bool splits = shape->is_array() && sharding_devices() > 1;
  switch (choices.below(splits ? 9 : 4)) {
    case 0:
      break;
    case 1:
      made.form = Form::kMaximal;
      made.device = choices.below(sharding_devices());
      break;
    case 2:
      made.form = Form::kManual;
      break;
    case 3:
      made.form = choices.pick({Form::kUnknown, Form::kUnreduced});
      break;
    case 4:
    case 5:
      if (newest()) {
        name_axes(*this, shape, made);
      } else {
        tile(*this, shape, made);
      }
      break;
    default:
      tile(*this, shape, made);
      break;
  }
  if (made.form == Form::kTiled && choices.chance(15)) {
    made.shard_group = choices.pick({Sharding::ShardGroup::kAs, Sharding::ShardGroup::kLike});
    made.shard_group_id = choices.below(5);
  }
  if (choices.chance(10)) {
    std::vector<std::span<const Attribute>> entries = {metadata()};
    if (choices.chance(30)) entries.push_back(metadata());
    made.metadata = arena().copy(entries);
    made.metadata_list = lists_metadata(made);
  }
  return arena().make<Sharding>(made);
}

}  // namespace minihlo::generator

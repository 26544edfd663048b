#include "ir/verify/split.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "ir/row_major.h"
#include "ir/text/lexer.h"
#include "ir/text/strings.h"
#include "ir/text_map.h"

namespace minihlo::verifier {
namespace {

using Form = Sharding::Form;
using Subgroup = Sharding::Subgroup;

// In the order in which devices are listed behind those of the tiles.
constexpr Subgroup kKinds[] = {Subgroup::kUnreduced, Subgroup::kManual, Subgroup::kReplicated};

Form form_of(Subgroup kind) {
  switch (kind) {
    case Subgroup::kManual:
      return Form::kManual;
    case Subgroup::kUnreduced:
      return Form::kUnreduced;
    case Subgroup::kReplicated:
      break;
  }
  return Form::kReplicated;
}

void multiply(int64_t& product, int64_t factor) {
  if (__builtin_mul_overflow(product, factor, &product)) {
    product = std::numeric_limits<int64_t>::max();
  }
}

// The kinds of the tile dimensions that split no dimension of the array.
std::vector<Subgroup> subgroups(const Sharding& tiled) {
  if (tiled.replicate_last) return {Subgroup::kReplicated};
  return {tiled.last_tile_dims.begin(), tiled.last_tile_dims.end()};
}

// One tile is the whole array: of one kind where at most one kind has several devices.
void find_whole(Split& split) {
  if (std::ranges::any_of(split.tiles, [](int64_t count) { return count != 1; })) return;
  std::optional<Subgroup> only;
  for (Subgroup kind : kKinds) {
    if (split.alike[static_cast<size_t>(kind)] == 1) continue;
    if (only) return;
    only = kind;
  }
  if (only) split.whole = form_of(*only);
}

Split split_of_tiled(const Sharding& tiled) {
  Split split;
  split.alike.fill(1);
  split.devices = tiled.iota ? tiled.iota->size() : static_cast<int64_t>(tiled.devices.size());
  const std::vector<Subgroup> kinds = subgroups(tiled);
  if (tiled.tile_dims.size() < kinds.size()) return split;
  const size_t rank = tiled.tile_dims.size() - kinds.size();
  split.tiles.assign(tiled.tile_dims.begin(), tiled.tile_dims.begin() + static_cast<int64_t>(rank));
  for (size_t i = 0; i < kinds.size(); ++i) {
    multiply(split.alike[static_cast<size_t>(kinds[i])], tiled.tile_dims[rank + i]);
  }
  find_whole(split);
  const bool one_kind =
      !kinds.empty() && std::ranges::count(kinds, kinds[0]) == static_cast<int64_t>(kinds.size());
  if (one_kind && split.devices == 1) split.whole = form_of(kinds[0]);
  return split;
}

struct NamedAxes {
  std::vector<AxisRef> tiled;                   // dimension by dimension
  std::array<std::vector<AxisRef>, 3> by_kind;  // by Subgroup
};

// 'x' or 'y':(2)2 under the cursor, which is left on its last token.
AxisRef read_axis(Lexer& lexer, const TextMap<const MeshAxis*>& mesh_axes) {
  AxisRef axis;
  std::string name;
  unescape(lexer.current().text, name);
  if (const auto* known = mesh_axes.find(name)) axis = {known->text, 0, known->value->size};
  if (lexer.peek().kind != TokenKind::kColon) return axis;
  std::array<int64_t*, 2> numbers = {&axis.pre, &axis.size};
  for (size_t read = 0; read < numbers.size() && !lexer.at(TokenKind::kEnd);) {
    lexer.advance();
    if (lexer.at(TokenKind::kInteger)) *numbers[read++] = lexer.current().integer;
  }
  return axis;
}

Split split_of_named(const Sharding& named, NamedAxes& axes) {
  Split split;
  split.alike.fill(1);
  if (named.mesh->maximal) {
    split.whole = Form::kMaximal;
    split.device = named.mesh->device_ids[0];
    return split;
  }
  std::vector<int64_t> sizes;
  TextMap<const MeshAxis*> mesh_axes;
  for (const MeshAxis& axis : named.mesh->axes) {
    sizes.push_back(axis.size);
    mesh_axes.insert(axis.name, &axis);
  }
  split.devices = positive_product(sizes).value_or(0);

  std::optional<Subgroup> kind;  // of the axes at hand; nothing where they are a dimension's
  auto is = [](const Token& token, std::string_view word) { return token.text == word; };
  Lexer lexer(named.named);
  for (; !lexer.at(TokenKind::kEnd) && !lexer.at(TokenKind::kInvalid); lexer.advance()) {
    const Token& token = lexer.current();
    if (token.kind == TokenKind::kKey || (token.kind == TokenKind::kWord && token.offset == 0)) {
      kind = is(token, "manual")      ? Subgroup::kManual
             : is(token, "unreduced") ? Subgroup::kUnreduced
                                      : Subgroup::kReplicated;
      if (token.offset == 0) split.whole = form_of(*kind);
    }
    if (token.kind == TokenKind::kLeftBrace && !kind) split.tiles.push_back(1);
    if (token.kind != TokenKind::kString) continue;
    const AxisRef axis = read_axis(lexer, mesh_axes);
    if (kind) {
      if (*kind == Subgroup::kReplicated) continue;
      axes.by_kind[static_cast<size_t>(*kind)].push_back(axis);
      multiply(split.alike[static_cast<size_t>(*kind)], axis.size);
    } else if (!split.tiles.empty()) {
      axes.tiled.push_back(axis);
      multiply(split.tiles.back(), axis.size);
    }
  }
  if (split.whole) return split;
  // The axes that are not listed are replicated.
  int64_t listed = 1;
  for (int64_t count : split.tiles) multiply(listed, count);
  for (int64_t count : split.alike) multiply(listed, count);
  if (listed > 0 && split.devices > listed) {
    split.alike[static_cast<size_t>(Subgroup::kReplicated)] = split.devices / listed;
  }
  find_whole(split);
  if (split.devices <= 1) split.whole = Form::kReplicated;
  return split;
}

// The devices tile by tile, those of one tile by kind; empty where they can't be told.
std::vector<int64_t> devices_of_tiled(const Sharding& tiled) {
  if (!has_sound_order(tiled)) return {};
  std::vector<int64_t> devices =
      tiled.iota ? tiled.iota->materialize()
                 : std::vector<int64_t>(tiled.devices.begin(), tiled.devices.end());
  const std::vector<Subgroup> kinds = subgroups(tiled);
  if (kinds.size() < 2 || kinds.size() > tiled.tile_dims.size()) return devices;
  const size_t rank = tiled.tile_dims.size() - kinds.size();
  std::vector<size_t> order(tiled.tile_dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin() + static_cast<int64_t>(rank), order.end(),
                   [&](size_t a, size_t b) { return kinds[a - rank] > kinds[b - rank]; });
  std::vector<int64_t> dims;
  for (size_t axis : order) dims.push_back(tiled.tile_dims[axis]);
  std::vector<int64_t> sorted(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::vector<int64_t> from = multi_index(static_cast<int64_t>(i), tiled.tile_dims);
    std::vector<int64_t> to;
    for (size_t axis : order) to.push_back(from[axis]);
    sorted[static_cast<size_t>(linear_index(to, dims))] = devices[i];
  }
  return sorted;
}

std::vector<int64_t> devices_of_named(const Sharding& named, const NamedAxes& axes) {
  std::vector<AxisRef> listed = axes.tiled;
  for (Subgroup kind : kKinds) {
    const std::vector<AxisRef>& more = axes.by_kind[static_cast<size_t>(kind)];
    listed.insert(listed.end(), more.begin(), more.end());
  }
  DeviceGroups groups;
  groups.form = DeviceGroups::Form::kMesh;
  groups.mesh = named.mesh;
  groups.axes = listed;
  if (!groups.check().empty()) return {};
  const std::vector<std::vector<int64_t>> lists = groups.materialize();
  std::vector<int64_t> devices;
  for (size_t i = 0; i < lists[0].size(); ++i) {
    for (const std::vector<int64_t>& list : lists) devices.push_back(list[i]);
  }
  return devices;
}

}  // namespace

bool has_sound_order(const Sharding& sharding) {
  if (!sharding.iota) return true;
  const size_t rank = sharding.iota->reshape_dims.size();
  std::span<const int64_t> perm = sharding.iota->transpose_perm;
  return (perm.empty() && rank <= 1) || is_permutation(perm, rank);
}

Split split_of(const Sharding& sharding) {
  NamedAxes axes;
  if (sharding.form == Form::kTiled) return split_of_tiled(sharding);
  if (sharding.form == Form::kNamed) return split_of_named(sharding, axes);
  Split split;
  split.alike.fill(1);
  split.whole = sharding.form;
  split.device = sharding.device;
  return split;
}

bool same_split(const Sharding& a, const Sharding& b) {
  if (a.shard_group != b.shard_group || a.shard_group_id != b.shard_group_id) return false;
  NamedAxes axes[2];
  auto split = [](const Sharding& one, NamedAxes& axes) {
    return one.form == Form::kNamed ? split_of_named(one, axes) : split_of(one);
  };
  const Split first = split(a, axes[0]), second = split(b, axes[1]);
  if (first.whole || second.whole) {
    return first.whole == second.whole && first.device == second.device;
  }
  if (first.tiles != second.tiles || first.alike != second.alike ||
      first.devices != second.devices) {
    return false;
  }
  // A dimension that may be split further ('x', ?) is another one than 'x'.
  auto open = [](const Sharding& one) { return std::ranges::count(one.named, '?'); };
  if (a.form == Form::kNamed && b.form == Form::kNamed && open(a) != open(b)) return false;
  constexpr int64_t kWorthListing = int64_t{1} << 14;
  if (first.devices > kWorthListing) return true;
  auto devices = [](const Sharding& one, const NamedAxes& axes) {
    return one.form == Form::kNamed ? devices_of_named(one, axes) : devices_of_tiled(one);
  };
  const std::vector<int64_t> listed[] = {devices(a, axes[0]), devices(b, axes[1])};
  return listed[0].empty() || listed[1].empty() || listed[0] == listed[1];
}

}  // namespace minihlo::verifier

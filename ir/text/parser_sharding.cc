#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ir/device_order.h"
#include "ir/row_major.h"
#include "ir/text/text_parser.h"

namespace minihlo::internal {
bool TextParser::read_sharding(Attribute& attribute) {
  const Sharding* sharding;
  if (!parse_sharding(sharding)) return false;
  attribute.data = sharding;
  return true;
}

bool TextParser::parse_sharding(const Sharding*& sharding, bool leaf) {
  if (!expect(TokenKind::kLeftBrace, "before the sharding")) return false;
  Sharding made;
  if (leaf && at(TokenKind::kLeftBrace)) {
    return fail("invalid-sharding", token().location(),
                "a tuple's shardings are a flat list, one a leaf");
  }
  if (!leaf && (at(TokenKind::kLeftBrace) || at(TokenKind::kRightBrace))) {
    made.form = Sharding::Form::kTuple;
    std::vector<const Sharding*> elements;
    while (!elements.empty() || !at(TokenKind::kRightBrace)) {
      if (!parse_sharding(elements.emplace_back(), true)) return false;
      if (!accept(TokenKind::kComma)) break;
    }
    made.elements = arena().copy(elements);
  } else if (!parse_single_sharding(made)) {
    return false;
  }
  sharding = arena().make<Sharding>(made);
  return expect(TokenKind::kRightBrace, "behind the sharding");
}

bool TextParser::parse_single_sharding(Sharding& sharding) {
  using Form = Sharding::Form;
  struct Word {
    std::string_view text;
    Form form;
  };
  constexpr Word kForms[] = {{"replicated", Form::kReplicated},
                             {"manual", Form::kManual},
                             {"unknown", Form::kUnknown},
                             {"unreduced", Form::kUnreduced},
                             {"maximal", Form::kMaximal}};
  if (at_word("mesh") || at_word("maximal_mesh")) return parse_named_sharding(sharding);
  const Token start = token();
  bool has_form = false;
  bool has_device = false;
  auto set_form = [&](Form form) {
    if (has_form) {
      return fail("invalid-sharding", token().location(), "the sharding has two kinds");
    }
    has_form = true;
    sharding.form = form;
    return true;
  };
  while (!at(TokenKind::kRightBrace)) {
    const Token part = token();
    if (at(TokenKind::kKey)) {
      lexer_.advance();
      if (part.text == "device") {
        has_device = true;
        if (!expect_int(sharding.device, "a device")) return false;
      } else if (part.text == "devices") {
        if (!set_form(Form::kTiled) || !parse_tiles(sharding)) return false;
      } else if (part.text == "metadata") {
        if (!parse_sharding_metadata(sharding)) return false;
      } else if (part.text == "last_tile_dims") {
        std::vector<Sharding::Subgroup> kinds;
        auto element = [&] {
          using Subgroup = Sharding::Subgroup;
          if (at_word("replicated")) {
            kinds.push_back(Subgroup::kReplicated);
          } else if (at_word("manual")) {
            kinds.push_back(Subgroup::kManual);
          } else if (at_word("unreduced")) {
            kinds.push_back(Subgroup::kUnreduced);
          } else {
            return fail_expected("'replicated', 'manual' or 'unreduced'");
          }
          lexer_.advance();
          return true;
        };
        if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the kinds",
                        element)) {
          return false;
        }
        sharding.last_tile_dims = arena().copy(kinds);
      } else {
        fail("unknown-attribute", part.location(),
             fmt::format("a sharding has no '{}'", part.text));
        note_suggestion(part.text, {"device", "devices", "metadata", "last_tile_dims"});
        return false;
      }
      continue;
    }
    if (!at(TokenKind::kWord)) return fail_expected("'}' or a part of a sharding");
    if (accept_word("last_tile_dim_replicate")) {
      sharding.replicate_last = true;
      continue;
    }
    if (at_word("shard_as") || at_word("shard_like")) {
      sharding.shard_group =
          at_word("shard_as") ? Sharding::ShardGroup::kAs : Sharding::ShardGroup::kLike;
      lexer_.advance();
      if (!expect_int(sharding.shard_group_id, "the number of the shard group")) return false;
      continue;
    }
    bool known = false;
    for (const Word& word : kForms) {
      if (part.text != word.text) continue;
      known = true;
      if (!set_form(word.form)) return false;
      lexer_.advance();
    }
    if (!known) {
      fail("invalid-sharding", part.location(),
           fmt::format("'{}' is no part of a sharding", part.text));
      std::vector<std::string_view> words{"last_tile_dim_replicate", "shard_as", "shard_like"};
      for (const Word& word : kForms) words.push_back(word.text);
      note_suggestion(part.text, words);
      return false;
    }
  }
  if (!has_form) {
    return fail("invalid-sharding", start.location(), "the sharding does not say how to split");
  }
  if (has_device != (sharding.form == Form::kMaximal)) {
    return fail("invalid-sharding", start.location(), "'device=' and 'maximal' belong together");
  }
  return true;
}

bool TextParser::parse_tiles(Sharding& sharding) {
  const Token place = token();
  std::vector<int64_t> dims;
  if (!parse_int_list(TokenKind::kLeftSquare, TokenKind::kRightSquare, dims)) return false;
  sharding.tile_dims = arena().copy(dims);
  const int64_t tiles = positive_product(dims).value_or(0);
  if (tiles == 0 || dims.empty()) {
    return fail("invalid-sharding", place.location(),
                "the numbers of tiles must be positive and their product fit 63 bits");
  }
  if (at(TokenKind::kLessEqual)) {
    if (!parse_iota_order(sharding.tile_dims, sharding.iota)) return false;
    if (positive_product(sharding.iota->reshape_dims) == tiles) return true;
    return fail("invalid-sharding", place.location(), "the tiles and the devices differ in number");
  }
  std::vector<int64_t> devices;
  do {
    int64_t device;
    if (!expect_int(device, "a device")) return false;
    devices.push_back(device);
  } while (accept(TokenKind::kComma));
  // XLA takes 0 for devices that are not named, but wants two.
  constexpr int64_t kMaxUnnamed = 1 << 20;
  const auto count = static_cast<int64_t>(devices.size());
  if (count < 2 || count > tiles || tiles - count > kMaxUnnamed) {
    return fail("invalid-sharding", place.location(),
                fmt::format("{} tiles are given {} devices", tiles, count));
  }
  devices.resize(static_cast<size_t>(tiles));
  sharding.devices = arena().copy(devices);
  return true;
}

// <=[4,2]T(1,0)
bool TextParser::parse_iota_order(std::span<const int64_t> dims, const IotaOrder*& order) {
  IotaOrder made;
  made.dims = dims;
  if (!expect(TokenKind::kLessEqual, "before the devices")) return false;
  std::vector<int64_t> reshape;
  if (!parse_int_list(TokenKind::kLeftSquare, TokenKind::kRightSquare, reshape)) return false;
  made.reshape_dims = arena().copy(reshape);
  if (!parse_axis_order(reshape.size(), made.transpose_perm)) return false;
  order = arena().make<IotaOrder>(canonical(made, arena()));
  return true;
}

// T(1,0) where there is more than one axis.
bool TextParser::parse_axis_order(size_t rank, std::span<const int64_t>& order) {
  if (rank <= 1) return true;
  if (!accept_word("T")) return fail_expected("'T(' and the order of the axes");
  const Token place = token();
  std::vector<int64_t> perm;
  if (!parse_int_list(TokenKind::kLeftParen, TokenKind::kRightParen, perm)) return false;
  std::vector<bool> seen(rank);
  bool good = perm.size() == rank;
  for (int64_t axis : perm) {
    good =
        good && axis >= 0 && static_cast<size_t>(axis) < rank && !seen[static_cast<size_t>(axis)];
    if (good) seen[static_cast<size_t>(axis)] = true;
  }
  if (!good) {
    return fail("invalid-sharding", place.location(),
                fmt::format("T({}) does not order {} axes", fmt::join(perm, ","), rank));
  }
  order = arena().copy(perm);
  return true;
}

bool TextParser::parse_sharding_metadata(Sharding& sharding) {
  std::vector<std::span<const Attribute>> entries;
  auto entry = [&] {
    std::vector<Attribute> values;
    if (!parse_dictionary(metadata_attributes(), values)) return false;
    entries.push_back(arena().copy(values));
    return true;
  };
  if (at(TokenKind::kLeftBrace) && lexer_.peek().kind == TokenKind::kLeftBrace) {
    if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the metadata", entry)) {
      return false;
    }
  } else if (!entry()) {
    return false;
  }
  sharding.metadata = arena().copy(entries);
  sharding.metadata_list = lists_metadata(sharding);
  return true;
}

// Behind the mesh stands a word for all axes, or a list of axes a dimension and then axes of other
// kinds; metadata comes last.
//   mesh['x'=2,'y'=4], [{'x'}, {'y':(1)2, ?}], replicated={...}, unreduced=sum{...}, metadata=...
//   mesh['x'=2], replicated       maximal_mesh[device_id=3]
bool TextParser::parse_named_sharding(Sharding& sharding) {
  sharding.form = Sharding::Form::kNamed;
  const bool maximal = at_word("maximal_mesh");
  if (!parse_mesh(sharding.mesh)) return false;
  const bool more = accept(TokenKind::kComma);
  if (maximal) {
    if (!more) return true;
    return accept_key("metadata") ? parse_sharding_metadata(sharding)
                                  : fail_expected("'metadata='");
  }
  NamedAxes axes;
  const Token place = token();
  const std::string_view word = token().text;
  bool is_word = at_word("replicated") || at_word("unreduced") || at_word("manual");
  const bool is_unreduced = at_word("unreduced");
  bool whole = is_word;
  if (is_word) {
    lexer_.advance();
    if (is_unreduced && at(TokenKind::kLeftBrace)) {
      is_word = false;
      if (!parse_axis_refs(axes.unreduced)) return false;
    }
  } else if (accept_key("unreduced")) {
    whole = true;
    if (!parse_reduction(axes.reduction)) return false;
    if (at(TokenKind::kLeftBrace)) {
      if (!parse_axis_refs(axes.unreduced)) return false;
    } else {
      for (const MeshAxis& axis : sharding.mesh->axes) axes.unreduced.push_back({axis.name});
    }
  } else if (!parse_list(TokenKind::kLeftSquare, TokenKind::kRightSquare, "around the dimensions",
                         [&] { return parse_dimension_axes(axes.dims.emplace_back()); })) {
    return false;
  }
  while (accept(TokenKind::kComma)) {
    if (!sharding.metadata.empty()) return fail_expected("nothing behind the metadata");
    if (accept_key("metadata")) {
      if (!parse_sharding_metadata(sharding)) return false;
      continue;
    }
    if (whole) return fail_expected("'metadata='");
    const bool unreduced = accept_key("unreduced");
    const bool replicated = !unreduced && accept_key("replicated");
    if (!unreduced && !replicated && !accept_key("manual")) {
      return fail_expected("'replicated=', 'unreduced=', 'manual=' or 'metadata='");
    }
    if (unreduced && !at(TokenKind::kLeftBrace) && !parse_reduction(axes.reduction)) return false;
    std::vector<AxisRef>& list = unreduced    ? axes.unreduced
                                 : replicated ? axes.replicated
                                              : axes.manual;
    if (!parse_axis_refs(list)) return false;
  }
  if (std::string wrong = problem_of(*sharding.mesh, axes); !wrong.empty()) {
    return fail("invalid-sharding", place.location(), std::move(wrong));
  }
  sharding.named = is_word ? word : arena().copy_string(named_text(*sharding.mesh, axes));
  return true;
}

// max, or [max] as early versions of 2026 have it. A sum goes without saying.
bool TextParser::parse_reduction(std::string_view& reduction) {
  const bool enclosed = accept(TokenKind::kLeftSquare);
  if (!at_word("sum") && !at_word("max") && !at_word("min")) {
    return fail_expected("'sum', 'max' or 'min'");
  }
  reduction = at_word("sum") ? std::string_view() : token().text;
  lexer_.advance();
  return !enclosed || expect(TokenKind::kRightSquare, "behind the kind of reduction");
}

// {'x', 'y':(1)2, ?}: the question mark is the last.
bool TextParser::parse_dimension_axes(NamedAxes::Dimension& dimension) {
  return parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the axes", [&] {
    if (dimension.open) return fail_expected("'}' behind '?'");
    dimension.open = accept(TokenKind::kQuestion);
    return dimension.open || parse_axis_ref(dimension.axes);
  });
}

bool TextParser::parse_mesh(const DeviceMesh*& mesh) {
  DeviceMesh made;
  if (accept_word("maximal_mesh")) {
    made.maximal = true;
    int64_t device;
    if (!expect(TokenKind::kLeftSquare, "before the device")) return false;
    if (!accept_key("device_id")) return fail_expected("'device_id='");
    if (!expect_int(device, "a device")) return false;
    made.device_ids = arena().copy(std::vector<int64_t>{device});
    mesh = arena().make<DeviceMesh>(made);
    return expect(TokenKind::kRightSquare, "behind the device");
  }
  if (!accept_word("mesh")) return fail_expected("a mesh");
  std::vector<MeshAxis> axes;
  mesh_axes_.clear();
  auto axis = [&] {
    MeshAxis one{};
    const Token place = token();
    if (!expect_string(one.name, "the name of an axis, in quotes") ||
        !expect(TokenKind::kEqual, "behind the axis") ||
        !expect_int(one.size, "the size of the axis")) {
      return false;
    }
    if (!mesh_axes_.insert(one.name).second) {
      return fail("invalid-mesh", place.location(),
                  fmt::format("the mesh has two axes '{}'", one.name));
    }
    axes.push_back(one);
    return true;
  };
  if (!parse_list(TokenKind::kLeftSquare, TokenKind::kRightSquare, "around the axes", axis)) {
    return false;
  }
  made.axes = arena().copy(axes);
  mesh_axis_list_ = made.axes;
  if (at(TokenKind::kComma)) {
    Token next = lexer_.peek();
    if (next.kind == TokenKind::kKey && next.text == "device_ids") {
      lexer_.advance();
      lexer_.advance();
      if (!parse_mesh_device_ids(made)) return false;
    }
  }
  mesh = arena().make<DeviceMesh>(made);
  return true;
}

// ([2,4]T(1,0)) or (0,2,1,3)
bool TextParser::parse_mesh_device_ids(DeviceMesh& mesh) {
  std::vector<int64_t> values;
  const Token place = token();
  if (lexer_.peek().kind != TokenKind::kLeftSquare) {
    if (!parse_int_list(TokenKind::kLeftParen, TokenKind::kRightParen, values)) return false;
    mesh.device_ids = arena().copy(values);
    std::string wrong = values.empty() ? "a list of devices has some" : problem_of(mesh);
    return wrong.empty() || fail("invalid-mesh", place.location(), std::move(wrong));
  }
  IotaOrder order;
  if (!expect(TokenKind::kLeftParen, "before the devices") ||
      !parse_int_list(TokenKind::kLeftSquare, TokenKind::kRightSquare, values)) {
    return false;
  }
  order.reshape_dims = arena().copy(values);
  if (!parse_axis_order(values.size(), order.transpose_perm)) return false;
  set_order(mesh, order, arena());
  if (std::string wrong = problem_of(mesh); !wrong.empty()) {
    return fail("invalid-mesh", place.location(), std::move(wrong));
  }
  return expect(TokenKind::kRightParen, "behind the devices");
}

// 'x' or 'y':(2)2. An axis may be given by its place: '0'.
bool TextParser::parse_axis_ref(std::vector<AxisRef>& axes) {
  AxisRef ref{};
  const Token name = token();
  if (!expect_string(ref.name, "the name of an axis, in quotes")) return false;
  if (!mesh_axes_.contains(ref.name)) {
    size_t place = 0;
    const char* end = ref.name.data() + ref.name.size();
    const auto read = std::from_chars(ref.name.data(), end, place);
    if (read.ec != std::errc() || read.ptr != end || place >= mesh_axis_list_.size()) {
      return fail("invalid-mesh", name.location(),
                  fmt::format("the mesh has no axis '{}'", ref.name));
    }
    ref.name = mesh_axis_list_[place].name;
  }
  if (accept(TokenKind::kColon)) {
    const Token place = token();
    if (!expect(TokenKind::kLeftParen, "before what precedes the part of the axis") ||
        !expect_int(ref.pre, "what precedes the part of the axis") ||
        !expect(TokenKind::kRightParen, "behind what precedes the part of the axis") ||
        !expect_int(ref.size, "the size of the part of the axis")) {
      return false;
    }
    if (ref.pre <= 0 || ref.size <= 0) {
      return fail("invalid-mesh", place.location(), "the part of an axis must be positive");
    }
  }
  axes.push_back(ref);
  return true;
}

bool TextParser::parse_axis_refs(std::vector<AxisRef>& axes) {
  return parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the axes",
                    [&] { return parse_axis_ref(axes); });
}

bool TextParser::read_device_groups(Attribute& attribute) {
  DeviceGroups groups;
  const Token start = token();
  if (at(TokenKind::kLeftSquare)) {
    groups.form = DeviceGroups::Form::kIota;
    std::vector<int64_t> dims;
    if (!parse_int_list(TokenKind::kLeftSquare, TokenKind::kRightSquare, dims)) return false;
    if (!parse_iota_order(arena().copy(dims), groups.iota)) return false;
  } else if (at(TokenKind::kWord)) {
    groups.form = DeviceGroups::Form::kMesh;
    std::vector<AxisRef> axes;
    if (!parse_mesh(groups.mesh)) return false;
    accept(TokenKind::kComma);
    if (!parse_axis_refs(axes)) return false;
    groups.axes = arena().copy(axes);
  } else {
    Attribute lists;
    if (!read_int_lists(lists)) return false;
    groups.lists = attribute_value<std::span<const std::span<const int64_t>>>(lists);
  }
  if (std::string wrong = groups.check(); !wrong.empty()) {
    return fail("invalid-groups", start.location(), "replica_groups: " + wrong);
  }
  attribute.data = arena().make<DeviceGroups>(groups);
  return true;
}

}  // namespace minihlo::internal

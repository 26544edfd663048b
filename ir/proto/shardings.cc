// Shardings.
#include <algorithm>

#include <fmt/format.h>

#include "ir/proto/enums.h"
#include "ir/proto/meshes.h"
#include "ir/proto/reading.h"
#include "ir/proto/writing.h"
#include "ir/row_major.h"
#include "ir/text/lexer.h"
#include "ir/text/named_sharding.h"
#include "ir/text/strings.h"

namespace minihlo::proto {
namespace {

using Form = Sharding::Form;

bool read_named(Reading& reading, const Message& in, Sharding& sharding) {
  sharding.form = Form::kNamed;
  if (!in.has(NamedShardingProto::mesh)) {
    return in.fail("missing-field", NamedShardingProto::mesh, "the mesh is missing");
  }
  if (!in.each(NamedShardingProto::mesh,
               [&](const Message& inner) { return read_mesh(reading, inner, sharding.mesh); })) {
    return false;
  }
  const DeviceMesh& mesh = *sharding.mesh;
  NamedAxes axes;
  std::string reduction;
  if (in.has(NamedShardingProto::reduction_op)) {
    const int64_t number = in.integer(NamedShardingProto::reduction_op);
    reduction = to_lower(value_name(EnumId::ReductionOp, number));
    if (reduction.empty()) {
      return in.fail("unknown-value", NamedShardingProto::reduction_op,
                     fmt::format("there is no reduction of number {}", number));
    }
    if (reduction == "sum") reduction.clear();  // goes without saying
  }
  axes.reduction = reduction;
  if (!in.each(NamedShardingProto::dim_shardings,
               [&](const Message& one) {
                 NamedAxes::Dimension& dimension = axes.dims.emplace_back();
                 dimension.open = !one.boolean(DimensionSharding::is_closed);
                 return read_axes(one, DimensionSharding::axes, mesh, dimension.axes);
               }) ||
      !read_axes(in, NamedShardingProto::replicated_axes, mesh, axes.replicated) ||
      !read_axes(in, NamedShardingProto::unreduced_axes, mesh, axes.unreduced) ||
      !read_axes(in, NamedShardingProto::manual_axes, mesh, axes.manual)) {
    return false;
  }
  if (std::string wrong = problem_of(mesh, axes); !wrong.empty()) {
    return in.fail("invalid-sharding", std::move(wrong));
  }
  sharding.named = reading.arena.copy_string(named_text(mesh, axes));
  return true;
}

// Writes what `named` says. The text was checked when it was read.
class NamedWriter {
 public:
  NamedWriter(Writer& out, const Sharding& sharding)
      : out_(out), mesh_(*sharding.mesh), lexer_(sharding.named) {}

  void run() {
    if (lexer_.at(TokenKind::kWord)) {
      const std::string_view word = lexer_.current().text;
      for (const minihlo::MeshAxis& axis : mesh_.axes) {
        if (word == "unreduced") write_whole(NamedShardingProto::unreduced_axes, axis);
        if (word == "manual") write_whole(NamedShardingProto::manual_axes, axis);
      }
      return;
    }
    if (accept(TokenKind::kLeftSquare)) {
      while (!accept(TokenKind::kRightSquare) && !lexer_.at(TokenKind::kEnd)) {
        out_.message(NamedShardingProto::dim_shardings, [&](Writer& inner) {
          const bool open = axes(inner, DimensionSharding::axes);
          inner.integer(DimensionSharding::is_closed, !open);
        });
        accept(TokenKind::kComma);
      }
      accept(TokenKind::kComma);
    }
    while (lexer_.at(TokenKind::kKey)) {
      const std::string_view key = lexer_.current().text;
      lexer_.advance();
      const Field field = key == "replicated"  ? NamedShardingProto::replicated_axes
                          : key == "unreduced" ? NamedShardingProto::unreduced_axes
                                               : NamedShardingProto::manual_axes;
      if (lexer_.at(TokenKind::kWord)) {
        reduction_ = number_of_word(EnumId::ReductionOp, lexer_.current().text);
        lexer_.advance();
      }
      if (lexer_.at(TokenKind::kEnd)) {  // unreduced=max: all axes
        for (const minihlo::MeshAxis& axis : mesh_.axes) write_whole(field, axis);
      } else {
        axes(out_, field);
      }
      accept(TokenKind::kComma);
    }
    if (reduction_) out_.integer(NamedShardingProto::reduction_op, *reduction_, true);
  }

 private:
  bool accept(TokenKind kind) {
    if (!lexer_.at(kind)) return false;
    lexer_.advance();
    return true;
  }

  void write_whole(Field field, const minihlo::MeshAxis& axis) {
    write_axis(out_, field, mesh_, AxisRef{axis.name});
  }

  // {'x', 'y':(2)2, ?}; whether there is a `?`.
  bool axes(Writer& out, Field field) {
    bool open = false;
    accept(TokenKind::kLeftBrace);
    while (!accept(TokenKind::kRightBrace) && !lexer_.at(TokenKind::kEnd)) {
      if (accept(TokenKind::kQuestion)) {
        open = true;
      } else {
        std::string name;
        unescape(lexer_.current().text, name);
        lexer_.advance();
        AxisRef axis{name};
        if (accept(TokenKind::kColon)) {
          accept(TokenKind::kLeftParen);
          axis.pre = lexer_.current().integer;
          lexer_.advance();
          accept(TokenKind::kRightParen);
          axis.size = lexer_.current().integer;
          lexer_.advance();
        }
        write_axis(out, field, mesh_, axis);
      }
      accept(TokenKind::kComma);
    }
    return open;
  }

  Writer& out_;
  const DeviceMesh& mesh_;
  Lexer lexer_;
  std::optional<int32_t> reduction_;
};

// The enumerated types of whole shardings and of subgroups are one.
struct TypeName {
  std::string_view name;
  Form form;
};
constexpr TypeName kForms[] = {{"REPLICATED", Form::kReplicated}, {"MAXIMAL", Form::kMaximal},
                               {"TUPLE", Form::kTuple},           {"OTHER", Form::kTiled},
                               {"MANUAL", Form::kManual},         {"UNKNOWN", Form::kUnknown},
                               {"UNREDUCED", Form::kUnreduced}};
constexpr std::string_view kSubgroups[] = {"REPLICATED", "MANUAL", "UNREDUCED"};

bool read_subgroups(Reading& reading, const Message& in, Sharding& sharding) {
  std::vector<int64_t> numbers;
  if (!in.integers(OpSharding::last_tile_dims, numbers)) return false;
  std::vector<Sharding::Subgroup> kinds;
  for (size_t i = 0; i < numbers.size(); ++i) {
    auto* found = std::find(std::begin(kSubgroups), std::end(kSubgroups),
                            value_name(EnumId::OpShardingType, numbers[i]));
    if (found == std::end(kSubgroups)) {
      return in.fail("unknown-value", OpSharding::last_tile_dims, i,
                     fmt::format("there is no subgroup of type {}", numbers[i]));
    }
    kinds.push_back(static_cast<Sharding::Subgroup>(found - std::begin(kSubgroups)));
  }
  sharding.last_tile_dims = reading.arena.copy(kinds);
  return true;
}

bool read_tiles(Reading& reading, const Message& in, Sharding& sharding) {
  if (!read_ints(reading, in, OpSharding::tile_assignment_dimensions, sharding.tile_dims) ||
      !read_ints(reading, in, OpSharding::tile_assignment_devices, sharding.devices) ||
      !read_subgroups(reading, in, sharding)) {
    return false;
  }
  if (in.has(OpSharding::iota_reshape_dims) &&
      !read_iota(reading, in, OpSharding::iota_reshape_dims, OpSharding::iota_transpose_perm,
                 sharding.tile_dims, sharding.iota)) {
    return false;
  }
  const std::optional<int64_t> tiles = positive_product(sharding.tile_dims);
  const std::optional<int64_t> devices = sharding.iota
                                             ? positive_product(sharding.iota->reshape_dims)
                                             : static_cast<int64_t>(sharding.devices.size());
  if (tiles != devices || (sharding.iota && !sharding.devices.empty())) {
    return in.fail("invalid-sharding", "the tiles and the devices differ in number");
  }
  sharding.replicate_last = in.boolean(OpSharding::replicate_on_last_tile_dim);
  return true;
}

bool read_sharding_metadata(Reading& reading, const Message& in, Field field, Sharding& sharding) {
  std::vector<std::span<const Attribute>> entries;
  if (!in.each(field, [&](const Message& metadata) {
        return read_metadata(reading, metadata, entries.emplace_back());
      })) {
    return false;
  }
  sharding.metadata = reading.arena.copy(entries);
  sharding.metadata_list = lists_metadata(sharding);
  return true;
}

bool read_single(Reading& reading, const Message& in, Sharding& sharding) {
  if (in.has(OpSharding::named_sharding)) {
    // The other fields then mean nothing.
    in.use_all();
    return in.each(OpSharding::named_sharding, [&](const Message& named) {
      return read_named(reading, named, sharding) &&
             read_sharding_metadata(reading, named, NamedShardingProto::metadata, sharding);
    });
  }
  const int64_t number = in.integer(OpSharding::type);
  auto* form = std::find_if(std::begin(kForms), std::end(kForms), [&](const TypeName& one) {
    return one.name == value_name(EnumId::OpShardingType, number);
  });
  if (form == std::end(kForms)) {
    return in.fail("unknown-value", OpSharding::type,
                   fmt::format("there is no sharding of type {}", number));
  }
  sharding.form = form->form;
  switch (sharding.form) {
    case Form::kTuple: {
      std::vector<const Sharding*> elements;
      if (!in.each(OpSharding::tuple_shardings, [&](const Message& element) {
            return read_sharding(reading, element, elements.emplace_back());
          })) {
        return false;
      }
      sharding.elements = reading.arena.copy(elements);
      break;
    }
    case Form::kMaximal: {
      std::vector<int64_t> devices;
      if (!in.integers(OpSharding::tile_assignment_devices, devices)) return false;
      in.use(OpSharding::tile_assignment_dimensions);
      if (devices.size() != 1) {
        return in.fail("invalid-sharding", OpSharding::tile_assignment_devices,
                       fmt::format("a maximal sharding has one device, not {}", devices.size()));
      }
      sharding.device = devices[0];
      break;
    }
    case Form::kTiled:
      if (!read_tiles(reading, in, sharding)) return false;
      break;
    default:
      break;
  }
  if (in.boolean(OpSharding::is_shard_group)) {
    const bool like = in.integer(OpSharding::shard_group_type) != 0;
    sharding.shard_group = like ? Sharding::ShardGroup::kLike : Sharding::ShardGroup::kAs;
    sharding.shard_group_id = in.integer(OpSharding::shard_group_id);
  }
  return read_sharding_metadata(reading, in, OpSharding::metadata, sharding);
}

}  // namespace

bool read_sharding(Reading& reading, const Message& in, const Sharding*& sharding) {
  Sharding made;
  if (!read_single(reading, in, made)) return false;
  sharding = reading.arena.make<Sharding>(made);
  return true;
}

void write_sharding(Writer& out, const Sharding& sharding) {
  auto metadata = [&](Writer& to, Field field) {
    for (std::span<const Attribute> entry : sharding.metadata) {
      to.message(field, [&](Writer& inner) { write_metadata(inner, entry); });
    }
  };
  if (sharding.form == Form::kNamed) {
    out.message(OpSharding::named_sharding, [&](Writer& named) {
      named.message(NamedShardingProto::mesh,
                    [&](Writer& inner) { write_mesh(inner, *sharding.mesh); });
      NamedWriter(named, sharding).run();
      metadata(named, NamedShardingProto::metadata);
    });
    return;
  }
  auto* form = std::find_if(std::begin(kForms), std::end(kForms),
                            [&](const TypeName& one) { return one.form == sharding.form; });
  out.integer(OpSharding::type, *value_number(EnumId::OpShardingType, form->name));
  if (sharding.form == Form::kMaximal) {
    out.integers<int64_t>(OpSharding::tile_assignment_dimensions, std::array<int64_t, 1>{1});
    out.integers<int64_t>(OpSharding::tile_assignment_devices, std::array{sharding.device});
  }
  out.integers<int64_t>(OpSharding::tile_assignment_dimensions, sharding.tile_dims);
  out.integers<int64_t>(OpSharding::tile_assignment_devices, sharding.devices);
  for (const Sharding* element : sharding.elements) {
    out.message(OpSharding::tuple_shardings,
                [&](Writer& inner) { write_sharding(inner, *element); });
  }
  out.integer(OpSharding::replicate_on_last_tile_dim, sharding.replicate_last);
  metadata(out, OpSharding::metadata);
  std::vector<int32_t> kinds;
  for (Sharding::Subgroup kind : sharding.last_tile_dims) {
    kinds.push_back(*value_number(EnumId::OpShardingType, kSubgroups[static_cast<size_t>(kind)]));
  }
  out.integers<int32_t>(OpSharding::last_tile_dims, kinds);
  if (sharding.iota) {
    write_iota(out, OpSharding::iota_reshape_dims, OpSharding::iota_transpose_perm, *sharding.iota);
  }
  if (sharding.shard_group != Sharding::ShardGroup::kNone) {
    out.integer(OpSharding::is_shard_group, 1);
    out.integer(OpSharding::shard_group_id, sharding.shard_group_id);
    out.integer(OpSharding::shard_group_type, sharding.shard_group == Sharding::ShardGroup::kLike);
  }
}

}  // namespace minihlo::proto

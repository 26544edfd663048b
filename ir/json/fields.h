// The structures behind attributes, each described once: what its members are called in JSON, and
// what their absence stands for. The writer and the reader both walk these descriptions.
//
//   describe(fields, value) calls fields(key, member) for what is always there, and
//   fields(key, member, absent) for what is left out where it equals `absent`.
#pragma once

#include <concepts>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "ir/attributes.h"
#include "ir/module.h"

namespace minihlo::internal {

template <class T, class Of>
concept Same = std::same_as<std::remove_const_t<T>, Of>;

/// The words that the enumerators of an enumeration are written as, in order.
template <class Enum>
inline constexpr std::string_view kWords[1] = {};
template <>
inline constexpr std::string_view kWords<Sharding::Form>[] = {
    "replicated", "manual", "unknown", "unreduced", "maximal", "tiled", "tuple", "named"};
template <>
inline constexpr std::string_view kWords<Sharding::Subgroup>[] = {"replicated", "manual",
                                                                  "unreduced"};
template <>
inline constexpr std::string_view kWords<Sharding::ShardGroup>[] = {"none", "shard_as",
                                                                    "shard_like"};
template <>
inline constexpr std::string_view kWords<DeviceGroups::Form>[] = {"lists", "iota", "mesh"};

template <class Fields, Same<SliceDimension> T>
void describe(Fields& fields, T& value) {
  fields("start", value.start);
  fields("limit", value.limit);
  fields("stride", value.stride, 1);
}

template <class Fields, Same<PaddingDimension> T>
void describe(Fields& fields, T& value) {
  fields("low", value.low);
  fields("high", value.high);
  fields("interior", value.interior, 0);
}

template <class Fields, Same<WindowDimension> T>
void describe(Fields& fields, T& value) {
  fields("size", value.size);
  fields("stride", value.stride, 1);
  fields("padding_low", value.padding_low, 0);
  fields("padding_high", value.padding_high, 0);
  fields("base_dilation", value.base_dilation, 1);
  fields("window_dilation", value.window_dilation, 1);
  fields("reversal", value.reversal, false);
}

template <class Fields, Same<Alias> T>
void describe(Fields& fields, T& value) {
  fields("output_index", value.output_index);
  fields("input", value.parameter);
  fields("input_index", value.parameter_index);
  fields("kind", value.kind, std::string_view());
}

template <class Fields, Same<Donor> T>
void describe(Fields& fields, T& value) {
  fields("parameter", value.parameter);
  fields("index", value.index);
}

template <class Fields, Same<ProgramShape> T>
void describe(Fields& fields, T& value) {
  fields("parameters", value.parameters);
  fields("result", value.result);
}

template <class Fields, Same<DomainValue> T>
void describe(Fields& fields, T& value) {
  fields("kind", value.kind);
  fields("entry", value.entry);
  fields("exit", value.exit);
}

template <class Fields, Same<IotaOrder> T>
void describe(Fields& fields, T& value) {
  using Ints = std::span<const int64_t>;
  fields("dims", value.dims, Ints());
  fields("reshape_dims", value.reshape_dims);
  fields("transpose_perm", value.transpose_perm, Ints());
}

template <class Fields, Same<MeshAxis> T>
void describe(Fields& fields, T& value) {
  fields("name", value.name);
  fields("size", value.size);
}

template <class Fields, Same<AxisRef> T>
void describe(Fields& fields, T& value) {
  fields("name", value.name);
  fields("pre_size", value.pre, 0);
  fields("size", value.size, 0);
}

template <class Fields, Same<DeviceMesh> T>
void describe(Fields& fields, T& value) {
  fields("axes", value.axes, std::span<const MeshAxis>());
  fields("device_ids", value.device_ids, std::span<const int64_t>());
  fields("order", value.order, nullptr);
  fields("maximal", value.maximal, false);
}

template <class Fields, Same<DeviceGroups> T>
void describe(Fields& fields, T& value) {
  fields("form", value.form);
  fields("lists", value.lists, std::span<const std::span<const int64_t>>());
  fields("iota", value.iota, nullptr);
  fields("mesh", value.mesh, nullptr);
  fields("axes", value.axes, std::span<const AxisRef>());
}

template <class Fields, Same<Sharding> T>
void describe(Fields& fields, T& value) {
  using Ints = std::span<const int64_t>;
  fields("form", value.form);
  fields("device", value.device, 0);
  fields("tile_dims", value.tile_dims, Ints());
  fields("devices", value.devices, Ints());
  fields("iota", value.iota, nullptr);
  fields("replicate_on_last_tile_dim", value.replicate_last, false);
  fields("last_tile_dims", value.last_tile_dims, std::span<const Sharding::Subgroup>());
  fields("shard_group", value.shard_group, Sharding::ShardGroup::kNone);
  fields("shard_group_id", value.shard_group_id, 0);
  fields("elements", value.elements, std::span<const Sharding* const>());
  fields("mesh", value.mesh, nullptr);
  fields("named", value.named, std::string_view());
  fields("metadata", value.metadata, std::span<const std::span<const Attribute>>());
  fields("metadata_list", value.metadata_list, false);
}

template <class Fields, Same<StackFrames::FileLocation> T>
void describe(Fields& fields, T& value) {
  fields("file_name_id", value.file_name_id);
  fields("function_name_id", value.function_name_id);
  fields("line", value.line);
  fields("end_line", value.end_line);
  fields("column", value.column);
  fields("end_column", value.end_column);
}

template <class Fields, Same<StackFrames::Frame> T>
void describe(Fields& fields, T& value) {
  fields("file_location_id", value.file_location_id);
  fields("parent_frame_id", value.parent_frame_id);
}

template <class Fields, Same<StackFrames> T>
void describe(Fields& fields, T& value) {
  fields("file_names", value.file_names);
  fields("function_names", value.function_names);
  fields("file_locations", value.file_locations);
  fields("frames", value.frames);
}

/// Structures that describe() knows.
template <class T>
concept Described = requires(T& value, void (*fields)(...)) {
  describe(fields, value);
};

/// What an attribute is called: as in text, or by its id where text writes it in the parentheses.
std::string_view json_key(AttributeId id);

/// Calls visit(std::integral_constant<AttributeKind, kind>{}).
template <class Visit>
void visit_kind(AttributeKind kind, Visit visit) {
  constexpr size_t kCount = static_cast<size_t>(AttributeKind::kBraced) + 1;
  [&]<size_t... i>(std::index_sequence<i...>) {
    static_cast<void>(
        ((kind == static_cast<AttributeKind>(i) &&
          (visit(std::integral_constant<AttributeKind, static_cast<AttributeKind>(i)>{}), true)) ||
         ...));
  }
  (std::make_index_sequence<kCount>());
}

inline constexpr std::string_view kJsonFormat = "minihlo-module";
inline constexpr int64_t kJsonVersion = 1;

}  // namespace minihlo::internal

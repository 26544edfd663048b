#include <fmt/format.h>

#include "ir/json/reader.h"

namespace minihlo::internal {

bool JsonReader::read(const JsonValue& value, const Shape*& out) {
  const std::string_view text = document_.text(value);
  if (auto known = shapes_.find(text); known != shapes_.end()) {
    out = known->second;
    return true;
  }
  if (!read_shape(value, out)) return false;
  shapes_[text] = out;
  return true;
}

bool JsonReader::read_shape(const JsonValue& value, const Shape*& out) {
  if (!expect(value, JsonKind::kObject)) return false;
  Fields fields(*this, value);
  ShapePool& pool = module_->shapes();
  if (const Member* tuple = fields.find("tuple")) {
    const JsonValue place = tuple->value;
    std::vector<const Shape*> elements;
    if (!fields.close() || !read(place, elements)) return false;
    out = pool.tuple(elements);
    return out || fail("shape-too-large", place, ShapePool::tuple_too_large());
  }
  if (const Member* buffer = fields.find("buffer")) {
    const JsonValue place = buffer->value;
    const Shape* array;
    if (!fields.close() || !read(place, array)) return false;
    if (!array->is_array()) {
      return fail("invalid-shape", place, "a buffer is made of an array shape");
    }
    out = pool.buffer(array);
    return true;
  }
  std::string_view type;
  fields("type", type);
  if (!fields.ok()) return false;
  if (type == "token" || type == "opaque") {
    out = type == "token" ? pool.token() : pool.opaque();
    return fields.close();
  }
  const std::optional<ElementType> element = element_type_from(type);
  if (!element) {
    return fail("unknown-type", value, fmt::format("there is no type '{}'", type));
  }
  const Member* member = fields.find("dims");
  if (!member) return fields.ok() && fail("missing-key", value, "the key 'dims' is missing");
  const JsonValue dims_place = member->value;
  std::span<const bool> dynamic;
  fields("dynamic", dynamic, std::span<const bool>());
  member = fields.find("layout");
  const std::optional<JsonValue> layout_place =
      member ? std::optional(member->value) : std::nullopt;
  std::vector<int64_t> dims;
  if (!fields.close() || !read_dims(dims_place, dims)) return false;
  if (!dynamic.empty() && dynamic.size() != dims.size()) {
    return fail("invalid-shape", value, "'dynamic' needs a truth value for each dimension");
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == kUnboundedSize && (dynamic.empty() || !dynamic[i])) {
      return fail("invalid-shape", dims_place, "a dimension without size must be dynamic");
    }
  }
  Layout layout;
  std::string tiling, split;
  const bool written = layout_place && layout_place->kind != JsonKind::kNull;
  if (written && !read_layout(*layout_place, dims.size(), layout, tiling, split)) return false;
  out = pool.try_array(*element, dims, dynamic, written ? &layout : nullptr);
  if (!out) {
    return fail(
        "shape-too-large", value,
        fmt::format("an array of more than {} dimensions or 2^63 bytes", ShapePool::kMaxRank));
  }
  if (layout_place && !written) out = out->bare();
  return true;
}

// null: a dimension that has no size.
bool JsonReader::read_dims(const JsonValue& value, std::vector<int64_t>& dims) {
  if (!expect(value, JsonKind::kArray)) return false;
  return document_.each_element(value, [&](const JsonValue& element) {
    int64_t size = kUnboundedSize;
    if (element.kind != JsonKind::kNull) {
      if (!read(element, size)) return false;
      if (size < 0) {
        return fail("negative-dimension", element, "a dimension can't be negative");
      }
    }
    dims.push_back(size);
    return true;
  });
}

bool JsonReader::read_layout(const JsonValue& value, size_t rank, Layout& layout,
                             std::string& tiling, std::string& split) {
  if (!expect(value, JsonKind::kObject)) return false;
  Fields fields(*this, value);
  describe_layout_numbers(fields, layout);
  if (const Member* member = fields.find("tiles")) {
    const JsonValue place = member->value;
    std::vector<std::vector<int64_t>> tiles;
    if (!expect(place, JsonKind::kArray)) return false;
    if (!document_.each_element(place, [&](const JsonValue& tile) {
          std::vector<int64_t>& sizes = tiles.emplace_back();
          return expect(tile, JsonKind::kArray) &&
                 document_.each_element(tile, [&](const JsonValue& size) {
                   sizes.push_back(kCombinedDimension);
                   return size.kind == JsonKind::kNull || read(size, sizes.back());
                 });
        })) {
      return false;
    }
    tiling = tiling_text(tiles);
    layout.tiling = tiling;
  }
  if (const Member* member = fields.find("split_configs")) {
    std::vector<SplitConfig> configs;
    if (!read(JsonValue(member->value), configs)) return false;
    split = split_configs_text(configs);
    layout.split_configs = split;
  }
  if (!fields.close()) return false;
  for (std::string_view type : {layout.index_type, layout.pointer_type}) {
    const std::optional<ElementType> known = element_type_from(type);
    if (!type.empty() && (!known || !is_integer(*known))) {
      return fail("invalid-layout", value, fmt::format("'{}' is no integer type", type));
    }
  }
  std::vector<bool> seen(rank);
  bool is_order = layout.minor_to_major.size() == rank;
  for (int64_t dim : layout.minor_to_major) {
    is_order =
        is_order && dim >= 0 && static_cast<size_t>(dim) < rank && !seen[static_cast<size_t>(dim)];
    if (is_order) seen[static_cast<size_t>(dim)] = true;
  }
  return is_order || fail("invalid-layout", value,
                          fmt::format("'minor_to_major' does not order {} dimensions", rank));
}

}  // namespace minihlo::internal

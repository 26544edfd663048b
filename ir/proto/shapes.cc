// Shapes and layouts.
#include <algorithm>
#include <charconv>
#include <memory>

#include <fmt/format.h>

#include "ir/proto/enums.h"
#include "ir/proto/reading.h"
#include "ir/proto/writing.h"
#include "ir/row_major.h"

namespace minihlo::proto {
namespace {

// In TileProto, a dimension that is combined with the next: `*` in text.
constexpr int64_t kCombined = std::numeric_limits<int64_t>::min();

bool read_index_type(const Message& in, Field field, std::string_view& text) {
  const int64_t number = in.integer(field);
  if (number == 0) return true;
  std::optional<ElementType> type = element_type(number);
  if (!type || !is_integer(*type)) {
    return in.fail("invalid-layout", field, fmt::format("type {} is no integer type", number));
  }
  text = to_string(*type);
  return true;
}

bool read_tiles(const Message& in, std::string& text) {
  std::vector<int64_t> dims;
  return in.each(LayoutProto::tiles, [&](const Message& tile) {
    if (!tile.integers(TileProto::dimensions, dims)) return false;
    text += text.empty() ? "T(" : "(";
    for (size_t i = 0; i < dims.size(); ++i) {
      if (i > 0) text += ',';
      text += dims[i] == kCombined ? "*" : std::to_string(dims[i]);
    }
    text += ')';
    return true;
  });
}

bool read_split_configs(const Message& in, std::string& text) {
  std::vector<int64_t> indices;
  return in.each(LayoutProto::split_configs, [&](const Message& split) {
    if (!split.integers(SplitConfigProto::split_indices, indices)) return false;
    if (text.empty()) text = "SC";
    text +=
        fmt::format("({}:{})", split.integer(SplitConfigProto::dimension), fmt::join(indices, ","));
    return true;
  });
}

bool read_array(Reading& reading, const Message& in, ElementType type, const Shape*& shape) {
  std::vector<int64_t> dims, flags;
  if (!in.integers(ShapeProto::dimensions, dims) ||
      !in.integers(ShapeProto::is_dynamic_dimension, flags)) {
    return false;
  }
  if (dims.size() > ShapePool::kMaxRank) {
    return in.fail("shape-too-large", ShapeProto::dimensions,
                   fmt::format("an array of more than {} dimensions", ShapePool::kMaxRank));
  }
  if (!flags.empty() && flags.size() != dims.size()) {
    return in.fail("invalid-shape", ShapeProto::is_dynamic_dimension,
                   fmt::format("{} flags for {} dimensions", flags.size(), dims.size()));
  }
  std::unique_ptr<bool[]> dynamic(new bool[dims.size()]);
  for (size_t i = 0; i < dims.size(); ++i) {
    dynamic[i] = !flags.empty() && flags[i] != 0;
    if (dims[i] < 0 && !(dims[i] == kUnboundedSize && dynamic[i])) {
      return in.fail("negative-dimension", ShapeProto::dimensions, i,
                     fmt::format("a dimension can't be {}", dims[i]));
    }
  }
  Layout layout;
  std::vector<int64_t> order;
  std::string tiling, split;
  bool has_layout = false;
  auto read_layout = [&](const Message& from) {
    has_layout = true;
    if (!from.integers(LayoutProto::minor_to_major, order) || !read_tiles(from, tiling) ||
        !read_split_configs(from, split) ||
        !read_index_type(from, LayoutProto::index_primitive_type, layout.index_type) ||
        !read_index_type(from, LayoutProto::pointer_primitive_type, layout.pointer_type)) {
      return false;
    }
    if (!is_permutation(order, dims.size())) {
      return from.fail(
          "invalid-layout", LayoutProto::minor_to_major,
          fmt::format("{{{}}} does not order {} dimensions", fmt::join(order, ","), dims.size()));
    }
    layout.minor_to_major = order;
    layout.tiling = tiling;
    layout.split_configs = split;
    const int64_t padding = from.integer(LayoutProto::tail_padding_alignment_in_elements);
    layout.tail_padding_alignment = padding == 0 ? 1 : padding;
    layout.element_size_in_bits = from.integer(LayoutProto::element_size_in_bits);
    layout.memory_space = from.integer(LayoutProto::memory_space);
    layout.metadata_prefix_bytes = from.integer(LayoutProto::dynamic_shape_metadata_prefix_bytes);
    return true;
  };
  if (!in.each(ShapeProto::layout, read_layout)) return false;
  shape = reading.shapes.try_array(type, dims, {dynamic.get(), dims.size()},
                                   has_layout ? &layout : nullptr);
  return shape || in.fail("shape-too-large", "an array of 2^63 bytes or more");
}

// The numbers of a part of a layout's text, such as (8,128) or (0:4,5), each preceded by the
// character before it; moves behind the closing parenthesis.
void parse_numbers(std::string_view& text, std::vector<int64_t>& numbers) {
  numbers.clear();
  while (!text.empty() && text.front() != ')') {
    text.remove_prefix(1);
    if (text.starts_with(')')) break;  // ()
    int64_t value = kCombined;
    const char* end = text.data() + text.size();
    const char* behind = std::from_chars(text.data(), end, value).ptr;
    if (behind == text.data()) ++behind;  // *
    text.remove_prefix(static_cast<size_t>(behind - text.data()));
    numbers.push_back(value);
  }
  if (!text.empty()) text.remove_prefix(1);
}

void write_layout(Writer& out, const Layout& layout) {
  out.integers<int64_t>(LayoutProto::minor_to_major, layout.minor_to_major);
  std::vector<int64_t> numbers;
  std::string_view tiles = layout.tiling;
  if (!tiles.empty()) tiles.remove_prefix(1);
  while (!tiles.empty()) {
    parse_numbers(tiles, numbers);
    out.message(LayoutProto::tiles,
                [&](Writer& tile) { tile.integers<int64_t>(TileProto::dimensions, numbers); });
  }
  out.integer(LayoutProto::element_size_in_bits, layout.element_size_in_bits);
  out.integer(LayoutProto::memory_space, layout.memory_space);
  auto type = [](std::string_view text) {
    std::optional<ElementType> known = element_type_from(text);
    return known ? primitive_type(*known) : 0;
  };
  out.integer(LayoutProto::index_primitive_type, type(layout.index_type));
  out.integer(LayoutProto::pointer_primitive_type, type(layout.pointer_type));
  out.integer(LayoutProto::dynamic_shape_metadata_prefix_bytes, layout.metadata_prefix_bytes);
  out.integer(LayoutProto::tail_padding_alignment_in_elements, layout.tail_padding_alignment);
  std::string_view splits = layout.split_configs;
  if (!splits.empty()) splits.remove_prefix(2);
  while (!splits.empty()) {
    parse_numbers(splits, numbers);
    out.message(LayoutProto::split_configs, [&](Writer& split) {
      split.integer(SplitConfigProto::dimension, numbers[0]);
      split.integers<int64_t>(SplitConfigProto::split_indices, std::span(numbers).subspan(1));
    });
  }
}

void fill_shape(Writing& writing, Writer& out, const Shape* shape) {
  switch (shape->kind()) {
    case Shape::Kind::kToken:
      return out.integer(ShapeProto::element_type, primitive_type("TOKEN"));
    case Shape::Kind::kOpaque:
      return out.integer(ShapeProto::element_type, primitive_type("OPAQUE_TYPE"));
    case Shape::Kind::kTuple:
    case Shape::Kind::kBuffer:
      out.integer(ShapeProto::element_type, primitive_type(shape->is_tuple() ? "TUPLE" : "BUFFER"));
      for (const Shape* element : shape->elements()) {
        write_shape(writing, out, ShapeProto::tuple_shapes, element);
      }
      return;
    case Shape::Kind::kArray:
      break;
  }
  out.integer(ShapeProto::element_type, primitive_type(shape->element_type()));
  out.integers<int64_t>(ShapeProto::dimensions, shape->dims());
  if (const Layout* layout = shape->layout()) {
    out.message(ShapeProto::layout, [&](Writer& inner) { write_layout(inner, *layout); });
  }
  std::vector<char> dynamic(shape->dims().size());
  for (size_t i = 0; i < dynamic.size(); ++i) {
    dynamic[i] = shape->is_dynamic(static_cast<int64_t>(i));
  }
  out.integers<char>(ShapeProto::is_dynamic_dimension, dynamic);
}

}  // namespace

bool read_shape(Reading& reading, const Message& in, const Shape*& shape) {
  if (auto found = reading.known_shapes.find(in.bytes()); found != reading.known_shapes.end()) {
    in.use_all();
    shape = found->second;
    return true;
  }
  const int64_t number = in.integer(ShapeProto::element_type);
  if (std::optional<ElementType> type = element_type(number)) {
    if (!read_array(reading, in, *type, shape)) return false;
  } else if (number == primitive_type("TOKEN")) {
    shape = reading.shapes.token();
  } else if (number == primitive_type("OPAQUE_TYPE")) {
    shape = reading.shapes.opaque();
  } else {
    const bool is_tuple = number == primitive_type("TUPLE");
    if (!is_tuple && number != primitive_type("BUFFER")) {
      return in.fail("unknown-type", ShapeProto::element_type,
                     fmt::format("there is no type of number {}", number));
    }
    std::vector<const Shape*> elements;
    if (!in.each(ShapeProto::tuple_shapes, [&](const Message& element) {
          return read_shape(reading, element, elements.emplace_back());
        })) {
      return false;
    }
    if (!is_tuple && (elements.size() != 1 || !elements[0]->is_array())) {
      return in.fail("invalid-shape", "a buffer is made of one array shape");
    }
    shape = is_tuple ? reading.shapes.tuple(elements) : reading.shapes.buffer(elements[0]);
    if (!shape) {
      return in.fail("shape-too-large", ShapePool::tuple_too_large());
    }
  }
  // What layouts of tokens and tuples say means nothing.
  if (!shape->is_array()) in.use(ShapeProto::layout);
  if (!in.bytes().empty()) reading.known_shapes.emplace(in.bytes(), shape);
  return true;
}

bool read_shape(Reading& reading, const Message& in, Field field, const Shape*& shape) {
  if (!in.has(field)) return in.fail("missing-field", field, "a shape is missing");
  // The bytes often say enough, without a scan.
  if (auto found = reading.known_shapes.find(in.text(field)); found != reading.known_shapes.end()) {
    shape = found->second;
    return true;
  }
  return in.each(field, [&](const Message& inner) { return read_shape(reading, inner, shape); });
}

bool read_shapes(Reading& reading, const Message& in, Field field,
                 std::span<const Shape* const>& shapes) {
  std::vector<const Shape*> list;
  if (!in.each(field, [&](const Message& inner) {
        return read_shape(reading, inner, list.emplace_back());
      })) {
    return false;
  }
  shapes = reading.arena.copy(list);
  return true;
}

bool read_program_shape(Reading& reading, const Message& in, const ProgramShape*& shape) {
  ProgramShape made{};
  // Parameters have their names from their instructions.
  in.use(ProgramShapeProto::parameter_names);
  if (!read_shapes(reading, in, ProgramShapeProto::parameters, made.parameters) ||
      !read_shape(reading, in, ProgramShapeProto::result, made.result)) {
    return false;
  }
  shape = reading.arena.make<ProgramShape>(made);
  return true;
}

void write_shape(Writing& writing, Writer& out, Field field, const Shape* shape) {
  auto found = writing.shapes.find(shape);
  if (found == writing.shapes.end()) {
    std::string bytes;
    Writer inner(bytes);
    fill_shape(writing, inner, shape);
    found = writing.shapes.emplace(shape, std::move(bytes)).first;
  }
  out.text(field, found->second, true);
}

void write_program_shape(Writing& writing, Writer& out, const ProgramShape& shape) {
  for (const Shape* parameter : shape.parameters) {
    write_shape(writing, out, ProgramShapeProto::parameters, parameter);
  }
  write_shape(writing, out, ProgramShapeProto::result, shape.result);
}

}  // namespace minihlo::proto

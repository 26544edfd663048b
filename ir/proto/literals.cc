// Values of constants. A message has the elements in the order in which the literal's own layout
// puts them in memory, each kind of type in a field of its own; a Literal has them in row-major
// order.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ir/proto/enums.h"
#include "ir/proto/reading.h"
#include "ir/proto/writing.h"

namespace minihlo::proto {
namespace {

size_t width_of(ElementType type) { return static_cast<size_t>(info(type).bytes); }

bool is_row_major(const Shape* shape) {
  const Layout* layout = shape->layout();
  if (!layout) return true;
  for (size_t i = 0; i < layout->minor_to_major.size(); ++i) {
    if (layout->minor_to_major[i] != static_cast<int64_t>(layout->minor_to_major.size() - 1 - i)) {
      return false;
    }
  }
  return true;
}

// Calls visit(index in row-major order) for all elements in the order of the layout. Requires some.
template <class Visit>
void each_physical(const Shape* shape, Visit visit) {
  std::span<const int64_t> order = shape->layout()->minor_to_major;
  const size_t rank = order.size();
  std::vector<int64_t> strides(rank), index(rank);
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    strides[i] = stride;
    stride *= shape->dims()[i];
  }
  const auto fast = static_cast<size_t>(order[0]);
  const int64_t length = shape->dims()[fast];
  int64_t base = 0;
  for (;;) {
    for (int64_t i = 0, at = base; i < length; ++i, at += strides[fast]) visit(at);
    size_t level = 1;
    for (; level < rank; ++level) {
      const auto axis = static_cast<size_t>(order[level]);
      base += strides[axis];
      if (++index[axis] < shape->dims()[axis]) break;
      base -= strides[axis] * shape->dims()[axis];
      index[axis] = 0;
    }
    if (level == rank) return;
  }
}

template <size_t width>
void reorder(const Shape* shape, const std::byte* from, std::byte* to, bool to_physical) {
  each_physical(shape, [&](int64_t at) {
    if (to_physical) {
      std::memcpy(to, from + static_cast<size_t>(at) * width, width);
      to += width;
    } else {
      std::memcpy(to + static_cast<size_t>(at) * width, from, width);
      from += width;
    }
  });
}

void reorder(const Shape* shape, const std::byte* from, std::byte* to, bool to_physical) {
  switch (width_of(shape->element_type())) {
    case 1:
      return reorder<1>(shape, from, to, to_physical);
    case 2:
      return reorder<2>(shape, from, to, to_physical);
    case 4:
      return reorder<4>(shape, from, to, to_physical);
    case 8:
      return reorder<8>(shape, from, to, to_physical);
    default:
      return reorder<16>(shape, from, to, to_physical);
  }
}

// The bytes of whole numbers, narrowed to the element type. They are aligned as elements are.
std::span<const std::byte> narrow(Arena& arena, ElementType type, std::span<const int64_t> values) {
  auto narrowed = [&]<class T>(T) {
    std::span<T> made = arena.array<T>(values.size());
    for (size_t i = 0; i < values.size(); ++i) made[i] = static_cast<T>(values[i]);
    return std::as_bytes(std::span<const T>(made));
  };
  switch (width_of(type)) {
    case 1:
      return narrowed(uint8_t{});
    case 4:
      return narrowed(uint32_t{});
    default:
      return narrowed(uint64_t{});
  }
}

// A byte of a type that is narrower holds the value in its low bits.
void normalize(ElementType type, std::span<std::byte> bytes) {
  const int unused = 8 - info(type).bits;
  for (std::byte& byte : bytes) {
    const auto high = static_cast<uint8_t>(std::to_integer<unsigned>(byte) << unused);
    byte = static_cast<std::byte>(is_signed(type) ? static_cast<int8_t>(high) >> unused
                                                  : high >> unused);
  }
}

bool is_normal(ElementType type, std::span<const std::byte> bytes) {
  if (info(type).bits >= 8) return true;
  std::byte copy[1];
  return std::all_of(bytes.begin(), bytes.end(), [&](std::byte byte) {
    copy[0] = byte;
    normalize(type, copy);
    return copy[0] == byte;
  });
}

bool has_equal_elements(std::span<const std::byte> bytes, size_t width) {
  return std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
}

// The elements as they are in the message, in memory's width and alignment.
bool read_elements(Reading& reading, const Message& in, ElementType type,
                   std::span<const std::byte>& bytes) {
  const Field field = literal_field(type);
  auto copied = [&](std::string_view from) {
    const size_t width = width_of(type);
    auto* place = static_cast<std::byte*>(reading.arena.allocate(from.size(), width));
    if (!from.empty()) std::memcpy(place, from.data(), from.size());
    return std::span(place, from.size());
  };
  switch (field.kind) {
    case FieldKind::kBytes: {
      // What need not be aligned stays where it is.
      std::string_view text = in.text(field);
      bytes = std::as_bytes(std::span(text));
      if (width_of(type) == 1 && is_normal(type, bytes)) return true;
      std::span<std::byte> made = copied(text);
      if (info(type).bits < 8) normalize(type, made);
      bytes = made;
      return true;
    }
    case FieldKind::kFloat:
    case FieldKind::kDouble: {
      std::string scratch;
      std::string_view text;
      if (!in.fixed(field, scratch, text)) return false;
      bytes = copied(text);
      return true;
    }
    default: {
      std::vector<int64_t> values;
      if (!in.integers(field, values)) return false;
      bytes = narrow(reading.arena, type, values);
      return true;
    }
  }
}

bool read_array(Reading& reading, const Message& in, Literal& literal) {
  const Shape* shape = literal.shape;
  const ElementType type = shape->element_type();
  const size_t width = width_of(type);
  const auto count = static_cast<size_t>(shape->element_count());
  if (std::find(shape->dims().begin(), shape->dims().end(), kUnboundedSize) !=
      shape->dims().end()) {
    return in.fail("invalid-literal", "there are no constants of unbounded size");
  }
  std::vector<int64_t> sizes;
  if (in.has(LiteralProto::dynamic_sizes)) {
    if (!in.integers(LiteralProto::dynamic_sizes, sizes)) return false;
    if (!std::equal(sizes.begin(), sizes.end(), shape->dims().begin(), shape->dims().end())) {
      in.warn("field-not-kept", "dynamic_sizes other than the bounds are not taken over");
    }
  }
  if (in.has(LiteralProto::minihlo_splat)) {
    std::string_view text = in.text(LiteralProto::minihlo_splat);
    if (text.size() != width || count < 2) {
      return in.fail("literal-size", LiteralProto::minihlo_splat, "this is not one element");
    }
    auto* place = static_cast<std::byte*>(reading.arena.allocate(width, width));
    std::memcpy(place, text.data(), width);
    if (info(type).bits < 8) normalize(type, {place, width});
    literal.form = Literal::Form::kSplat;
    literal.bytes = {place, width};
    return true;
  }
  if (count > 0 && !in.has(literal_field(type))) {
    literal.form = Literal::Form::kElided;
    return true;
  }
  std::span<const std::byte> bytes;
  if (!read_elements(reading, in, type, bytes)) return false;
  if (bytes.size() % width != 0 || bytes.size() / width != count) {
    return in.fail("literal-size", literal_field(type),
                   fmt::format("{} needs {} elements, not {}", to_string(shape, false), count,
                               bytes.size() / width));
  }
  if (count > 1 && has_equal_elements(bytes, width)) {
    literal.form = Literal::Form::kSplat;
    literal.bytes = bytes.first(width);
    return true;
  }
  literal.form = Literal::Form::kDense;
  literal.bytes = bytes;
  if (count > 0 && !is_row_major(shape)) {
    auto* place = static_cast<std::byte*>(reading.arena.allocate(bytes.size(), width));
    reorder(shape, bytes.data(), place, false);
    literal.bytes = {place, bytes.size()};
  }
  return true;
}

template <class T>
void write_numbers(Writer& out, Field field, std::span<const std::byte> bytes) {
  out.integers<T>(field, {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)});
}

void write_elements(Writer& out, ElementType type, std::span<const std::byte> bytes) {
  const Field field = literal_field(type);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  switch (field.kind) {
    case FieldKind::kFloat:
    case FieldKind::kDouble:
      return out.fixed(field, text);
    case FieldKind::kBool:
      return write_numbers<uint8_t>(out, field, bytes);
    case FieldKind::kInt32:
      return write_numbers<int32_t>(out, field, bytes);
    case FieldKind::kUint32:
      return write_numbers<uint32_t>(out, field, bytes);
    case FieldKind::kInt64:
    case FieldKind::kUint64:
      return write_numbers<int64_t>(out, field, bytes);
    default:
      return out.text(field, text);
  }
}

void write_array(Writing& writing, Writer& out, const Literal& literal, Location location) {
  const Shape* shape = literal.shape;
  const ElementType type = shape->element_type();
  if (shape->is_dynamic()) {
    out.integers<int64_t>(LiteralProto::dynamic_sizes, shape->dims());
  }
  if (literal.form == Literal::Form::kSplat) {
    // A file of 2 GiB is none that protobuf reads.
    constexpr int64_t kLargest = int64_t{1} << 28;
    if (shape->byte_count() > kLargest) {
      out.text(LiteralProto::minihlo_splat,
               {reinterpret_cast<const char*>(literal.bytes.data()), literal.bytes.size()}, true);
      writing.diagnostics.warning(
          "not-for-xla", location,
          fmt::format("a constant of {} bytes is written as one value and a shape, which XLA does "
                      "not read",
                      shape->byte_count()));
      return;
    }
    std::string all;
    for (int64_t i = 0; i < shape->element_count(); ++i) {
      all.append(reinterpret_cast<const char*>(literal.bytes.data()), literal.bytes.size());
    }
    return write_elements(out, type, std::as_bytes(std::span(all)));
  }
  if (literal.bytes.empty() || is_row_major(shape)) return write_elements(out, type, literal.bytes);
  std::string physical(literal.bytes.size(), '\0');
  reorder(shape, literal.bytes.data(), reinterpret_cast<std::byte*>(physical.data()), true);
  write_elements(out, type, std::as_bytes(std::span(physical)));
}

}  // namespace

bool read_literal(Reading& reading, const Message& in, const Literal*& literal) {
  Literal made;
  if (!read_shape(reading, in, LiteralProto::shape, made.shape)) return false;
  if (made.shape->is_array()) {
    if (!read_array(reading, in, made)) return false;
  } else if (made.shape->is_tuple()) {
    made.form = Literal::Form::kTuple;
    std::vector<const Literal*> elements;
    if (!in.each(LiteralProto::tuple_literals, [&](const Message& element) {
          return read_literal(reading, element, elements.emplace_back());
        })) {
      return false;
    }
    bool fits = elements.size() == made.shape->elements().size();
    for (size_t i = 0; fits && i < elements.size(); ++i) {
      fits = compatible(elements[i]->shape, made.shape->element(static_cast<int64_t>(i)));
    }
    if (!fits) {
      return in.fail("literal-size", LiteralProto::tuple_literals,
                     fmt::format("these are not the elements of {}", to_string(made.shape, false)));
    }
    made.elements = reading.arena.copy(elements);
  } else {
    return in.fail("invalid-literal",
                   fmt::format("there are no constants of the shape {}", to_string(made.shape)));
  }
  literal = reading.arena.make<Literal>(made);
  return true;
}

void write_literal(Writing& writing, Writer& out, const Literal& literal, Location location) {
  write_shape(writing, out, LiteralProto::shape, literal.shape);
  if (literal.form == Literal::Form::kTuple) {
    for (const Literal* element : literal.elements) {
      out.message(LiteralProto::tuple_literals,
                  [&](Writer& inner) { write_literal(writing, inner, *element, location); });
    }
  } else if (literal.form != Literal::Form::kElided) {
    write_array(writing, out, literal, location);
  }
}

}  // namespace minihlo::proto

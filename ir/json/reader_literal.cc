#include <fmt/format.h>

#include <cmath>
#include <cstddef>

#include "ir/json/reader.h"
#include "ir/text/element_text.h"

namespace minihlo::internal {
namespace {

// A float, of which only what is no number is a string.
template <class T>
Problem read_float(std::string_view text, JsonKind kind, T& out) {
  if (kind == JsonKind::kString) text = text.substr(1, text.size() - 2);
  const char* p = text.data();
  const char* const end = p + text.size();
  Number number;
  if (Problem problem = read_number(p, end, number); problem != Problem::kNone) return problem;
  const bool finite = number.kind == Number::Kind::kInteger ||
                      (number.kind == Number::Kind::kReal && std::isfinite(number.real));
  if (p != end || finite != (kind == JsonKind::kNumber)) return Problem::kNotAValue;
  return to_float(number, out);
}

// One value; of a complex number, one part.
template <class T>
Problem read_part(std::string_view text, JsonKind kind, T& out) {
  if constexpr (std::is_same_v<T, Pred>) {
    if (kind != JsonKind::kBool) return Problem::kNotAValue;
    out = Pred(text == "true");
    return Problem::kNone;
  } else {
    if (kind != JsonKind::kNumber && kind != JsonKind::kString) return Problem::kNotAValue;
    if constexpr (IsMiniFloat<T>::value || std::is_floating_point_v<T>) {
      return read_float(text, kind, out);
    } else {
      const char* p = text.data();
      Number number;
      if (kind != JsonKind::kNumber ||
          read_number(p, text.data() + text.size(), number) != Problem::kNone) {
        return Problem::kNotAValue;
      }
      return to_integer(number, out);
    }
  }
}

template <class T>
struct Parts {
  using type = T;
};
template <class T>
struct Parts<std::complex<T>> {
  using type = T;
};

}  // namespace

bool JsonReader::read_literal(const JsonValue& value, const Shape* shape, const Literal*& out) {
  if (!expect(value, JsonKind::kObject)) return false;
  Fields fields(*this, value);
  Literal made;
  fields("shape", made.shape, shape);
  auto part = [&](std::string_view key) {
    const Member* member = fields.find(key);
    return member ? std::optional(member->value) : std::nullopt;
  };
  const std::optional<JsonValue> elements = part("elements");
  const std::optional<JsonValue> values = part("values");
  const std::optional<JsonValue> splat = part("splat");
  bool elided = false;
  fields("elided", elided, false);
  if (!fields.close()) return false;
  if (!made.shape) return fail("missing-key", value, "the key 'shape' is missing");
  if (shape && !compatible(made.shape, shape)) {
    return fail("literal-size", value,
                fmt::format("the value is {}, not {}", to_string(made.shape), to_string(shape)));
  }
  if (int(elements.has_value()) + values.has_value() + splat.has_value() + elided != 1) {
    return fail("invalid-literal", value,
                "a literal has one of 'values', 'splat', 'elements' and 'elided'");
  }
  if (!(elements ? made.shape->is_tuple() : made.shape->is_array())) {
    return fail("invalid-literal", value,
                fmt::format("this is no value of the shape {}", to_string(made.shape)));
  }
  if (elements) {
    made.form = Literal::Form::kTuple;
    if (!expect(*elements, JsonKind::kArray)) return false;
    const size_t count = made.shape->elements().size();
    if (document_.count(*elements) != count) {
      return fail(
          "literal-size", *elements,
          fmt::format("the tuple needs {} elements, not {}", count, document_.count(*elements)));
    }
    std::vector<const Literal*> read;
    if (!document_.each_element(*elements, [&](const JsonValue& element) {
          const Shape* own = made.shape->elements()[read.size()];
          return read_literal(element, own, read.emplace_back());
        })) {
      return false;
    }
    made.elements = arena().copy(read);
  } else if (elided) {
    if (made.shape->rank() == 0) {
      return fail("invalid-literal", value, "a scalar can't be elided");
    }
    made.form = Literal::Form::kElided;
  } else if (!read_values(splat ? *splat : *values, splat.has_value(), made)) {
    return false;
  }
  out = arena().make<Literal>(made);
  return true;
}

bool JsonReader::read_values(const JsonValue& value, bool splat, Literal& literal) {
  if (!expect(value, JsonKind::kArray)) return false;
  const Shape& shape = *literal.shape;
  for (int64_t dim : shape.dims()) {
    if (dim == kUnboundedSize) {
      return fail("invalid-literal", value,
                  fmt::format("there are no constants of the shape {}", to_string(&shape)));
    }
  }
  const auto count = static_cast<uint64_t>(shape.element_count());
  if (splat && count == 0) {
    return fail("literal-size", value, fmt::format("{} has no elements", to_string(&shape)));
  }
  const std::string_view type = to_string(shape.element_type());
  return dispatch(shape.element_type(), [&]<class T>(std::type_identity<T>) {
    using Part = typename Parts<T>::type;
    constexpr uint64_t kParts = sizeof(T) / sizeof(Part);
    const uint64_t elements = splat ? 1 : count;
    // Compared so that nothing can overflow.
    if (document_.count(value) % kParts != 0 || document_.count(value) / kParts != elements) {
      return fail("literal-size", value,
                  fmt::format("{} values are written, not {}{}", document_.count(value), elements,
                              kParts == 2 ? " pairs of real and imaginary part" : ""));
    }
    std::span<T> bytes = arena().array<T>(elements);
    auto* next = reinterpret_cast<std::byte*>(bytes.data());
    const bool done = document_.each_element(value, [&](const JsonValue& element) {
      Part part{};
      const Problem problem = read_part(document_.text(element), element.kind, part);
      std::memcpy(next, &part, sizeof(Part));
      next += sizeof(Part);
      switch (problem) {
        case Problem::kNone:
          return true;
        case Problem::kOutOfRange:
        case Problem::kDoubleRange:
          return fail("literal-range", element,
                      fmt::format("the value is outside the range of {}", type));
        case Problem::kPayload:
          return fail("literal-range", element,
                      fmt::format("{} has no NaN with this payload", type));
        default:
          return fail("invalid-literal", element, fmt::format("expected a value of type {}", type));
      }
    });
    literal.form = splat && count > 1 ? Literal::Form::kSplat : Literal::Form::kDense;
    literal.bytes = std::as_bytes(bytes);
    return done;
  });
}

}  // namespace minihlo::internal

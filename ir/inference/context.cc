#include "ir/inference/context.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "ir/float_format.h"

namespace minihlo::inference {
namespace {

// The exponent at which a type overflows.
int overflow_exponent(ElementType type) {
  switch (type) {
    case ElementType::F4E2M1FN:
    case ElementType::F6E2M3FN:
      return 3;
    case ElementType::F8E3M4:
      return 4;
    case ElementType::F6E3M2FN:
    case ElementType::F8E4M3B11FNUZ:
      return 5;
    case ElementType::F8E4M3:
    case ElementType::F8E4M3FNUZ:
      return 8;
    case ElementType::F8E4M3FN:
      return 9;
    case ElementType::F8E5M2:
    case ElementType::F8E5M2FNUZ:
    case ElementType::F16:
      return 16;
    case ElementType::F8E8M0FNU:
    case ElementType::BF16:
    case ElementType::F32:
    case ElementType::C64:
      return 128;
    case ElementType::F64:
    case ElementType::C128:
      return 1024;
    default:
      return -1;
  }
}

auto order(ElementType type) {
  const int overflow = overflow_exponent(type);
  return std::tuple(is_complex(type), overflow, overflow < 0 ? -1 : significand_bits(type),
                    info(type).bits, is_signed(type), type);
}

// Whether `shape` is what try_array would make of the parts.
bool is_made_of(const Shape* shape, ElementType type, std::span<const Dim> dims,
                const Layout* layout) {
  if (!shape->is_array() || shape->element_type() != type || !shape->layout() ||
      shape->rank() != static_cast<int64_t>(dims.size()) || !shape->layout()->has_only_order()) {
    return false;
  }
  std::span<const int64_t> order = shape->layout()->minor_to_major;
  if (order.size() != dims.size()) return false;
  if (layout && (!layout->has_only_order() || layout->minor_to_major.size() != dims.size())) {
    return false;
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t next =
        layout ? layout->minor_to_major[i] : shape->rank() - 1 - static_cast<int64_t>(i);
    if (order[i] != next) return false;
    const auto axis = static_cast<int64_t>(i);
    if (shape->dim(axis) != dims[i].size || shape->is_dynamic(axis) != dims[i].dynamic)
      return false;
  }
  return true;
}

bool has_default_layout(const Shape* shape) {
  if (!shape->layout() || !shape->layout()->has_only_order()) return false;
  int64_t next = shape->rank();
  for (int64_t dim : shape->layout()->minor_to_major) {
    if (dim != --next) return false;
  }
  return true;
}

}  // namespace

Dims dims_of(const Shape* shape) {
  Dims dims;
  dims.reserve(static_cast<size_t>(shape->rank()));
  for (int64_t i = 0; i < shape->rank(); ++i) dims.push_back(dim_of(shape, i));
  return dims;
}

std::optional<Dim> merge(Dim a, Dim b) {
  if (a.unbounded()) return b;
  if (b.unbounded()) return a;
  if (a.size != b.size) return std::nullopt;
  return Dim{a.size, a.dynamic || b.dynamic};
}

bool same_dims(const Shape* a, const Shape* b) {
  if (a->rank() != b->rank()) return false;
  for (int64_t i = 0; i < a->rank(); ++i) {
    if (!merge(dim_of(a, i), dim_of(b, i))) return false;
  }
  return true;
}

ElementType higher_precision(ElementType a, ElementType b) { return order(a) < order(b) ? b : a; }

std::optional<ElementType> common_type(ElementType a, ElementType b) {
  if (a == b) return a;
  if (is_float(a) && is_float(b)) return higher_precision(a, b);
  return std::nullopt;
}

std::string Context::describe(size_t i) const {
  return fmt::format("operand {} (%{}, {})", i, operand(i)->name(), text(shape(i)));
}

std::string Context::need_array(size_t i) const {
  if (shape(i)->is_array()) return "";
  return fmt::format("{} is no array", describe(i));
}

std::string Context::need_arrays(size_t from, size_t to) const {
  for (size_t i = from; i < to; ++i) {
    if (std::string wrong = need_array(i); !wrong.empty()) return wrong;
  }
  return "";
}

std::string Context::need_scalar(size_t i) const {
  if (shape(i)->is_scalar()) return "";
  return fmt::format("{} is no scalar", describe(i));
}

std::string Context::need_integers(size_t i) const {
  if (shape(i)->is_array() && is_integer(shape(i)->element_type())) return "";
  return fmt::format("{} is not made of integers", describe(i));
}

std::string Context::need_written() const {
  if (written()) return "";
  return fmt::format(
      "the shape of {} must be written: it does not follow from operands and "
      "attributes",
      name());
}

std::string Context::need_written_array() const {
  if (std::string wrong = need_written(); !wrong.empty()) return wrong;
  if (written()->is_array()) return "";
  return fmt::format("the result of {} is an array, not {}", name(), text(written()));
}

std::string Context::need_same_dims(size_t i, size_t j) const {
  if (same_dims(shape(i), shape(j))) return "";
  return fmt::format("{} and {} differ in their dimensions", describe(i), describe(j));
}

std::string Context::need_like_types(size_t i, size_t j) const {
  if (like(shape(i)->element_type(), shape(j)->element_type())) return "";
  return fmt::format("{} and {} differ in their element types", describe(i), describe(j));
}

Result Context::array(ElementType type, const Dims& dims, const Layout* layout) const {
  // Most often the result is as written, and need not be looked for among all shapes.
  if (written() && is_made_of(written(), type, dims, layout)) return written();
  std::vector<int64_t> sizes;
  sizes.reserve(dims.size());
  auto dynamic = std::make_unique<bool[]>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    sizes.push_back(dims[i].size);
    dynamic[i] = dims[i].dynamic;
  }
  const Shape* made = shapes_.try_array(type, sizes, std::span(dynamic.get(), dims.size()), layout);
  if (made) return made;
  return fail("the result {}[{}] is too large", to_string(type), fmt::join(sizes, ","));
}

Result Context::with_type(const Shape* shape, ElementType type) const {
  if (shape->element_type() == type) return shape;
  Layout layout;
  if (shape->layout()) layout.minor_to_major = shape->layout()->minor_to_major;
  const bool plain = !shape->layout() || has_default_layout(shape);
  const Shape* made =
      shapes_.try_array(type, shape->dims(), shape->dynamic_dims(), plain ? nullptr : &layout);
  if (made) return made;
  return fail("the result {} of {} is too large", to_string(type), text(shape));
}

Result Context::tuple(std::span<const Shape* const> elements) const {
  const Shape* made = shapes_.tuple(elements);
  if (made) return made;
  return fail("the result, a tuple of {} elements, is too large", elements.size());
}

Result Context::one_or_tuple(std::span<const Shape* const> elements) const {
  if (elements.size() == 1) return elements[0];
  return tuple(elements);
}

std::string check_dimensions(std::string_view what, std::span<const int64_t> dims, int64_t rank,
                             bool sorted) {
  DimensionSet seen(rank);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= rank) {
      return fmt::format("{}={} names dimension {}, but there are {}", what, list_text(dims),
                         dims[i], rank);
    }
    if (!seen.insert(dims[i])) {
      return fmt::format("{}={} names dimension {} twice", what, list_text(dims), dims[i]);
    }
    if (sorted && i > 0 && dims[i] < dims[i - 1]) {
      return fmt::format("{}={} is not in ascending order", what, list_text(dims));
    }
  }
  return "";
}

std::string check_one_dimension(std::string_view what, std::span<const int64_t> dims,
                                int64_t rank) {
  if (dims.size() != 1) {
    return fmt::format("{}={} must name one dimension", what, list_text(dims));
  }
  return check_dimensions(what, dims, rank);
}

std::string wide_text(Wide value) {
  if (value >= INT64_MIN && value <= INT64_MAX) {
    return fmt::to_string(static_cast<int64_t>(value));
  }
  return value < 0 ? "less than -2^63" : "more than 2^63";
}

std::string list_text(std::span<const int64_t> values) {
  // A list that goes on and on says no more than its start.
  constexpr size_t kShown = 16;
  std::string shown = fmt::to_string(fmt::join(values.first(std::min(values.size(), kShown)), ","));
  return fmt::format("{{{}{}}}", shown, values.size() > kShown ? ",..." : "");
}

}  // namespace minihlo::inference

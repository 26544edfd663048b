// What the shape rules of all families share: operands by number, messages, dimensions that may be
// dynamic, and arithmetic on sizes that can't overflow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tl/expected.hpp>

#include "ir/shape_inference.h"

namespace minihlo::inference {

using Result = tl::expected<const Shape*, std::string>;

/// Sizes and attributes are 64-bit numbers of any value; sums and products of two fit this.
__extension__ using Wide = __int128;

template <class... Args>
tl::unexpected<std::string> fail(fmt::format_string<Args...> text, Args&&... args) {
  return tl::make_unexpected(fmt::format(text, std::forward<Args>(args)...));
}

/// Checks return what is wrong, or an empty string.
#define MINIHLO_RETURN_IF_WRONG(check)                 \
  do {                                                 \
    if (std::string wrong = (check); !wrong.empty()) { \
      return tl::make_unexpected(std::move(wrong));    \
    }                                                  \
  } while (false)

/// The size of a dimension; kUnboundedSize where nothing is known of it.
struct Dim {
  int64_t size;
  bool dynamic = false;

  bool unbounded() const { return size == kUnboundedSize; }
};
using Dims = std::vector<Dim>;

inline Dim dim_of(const Shape* shape, int64_t i) { return {shape->dim(i), shape->is_dynamic(i)}; }
Dims dims_of(const Shape* shape);
inline constexpr Dim kUnboundedDim = {kUnboundedSize, true};

/// The dimension that both may be: a known size wins over an unknown one, dynamic over static.
/// Nothing when they differ.
std::optional<Dim> merge(Dim a, Dim b);
bool same_dims(const Shape* a, const Shape* b);

/// The type of both: the same one, or of two floats the one with more range, then precision.
std::optional<ElementType> common_type(ElementType a, ElementType b);
/// The type with more: complex over real, then range, precision, width, signed over unsigned
/// (HigherPrecisionType of xla/primitive_util.h).
ElementType higher_precision(ElementType a, ElementType b);
/// Whether a value of one type may meet one of the other: the same, or both floats.
inline bool like(ElementType a, ElementType b) { return common_type(a, b).has_value(); }

class Context {
 public:
  Context(ShapePool& shapes, const InstructionParts& parts) : shapes_(shapes), parts_(parts) {}

  ShapePool& shapes() const { return shapes_; }
  Opcode opcode() const { return parts_.opcode; }
  std::string_view name() const { return to_string(parts_.opcode); }
  size_t count() const { return parts_.operands.size(); }
  const Instruction* operand(size_t i) const { return parts_.operands[i]; }
  const Shape* shape(size_t i) const { return parts_.operands[i]->shape(); }
  const Shape* written() const { return parts_.written; }

  template <class T>
  T get(AttributeKey<T> key) const {
    return minihlo::get(parts_.attributes, key);
  }
  template <class T>
  std::optional<T> find(AttributeKey<T> key) const {
    return minihlo::find(parts_.attributes, key);
  }
  template <class T>
  bool has(AttributeKey<T> key) const {
    return find_attribute(parts_.attributes, key.id) != nullptr;
  }

  /// operand 1 (%b, f32[3])
  std::string describe(size_t i) const;

  // Checks.
  std::string need_array(size_t i) const;
  std::string need_arrays(size_t from, size_t to) const;
  std::string need_scalar(size_t i) const;
  /// That operand i is a scalar or array of integers.
  std::string need_integers(size_t i) const;
  std::string need_written() const;
  std::string need_written_array() const;
  /// That operands i and j have the same dimensions, and types that may meet.
  std::string need_same_dims(size_t i, size_t j) const;
  std::string need_like_types(size_t i, size_t j) const;

  // Results.
  /// An array with default layout, or with `layout`. Fails when its size does not fit 63 bits.
  Result array(ElementType type, const Dims& dims, const Layout* layout = nullptr) const;
  /// `shape` with its layout, and another element type.
  Result with_type(const Shape* shape, ElementType type) const;
  Result tuple(std::span<const Shape* const> elements) const;
  /// The only element, or a tuple of several.
  Result one_or_tuple(std::span<const Shape* const> elements) const;

 private:
  ShapePool& shapes_;
  const InstructionParts& parts_;
};

/// That `dims`, an attribute called `what`, names dimensions below `rank`, each at most once, and
/// where `sorted` is set in ascending order.
std::string check_dimensions(std::string_view what, std::span<const int64_t> dims, int64_t rank,
                             bool sorted = false);
/// That `dims` names one dimension below `rank`.
std::string check_one_dimension(std::string_view what, std::span<const int64_t> dims, int64_t rank);

/// Whether `value` is a size that fits 63 bits.
inline bool fits(Wide value) { return value >= 0 && value <= INT64_MAX; }
/// A number for a message.
std::string wide_text(Wide value);
/// {0,2}
std::string list_text(std::span<const int64_t> values);
/// f32[2,3]
inline std::string text(const Shape* shape) { return to_string(shape, false); }

/// A set of dimensions below a rank. Ranks that occur take no memory from the heap.
class DimensionSet {
 public:
  explicit DimensionSet(int64_t rank) : many_(rank > kFew ? static_cast<size_t>(rank) : 0) {}
  /// Of those that `dims` lists.
  DimensionSet(std::span<const int64_t> dims, int64_t rank) : DimensionSet(rank) {
    for (int64_t dim : dims) insert(dim);
  }

  bool contains(int64_t dim) const {
    return many_.empty() ? few_ >> dim & 1 : many_[static_cast<size_t>(dim)];
  }
  /// False where it was among them.
  bool insert(int64_t dim) {
    if (contains(dim)) return false;
    if (many_.empty()) {
      few_ |= uint64_t{1} << dim;
    } else {
      many_[static_cast<size_t>(dim)] = true;
    }
    return true;
  }

 private:
  static constexpr int64_t kFew = 64;
  uint64_t few_ = 0;
  std::vector<bool> many_;  // of ranks above kFew
};

}  // namespace minihlo::inference

// Shapes: what an instruction's value looks like. They are immutable and interned in a ShapePool,
// so that two shapes of one pool are equal exactly when their addresses are.
//
//   f32[2,3]{1,0}          array: element type, dimensions, layout
//   (f32[2]{0}, token[])   tuple of shapes
//   b(f32[8]{0})           buffer of an array shape
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/arena.h"
#include "ir/element_type.h"

namespace minihlo {

class Shape;

/// How an array lies in memory: the parts of XLA's Layout that text can carry (xla/layout.cc).
struct Layout {
  std::span<const int64_t> minor_to_major;  // dimension numbers, fastest-moving first
  std::string_view tiling;                  // "T(8,128)(2,1)", as written; empty if none
  int64_t tail_padding_alignment = 1;       // L(n), in elements
  std::string_view index_type;              // #(u32): "u32", or empty
  std::string_view pointer_type;            // *(u32)
  int64_t element_size_in_bits = 0;         // E(n)
  int64_t memory_space = 0;                 // S(n)
  std::string_view split_configs;           // "SC(0:4)", as written
  int64_t metadata_prefix_bytes = 0;        // M(n)

  bool has_only_order() const;
};

/// A dimension whose size is not known until run time and has no bound: `?`.
inline constexpr int64_t kUnboundedSize = std::numeric_limits<int64_t>::min();

class Shape {
 public:
  enum class Kind : uint8_t { kArray, kTuple, kToken, kOpaque, kBuffer };

  Kind kind() const { return kind_; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_tuple() const { return kind_ == Kind::kTuple; }
  bool is_token() const { return kind_ == Kind::kToken; }

  // Arrays.
  ElementType element_type() const { return element_type_; }
  std::span<const int64_t> dims() const { return dims_; }
  int64_t dim(int64_t i) const { return dims_[i]; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  bool is_scalar() const { return is_array() && dims_.empty(); }
  /// Whether dimension i has a size that only run time knows: `<=N` or `?`.
  bool is_dynamic(int64_t i) const { return !dynamic_.empty() && dynamic_[i]; }
  /// Whether any dimension of any array in it has.
  bool is_dynamic() const { return is_dynamic_; }
  /// is_dynamic(i) of every dimension; empty when all are static.
  std::span<const bool> dynamic_dims() const { return dynamic_; }
  /// The layout, or null where none is set.
  const Layout* layout() const { return layout_; }
  /// Product of the dimensions (bounds, where dynamic); fits 63 bits, as do the bytes. 0 if
  /// unbounded.
  int64_t element_count() const { return element_count_; }

  // Tuples; a buffer has its array as its only element.
  std::span<const Shape* const> elements() const { return elements_; }
  const Shape* element(int64_t i) const { return elements_[i]; }

  /// Leaves of the tuple tree: arrays, tokens, opaques and buffers.
  int64_t leaf_count() const { return leaf_count_; }
  /// How deep tuples and buffers nest in it; 0: not at all.
  int depth() const { return depth_; }
  /// Bytes of all arrays in it, at one byte or more an element; fits 63 bits.
  int64_t byte_count() const { return byte_count_; }

  /// The same shape without layouts: shapes are compatible when these are the same.
  const Shape* bare() const { return bare_; }
  /// The same without layouts where all dimensions that have a bound are static.
  const Shape* static_shape() const { return static_; }
  /// Whether any dimension of any array in it has no bound.
  bool is_unbounded() const { return is_unbounded_; }

 private:
  friend class ShapePool;
  Kind kind_ = Kind::kArray;
  ElementType element_type_ = ElementType::PRED;
  std::span<const int64_t> dims_;
  std::span<const bool> dynamic_;  // empty when all dimensions are static
  const Layout* layout_ = nullptr;
  std::span<const Shape* const> elements_;
  int64_t element_count_ = 0;
  int64_t leaf_count_ = 1;
  int depth_ = 0;
  bool is_dynamic_ = false;
  bool is_unbounded_ = false;
  int64_t shape_count_ = 1;  // of the tree, this one included
  int64_t byte_count_ = 0;
  const Shape* bare_ = nullptr;
  const Shape* static_ = nullptr;
};

/// Whether a value of one shape may stand for the other: equal but for layouts. Both of one pool.
inline bool compatible(const Shape* a, const Shape* b) { return a->bare() == b->bare(); }

/// compatible(), where a dimension that is dynamic with some bound also equals the static one of
/// that size, and an unbounded one any: XLA's Compatible. Both of one pool.
bool compatible_but_for_dynamic(const Shape* a, const Shape* b);

/// Appends the text of a shape; layouts are left out where `layouts` is false (computation
/// signatures).
void append(std::string& out, const Shape* shape, bool layouts = true);
/// The same for messages: of what is long, the start. A few lines can make a shape of megabytes.
std::string to_string(const Shape* shape, bool layouts = true);

/// The leaves of the tuple tree, in order; of anything but a tuple, itself.
std::vector<const Shape*> leaf_shapes(const Shape* shape);

/// The owner of shapes. Thread-safe. Modules made from one another share one pool, and so must
/// modules that are compared.
class ShapePool {
 public:
  ShapePool();
  ~ShapePool();

  // Bounds of what a shape may be, so that a few lines of text can't make a module of any size.
  static constexpr size_t kMaxRank = 1000;
  static constexpr int64_t kMaxShapes = int64_t{1} << 18;  // in a tuple: leaves, inner tuples
  // The same where any is unbounded: two such are compared leaf by leaf.
  static constexpr int64_t kMaxUnboundedShapes = int64_t{1} << 12;
  static constexpr int kMaxDepth = 400;

  /// An array shape with the descending default layout, or with `layout`. Nothing when there are
  /// more than kMaxRank dimensions, the number of elements or bytes does not fit 63 bits, or a
  /// dimension is negative (and not unbounded).
  const Shape* try_array(ElementType type, std::span<const int64_t> dims,
                         std::span<const bool> dynamic = {}, const Layout* layout = nullptr);
  /// The same where the dimensions come from shapes that fit. Requires that they do.
  const Shape* array(ElementType type, std::span<const int64_t> dims);
  const Shape* scalar(ElementType type) { return array(type, {}); }
  /// Null when the bytes of all elements together do not fit 63 bits, there are more than
  /// kMaxShapes shapes in it (kMaxUnboundedShapes), or tuples nest more than kMaxDepth deep.
  const Shape* tuple(std::span<const Shape* const> elements);
  /// What to say where there is no such tuple.
  static std::string tuple_too_large();
  const Shape* token();
  const Shape* opaque();
  const Shape* buffer(const Shape* array);

  /// `shape` with other dimensions, other element type; default layout.
  const Shape* with_dims(const Shape* shape, std::span<const int64_t> dims);
  const Shape* with_element_type(const Shape* shape, ElementType type);

 private:
  struct Table;
  const Shape* intern(const Shape& shape);
  const Shape* make_static(const Shape& bare);
  const Layout* intern_layout(const Layout& layout);

  std::mutex mutex_;
  Arena arena_;
  std::unique_ptr<Table> table_;
};

}  // namespace minihlo

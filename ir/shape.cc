#include "ir/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <unordered_set>

#include "ir/hash.h"

namespace minihlo {
namespace {

size_t mix(size_t hash, size_t value) {
  return (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29);
}

size_t mix(size_t hash, std::string_view text) { return mix(hash, hash_text_wide(text)); }

template <class T>
size_t mix(size_t hash, std::span<const T> values) {
  hash = mix(hash, values.size());
  for (const T& value : values) {
    if constexpr (std::is_pointer_v<T>) {
      hash = mix(hash, reinterpret_cast<size_t>(value));
    } else {
      hash = mix(hash, static_cast<size_t>(value));
    }
  }
  return hash;
}

template <class T>
bool same(std::span<const T> a, std::span<const T> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool same(const Layout& a, const Layout& b) {
  return same(a.minor_to_major, b.minor_to_major) && a.tiling == b.tiling &&
         a.tail_padding_alignment == b.tail_padding_alignment && a.index_type == b.index_type &&
         a.pointer_type == b.pointer_type && a.element_size_in_bits == b.element_size_in_bits &&
         a.memory_space == b.memory_space && a.split_configs == b.split_configs &&
         a.metadata_prefix_bytes == b.metadata_prefix_bytes;
}

// The product, or nothing when it does not fit 63 bits.
std::optional<int64_t> multiply(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

}  // namespace

bool Layout::has_only_order() const {
  Layout plain;
  plain.minor_to_major = minor_to_major;
  return same(*this, plain);
}

struct ShapePool::Table {
  struct Hash {
    size_t operator()(const Layout* layout) const {
      size_t hash = mix(internal::kHashSeed, layout->minor_to_major);
      if (layout->has_only_order()) return hash;
      for (std::string_view text :
           {layout->tiling, layout->index_type, layout->pointer_type, layout->split_configs}) {
        hash = mix(hash, text);
      }
      for (int64_t number : {layout->tail_padding_alignment, layout->element_size_in_bits,
                             layout->memory_space, layout->metadata_prefix_bytes}) {
        hash = mix(hash, static_cast<size_t>(number));
      }
      return hash;
    }
    size_t operator()(const Shape* shape) const {
      size_t hash = mix(internal::kHashSeed, static_cast<size_t>(shape->kind()));
      hash = mix(hash, static_cast<size_t>(shape->element_type()));
      hash = mix(hash, reinterpret_cast<size_t>(shape->layout()));
      return mix(mix(mix(hash, shape->dims()), shape->dynamic_dims()), shape->elements());
    }
  };
  struct Equal {
    bool operator()(const Layout* a, const Layout* b) const { return same(*a, *b); }
    bool operator()(const Shape* a, const Shape* b) const {
      return a->kind() == b->kind() && a->element_type() == b->element_type() &&
             same(a->dims(), b->dims()) && same(a->dynamic_, b->dynamic_) &&
             a->layout() == b->layout() && same(a->elements(), b->elements());
    }
  };
  std::unordered_set<const Shape*, Hash, Equal> shapes;
  std::unordered_set<const Layout*, Hash, Equal> layouts;
};

namespace {

void append_leaves(const Shape* shape, std::vector<const Shape*>& leaves) {
  if (!shape->is_tuple()) {
    leaves.push_back(shape);
    return;
  }
  for (const Shape* element : shape->elements()) append_leaves(element, leaves);
}

}  // namespace

std::vector<const Shape*> leaf_shapes(const Shape* shape) {
  std::vector<const Shape*> leaves;
  append_leaves(shape, leaves);
  return leaves;
}

ShapePool::ShapePool() : table_(std::make_unique<Table>()) {}
ShapePool::~ShapePool() = default;

const Layout* ShapePool::intern_layout(const Layout& layout) {
  if (auto found = table_->layouts.find(&layout); found != table_->layouts.end()) return *found;
  Layout* kept = arena_.make<Layout>(layout);
  kept->minor_to_major = arena_.copy(layout.minor_to_major);
  kept->tiling = arena_.copy_string(layout.tiling);
  kept->index_type = arena_.copy_string(layout.index_type);
  kept->pointer_type = arena_.copy_string(layout.pointer_type);
  kept->split_configs = arena_.copy_string(layout.split_configs);
  table_->layouts.insert(kept);
  return kept;
}

// Requires the lock. Fills in what follows from the key (kind, type, dims, layout, elements).
const Shape* ShapePool::intern(const Shape& key) {
  if (auto found = table_->shapes.find(&key); found != table_->shapes.end()) return *found;
  Shape bare = key;
  bare.layout_ = nullptr;
  std::vector<const Shape*> bare_elements;
  for (const Shape* element : key.elements_) bare_elements.push_back(element->bare());
  bare.elements_ = bare_elements;
  bool is_bare = key.layout_ == nullptr && same(bare.elements_, key.elements_);
  const Shape* bare_shape = is_bare ? nullptr : intern(bare);
  const Shape* static_shape = is_bare ? make_static(key) : bare_shape->static_;

  Shape* kept = arena_.make<Shape>(key);
  kept->dims_ = arena_.copy(key.dims_);
  kept->dynamic_ = arena_.copy(key.dynamic_);
  kept->elements_ = arena_.copy(key.elements_);
  kept->bare_ = is_bare ? kept : bare_shape;
  kept->static_ = static_shape ? static_shape : kept;
  table_->shapes.insert(kept);
  return kept;
}

// Requires the lock and a shape without layouts. Null where no dimension is dynamic with a bound.
const Shape* ShapePool::make_static(const Shape& bare) {
  if (!bare.is_dynamic_) return nullptr;
  Shape made = bare;
  made.is_dynamic_ = bare.is_unbounded_;
  std::vector<const Shape*> elements;
  for (const Shape* element : bare.elements_) elements.push_back(element->static_shape());
  made.elements_ = elements;
  const auto unbounded = std::make_unique<bool[]>(bare.dims_.size());
  for (size_t i = 0; i < bare.dims_.size(); ++i) unbounded[i] = bare.dims_[i] == kUnboundedSize;
  made.dynamic_ = {};
  if (made.is_dynamic_) made.dynamic_ = std::span(unbounded.get(), bare.dims_.size());
  if (same(made.dynamic_, bare.dynamic_) && same(made.elements_, bare.elements_)) return nullptr;
  return intern(made);
}

const Shape* ShapePool::try_array(ElementType type, std::span<const int64_t> dims,
                                  std::span<const bool> dynamic, const Layout* layout) {
  if (dims.size() > kMaxRank) return nullptr;
  int64_t count = 1;
  bool empty = false, unbounded = false;
  for (int64_t dim : dims) {
    if (dim == kUnboundedSize || dim == 0) {
      empty = true;  // an unbounded dimension has no size to count
      unbounded |= dim == kUnboundedSize;
      continue;
    }
    if (dim < 0) return nullptr;
    std::optional<int64_t> product = multiply(count, dim);
    if (!product) return nullptr;
    count = *product;
  }
  std::optional<int64_t> bytes = multiply(count, info(type).bytes);
  if (!bytes) return nullptr;

  Shape shape;
  shape.kind_ = Shape::Kind::kArray;
  shape.element_type_ = type;
  shape.dims_ = dims;
  if (std::find(dynamic.begin(), dynamic.end(), true) != dynamic.end()) {
    shape.is_dynamic_ = true;
    shape.dynamic_ = dynamic;
  }
  shape.is_unbounded_ = unbounded;
  shape.element_count_ = empty ? 0 : count;
  shape.byte_count_ = empty ? 0 : *bytes;

  std::lock_guard lock(mutex_);
  if (layout) {
    shape.layout_ = intern_layout(*layout);
  } else {
    std::vector<int64_t> order(dims.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(order.size() - 1 - i);
    Layout descending;
    descending.minor_to_major = order;
    shape.layout_ = intern_layout(descending);
  }
  return intern(shape);
}

const Shape* ShapePool::array(ElementType type, std::span<const int64_t> dims) {
  const Shape* shape = try_array(type, dims);
  assert(shape);
  return shape;
}

const Shape* ShapePool::tuple(std::span<const Shape* const> elements) {
  Shape shape;
  shape.kind_ = Shape::Kind::kTuple;
  shape.elements_ = elements;
  shape.leaf_count_ = 0;
  for (const Shape* element : elements) {
    shape.depth_ = std::max(shape.depth_, element->depth() + 1);
    shape.is_dynamic_ |= element->is_dynamic();
    shape.is_unbounded_ |= element->is_unbounded();
    shape.leaf_count_ += element->leaf_count();
    if (__builtin_add_overflow(shape.byte_count_, element->byte_count(), &shape.byte_count_)) {
      return nullptr;
    }
    // Tuples count, too: a tree of empty ones is made of few lines, and has no leaves.
    shape.shape_count_ += element->shape_count_;
    const int64_t most = shape.is_unbounded_ ? kMaxUnboundedShapes : kMaxShapes;
    if (shape.shape_count_ > most || shape.depth_ > kMaxDepth) return nullptr;
  }
  std::lock_guard lock(mutex_);
  return intern(shape);
}

std::string ShapePool::tuple_too_large() {
  return fmt::format(
      "a tuple of more than {} shapes, {} levels or 2^63 bytes, or of more than {} shapes of which "
      "any is unbounded",
      kMaxShapes, kMaxDepth, kMaxUnboundedShapes);
}

const Shape* ShapePool::token() {
  Shape shape;
  shape.kind_ = Shape::Kind::kToken;
  std::lock_guard lock(mutex_);
  return intern(shape);
}

const Shape* ShapePool::opaque() {
  Shape shape;
  shape.kind_ = Shape::Kind::kOpaque;
  std::lock_guard lock(mutex_);
  return intern(shape);
}

const Shape* ShapePool::buffer(const Shape* array) {
  Shape shape;
  shape.kind_ = Shape::Kind::kBuffer;
  shape.elements_ = std::span(&array, 1);
  shape.is_dynamic_ = array->is_dynamic();
  shape.is_unbounded_ = array->is_unbounded();
  shape.byte_count_ = array->byte_count();
  std::lock_guard lock(mutex_);
  return intern(shape);
}

const Shape* ShapePool::with_dims(const Shape* shape, std::span<const int64_t> dims) {
  return array(shape->element_type(), dims);
}

const Shape* ShapePool::with_element_type(const Shape* shape, ElementType type) {
  return try_array(type, shape->dims(), shape->dynamic_dims());
}

namespace {

void append_layout(std::string& out, const Layout& layout) {
  if (layout.minor_to_major.empty() && layout.has_only_order()) return;
  out += '{';
  out += fmt::to_string(fmt::join(layout.minor_to_major, ","));
  if (!layout.has_only_order()) out += ':';
  out += layout.tiling;
  if (layout.tail_padding_alignment != 1)
    out += fmt::format("L({})", layout.tail_padding_alignment);
  if (!layout.index_type.empty()) out += fmt::format("#({})", layout.index_type);
  if (!layout.pointer_type.empty()) out += fmt::format("*({})", layout.pointer_type);
  if (layout.element_size_in_bits) out += fmt::format("E({})", layout.element_size_in_bits);
  if (layout.memory_space) out += fmt::format("S({})", layout.memory_space);
  out += layout.split_configs;
  if (layout.metadata_prefix_bytes) out += fmt::format("M({})", layout.metadata_prefix_bytes);
  out += '}';
}

// Elements of tuples past `most` bytes of text are left out.
void append_up_to(size_t most, std::string& out, const Shape* shape, bool layouts) {
  switch (shape->kind()) {
    case Shape::Kind::kToken:
      out += "token[]";
      return;
    case Shape::Kind::kOpaque:
      out += "opaque[]";
      return;
    case Shape::Kind::kBuffer:
      out += "b(";
      append_up_to(most, out, shape->element(0), layouts);
      out += ')';
      return;
    case Shape::Kind::kTuple:
      out += '(';
      for (size_t i = 0; i < shape->elements().size(); ++i) {
        if (i > 0) out += ", ";
        if (out.size() > most) {
          out += "...";
          break;
        }
        if (i > 0 && i % 5 == 0) fmt::format_to(std::back_inserter(out), "/*index={}*/", i);
        append_up_to(most, out, shape->element(static_cast<int64_t>(i)), layouts);
      }
      out += ')';
      return;
    case Shape::Kind::kArray:
      break;
  }
  out += to_string(shape->element_type());
  out += '[';
  for (int64_t i = 0; i < shape->rank(); ++i) {
    if (i > 0) out += ',';
    if (shape->dim(i) == kUnboundedSize) {
      out += '?';
      continue;
    }
    if (shape->is_dynamic(i)) out += "<=";
    fmt::format_to(std::back_inserter(out), "{}", shape->dim(i));
  }
  out += ']';
  if (layouts && shape->layout()) append_layout(out, *shape->layout());
}

}  // namespace

void append(std::string& out, const Shape* shape, bool layouts) {
  append_up_to(std::string::npos, out, shape, layouts);
}

std::string to_string(const Shape* shape, bool layouts) {
  constexpr size_t kMost = 400;
  std::string out;
  append_up_to(kMost, out, shape, layouts);
  return out;
}

bool compatible_but_for_dynamic(const Shape* a, const Shape* b) {
  if (a->static_shape() == b->static_shape()) return true;
  if (!a->is_unbounded() && !b->is_unbounded()) return false;
  if (a->kind() != b->kind() || a->elements().size() != b->elements().size()) return false;
  for (size_t i = 0; i < a->elements().size(); ++i) {
    if (!compatible_but_for_dynamic(a->elements()[i], b->elements()[i])) return false;
  }
  if (!a->is_array()) return true;
  // An unbounded dimension may have any size.
  return a->element_type() == b->element_type() &&
         std::equal(a->dims().begin(), a->dims().end(), b->dims().begin(), b->dims().end(),
                    [](int64_t x, int64_t y) {
                      return x == y || x == kUnboundedSize || y == kUnboundedSize;
                    });
}

}  // namespace minihlo

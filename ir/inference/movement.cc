// Movement whose places follow from attributes alone.
#include "ir/inference/families.h"

namespace minihlo::inference {
namespace {

bool is_bounded(const Shape* shape) {
  for (int64_t dim : shape->dims()) {
    if (dim == kUnboundedSize) return false;
  }
  return true;
}

// An array of operand 0's elements with the dimensions that are written.
Result reshaped(const Context& c) {
  if (!like(c.written()->element_type(), c.shape(0)->element_type())) {
    return fail("{} does not change element types, but {} becomes {}", c.name(), c.describe(0),
                text(c.written()));
  }
  if (is_bounded(c.shape(0)) && is_bounded(c.written()) &&
      c.shape(0)->element_count() != c.written()->element_count()) {
    return fail("{} has {} elements, the result {} has {}", c.describe(0),
                c.shape(0)->element_count(), text(c.written()), c.written()->element_count());
  }
  return c.array(c.shape(0)->element_type(), dims_of(c.written()));
}

// Shifts or indices speak of each element of the operand, or of all along a dimension at once,
// where their own size is 1; `count` numbers each, in a dimension of their own unless it is left
// out.
bool speaks_of(const Literal& table, const Shape* operand, size_t count, bool bare) {
  std::span<const int64_t> dims = operand->dims(), own = table.shape->dims();
  if (!table.shape->is_array() || !is_integer(table.shape->element_type())) return false;
  if (own.size() != dims.size() + (bare ? 0 : 1)) return false;
  if (!bare && own.back() != static_cast<int64_t>(count)) return false;
  return std::equal(dims.begin(), dims.end(), own.begin(),
                    [](int64_t dim, int64_t size) { return size == dim || size == 1; });
}

}  // namespace

Result infer_same(const Context& c) { return c.shape(0); }

Result infer_broadcast(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  const Shape* operand = c.shape(0);
  std::span<const int64_t> dimensions = c.get(attr::dimensions);
  if (!c.written() && operand->is_scalar() && dimensions.empty()) return operand;
  MINIHLO_RETURN_IF_WRONG(c.need_written_array());
  if (static_cast<int64_t>(dimensions.size()) != operand->rank()) {
    return fail("dimensions={} must name one dimension of the result for each of {}",
                list_text(dimensions), c.describe(0));
  }
  MINIHLO_RETURN_IF_WRONG(check_dimensions("dimensions", dimensions, c.written()->rank()));
  for (int64_t i = 0; i < operand->rank(); ++i) {
    int64_t to = dimensions[static_cast<size_t>(i)];
    if (!merge(dim_of(operand, i), dim_of(c.written(), to))) {
      return fail("dimension {} of {} is broadcast to dimension {} of {}, which has another size",
                  i, c.describe(0), to, text(c.written()));
    }
  }
  return c.array(operand->element_type(), dims_of(c.written()));
}

Result infer_reshape(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  MINIHLO_RETURN_IF_WRONG(c.need_written_array());
  if (auto dimension = c.find(attr::inferred_dimension)) {
    if (*dimension < -1 || *dimension >= c.written()->rank()) {
      return fail("inferred_dimension={} is no dimension of {}", *dimension, text(c.written()));
    }
  }
  return reshaped(c);
}

Result infer_dynamic_reshape(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  MINIHLO_RETURN_IF_WRONG(c.need_written_array());
  if (static_cast<int64_t>(c.count()) != 1 + c.written()->rank()) {
    return fail("dynamic-reshape to {} takes {} sizes, not {}", text(c.written()),
                c.written()->rank(), c.count() - 1);
  }
  for (size_t i = 1; i < c.count(); ++i) {
    if (!c.shape(i)->is_scalar() || c.shape(i)->element_type() != ElementType::S32) {
      return fail("{} is a size, so it must be s32[]", c.describe(i));
    }
  }
  return reshaped(c);
}

// Anything; whether it has as many bytes is a matter of layouts.
Result infer_bitcast(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_written());
  return c.written();
}

Result infer_bitcast_convert(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  MINIHLO_RETURN_IF_WRONG(c.need_written_array());
  const Shape* from = c.shape(0);
  const ElementType to = c.written()->element_type();
  if (is_complex(from->element_type()) != is_complex(to)) {
    return fail("bitcast-convert does not turn {} into {}: one is complex, the other is not",
                c.describe(0), to_string(to));
  }
  const int from_bits = info(from->element_type()).bits;
  const int to_bits = info(to).bits;
  if (from_bits == to_bits) return c.with_type(from, to);
  Dims dims = dims_of(from);
  if (from_bits > to_bits) {
    if (from_bits % to_bits != 0) {
      return fail("bitcast-convert does not turn {} into {}: {} bits are not a multiple of {}",
                  c.describe(0), to_string(to), from_bits, to_bits);
    }
    dims.push_back({from_bits / to_bits});
  } else {
    const int ratio = to_bits / from_bits;
    if (to_bits % from_bits != 0) {
      return fail("bitcast-convert does not turn {} into {}: {} bits are not a multiple of {}",
                  c.describe(0), to_string(to), to_bits, from_bits);
    }
    if (dims.empty() || dims.back().size != ratio) {
      return fail("bitcast-convert turns {} into {} only if its last dimension has a size of {}",
                  c.describe(0), to_string(to), ratio);
    }
    dims.pop_back();
  }
  return c.array(to, dims);
}

Result infer_concatenate(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, c.count()));
  const Shape* first = c.shape(0);
  std::span<const int64_t> dimensions = c.get(attr::dimensions);
  MINIHLO_RETURN_IF_WRONG(check_one_dimension("dimensions", dimensions, first->rank()));
  const int64_t along = dimensions[0];
  Dims dims = dims_of(first);
  ElementType type = first->element_type();
  Wide total = 0;
  bool unbounded = false;
  for (size_t i = 0; i < c.count(); ++i) {
    const Shape* shape = c.shape(i);
    if (shape->rank() != first->rank()) {
      return fail("{} and {} differ in rank", c.describe(0), c.describe(i));
    }
    std::optional<ElementType> common = common_type(type, shape->element_type());
    if (!common) return tl::make_unexpected(c.need_like_types(0, i));
    type = *common;
    for (int64_t d = 0; d < shape->rank(); ++d) {
      Dim& dim = dims[static_cast<size_t>(d)];
      if (d == along) {
        unbounded |= shape->dim(d) == kUnboundedSize;
        total += unbounded ? 0 : shape->dim(d);
        dim.dynamic |= shape->is_dynamic(d);
        continue;
      }
      std::optional<Dim> merged = merge(dim, dim_of(shape, d));
      if (!merged) {
        return fail("{} and {} differ in dimension {}, along which they are not concatenated",
                    c.describe(0), c.describe(i), d);
      }
      dim = *merged;
    }
  }
  if (!fits(total)) return fail("dimension {} of the result is {}", along, wide_text(total));
  Dim& dim = dims[static_cast<size_t>(along)];
  dim = unbounded ? kUnboundedDim : Dim{static_cast<int64_t>(total), dim.dynamic};
  return c.array(type, dims);
}

Result infer_pad(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  MINIHLO_RETURN_IF_WRONG(c.need_scalar(1));
  MINIHLO_RETURN_IF_WRONG(c.need_like_types(0, 1));
  const Shape* operand = c.shape(0);
  std::span<const PaddingDimension> padding = c.get(attr::padding);
  if (static_cast<int64_t>(padding.size()) != operand->rank()) {
    return fail("padding pads {} dimensions, but {} has {}", padding.size(), c.describe(0),
                operand->rank());
  }
  Dims dims = dims_of(operand);
  for (size_t i = 0; i < dims.size(); ++i) {
    const PaddingDimension& pad = padding[i];
    if (pad.interior < 0) {
      return fail("padding: the interior padding {} of dimension {} is negative", pad.interior, i);
    }
    if (dims[i].unbounded()) continue;
    const Wide size = Wide{dims[i].size} + pad.low + pad.high +
                      (dims[i].size > 0 ? Wide{dims[i].size - 1} * pad.interior : 0);
    if (!fits(size)) {
      return fail("padding={}_{}_{} of dimension {} of {} leaves a size of {}", pad.low, pad.high,
                  pad.interior, i, c.describe(0), wide_text(size));
    }
    dims[i].size = static_cast<int64_t>(size);
  }
  return c.array(*common_type(operand->element_type(), c.shape(1)->element_type()), dims);
}

Result infer_slice(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  const Shape* operand = c.shape(0);
  std::span<const SliceDimension> slice = c.get(attr::slice);
  if (static_cast<int64_t>(slice.size()) != operand->rank()) {
    return fail("slice cuts {} dimensions, but {} has {}", slice.size(), c.describe(0),
                operand->rank());
  }
  Dims dims = dims_of(operand);
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto& [start, limit, stride] = slice[i];
    if (stride <= 0) {
      return fail("slice=[{}:{}:{}] of dimension {}: the stride must be positive", start, limit,
                  stride, i);
    }
    if (start < 0 || start > limit || (!dims[i].unbounded() && limit > dims[i].size)) {
      return fail("slice=[{}:{}] of dimension {} is not within {}", start, limit, i, c.describe(0));
    }
    const int64_t size = (limit - start) / stride + ((limit - start) % stride != 0);
    dims[i] = {size, dims[i].dynamic && !dims[i].unbounded() && size != 1};
  }
  return c.array(operand->element_type(), dims);
}

Result infer_transpose(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  const Shape* operand = c.shape(0);
  std::span<const int64_t> dimensions = c.get(attr::dimensions);
  if (static_cast<int64_t>(dimensions.size()) != operand->rank()) {
    return fail("dimensions={} is no permutation of the {} dimensions of {}", list_text(dimensions),
                operand->rank(), c.describe(0));
  }
  MINIHLO_RETURN_IF_WRONG(check_dimensions("dimensions", dimensions, operand->rank()));
  Dims dims;
  dims.reserve(dimensions.size());
  std::vector<int64_t> place(dimensions.size());
  for (size_t i = 0; i < dimensions.size(); ++i) {
    dims.push_back(dim_of(operand, dimensions[i]));
    place[static_cast<size_t>(dimensions[i])] = static_cast<int64_t>(i);
  }
  // The layout in which no byte would move.
  Layout layout;
  std::vector<int64_t> order;
  if (operand->layout()) {
    order.reserve(dimensions.size());
    for (int64_t d : operand->layout()->minor_to_major) {
      if (d >= 0 && d < operand->rank()) order.push_back(place[static_cast<size_t>(d)]);
    }
  }
  layout.minor_to_major = order;
  return c.array(operand->element_type(), dims, order.empty() ? nullptr : &layout);
}

Result infer_reverse(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  MINIHLO_RETURN_IF_WRONG(
      check_dimensions("dimensions", c.get(attr::dimensions), c.shape(0)->rank()));
  return c.shape(0);
}

Result infer_shuffle(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  const Shape* shape = c.shape(0);
  std::span<const int64_t> dimensions = c.get(attr::dimensions);
  MINIHLO_RETURN_IF_WRONG(check_dimensions("dimensions", dimensions, shape->rank()));
  if (dimensions.empty()) return fail("a shuffle needs a dimension, but dimensions={{}}");
  const ShuffleMode mode = c.get(attr::shuffle_mode);
  if (c.has(attr::shifts) != (mode == ShuffleMode::kRotate) ||
      c.has(attr::multi_shifts) != (mode == ShuffleMode::kMultiRotate) ||
      c.has(attr::shuffle_indices) != (mode == ShuffleMode::kPermute)) {
    return fail(
        "mode=rotate goes with shifts, multi_rotate with multi_shifts, permute with indices");
  }
  switch (mode) {
    case ShuffleMode::kRotate:
      if (c.get(attr::shifts).size() != dimensions.size()) {
        return fail("shifts={} must have a number for each of dimensions={}",
                    list_text(c.get(attr::shifts)), list_text(dimensions));
      }
      break;
    case ShuffleMode::kMultiRotate: {
      const Literal& shifts = *c.get(attr::multi_shifts);
      if (dimensions.size() != 1) {
        return fail("mode=multi_rotate takes one dimension, not {}", dimensions.size());
      }
      if (!speaks_of(shifts, shape, 1, true) || shifts.shape->dim(dimensions[0]) != 1) {
        return fail(
            "multi_shifts of type {} don't have a shift for each row along dimension {} of {}",
            text(shifts.shape), dimensions[0], c.describe(0));
      }
      break;
    }
    case ShuffleMode::kPermute: {
      const Literal& indices = *c.get(attr::shuffle_indices);
      const size_t count = dimensions.size();
      if (!speaks_of(indices, shape, count, false) &&
          !(count == 1 && speaks_of(indices, shape, count, true))) {
        return fail("indices of type {} don't have {} for each element of {}", text(indices.shape),
                    count == 1 ? "a coordinate" : fmt::format("{} coordinates", count),
                    c.describe(0));
      }
      break;
    }
  }
  return shape;
}

Result infer_iota(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_written_array());
  const int64_t dimension = c.get(attr::iota_dimension);
  if (dimension < 0 || dimension >= c.written()->rank()) {
    return fail("iota_dimension={} is no dimension of {}", dimension, text(c.written()));
  }
  if (c.written()->element_type() == ElementType::PRED) {
    return fail("iota is defined on numbers, not on {}", text(c.written()));
  }
  return c.written();
}

Result infer_get_dimension_size(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  MINIHLO_RETURN_IF_WRONG(
      check_one_dimension("dimensions", c.get(attr::dimensions), c.shape(0)->rank()));
  return c.shapes().scalar(ElementType::S32);
}

Result infer_set_dimension_size(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  std::span<const int64_t> dimensions = c.get(attr::dimensions);
  MINIHLO_RETURN_IF_WRONG(check_one_dimension("dimensions", dimensions, c.shape(0)->rank()));
  if (!c.shape(1)->is_scalar() || c.shape(1)->element_type() != ElementType::S32) {
    return fail("{} is a size, so it must be s32[]", c.describe(1));
  }
  Dims dims = dims_of(c.shape(0));
  dims[static_cast<size_t>(dimensions[0])].dynamic = true;
  return c.array(c.shape(0)->element_type(), dims);
}

}  // namespace minihlo::inference

// Movement whose places are operands: dynamic-slice, dynamic-update-slice, gather, scatter.
#include "ir/inference/families.h"
#include "ir/inference/reducer.h"

namespace minihlo::inference {
namespace {

// That the operands from `from` on are start indices of operand 0: one integer scalar for each
// dimension, all of one type, or a vector of them all.
std::string check_starts(const Context& c, size_t from, const Shape* array) {
  const size_t rank = static_cast<size_t>(array->rank());
  if (c.count() == from + 1 && c.shape(from)->is_array() && c.shape(from)->rank() == 1) {
    if (std::string wrong = c.need_integers(from); !wrong.empty()) return wrong;
    if (c.shape(from)->dim(0) == static_cast<int64_t>(rank)) return "";
    return fmt::format("{} must hold {} start indices, one for each dimension of {}",
                       c.describe(from), rank, c.describe(0));
  }
  if (c.count() != from + rank) {
    return fmt::format("{} takes {} start indices, one for each dimension of {}, not {}", c.name(),
                       rank, c.describe(0), c.count() - from);
  }
  for (size_t i = from; i < c.count(); ++i) {
    if (std::string wrong = c.need_integers(i); !wrong.empty()) return wrong;
    if (std::string wrong = c.need_scalar(i); !wrong.empty()) return wrong;
    if (c.shape(i)->element_type() != c.shape(from)->element_type()) {
      return fmt::format("start indices must be of one type, but {} and {} differ",
                         c.describe(from), c.describe(i));
    }
  }
  return "";
}

// Dimensions of the indices that are not the index vector, in order. `vector_dim` may be the rank:
// then each index is a scalar of its own.
Dims batch_dims(const Shape* indices, int64_t vector_dim) {
  Dims dims;
  for (int64_t d = 0; d < indices->rank(); ++d) {
    if (d != vector_dim) dims.push_back(dim_of(indices, d));
  }
  return dims;
}

// What gather and scatter say alike, under other names.
struct IndexMaps {
  std::string_view vector_dim_name;
  int64_t vector_dim;
  std::string_view map_name;
  std::span<const int64_t> map;
  std::string_view collapsed_name;
  std::span<const int64_t> collapsed;
  std::string_view operand_batching_name;
  std::span<const int64_t> operand_batching;
  std::string_view indices_batching_name;
  std::span<const int64_t> indices_batching;
};

std::string check_maps(const Context& c, size_t indices, const IndexMaps& maps) {
  if (std::string wrong = c.need_integers(indices); !wrong.empty()) return wrong;
  const Shape* shape = c.shape(indices);
  if (maps.vector_dim < 0 || maps.vector_dim > shape->rank()) {
    return fmt::format("{}={} is no dimension of {}, nor the next one", maps.vector_dim_name,
                       maps.vector_dim, c.describe(indices));
  }
  const Dim width = maps.vector_dim == shape->rank() ? Dim{1} : dim_of(shape, maps.vector_dim);
  if (!width.unbounded() && width.size != static_cast<int64_t>(maps.map.size())) {
    return fmt::format("{}={} names {} dimensions, but an index of {} has {} numbers",
                       maps.map_name, list_text(maps.map), maps.map.size(), c.describe(indices),
                       width.size);
  }
  const int64_t rank = c.shape(0)->rank();
  std::string wrong = check_dimensions(maps.map_name, maps.map, rank);
  if (wrong.empty()) wrong = check_dimensions(maps.collapsed_name, maps.collapsed, rank, true);
  if (wrong.empty()) {
    wrong = check_dimensions(maps.operand_batching_name, maps.operand_batching, rank, true);
  }
  if (wrong.empty()) {
    wrong = check_dimensions(maps.indices_batching_name, maps.indices_batching, shape->rank());
  }
  if (!wrong.empty()) return wrong;
  if (maps.operand_batching.size() != maps.indices_batching.size()) {
    return fmt::format("{}={} and {}={} must name as many dimensions", maps.operand_batching_name,
                       list_text(maps.operand_batching), maps.indices_batching_name,
                       list_text(maps.indices_batching));
  }
  // XLA intends these three and does not check them; without them no value can be given.
  const DimensionSet batching(maps.operand_batching, rank);
  for (const auto& [name, dims] :
       {std::pair{maps.collapsed_name, maps.collapsed}, std::pair{maps.map_name, maps.map}}) {
    for (int64_t d : dims) {
      if (!batching.contains(d)) continue;
      return fmt::format("{}={} and {}={} both name dimension {}", name, list_text(dims),
                         maps.operand_batching_name, list_text(maps.operand_batching), d);
    }
  }
  for (size_t i = 0; i < maps.operand_batching.size(); ++i) {
    const int64_t own = maps.indices_batching[i];
    if (own == maps.vector_dim) {
      return fmt::format("{}={} names dimension {}, which {} has too", maps.indices_batching_name,
                         list_text(maps.indices_batching), own, maps.vector_dim_name);
    }
    if (!merge(dim_of(c.shape(0), maps.operand_batching[i]), dim_of(shape, own))) {
      return fmt::format(
          "dimension {} of {} and dimension {} of {} go together in a batch, but "
          "differ in size",
          maps.operand_batching[i], c.describe(0), own, c.describe(indices));
    }
  }
  return "";
}

// Operand dimensions that a window keeps, in order: neither collapsed nor batching.
std::vector<int64_t> window_dims(int64_t rank, const IndexMaps& maps) {
  const DimensionSet collapsed(maps.collapsed, rank);
  const DimensionSet batching(maps.operand_batching, rank);
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < rank; ++d) {
    if (!collapsed.contains(d) && !batching.contains(d)) dims.push_back(d);
  }
  return dims;
}

}  // namespace

Result infer_dynamic_slice(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  MINIHLO_RETURN_IF_WRONG(check_starts(c, 1, c.shape(0)));
  const Shape* operand = c.shape(0);
  std::span<const int64_t> sizes = c.get(attr::dynamic_slice_sizes);
  if (static_cast<int64_t>(sizes.size()) != operand->rank()) {
    return fail("dynamic_slice_sizes={} must have a size for each dimension of {}",
                list_text(sizes), c.describe(0));
  }
  Dims dims;
  for (int64_t d = 0; d < operand->rank(); ++d) {
    const int64_t size = sizes[static_cast<size_t>(d)];
    const Dim whole = dim_of(operand, d);
    if (size < 0 || (!whole.unbounded() && size > whole.size)) {
      return fail("dynamic_slice_sizes={}: {} is no size within dimension {} of {}",
                  list_text(sizes), size, d, c.describe(0));
    }
    dims.push_back({size, whole.dynamic && size == whole.size && size > 1});
  }
  return c.array(operand->element_type(), dims);
}

// What is updated may be a buffer, which is written in place.
Result infer_dynamic_update_slice(const Context& c) {
  const bool is_buffer = c.shape(0)->kind() == Shape::Kind::kBuffer;
  const Shape* operand = is_buffer ? c.shape(0)->element(0) : c.shape(0);
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(is_buffer, 2));
  const Shape* update = c.shape(1);
  if (!like(operand->element_type(), update->element_type())) {
    return fail("{} and {} differ in their element types", c.describe(0), c.describe(1));
  }
  MINIHLO_RETURN_IF_WRONG(check_starts(c, 2, operand));
  if (operand->rank() != update->rank()) {
    return fail("{} and {} differ in rank", c.describe(0), c.describe(1));
  }
  Dims dims = dims_of(operand);
  for (int64_t d = 0; d < operand->rank(); ++d) {
    const Dim own = dim_of(update, d);
    Dim& whole = dims[static_cast<size_t>(d)];
    if (!own.unbounded() && !whole.unbounded() && own.size > whole.size) {
      return fail("{} is larger than {} in dimension {}", c.describe(1), c.describe(0), d);
    }
    whole.dynamic |= own.dynamic;
  }
  if (is_buffer || !update->is_dynamic()) return c.shape(0);
  return c.array(operand->element_type(), dims);
}

Result infer_gather(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, 2));
  const Shape* operand = c.shape(0);
  const IndexMaps maps = {"index_vector_dim",
                          c.get(attr::index_vector_dim),
                          "start_index_map",
                          c.get(attr::start_index_map),
                          "collapsed_slice_dims",
                          c.get(attr::collapsed_slice_dims),
                          "operand_batching_dims",
                          c.get(attr::operand_batching_dims),
                          "start_indices_batching_dims",
                          c.get(attr::start_indices_batching_dims)};
  MINIHLO_RETURN_IF_WRONG(check_maps(c, 1, maps));
  std::span<const int64_t> sizes = c.get(attr::slice_sizes);
  if (static_cast<int64_t>(sizes.size()) != operand->rank()) {
    return fail("slice_sizes={} must have a size for each dimension of {}", list_text(sizes),
                c.describe(0));
  }
  for (int64_t d = 0; d < operand->rank(); ++d) {
    const int64_t size = sizes[static_cast<size_t>(d)];
    if (size < 0 || (operand->dim(d) != kUnboundedSize && size > operand->dim(d))) {
      return fail("slice_sizes={}: {} is no size within dimension {} of {}", list_text(sizes), size,
                  d, c.describe(0));
    }
  }
  for (const auto& [name, dims] : {std::pair{maps.collapsed_name, maps.collapsed},
                                   std::pair{maps.operand_batching_name, maps.operand_batching}}) {
    for (int64_t d : dims) {
      if (sizes[static_cast<size_t>(d)] <= 1) continue;
      return fail("slice_sizes={}: the size in dimension {} must be 1, since {}={} names it",
                  list_text(sizes), d, name, list_text(dims));
    }
  }

  std::span<const int64_t> offset_dims = c.get(attr::offset_dims);
  const std::vector<int64_t> window = window_dims(operand->rank(), maps);
  if (window.size() != offset_dims.size()) {
    return fail(
        "offset_dims={} must name {} dimensions: {} has {}, without collapsed_slice_dims={} "
        "and operand_batching_dims={}",
        list_text(offset_dims), window.size(), c.describe(0), operand->rank(),
        list_text(maps.collapsed), list_text(maps.operand_batching));
  }
  const Dims batch = batch_dims(c.shape(1), maps.vector_dim);
  const int64_t rank = static_cast<int64_t>(batch.size() + offset_dims.size());
  MINIHLO_RETURN_IF_WRONG(check_dimensions("offset_dims", offset_dims, rank, true));
  Dims dims;
  size_t next_window = 0, next_batch = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (next_window < offset_dims.size() && offset_dims[next_window] == d) {
      const int64_t from = window[next_window++];
      const int64_t size = sizes[static_cast<size_t>(from)];
      dims.push_back({size, operand->is_dynamic(from) && size == operand->dim(from)});
    } else {
      dims.push_back(batch[next_batch++]);
    }
  }
  return c.array(operand->element_type(), dims);
}

Result infer_scatter(const Context& c) {
  if (c.count() % 2 == 0) {
    return fail("scatter takes operands, indices and as many updates, but it has {} operands",
                c.count());
  }
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, c.count()));
  const size_t n = c.count() / 2;
  const size_t indices = n;
  for (size_t i = 1; i < n; ++i) {
    MINIHLO_RETURN_IF_WRONG(c.need_same_dims(0, i));
    MINIHLO_RETURN_IF_WRONG(c.need_same_dims(n + 1, n + 1 + i));
  }
  const Shape* operand = c.shape(0);
  const Shape* updates = c.shape(n + 1);
  const IndexMaps maps = {"index_vector_dim",
                          c.get(attr::index_vector_dim),
                          "scatter_dims_to_operand_dims",
                          c.get(attr::scatter_dims_to_operand_dims),
                          "inserted_window_dims",
                          c.get(attr::inserted_window_dims),
                          "input_batching_dims",
                          c.get(attr::input_batching_dims),
                          "scatter_indices_batching_dims",
                          c.get(attr::scatter_indices_batching_dims)};
  MINIHLO_RETURN_IF_WRONG(check_maps(c, indices, maps));
  std::span<const int64_t> window_of_updates = c.get(attr::update_window_dims);
  const std::vector<int64_t> window = window_dims(operand->rank(), maps);
  if (window.size() != window_of_updates.size()) {
    return fail(
        "update_window_dims={} must name {} dimensions: {} has {}, without "
        "inserted_window_dims={} and input_batching_dims={}",
        list_text(window_of_updates), window.size(), c.describe(0), operand->rank(),
        list_text(maps.collapsed), list_text(maps.operand_batching));
  }
  const Dims batch = batch_dims(c.shape(indices), maps.vector_dim);
  if (updates->rank() != static_cast<int64_t>(batch.size() + window_of_updates.size())) {
    return fail("{} must have {} dimensions: {} of {} and {} of update_window_dims={}",
                c.describe(n + 1), batch.size() + window_of_updates.size(), batch.size(),
                c.describe(indices), window_of_updates.size(), list_text(window_of_updates));
  }
  MINIHLO_RETURN_IF_WRONG(
      check_dimensions("update_window_dims", window_of_updates, updates->rank(), true));
  size_t next_window = 0, next_batch = 0;
  for (int64_t d = 0; d < updates->rank(); ++d) {
    const Dim own = dim_of(updates, d);
    if (next_window < window_of_updates.size() && window_of_updates[next_window] == d) {
      const int64_t to = window[next_window++];
      if (!own.unbounded() && operand->dim(to) != kUnboundedSize && own.size > operand->dim(to)) {
        return fail("{} is larger in dimension {} than {} in dimension {}", c.describe(n + 1), d,
                    c.describe(0), to);
      }
    } else if (!merge(own, batch[next_batch++])) {
      return fail("dimension {} of {} must have the size of its dimension in {}", d,
                  c.describe(n + 1), c.describe(indices));
    }
  }

  Reducer reducer(c, "to_apply", c.get(attr::to_apply), n);
  for (size_t i = 0; i < n; ++i) {
    reducer.accumulators.push_back(c.shape(i)->element_type());
    reducer.elements.push_back(c.shape(n + 1 + i)->element_type());
  }
  auto types = reducer.result_types();
  if (!types) return tl::make_unexpected(types.error());
  std::vector<const Shape*> results;
  for (size_t i = 0; i < n; ++i) {
    Result made = c.with_type(c.shape(i), types->types[i]);
    if (!made) return made;
    results.push_back(*made);
  }
  return types->is_tuple ? c.tuple(results) : Result(results[0]);
}

}  // namespace minihlo::inference

// dot and its kin, convolution.
#include <algorithm>
#include <charconv>
#include <optional>

#include "ir/dim_labels.h"
#include "ir/inference/families.h"

namespace minihlo::inference {
namespace {

// The element type of a product: as written where the operands allow it, else the higher of both.
tl::expected<ElementType, std::string> product_type(const Context& c) {
  const ElementType natural =
      higher_precision(c.shape(0)->element_type(), c.shape(1)->element_type());
  if (!c.written()) return natural;
  if (!c.written()->is_array()) {
    return fail("the result of {} is an array, not {}", c.name(), text(c.written()));
  }
  const ElementType wanted = c.written()->element_type();
  return wanted;
}

// Which dimensions of both sides go together, in batches or by contraction.
struct DotDims {
  std::span<const int64_t> lhs_batch, lhs_contracting, rhs_batch, rhs_contracting;

  explicit DotDims(const Context& c)
      : lhs_batch(c.get(attr::lhs_batch_dims)),
        lhs_contracting(c.get(attr::lhs_contracting_dims)),
        rhs_batch(c.get(attr::rhs_batch_dims)),
        rhs_contracting(c.get(attr::rhs_contracting_dims)) {}
};

std::string check_pair(const Context& c, std::string_view name, std::span<const int64_t> lhs,
                       std::span<const int64_t> rhs, bool sizes) {
  if (lhs.size() != rhs.size()) {
    return fmt::format("lhs_{0}={1} and rhs_{0}={2} must name as many dimensions", name,
                       list_text(lhs), list_text(rhs));
  }
  if (std::string wrong = check_dimensions(name, lhs, c.shape(0)->rank()); !wrong.empty()) {
    return "lhs_" + wrong;
  }
  if (std::string wrong = check_dimensions(name, rhs, c.shape(1)->rank()); !wrong.empty()) {
    return "rhs_" + wrong;
  }
  for (size_t i = 0; sizes && i < lhs.size(); ++i) {
    if (merge(dim_of(c.shape(0), lhs[i]), dim_of(c.shape(1), rhs[i]))) continue;
    return fmt::format(
        "lhs_{0}={1} and rhs_{0}={2}: dimension {3} of {4} and dimension {5} of {6} "
        "differ in size",
        name, list_text(lhs), list_text(rhs), lhs[i], c.describe(0), rhs[i], c.describe(1));
  }
  return "";
}

// In the older or in the newer spelling.
bool is_sparse(const Context& c) { return c.has(attr::sparsity) || c.has(attr::sparsity_config); }

// The operand of the indices of a sparse side: lhs={sparsity=2x4 dimension=1 stride=1 idx=2}.
std::optional<int64_t> index_operand(std::string_view config, std::string_view side) {
  const size_t start = config.find(fmt::format("{}={{", side));
  if (start == config.npos) return std::nullopt;
  config = config.substr(start, config.find('}', start) - start);
  constexpr std::string_view kKey = "idx=";
  const size_t key = config.find(kKey);
  int64_t index;
  if (key == config.npos ||
      std::from_chars(config.data() + key + kKey.size(), config.data() + config.size(), index).ec !=
          std::errc()) {
    return std::nullopt;
  }
  return index;
}

std::string check_sparse_indices(const Context& c) {
  if (!c.has(attr::sparsity_config)) return "";
  const std::string_view config = c.get(attr::sparsity_config);
  const std::optional<int64_t> lhs = index_operand(config, "lhs");
  const std::optional<int64_t> rhs = index_operand(config, "rhs");
  for (const std::optional<int64_t>& index : {lhs, rhs}) {
    if (!index) continue;
    if (*index < 2 || *index >= static_cast<int64_t>(c.count())) {
      return fmt::format("sparsity_config={}: idx={} is none of the operands behind the second",
                         config, *index);
    }
    const auto i = static_cast<size_t>(*index);
    if (std::string wrong = c.need_arrays(i, i + 1); !wrong.empty()) return wrong;
  }
  if (lhs && lhs == rhs) {
    return fmt::format("sparsity_config={}: both sides have the indices of operand {}", config,
                       *lhs);
  }
  return "";
}

std::string check_dot(const Context& c, const DotDims& dims) {
  if (std::string wrong = c.need_arrays(0, 2); !wrong.empty()) return wrong;
  // A sparse operand is stored with fewer elements along the contracted dimension.
  const bool dense = !is_sparse(c);
  std::string wrong =
      check_pair(c, "contracting_dims", dims.lhs_contracting, dims.rhs_contracting, dense);
  if (wrong.empty()) wrong = check_pair(c, "batch_dims", dims.lhs_batch, dims.rhs_batch, true);
  if (!wrong.empty()) return wrong;
  for (const auto& [side, batch, contracting, rank] :
       {std::tuple{"lhs", dims.lhs_batch, dims.lhs_contracting, c.shape(0)->rank()},
        std::tuple{"rhs", dims.rhs_batch, dims.rhs_contracting, c.shape(1)->rank()}}) {
    const DimensionSet in_batch(batch, rank);
    for (int64_t d : contracting) {
      if (!in_batch.contains(d)) continue;
      return fmt::format("{0}_batch_dims={1} and {0}_contracting_dims={2} both name dimension {3}",
                         side, list_text(batch), list_text(contracting), d);
    }
  }
  return "";
}

// Appends the dimensions of operand i that none of the lists names.
void append_free(const Context& c, size_t i, std::initializer_list<std::span<const int64_t>> named,
                 Dims& dims) {
  DimensionSet taken(c.shape(i)->rank());
  for (std::span<const int64_t> list : named) {
    for (int64_t d : list) taken.insert(d);
  }
  for (int64_t d = 0; d < c.shape(i)->rank(); ++d) {
    if (!taken.contains(d)) dims.push_back(dim_of(c.shape(i), d));
  }
}

// Batch dimensions, then the free ones of lhs, then those of rhs without `rhs_group`.
Dims dot_result(const Context& c, const DotDims& dims, std::span<const int64_t> rhs_group = {}) {
  Dims result;
  result.reserve(static_cast<size_t>(c.shape(0)->rank() + c.shape(1)->rank()));
  for (size_t i = 0; i < dims.lhs_batch.size(); ++i) {
    result.push_back(
        *merge(dim_of(c.shape(0), dims.lhs_batch[i]), dim_of(c.shape(1), dims.rhs_batch[i])));
  }
  append_free(c, 0, {dims.lhs_batch, dims.lhs_contracting}, result);
  append_free(c, 1, {dims.rhs_batch, dims.rhs_contracting, rhs_group}, result);
  return result;
}

bool contains(std::span<const int64_t> list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

Result infer_dot(const Context& c) {
  const DotDims dims(c);
  MINIHLO_RETURN_IF_WRONG(check_dot(c, dims));
  // The operands behind the second are the indices of sparse ones, scales and zero points.
  if (c.count() > 2 && !is_sparse(c) && !c.has(attr::block_scaling_config)) {
    return fail("dot takes 2 operands, not {}, where neither sparsity nor scales are given",
                c.count());
  }
  MINIHLO_RETURN_IF_WRONG(check_sparse_indices(c));
  auto type = product_type(c);
  if (!type) return tl::make_unexpected(type.error());
  return c.array(*type, dot_result(c, dims));
}

// The ragged dimension of lhs is cut into groups of group_sizes: where it is free, each group meets
// its own slice of rhs; where it is contracted or a batch, groups make or share a dimension.
Result infer_ragged_dot(const Context& c) {
  const DotDims dims(c);
  MINIHLO_RETURN_IF_WRONG(check_dot(c, dims));
  MINIHLO_RETURN_IF_WRONG(c.need_integers(2));
  std::span<const int64_t> ragged = c.get(attr::lhs_ragged_dims);
  std::span<const int64_t> group = c.get(attr::rhs_group_dims);
  MINIHLO_RETURN_IF_WRONG(check_one_dimension("lhs_ragged_dims", ragged, c.shape(0)->rank()));
  MINIHLO_RETURN_IF_WRONG(check_dimensions("rhs_group_dims", group, c.shape(1)->rank()));
  const Shape* sizes = c.shape(2);
  if (sizes->rank() == 0) return fail("{} must list the sizes of groups", c.describe(2));
  const Dim groups = dim_of(sizes, sizes->rank() - 1);
  const bool contracted = contains(dims.lhs_contracting, ragged[0]);
  const bool batched = contains(dims.lhs_batch, ragged[0]);
  if (contracted || batched) {
    if (!group.empty()) {
      return fail("rhs_group_dims={} must be empty where lhs_ragged_dims={} is {}",
                  list_text(group), list_text(ragged), contracted ? "contracted" : "a batch");
    }
  } else {
    MINIHLO_RETURN_IF_WRONG(check_one_dimension("rhs_group_dims", group, c.shape(1)->rank()));
    if (contains(dims.rhs_contracting, group[0]) || contains(dims.rhs_batch, group[0])) {
      return fail("rhs_group_dims={} must be neither contracted nor a batch", list_text(group));
    }
    if (!merge(groups, dim_of(c.shape(1), group[0]))) {
      return fail("{} lists {} groups, but dimension {} of {} has {}", c.describe(2), groups.size,
                  group[0], c.describe(1), c.shape(1)->dim(group[0]));
    }
  }
  auto type = product_type(c);
  if (!type) return tl::make_unexpected(type.error());
  Dims result = dot_result(c, dims, group);
  if (contracted) result.insert(result.begin(), groups);
  return c.array(*type, result);
}

Result infer_scaled_dot(const Context& c) {
  const DotDims dims(c);
  MINIHLO_RETURN_IF_WRONG(check_dot(c, dims));
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(2, 4));
  // A scale whose dimensions are all 1 (or none) stands for no scale at all; the newest XLA wants
  // it to be bf16 as its operand is.
  auto is_one = [](const Shape* shape) {
    return std::all_of(shape->dims().begin(), shape->dims().end(),
                       [](int64_t dim) { return dim == 1; });
  };
  for (size_t i : {0, 1}) {
    const Shape* scale = c.shape(2 + i);
    if (is_one(scale)) continue;
    if (dims.lhs_contracting.size() != 1) {
      return fail("lhs_contracting_dims={} must name one dimension",
                  list_text(dims.lhs_contracting));
    }
    if (scale->rank() != c.shape(i)->rank()) {
      return fail("{} scales {}, so it must have its rank", c.describe(2 + i), c.describe(i));
    }
    for (int64_t d = 0; d < scale->rank(); ++d) {
      const Dim whole = dim_of(c.shape(i), d);
      const Dim part = dim_of(scale, d);
      if (whole.unbounded() || part.unbounded()) continue;
      if (part.size > 0 ? whole.size % part.size == 0 : whole.size == 0) continue;
      return fail("dimension {} of {} is not a multiple of that of its scale, {}", d, c.describe(i),
                  c.describe(2 + i));
    }
  }
  if (c.shape(2)->is_scalar() && c.shape(3)->is_scalar()) {
    return fail("{} and {} can't both be scalars", c.describe(2), c.describe(3));
  }
  auto type = product_type(c);
  if (!type) return tl::make_unexpected(type.error());
  return c.array(*type, dot_result(c, dims));
}

Result infer_convolution(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, 2));
  MINIHLO_RETURN_IF_WRONG(check_sparse_indices(c));
  const Shape* lhs = c.shape(0);
  const Shape* rhs = c.shape(1);
  auto labels = parse_dim_labels(c.get(attr::dim_labels));
  if (!labels) return tl::make_unexpected(labels.error());
  const size_t spatial = labels->input_spatial.size();
  for (size_t i : {0, 1}) {
    if (c.shape(i)->rank() == static_cast<int64_t>(spatial) + 2) continue;
    return fail("dim_labels={} names {} dimensions, but {} has {}", c.get(attr::dim_labels),
                spatial + 2, c.describe(i), c.shape(i)->rank());
  }
  // Positions behind a `?` may lie outside.
  const int64_t rank = static_cast<int64_t>(spatial) + 2;
  auto inside = [&](int64_t batch, int64_t feature, const std::vector<int64_t>& positions) {
    return std::max(batch, feature) < rank &&
           std::all_of(positions.begin(), positions.end(), [&](int64_t p) { return p < rank; });
  };
  if (!inside(labels->input_batch, labels->input_feature, labels->input_spatial) ||
      !inside(labels->kernel_input_feature, labels->kernel_output_feature,
              labels->kernel_spatial) ||
      !inside(labels->output_batch, labels->output_feature, labels->output_spatial)) {
    return fail("dim_labels={} names a dimension beyond the {} that there are",
                c.get(attr::dim_labels), rank);
  }
  std::span<const WindowDimension> window = c.get(attr::window);
  if (window.size() != spatial) {
    return fail("window has {} dimensions, but dim_labels={} has {}", window.size(),
                c.get(attr::dim_labels), spatial);
  }
  const int64_t features = c.get(attr::feature_group_count);
  const int64_t batches = c.get(attr::batch_group_count);
  if (features < 1 || batches < 1 || (features > 1 && batches > 1)) {
    return fail(
        "feature_group_count={} and batch_group_count={} must be positive, and one of them "
        "1",
        features, batches);
  }
  const Dim batch = dim_of(lhs, labels->input_batch);
  const Dim in = dim_of(lhs, labels->input_feature);
  const Dim kernel_in = dim_of(rhs, labels->kernel_input_feature);
  const Dim out = dim_of(rhs, labels->kernel_output_feature);
  // A sparse side is stored with fewer of them.
  if (!is_sparse(c) && !in.unbounded() && !kernel_in.unbounded() &&
      (in.size % features != 0 || in.size / features != kernel_in.size)) {
    return fail("{} has {} features, {} has {} for each of feature_group_count={} groups",
                c.describe(0), in.size, c.describe(1), kernel_in.size, features);
  }
  if (!out.unbounded() && (out.size % features != 0 || out.size % batches != 0)) {
    return fail(
        "the {} output features of {} are not a multiple of feature_group_count={} and "
        "batch_group_count={}",
        out.size, c.describe(1), features, batches);
  }
  if (!batch.unbounded() && batch.size % batches != 0) {
    return fail("the batch of {} in {} is not a multiple of batch_group_count={}", batch.size,
                c.describe(0), batches);
  }
  auto type = product_type(c);
  if (!type) return tl::make_unexpected(type.error());
  Dims dims(spatial + 2);
  dims[static_cast<size_t>(labels->output_batch)] = {
      batch.unbounded() ? batch.size : batch.size / batches, batch.dynamic};
  dims[static_cast<size_t>(labels->output_feature)] = out;
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t kernel = rhs->dim(labels->kernel_spatial[i]);
    if (kernel != kUnboundedSize && kernel != window[i].size) {
      return fail("window size {} in dimension {} is not that of {}, {}", window[i].size, i,
                  c.describe(1), kernel);
    }
    auto dim = window_output(dim_of(lhs, labels->input_spatial[i]), window[i], i);
    if (!dim) return tl::make_unexpected(dim.error());
    dims[static_cast<size_t>(labels->output_spatial[i])] = *dim;
  }
  return c.array(*type, dims);
}

}  // namespace minihlo::inference

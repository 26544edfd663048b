// Opcodes that run a scalar function over elements, and sorting.
#include "ir/inference/families.h"
#include "ir/inference/reducer.h"

namespace minihlo::inference {
namespace {

// That there are as many initial values as arrays: n of both, arrays of the same dimensions and
// scalars.
tl::expected<size_t, std::string> arrays_and_inits(const Context& c) {
  if (c.count() % 2 != 0) {
    return fail("{} takes arrays and as many initial values, but it has {} operands", c.name(),
                c.count());
  }
  const size_t n = c.count() / 2;
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, n));
  for (size_t i = 1; i < n; ++i) MINIHLO_RETURN_IF_WRONG(c.need_same_dims(0, i));
  for (size_t i = n; i < 2 * n; ++i) MINIHLO_RETURN_IF_WRONG(c.need_scalar(i));
  return n;
}

// Arrays of the reducer's types, all with the same dimensions.
Result reduced(const Context& c, size_t n, const Dims& dims) {
  Reducer reducer(c, "to_apply", c.get(attr::to_apply), n);
  for (size_t i = 0; i < n; ++i) {
    reducer.accumulators.push_back(c.shape(n + i)->element_type());
    reducer.elements.push_back(c.shape(i)->element_type());
  }
  auto types = reducer.result_types();
  if (!types) return tl::make_unexpected(types.error());
  std::vector<const Shape*> results;
  for (ElementType type : types->types) {
    Result made = c.array(type, dims);
    if (!made) return made;
    results.push_back(*made);
  }
  return types->is_tuple ? c.tuple(results) : Result(results[0]);
}

int64_t dilated(int64_t size, int64_t dilation, bool& too_large) {
  const Wide result = size == 0 ? 0 : Wide{size - 1} * dilation + 1;
  too_large |= !fits(result);
  return fits(result) ? static_cast<int64_t>(result) : INT64_MAX;
}

}  // namespace

tl::expected<Dim, std::string> window_output(Dim base, const WindowDimension& window, size_t i) {
  for (const auto& [name, value] :
       {std::pair{"size", window.size}, std::pair{"stride", window.stride},
        std::pair{"lhs_dilate", window.base_dilation},
        std::pair{"rhs_dilate", window.window_dilation}}) {
    if (value < 1) return fail("window: {} {} in dimension {} must be positive", name, value, i);
  }
  if (base.unbounded()) return kUnboundedDim;
  bool too_large = false;
  const Wide padded = Wide{dilated(base.size, window.base_dilation, too_large)} +
                      window.padding_low + window.padding_high;
  const int64_t size = dilated(window.size, window.window_dilation, too_large);
  if (too_large || padded > INT64_MAX) return fail("window: dimension {} is too large", i);
  if (padded < 0) {
    return fail("window: pad={}_{} leaves nothing of dimension {} with its size of {}",
                window.padding_low, window.padding_high, i, base.size);
  }
  if (padded == 0 || size > padded) return Dim{0, base.dynamic};
  return Dim{(static_cast<int64_t>(padded) - size) / window.stride + 1, base.dynamic};
}

tl::expected<Dims, std::string> window_output(const Context& c, size_t i) {
  std::span<const WindowDimension> window = c.get(attr::window);
  const Shape* operand = c.shape(i);
  if (static_cast<int64_t>(window.size()) != operand->rank()) {
    return fail("window has {} dimensions, but {} has {}", window.size(), c.describe(i),
                operand->rank());
  }
  Dims dims;
  for (size_t d = 0; d < window.size(); ++d) {
    auto dim = window_output(dim_of(operand, static_cast<int64_t>(d)), window[d], d);
    if (!dim) return tl::make_unexpected(dim.error());
    dims.push_back(*dim);
  }
  return dims;
}

Result infer_map(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, c.count()));
  for (size_t i = 1; i < c.count(); ++i) MINIHLO_RETURN_IF_WRONG(c.need_same_dims(0, i));
  // XLA maps all dimensions, whatever `dimensions` says.
  const Computation* function = c.get(attr::to_apply);
  auto called = signature("to_apply", function);
  if (!called) return tl::make_unexpected(called.error());
  if (called->parameters.size() != c.count()) {
    return fail("to_apply=%{} takes {} parameters, but map has {} operands", function->name(),
                called->parameters.size(), c.count());
  }
  for (size_t i = 0; i < c.count(); ++i) {
    const Shape* parameter = called->parameters[i];
    if (!parameter->is_scalar() || !like(parameter->element_type(), c.shape(i)->element_type())) {
      return fail("to_apply=%{} takes {} as parameter {}, which does not fit the elements of {}",
                  function->name(), text(parameter), i, c.describe(i));
    }
  }
  if (!called->result->is_scalar()) {
    return fail("to_apply=%{} returns {}, but map needs a scalar", function->name(),
                text(called->result));
  }
  return c.array(called->result->element_type(), dims_of(c.shape(0)));
}

Result infer_reduce(const Context& c) {
  auto n = arrays_and_inits(c);
  if (!n) return tl::make_unexpected(n.error());
  const Shape* first = c.shape(0);
  std::span<const int64_t> dimensions = c.get(attr::dimensions);
  MINIHLO_RETURN_IF_WRONG(check_dimensions("dimensions", dimensions, first->rank()));
  const DimensionSet gone(dimensions, first->rank());
  Dims dims;
  dims.reserve(static_cast<size_t>(first->rank()));
  for (int64_t d = 0; d < first->rank(); ++d) {
    if (gone.contains(d)) continue;
    Dim dim = dim_of(first, d);
    for (size_t i = 1; i < *n; ++i) dim = *merge(dim, dim_of(c.shape(i), d));
    dims.push_back(dim);
  }
  return reduced(c, *n, dims);
}

Result infer_reduce_window(const Context& c) {
  auto n = arrays_and_inits(c);
  if (!n) return tl::make_unexpected(n.error());
  auto dims = window_output(c, 0);
  if (!dims) return tl::make_unexpected(dims.error());
  return reduced(c, *n, *dims);
}

Result infer_select_and_scatter(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, 2));
  MINIHLO_RETURN_IF_WRONG(c.need_scalar(2));
  MINIHLO_RETURN_IF_WRONG(c.need_like_types(0, 1));
  auto dims = window_output(c, 0);
  if (!dims) return tl::make_unexpected(dims.error());
  Result windows = c.array(c.shape(0)->element_type(), *dims);
  if (!windows) return windows;
  if (!same_dims(*windows, c.shape(1))) {
    return fail("{} must have an element for each window of {}: {}", c.describe(1), c.describe(0),
                text(*windows));
  }
  const Computation* select = c.get(attr::select);
  auto called = signature("select", select);
  if (!called) return tl::make_unexpected(called.error());
  if (called->parameters.size() != 2 || !called->result->is_scalar() ||
      called->result->element_type() != ElementType::PRED) {
    return fail("select=%{} must take two scalars and return pred[]", select->name());
  }
  for (size_t i = 0; i < called->parameters.size(); ++i) {
    const Shape* parameter = called->parameters[i];
    if (parameter->is_scalar() && parameter->element_type() == c.shape(0)->element_type()) continue;
    return fail("select=%{} takes {}, but the elements are those of {}", select->name(),
                text(parameter), c.describe(0));
  }
  Reducer scatter(c, "scatter", c.get(attr::scatter), 1);
  scatter.accumulators = {c.shape(2)->element_type()};
  scatter.elements = {c.shape(1)->element_type()};
  auto types = scatter.result_types();
  if (!types) return tl::make_unexpected(types.error());
  return c.shape(0);
}

Result infer_sort(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, c.count()));
  for (size_t i = 1; i < c.count(); ++i) MINIHLO_RETURN_IF_WRONG(c.need_same_dims(0, i));
  MINIHLO_RETURN_IF_WRONG(
      check_one_dimension("dimensions", c.get(attr::dimensions), c.shape(0)->rank()));
  const Computation* compare = c.get(attr::to_apply);
  auto called = signature("to_apply", compare);
  if (!called) return tl::make_unexpected(called.error());
  if (called->parameters.size() != 2 * c.count()) {
    return fail(
        "to_apply=%{} takes {} parameters, but sort compares {} values: two of each operand",
        compare->name(), called->parameters.size(), 2 * c.count());
  }
  for (size_t i = 0; i < called->parameters.size(); ++i) {
    const Shape* parameter = called->parameters[i];
    if (parameter->is_scalar() && like(parameter->element_type(), c.shape(i / 2)->element_type())) {
      continue;
    }
    return fail("to_apply=%{} takes {} as parameter {}, but compares the elements of {} there",
                compare->name(), text(parameter), i, c.describe(i / 2));
  }
  if (!called->result->is_scalar() || called->result->element_type() != ElementType::PRED) {
    return fail("to_apply=%{} returns {}, but a comparison returns pred[]", compare->name(),
                text(called->result));
  }
  std::vector<const Shape*> results;
  for (size_t i = 0; i < c.count(); ++i) results.push_back(c.shape(i));
  return c.one_or_tuple(results);
}

Result infer_topk(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  const Shape* operand = c.shape(0);
  const int64_t k = c.get(attr::k);
  if (operand->rank() == 0) return fail("{} has no dimension to take the top of", c.describe(0));
  Dims dims = dims_of(operand);
  if (k < 0 || (!dims.back().unbounded() && k > dims.back().size)) {
    return fail("k={} is no size within the last dimension of {}", k, c.describe(0));
  }
  dims.back() = {k, dims.back().dynamic && !dims.back().unbounded() && k == dims.back().size};
  Result values = c.array(operand->element_type(), dims);
  if (!values) return values;
  Result indices = c.array(ElementType::S32, dims);
  if (!indices) return indices;
  const Shape* both[] = {*values, *indices};
  return c.tuple(both);
}

Result infer_scan(const Context& c) {
  const int64_t carries = c.get(attr::num_carries);
  if (carries < 0 || carries > static_cast<int64_t>(c.count())) {
    return fail("num_carries={} is not a number of the {} operands", carries, c.count());
  }
  const size_t inputs = c.count() - static_cast<size_t>(carries);
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, c.count()));
  std::span<const int64_t> dimensions = c.get(attr::dimensions);
  if (dimensions.size() != 1) {
    return fail("dimensions={} must name one dimension", list_text(dimensions));
  }
  const int64_t along = dimensions[0];

  const Computation* function = c.get(attr::to_apply);
  auto called = signature("to_apply", function);
  if (!called) return tl::make_unexpected(called.error());
  if (called->parameters.size() != c.count()) {
    return fail("to_apply=%{} takes {} parameters, but scan has {} operands", function->name(),
                called->parameters.size(), c.count());
  }
  std::optional<Dim> extent;
  for (size_t i = 0; i < c.count(); ++i) {
    const Shape* slice = c.shape(i);
    if (i < inputs) {
      MINIHLO_RETURN_IF_WRONG(check_one_dimension("dimensions", dimensions, c.shape(i)->rank()));
      extent = merge(extent.value_or(kUnboundedDim), dim_of(c.shape(i), along));
      if (!extent) {
        return fail("{} and {} differ in dimension {}, which scan goes along", c.describe(0),
                    c.describe(i), along);
      }
      Dims dims = dims_of(c.shape(i));
      dims.erase(dims.begin() + along);
      Result made = c.array(slice->element_type(), dims);
      if (!made) return made;
      slice = *made;
    }
    const Shape* parameter = called->parameters[i];
    if (!parameter->is_array() || !same_dims(parameter, slice) ||
        !like(parameter->element_type(), slice->element_type())) {
      return fail("to_apply=%{} takes {} as parameter {}, but scan gives it {} of {}",
                  function->name(), text(parameter), i, text(slice), c.describe(i));
    }
  }

  std::vector<const Shape*> results;
  if (called->result->is_tuple()) {
    results.assign(called->result->elements().begin(), called->result->elements().end());
  } else {
    results.push_back(called->result);
  }
  if (results.size() < static_cast<size_t>(carries)) {
    return fail("to_apply=%{} returns {}, which is less than {} carries", function->name(),
                text(called->result), carries);
  }
  const size_t outputs = results.size() - static_cast<size_t>(carries);
  if (!extent && outputs > 0) {
    // Without inputs, only the written shape says how many steps there are.
    MINIHLO_RETURN_IF_WRONG(c.need_written());
    const Shape* first = c.written()->is_tuple() && !c.written()->elements().empty()
                             ? c.written()->element(0)
                             : c.written();
    if (!first->is_array() || along < 0 || along >= first->rank()) {
      return fail("dimensions={} is no dimension of the result {}", list_text(dimensions),
                  text(c.written()));
    }
    extent = dim_of(first, along);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]->is_array()) {
      return fail("to_apply=%{} returns {}, but scan needs arrays", function->name(),
                  text(called->result));
    }
    if (i < outputs) {
      Dims dims = dims_of(results[i]);
      if (along < 0 || along > static_cast<int64_t>(dims.size())) {
        return fail("dimensions={} is no dimension to stack {} along", list_text(dimensions),
                    text(results[i]));
      }
      dims.insert(dims.begin() + along, *extent);
      Result made = c.array(results[i]->element_type(), dims);
      if (!made) return made;
      results[i] = *made;
    } else if (!compatible(results[i], called->parameters[inputs + i - outputs])) {
      return fail("to_apply=%{} returns {} as carry {}, but takes {}", function->name(),
                  text(results[i]), i - outputs, text(called->parameters[inputs + i - outputs]));
    }
  }
  return called->result->is_tuple() ? c.tuple(results) : Result(results[0]);
}

}  // namespace minihlo::inference

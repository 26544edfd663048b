// Collectives. What depends on the mesh (how large groups are) is taken from the written shape and
// checked against the groups by the verifier.
#include "ir/inference/families.h"
#include "ir/inference/reducer.h"
#include "ir/semantics/groups.h"

namespace minihlo::inference {
namespace {

std::vector<const Shape*> operand_shapes(const Context& c, size_t count) {
  std::vector<const Shape*> shapes;
  for (size_t i = 0; i < count; ++i) shapes.push_back(c.shape(i));
  return shapes;
}

// The first of the written results: `written` itself, or its first element where there are several.
const Shape* first_result(const Context& c, const Shape* written) {
  if (!written || c.count() == 1) return written;
  return written->is_tuple() && !written->elements().empty() ? written->element(0) : nullptr;
}

// The operands with dimension dimensions={d} multiplied, or divided, by the number of shards. That
// number is what the first result in `written` makes it; without one the size of the first group.
tl::expected<std::vector<const Shape*>, std::string> resized(const Context& c, const Shape* written,
                                                             bool grow) {
  std::span<const int64_t> dimensions = c.get(attr::dimensions);
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, c.count()));
  for (size_t i = 0; i < c.count(); ++i) {
    MINIHLO_RETURN_IF_WRONG(check_one_dimension("dimensions", dimensions, c.shape(i)->rank()));
  }
  const int64_t d = dimensions[0];
  int64_t shards = 0;
  if (const Shape* result = first_result(c, written)) {
    const Shape* operand = c.shape(0);
    if (!result->is_array() || result->rank() != operand->rank()) {
      return fail("the result {} does not fit {}", text(result), c.describe(0));
    }
    const int64_t large = grow ? result->dim(d) : operand->dim(d);
    const int64_t small = grow ? operand->dim(d) : result->dim(d);
    if (large == kUnboundedSize || small == kUnboundedSize || (large == 0 && small == 0)) {
      shards = 1;
    } else if (small == 0 || large % small != 0 || large == 0) {
      return fail("dimension {} of {} is not {} by a number of shards in the result {}", d,
                  c.describe(0), grow ? "multiplied" : "divided", text(result));
    } else {
      shards = large / small;
    }
  } else {
    const DeviceGroups* groups = c.get(attr::replica_groups);
    const bool counts_all = !c.has(attr::channel_id) || c.get(attr::use_global_device_ids);
    if (!groups || groups->empty() || !groups->check().empty() || !counts_all) {
      return tl::make_unexpected(c.need_written());
    }
    shards = first_group_size(*groups);
  }
  std::vector<const Shape*> results;
  for (size_t i = 0; i < c.count(); ++i) {
    Dims dims = dims_of(c.shape(i));
    Dim& dim = dims[static_cast<size_t>(d)];
    if (!dim.unbounded()) {
      const Wide size = grow ? Wide{dim.size} * shards : Wide{shards ? dim.size / shards : 0};
      if (!fits(size) || (!grow && (shards == 0 || dim.size % shards != 0))) {
        return fail("dimension {} of {} can't be {} by {} shards", d, c.describe(i),
                    grow ? "multiplied" : "divided", shards);
      }
      dim = {static_cast<int64_t>(size)};
    }
    Result made = c.array(c.shape(i)->element_type(), dims);
    if (!made) return tl::make_unexpected(made.error());
    results.push_back(*made);
  }
  return results;
}

// That the last operand names a root for each of the others.
std::string check_roots(const Context& c) {
  const size_t k = c.count() - 1;
  if (k == 0) return fmt::format("has_dynamic_root=true needs an operand of roots");
  const Shape* roots = c.shape(k);
  if (roots->is_array() && roots->element_type() == ElementType::S32 && roots->rank() == 1 &&
      roots->dim(0) == static_cast<int64_t>(k)) {
    return "";
  }
  return fmt::format("{} names the roots, so it must be s32[{}]", c.describe(k), k);
}

// Data operands: all, or all but the roots.
tl::expected<size_t, std::string> rooted_count(const Context& c) {
  size_t count = c.count();
  if (c.get(attr::has_dynamic_root)) {
    MINIHLO_RETURN_IF_WRONG(check_roots(c));
    --count;
  }
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, count));
  return count;
}

}  // namespace

Result infer_all_reduce(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, c.count()));
  return c.one_or_tuple(operand_shapes(c, c.count()));
}

Result infer_collective_reduce(const Context& c) {
  auto count = rooted_count(c);
  if (!count) return tl::make_unexpected(count.error());
  return c.one_or_tuple(operand_shapes(c, *count));
}

Result infer_collective_broadcast(const Context& c) {
  auto count = rooted_count(c);
  if (!count) return tl::make_unexpected(count.error());
  return c.one_or_tuple(operand_shapes(c, *count));
}

Result infer_all_gather(const Context& c) {
  auto results = resized(c, c.written(), true);
  if (!results) return tl::make_unexpected(results.error());
  return c.one_or_tuple(*results);
}

// (operand, result), with tuples in place of several.
Result infer_all_gather_start(const Context& c) {
  const Shape* written = nullptr;
  if (c.written()) {
    if (!c.written()->is_tuple() || c.written()->elements().size() != 2) {
      return fail("the result of all-gather-start is a pair of operand and result, not {}",
                  text(c.written()));
    }
    written = c.written()->element(1);
  }
  auto results = resized(c, written, true);
  if (!results) return tl::make_unexpected(results.error());
  Result from = c.one_or_tuple(operand_shapes(c, c.count()));
  if (!from) return from;
  Result to = c.one_or_tuple(*results);
  if (!to) return to;
  const Shape* both[] = {*from, *to};
  return c.tuple(both);
}

Result infer_reduce_scatter(const Context& c) {
  auto results = resized(c, c.written(), false);
  if (!results) return tl::make_unexpected(results.error());
  return c.one_or_tuple(*results);
}

Result infer_all_to_all(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, c.count()));
  if (auto dimensions = c.find(attr::dimensions)) {
    if (c.count() != 1) {
      return fail("all-to-all with dimensions={} takes one operand, not {}", list_text(*dimensions),
                  c.count());
    }
    MINIHLO_RETURN_IF_WRONG(check_one_dimension("dimensions", *dimensions, c.shape(0)->rank()));
    return c.shape(0);
  }
  for (size_t i = 1; i < c.count(); ++i) {
    if (compatible(c.shape(0), c.shape(i))) continue;
    return fail("{} and {} must have the same shape", c.describe(0), c.describe(i));
  }
  return c.tuple(operand_shapes(c, c.count()));
}

Result infer_ragged_all_to_all(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, 6));
  const Shape* input = c.shape(0);
  const Shape* output = c.shape(1);
  bool same_rows = input->rank() == output->rank() && input->rank() > 0 &&
                   input->element_type() == output->element_type();
  for (int64_t d = 1; same_rows && d < input->rank(); ++d) {
    same_rows = merge(dim_of(input, d), dim_of(output, d)).has_value();
  }
  if (!same_rows) {
    return fail(
        "{} and {} must have the same element type, and the same dimensions but for the "
        "first",
        c.describe(0), c.describe(1));
  }
  for (size_t i = 2; i < 6; ++i) {
    MINIHLO_RETURN_IF_WRONG(c.need_integers(i));
    if (c.shape(i)->rank() != 1 && c.shape(i)->rank() != 2) {
      return fail("{} must have 1 or 2 dimensions: peers, and updates for each", c.describe(i));
    }
    MINIHLO_RETURN_IF_WRONG(c.need_same_dims(2, i));
  }
  return output;
}

namespace {

// In place: part of operand 0 goes into operand 1, at offsets that operands 2 and 3 give.
std::string check_in_place(const Context& c) {
  if (c.count() == 4) return "";
  return fmt::format(
      "{} with slice_sizes takes 4 operands (input, output and their offsets), not "
      "{}",
      c.name(), c.count());
}

}  // namespace

Result infer_collective_permute(const Context& c) {
  if (c.has(attr::permute_slice_sizes)) {
    MINIHLO_RETURN_IF_WRONG(check_in_place(c));
    return c.shape(1);
  }
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, c.count()));
  return c.one_or_tuple(operand_shapes(c, c.count()));
}

// (operand, result, contexts...), with tuples in place of several.
Result infer_collective_permute_start(const Context& c) {
  std::vector<const Shape*> elements;
  if (c.has(attr::permute_slice_sizes)) {
    MINIHLO_RETURN_IF_WRONG(check_in_place(c));
    elements = {c.shape(0), c.shape(1)};
  } else {
    MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, c.count()));
    Result operands = c.one_or_tuple(operand_shapes(c, c.count()));
    if (!operands) return operands;
    elements = {*operands, *operands};
  }
  if (c.written() && c.written()->is_tuple()) {
    std::span<const Shape* const> written = c.written()->elements();
    for (size_t i = 2; i < written.size(); ++i) elements.push_back(written[i]);
  }
  return c.tuple(elements);
}

}  // namespace minihlo::inference

// Structure and control: values are named, grouped, passed on, and computations run.
#include <algorithm>

#include "ir/inference/families.h"
#include "ir/inference/reducer.h"

namespace minihlo::inference {
namespace {

// That the computation of attribute `what` takes the operands from `from` on.
std::string check_arguments(const Context& c, std::string_view what, const Computation* computation,
                            const Signature& called, size_t from, size_t spare = 0) {
  if (called.parameters.size() != c.count() - from - spare) {
    return fmt::format("{}=%{} takes {} parameters, but {} gives it {}", what, computation->name(),
                       called.parameters.size(), c.name(), c.count() - from);
  }
  for (size_t i = 0; i < called.parameters.size(); ++i) {
    if (compatible_but_for_dynamic(called.parameters[i], c.shape(from + i))) continue;
    return fmt::format("{}=%{} takes {} as parameter {}, but {} gives it {}", what,
                       computation->name(), text(called.parameters[i]), i, c.name(),
                       c.describe(from + i));
  }
  return "";
}

Result call(const Context& c, std::string_view what, const Computation* computation) {
  auto called = signature(what, computation);
  if (!called) return tl::make_unexpected(called.error());
  MINIHLO_RETURN_IF_WRONG(check_arguments(c, what, computation, *called, 0));
  return called->result;
}

}  // namespace

Result infer_written(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_written());
  return c.written();
}

Result infer_constant(const Context& c) {
  const Literal* value = c.get(attr::literal_value);
  if (!value || !value->shape) return fail("constant has no value");
  return value->shape;
}

Result infer_tuple(const Context& c) {
  std::vector<const Shape*> elements;
  elements.reserve(c.count());
  for (size_t i = 0; i < c.count(); ++i) elements.push_back(c.shape(i));
  return c.tuple(elements);
}

Result infer_get_tuple_element(const Context& c) {
  const int64_t index = c.get(attr::index);
  if (!c.shape(0)->is_tuple()) return fail("{} is no tuple", c.describe(0));
  const int64_t size = static_cast<int64_t>(c.shape(0)->elements().size());
  if (index < 0 || index >= size) {
    return fail("index={} is none of the {} elements of {}", index, size, c.describe(0));
  }
  return c.shape(0)->element(index);
}

Result infer_token(const Context& c) { return c.shapes().token(); }

Result infer_own_id(const Context& c) { return c.shapes().scalar(ElementType::U32); }

Result infer_call(const Context& c) { return call(c, "to_apply", c.get(attr::to_apply)); }

// A fusion may have more operands than its body has parameters.
Result infer_fusion(const Context& c) {
  const Computation* body = c.get(attr::calls);
  auto called = signature("calls", body);
  if (!called) return tl::make_unexpected(called.error());
  const size_t spare = c.count() - std::min(c.count(), called->parameters.size());
  MINIHLO_RETURN_IF_WRONG(check_arguments(c, "calls", body, *called, 0, spare));
  return called->result;
}

Result infer_while(const Context& c) {
  const Computation* condition = c.get(attr::condition);
  const Computation* body = c.get(attr::body);
  auto tested = signature("condition", condition);
  if (!tested) return tl::make_unexpected(tested.error());
  auto repeated = signature("body", body);
  if (!repeated) return tl::make_unexpected(repeated.error());
  MINIHLO_RETURN_IF_WRONG(check_arguments(c, "condition", condition, *tested, 0));
  MINIHLO_RETURN_IF_WRONG(check_arguments(c, "body", body, *repeated, 0));
  if (!tested->result->is_scalar() || tested->result->element_type() != ElementType::PRED) {
    return fail("condition=%{} returns {}, but a condition returns pred[]", condition->name(),
                text(tested->result));
  }
  if (!compatible_but_for_dynamic(repeated->result, c.shape(0))) {
    return fail("body=%{} returns {}, but must return the shape that it takes, that of {}",
                body->name(), text(repeated->result), c.describe(0));
  }
  return c.shape(0);
}

Result infer_conditional(const Context& c) {
  const Shape* test = c.shape(0);
  const bool is_pred = test->is_scalar() && test->element_type() == ElementType::PRED;
  const bool is_index = test->is_scalar() && test->element_type() == ElementType::S32;
  if (!is_pred && !is_index) {
    return fail("{} chooses the branch, so it must be pred[] or s32[]", c.describe(0));
  }
  struct Branch {
    std::string what;
    const Computation* computation;
  };
  std::vector<Branch> branches;
  if (is_pred) {
    branches = {{"true_computation", c.get(attr::true_computation)},
                {"false_computation", c.get(attr::false_computation)}};
  }
  std::span<Computation* const> listed = c.get(attr::branch_computations);
  if (!listed.empty() && (c.has(attr::true_computation) || c.has(attr::false_computation))) {
    return fail(
        "branches are named by branch_computations or by true_computation and "
        "false_computation, not by both");
  }
  if (is_index || (!listed.empty() && !c.has(attr::true_computation))) {
    branches.clear();
    for (size_t i = 0; i < listed.size(); ++i) {
      branches.push_back({fmt::format("branch_computations[{}]", i), listed[i]});
    }
    if (branches.empty()) return fail("branch_computations must name a branch");
    if (is_pred && branches.size() != 2) {
      return fail("branch_computations names {} branches, but {} chooses between 2",
                  branches.size(), c.describe(0));
    }
  }
  if (c.count() != branches.size() + 1) {
    return fail(
        "conditional takes the test and an operand for each of {} branches, not {} operands",
        branches.size(), c.count());
  }
  const Shape* result = nullptr;
  for (size_t i = 0; i < branches.size(); ++i) {
    const auto& [what, computation] = branches[i];
    auto called = signature(what, computation);
    if (!called) return tl::make_unexpected(called.error());
    if (called->parameters.size() != 1 ||
        !compatible_but_for_dynamic(called->parameters[0], c.shape(i + 1))) {
      return fail("{}=%{} must take one parameter, {}", what, computation->name(),
                  c.describe(i + 1));
    }
    if (result && !compatible_but_for_dynamic(result, called->result)) {
      return fail("{}=%{} returns {}, but the first branch returns {}", what, computation->name(),
                  text(called->result), text(result));
    }
    if (!result) result = called->result;
  }
  return result;
}

}  // namespace minihlo::inference

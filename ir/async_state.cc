#include "ir/async_state.h"

namespace minihlo {
namespace {

bool is_empty(const Shape* shape) { return shape->is_tuple() && shape->elements().empty(); }

}  // namespace

bool is_async_state(const Shape* shape) {
  return shape->is_tuple() && shape->elements().size() >= 2 && shape->element(0)->is_tuple();
}

bool is_result_open(const Shape* state) {
  return is_async_state(state) && is_empty(state->element(1));
}

bool is_bound_later(const Computation* called, size_t operand_count, const Shape* state) {
  if (!called || !called->root()) return false;
  return operand_count < called->parameters().size() ||
         (is_result_open(state) && !is_empty(called->root()->shape()));
}

}  // namespace minihlo

// Work that goes on beside, and talk to the host and other devices.
#include "ir/async_state.h"
#include "ir/inference/families.h"
#include "ir/inference/reducer.h"

namespace minihlo::inference {
namespace {

std::string need_token(const Context& c, size_t i) {
  if (c.shape(i)->is_token()) return "";
  return fmt::format("{} is no token", c.describe(i));
}

// That operand 0 is a tuple of at least `size` elements.
std::string need_tuple(const Context& c, size_t size) {
  if (c.shape(0)->is_tuple() && c.shape(0)->elements().size() >= size) return "";
  return fmt::format("{} is no tuple of at least {} elements", c.describe(0), size);
}

// That operand 0 is ((operands), result, state...).
std::string need_async_tuple(const Context& c) {
  if (std::string wrong = need_tuple(c, 2); !wrong.empty()) return wrong;
  if (c.shape(0)->element(0)->is_tuple()) return "";
  return fmt::format("{} does not begin with a tuple of operands", c.describe(0));
}

}  // namespace

Result infer_async_start(const Context& c) {
  const Computation* computation = c.get(attr::calls);
  auto called = signature("calls", computation);
  if (!called) return tl::make_unexpected(called.error());
  // An update may bind the rest of the parameters.
  if (c.count() > called->parameters.size()) {
    return fail("calls=%{} takes {} parameters, but async-start gives it {}", computation->name(),
                called->parameters.size(), c.count());
  }
  std::vector<const Shape*> operands;
  for (size_t i = 0; i < c.count(); ++i) {
    if (!compatible_but_for_dynamic(called->parameters[i], c.shape(i))) {
      return fail("calls=%{} takes {} as parameter {}, but async-start gives it {}",
                  computation->name(), text(called->parameters[i]), i, c.describe(i));
    }
    operands.push_back(c.shape(i));
  }
  Result bound = c.tuple(operands);
  if (!bound) return bound;
  std::vector<const Shape*> elements = {*bound, called->result};
  if (c.written() && c.written()->is_tuple()) {
    std::span<const Shape* const> written = c.written()->elements();
    // An update may bind the result, too.
    if (is_result_open(c.written())) elements[1] = written[1];
    for (size_t i = 2; i < written.size(); ++i) elements.push_back(written[i]);
  }
  return c.tuple(elements);
}

Result infer_async_update(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(need_async_tuple(c));
  std::span<const Shape* const> before = c.shape(0)->elements();
  const bool binds_result = is_result_open(c.shape(0)) && c.written() && c.written()->is_tuple() &&
                            c.written()->elements().size() > 1;
  if (c.count() == 1 && !binds_result) return c.shape(0);
  std::vector<const Shape*> operands(before[0]->elements().begin(), before[0]->elements().end());
  // What an update is given may be a place for the result.
  const bool takes_place = binds_result && c.written()->element(0)->is_tuple() &&
                           c.written()->element(0)->elements().size() == operands.size();
  for (size_t i = 1; i < c.count() && !takes_place; ++i) operands.push_back(c.shape(i));
  Result bound = c.tuple(operands);
  if (!bound) return bound;
  std::vector<const Shape*> elements(before.begin(), before.end());
  elements[0] = *bound;
  if (binds_result) elements[1] = c.written()->element(1);
  // What else there is may change with what is bound.
  if (c.written() && c.written()->is_tuple() && c.written()->elements().size() > 1) {
    elements.resize(2);
    for (const Shape* rest : c.written()->elements().subspan(2)) elements.push_back(rest);
  }
  return c.tuple(elements);
}

Result infer_async_done(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(need_async_tuple(c));
  return is_result_open(c.shape(0)) && c.written() ? c.written() : c.shape(0)->element(1);
}

// all-gather-done and collective-permute-done.
Result infer_second_element(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(need_tuple(c, 2));
  return c.shape(0)->element(1);
}

// (destination, source, context)
Result infer_copy_start(const Context& c) {
  const Shape* all[] = {c.shape(0), c.shape(0), c.shapes().scalar(ElementType::U32)};
  return c.tuple(all);
}

Result infer_copy_done(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(need_tuple(c, 2));
  return c.shape(0)->element(0);
}

Result infer_add_dependency(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(need_token(c, 1));
  return c.shape(0);
}

Result infer_send(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(need_token(c, 1));
  const Shape* all[] = {c.shape(0), c.shapes().scalar(ElementType::U32), c.shapes().token()};
  return c.tuple(all);
}

Result infer_recv(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(need_token(c, 0));
  MINIHLO_RETURN_IF_WRONG(c.need_written());
  if (!c.written()->is_tuple() || c.written()->elements().empty()) {
    return fail("the result of recv is (data, u32[], token[]), not {}", text(c.written()));
  }
  const Shape* all[] = {c.written()->element(0), c.shapes().scalar(ElementType::U32),
                        c.shapes().token()};
  return c.tuple(all);
}

Result infer_send_done(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(need_tuple(c, 3));
  return c.shapes().token();
}

Result infer_recv_done(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(need_tuple(c, 3));
  const Shape* both[] = {c.shape(0)->element(0), c.shapes().token()};
  return c.tuple(both);
}

Result infer_infeed(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(need_token(c, 0));
  MINIHLO_RETURN_IF_WRONG(c.need_written());
  if (!c.written()->is_tuple() || c.written()->elements().empty()) {
    return fail("the result of infeed is (data, token[]), not {}", text(c.written()));
  }
  const Shape* both[] = {c.written()->element(0), c.shapes().token()};
  return c.tuple(both);
}

Result infer_outfeed(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(need_token(c, 1));
  const Shape* fed = c.get(attr::outfeed_shape);
  if (fed && !compatible_but_for_dynamic(fed, c.shape(0))) {
    return fail("outfeed_shape={} is not the shape of {}", text(fed), c.describe(0));
  }
  return c.shapes().token();
}

}  // namespace minihlo::inference

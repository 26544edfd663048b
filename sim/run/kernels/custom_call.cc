// Custom-calls that say where or how a value is kept and leave it as it is, and the one that XLA
// makes of topk.
#include <algorithm>

#include <fmt/format.h>

#include "sim/run/kernel.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

// Whether the result is (values, s32 indices) of the operand's rows.
bool is_top_k(const KernelCall& call) {
  const Shape* shape = call.instruction.shape();
  if (call.operands.size() != 1 || !shape->is_tuple() || shape->elements().size() != 2)
    return false;
  const Shape *from = call.operand_shape(0), *values = shape->element(0),
              *places = shape->element(1);
  if (!from->is_array() || !values->is_array() || !places->is_array() || from->rank() == 0 ||
      values->element_type() != from->element_type() ||
      places->element_type() != ElementType::S32 ||
      !std::ranges::equal(values->dims(), places->dims()) || values->rank() != from->rank()) {
    return false;
  }
  const auto last = static_cast<size_t>(from->rank()) - 1;
  return std::ranges::equal(values->dims().first(last), from->dims().first(last)) &&
         values->dims()[last] <= from->dims()[last];
}

}  // namespace

KernelResult custom_call_kernel(KernelCall& call) {
  static constexpr std::string_view kIdentities[] = {"LayoutConstraint",
                                                     "MoveToDevice",
                                                     "MoveToHost",
                                                     "Pin",
                                                     "PinToDevice",
                                                     "Sharding",
                                                     "Unpin",
                                                     "annotate_device_placement",
                                                     "xla.sdy.FuncResultSharding"};
  std::string_view target = call.instruction.get(attr::custom_call_target);
  if (target == "TopK" && is_top_k(call)) return topk_kernel(call);
  if (std::ranges::find(kIdentities, target) == std::end(kIdentities) ||
      call.operands.size() != 1 || !call.instruction.shape()->is_array() ||
      !compatible(call.instruction.shape(), call.operand_shape(0))) {
    return tl::unexpected(Stop::unsupported(
        "custom-call", fmt::format("{}: custom-call to '{}' is not supported in a run",
                                   instruction_place(call.instruction), target)));
  }
  call.results.push_back(call.operands[0]);
  return {};
}

}  // namespace minihlo

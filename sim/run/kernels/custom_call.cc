// Custom-calls that say where or how a value is kept and leave it as it is.
#include <algorithm>

#include <fmt/format.h>

#include "sim/run/kernel.h"
#include "sim/walk.h"

namespace minihlo {

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

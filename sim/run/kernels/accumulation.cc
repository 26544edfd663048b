#include "sim/run/kernels/accumulation.h"

#include <fmt/format.h>

#include "ir/semantics/elementwise.h"
#include "sim/walk.h"

namespace minihlo {

tl::expected<Accumulation, Stop> accumulation(KernelCall& call) {
  const size_t n = call.operands.size() / 2;
  const std::vector<const Shape*> results = leaf_shapes(call.instruction.shape());
  Accumulation made{};
  std::vector<ElementType> takes, gives;
  for (const Shape* result : results) gives.push_back(result->element_type());
  takes = gives;
  for (size_t k = 0; k < n; ++k) takes.push_back(call.operand_shape(k)->element_type());
  auto program = call.context.programs.of(*call.instruction.get(attr::to_apply), takes, gives);
  if (!program) return tl::unexpected(std::move(program.error()));
  made.program = *program;
  for (size_t k = 0; k < n; ++k) {
    const ElementType types[] = {call.operand_shape(n + k)->element_type()};
    made.widths.push_back(info(takes[n + k]).bytes);
    made.accumulator_widths.push_back(info(gives[k]).bytes);
    made.inits.push_back(call.operands[n + k]);
    if (types[0] == gives[k]) continue;
    auto convert = elementwise_op(ElementwiseSignature{Opcode::kConvert, types, gives[k], {}});
    if (!convert) {
      return tl::unexpected(Stop::unsupported(
          std::string(to_string(call.instruction.opcode())),
          fmt::format("{}: {}", instruction_place(call.instruction), convert.error())));
    }
    auto init = call.allocate(made.accumulator_widths.back());
    if (!init) return tl::unexpected(std::move(init.error()));
    const std::byte* from = made.inits.back().data();
    const int64_t step = 1;
    (*convert)(1, &from, &step, init->mutable_data());
    made.inits.back() = *std::move(init);
  }
  return made;
}

}  // namespace minihlo

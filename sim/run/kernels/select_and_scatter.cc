// select-and-scatter: each source element goes to the element of its window that `select` prefers,
// where `scatter` combines it with what is there: in row-major order of the source.
#include <algorithm>
#include <cstring>
#include <limits>

#include "sim/run/kernel.h"
#include "sim/run/kernels/windows.h"

namespace minihlo {
namespace {

constexpr int64_t kBlock = 512;

struct Plan {
  Windows windows;
  const ScalarProgram* select;
  const ScalarProgram* scatter;
  Buffer operand, source, init, chosen, result;
  int64_t width, source_width;
};

// Which element each source position chooses: the first in its window, until select(chosen, next)
// is false. -1 where the window has none.
void choose(const Plan& plan, int64_t begin, int64_t end, LateCheck& is_late) {
  const size_t rank = plan.windows.rank();
  const auto width = static_cast<size_t>(plan.width);
  const auto count = static_cast<size_t>(end - begin);
  auto* chosen = reinterpret_cast<int64_t*>(Buffer(plan.chosen).mutable_data()) + begin;
  std::vector<int64_t> outputs(count * rank), position(rank);
  for (size_t j = 0; j < count; ++j) {
    chosen[j] = -1;
    plan.windows.output_index(begin + static_cast<int64_t>(j), outputs.data() + j * rank);
  }
  std::vector<std::byte> held(count * width), next(count * width), keep(count);
  std::vector<size_t> meeting;
  std::vector<int64_t> elements;
  for (int64_t p = 0; p < plan.windows.position_count(); ++p) {
    if (is_late(end - begin)) return;
    plan.windows.position_index(p, position.data());
    meeting.clear();
    elements.clear();
    for (size_t j = 0; j < count; ++j) {
      int64_t element = plan.windows.element(outputs.data() + j * rank, position.data());
      if (element < 0) continue;
      if (chosen[j] < 0) {
        chosen[j] = element;
        continue;
      }
      size_t i = meeting.size();
      std::memcpy(held.data() + i * width, plan.operand.data() + chosen[j] * plan.width, width);
      std::memcpy(next.data() + i * width, plan.operand.data() + element * plan.width, width);
      meeting.push_back(j);
      elements.push_back(element);
    }
    const std::byte* parameters[] = {held.data(), next.data()};
    const int64_t steps[] = {1, 1};
    std::byte* result = keep.data();
    plan.select->run(static_cast<int64_t>(meeting.size()), parameters, steps, &result);
    for (size_t i = 0; i < meeting.size(); ++i) {
      if (keep[i] == std::byte{0}) chosen[meeting[i]] = elements[i];
    }
  }
}

void scatter_all(const Plan& plan, int64_t result_count, int64_t source_count, Workers& workers) {
  std::byte* to = Buffer(plan.result).mutable_data();
  StridedCopy fill;
  fill.axes = {{result_count, 1, 0}};
  copy_strided(fill, plan.init.data(), to, plan.width);
  const auto* chosen = reinterpret_cast<const int64_t*>(plan.chosen.data());
  for (int64_t i = 0; i < source_count; ++i) {
    if (i % kBlock == 0 && workers.is_late()) return;
    if (chosen[i] < 0) continue;
    std::byte* place = to + chosen[i] * plan.width;
    const std::byte* parameters[] = {place, plan.source.data() + i * plan.source_width};
    const int64_t steps[] = {1, 1};
    plan.scatter->run(1, parameters, steps, &place);
  }
}

}  // namespace

KernelResult select_and_scatter_kernel(KernelCall& call) {
  const Shape* shape = call.instruction.shape();
  const Shape* source_shape = call.operand_shape(1);
  const ElementType type = shape->element_type(), element = call.operand_shape(0)->element_type();
  auto select = call.context.programs.of(*call.instruction.get(attr::select), {element, element},
                                         {ElementType::PRED});
  if (!select) return tl::unexpected(std::move(select.error()));
  auto scatter = call.context.programs.of(*call.instruction.get(attr::scatter),
                                          {type, source_shape->element_type()}, {type});
  if (!scatter) return tl::unexpected(std::move(scatter.error()));
  if (element != type || call.operand_shape(2)->element_type() != type) {
    return tl::unexpected(
        Stop::unsupported("select-and-scatter", "operand and init of different element types"));
  }
  Buffer dense[2];
  for (size_t i = 0; i < 2; ++i) {
    auto operand = call.dense(i);
    if (!operand) return tl::unexpected(std::move(operand.error()));
    dense[i] = *std::move(operand);
  }
  auto result = call.allocate(shape);
  if (!result) return tl::unexpected(std::move(result.error()));
  const int64_t sources = source_shape->element_count();
  int64_t chosen_bytes = 0;
  if (__builtin_mul_overflow(sources, int64_t{sizeof(int64_t)}, &chosen_bytes)) {
    chosen_bytes = std::numeric_limits<int64_t>::max();
  }
  auto chosen = call.allocate(chosen_bytes);
  if (!chosen) return tl::unexpected(std::move(chosen.error()));
  call.results.push_back(*result);
  Plan plan{Windows(call.instruction.get(attr::window), shape->dims(), source_shape->dims()),
            *select,
            *scatter,
            dense[0],
            dense[1],
            call.operands[2],
            *chosen,
            *result,
            info(type).bytes,
            info(source_shape->element_type()).bytes};
  const int64_t positions = std::min(plan.windows.position_count(), int64_t{1} << 32);
  call.add((sources + kBlock - 1) / kBlock, positions * kBlock * 16,
           [plan, sources, &workers = call.context.workers](int64_t begin, int64_t end) {
             LateCheck is_late(workers);
             for (int64_t i = begin; i < end; ++i) {
               choose(plan, i * kBlock, std::min(sources, (i + 1) * kBlock), is_late);
             }
           });
  call.next_stage();
  call.add(1, sources * 16,
           [plan, sources, count = shape->element_count(), &workers = call.context.workers](
               int64_t, int64_t) { scatter_all(plan, count, sources, workers); });
  return {};
}

}  // namespace minihlo

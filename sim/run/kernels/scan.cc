// scan: along one dimension, slice by slice, to_apply turns slices of the inputs and carries into
// slices of the outputs and the next carries. Computations that work element by element only.
#include <algorithm>
#include <cstring>

#include "sim/run/kernel.h"
#include "sim/run/kernels/axes.h"

namespace minihlo {
namespace {

constexpr int64_t kBlock = 512;  // elements of a slice that are worked on together

struct Plan {
  const ScalarProgram* program;
  std::vector<Buffer> operands, results;
  std::vector<int64_t> operand_widths, result_widths;
  size_t inputs, outputs;  // the rest are carries
  int64_t size, inner;     // of the dimension; from one index of it to the next
  bool reverse;
};

void scan_block(const Plan& plan, int64_t begin, int64_t end) {
  const auto count = static_cast<size_t>(end - begin);
  std::vector<std::vector<std::byte>> in, out;
  std::vector<const std::byte*> parameters;
  std::vector<std::byte*> values;
  for (int64_t width : plan.operand_widths) in.emplace_back(count * static_cast<size_t>(width));
  for (int64_t width : plan.result_widths) out.emplace_back(count * static_cast<size_t>(width));
  for (auto& block : in) parameters.push_back(block.data());
  for (auto& block : out) values.push_back(block.data());
  const std::vector<int64_t> steps(in.size(), 1);
  // Element `begin + j` of a slice at step t of the dimension.
  auto place = [&](size_t j, int64_t t) {
    const int64_t element = begin + static_cast<int64_t>(j);
    return element / plan.inner * plan.inner * plan.size + t * plan.inner + element % plan.inner;
  };
  auto fetch = [&](size_t k, auto index) {
    const auto width = static_cast<size_t>(plan.operand_widths[k]);
    const Buffer& from = plan.operands[k];
    for (size_t j = 0; j < count; ++j) {
      const auto at = from.is_splat() ? size_t{0} : static_cast<size_t>(index(j)) * width;
      std::memcpy(in[k].data() + j * width, from.data() + at, width);
    }
  };
  for (size_t k = plan.inputs; k < in.size(); ++k) {
    fetch(k, [&](size_t j) { return begin + static_cast<int64_t>(j); });
  }
  for (int64_t step = 0; step < plan.size; ++step) {
    const int64_t t = plan.reverse ? plan.size - 1 - step : step;
    for (size_t k = 0; k < plan.inputs; ++k) fetch(k, [&](size_t j) { return place(j, t); });
    plan.program->run(end - begin, parameters.data(), steps.data(), values.data());
    for (size_t k = 0; k < plan.outputs; ++k) {
      const auto width = static_cast<size_t>(plan.result_widths[k]);
      std::byte* to = Buffer(plan.results[k]).mutable_data();
      for (size_t j = 0; j < count; ++j) {
        std::memcpy(to + static_cast<size_t>(place(j, t)) * width, out[k].data() + j * width,
                    width);
      }
    }
    for (size_t k = plan.inputs; k < in.size(); ++k) {
      in[k] = out[plan.outputs + k - plan.inputs];
      parameters[k] = in[k].data();
    }
  }
  for (size_t k = plan.inputs; k < in.size(); ++k) {
    const size_t result = plan.outputs + k - plan.inputs;
    std::memcpy(Buffer(plan.results[result]).mutable_data() + begin * plan.result_widths[result],
                in[k].data(), in[k].size());
  }
}

}  // namespace

KernelResult scan_kernel(KernelCall& call) {
  const Instruction& scan = call.instruction;
  auto program = call.context.programs.of(*scan.get(attr::to_apply));
  if (!program) return tl::unexpected(std::move(program.error()));
  const auto carries = static_cast<size_t>(scan.get(attr::num_carries));
  const Shape* shape = scan.shape();
  std::vector<const Shape*> shapes{shape};
  if (shape->is_tuple()) shapes.assign(shape->elements().begin(), shape->elements().end());
  Plan plan{*program,
            call.operands,
            {},
            {},
            {},
            call.operands.size() - carries,
            shapes.size() - carries,
            0,
            1,
            scan.get(attr::is_reverse)};
  if (plan.inputs + plan.outputs == 0 ||
      static_cast<size_t>((*program)->result_count()) != shapes.size()) {
    return tl::unexpected(Stop::unsupported("scan", "a scan over nothing"));
  }
  const Shape* stacked = plan.inputs > 0 ? call.operand_shape(0) : shapes[0];
  const auto dimension = static_cast<size_t>(scan.get(attr::dimensions)[0]);
  plan.size = stacked->dims()[dimension];
  plan.inner = row_major_strides(stacked->dims())[dimension];
  int64_t count = plan.inner, cost = 0;
  for (size_t i = 0; i < dimension; ++i) count *= stacked->dims()[i];
  for (size_t k = 0; k < call.operands.size(); ++k) {
    const Shape* operand = call.operand_shape(k);
    plan.operand_widths.push_back(info(operand->element_type()).bytes);
    cost += plan.operand_widths.back();
    if (operand->element_count() != (k < plan.inputs ? stacked->element_count() : count)) {
      return tl::unexpected(Stop::unsupported("scan", "operands of different sizes"));
    }
  }
  for (size_t k = 0; k < shapes.size(); ++k) {
    if ((*program)->result_type(static_cast<int>(k)) != shapes[k]->element_type() ||
        shapes[k]->element_count() != (k < plan.outputs ? stacked->element_count() : count)) {
      return tl::unexpected(Stop::unsupported("scan", "results of different sizes"));
    }
    plan.result_widths.push_back(info(shapes[k]->element_type()).bytes);
    auto result = call.allocate(shapes[k]);
    if (!result) return tl::unexpected(std::move(result.error()));
    call.results.push_back(*result);
    plan.results.push_back(*std::move(result));
  }
  call.add((count + kBlock - 1) / kBlock, cost * kBlock * std::min(plan.size, int64_t{1} << 20),
           [plan = std::move(plan), count](int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i) {
               scan_block(plan, i * kBlock, std::min(count, (i + 1) * kBlock));
             }
           });
  return {};
}

}  // namespace minihlo

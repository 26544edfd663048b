// scatter: updates go into copies of the operands, window by window in row-major order of the index
// vectors; a window that is not wholly inside is left out.
#include <algorithm>
#include <cstring>

#include "sim/run/kernel.h"
#include "sim/run/kernels/index_vectors.h"

namespace minihlo {
namespace {

constexpr int64_t kBlock = 1024;  // elements of a window that are worked on together

struct Plan {
  IndexVectors starts;
  const ScalarProgram* program;
  std::vector<Buffer> results, updates;
  std::vector<int64_t> widths, update_widths;
  std::vector<int64_t> operand_strides, limits;
  std::vector<StridedAxis> batch;                 // in the updates
  std::vector<StridedAxis> in_result, in_update;  // the window, axis by axis
};

// Applies the reducer to elements result + to[i], update + from[i]. All of `to` differ.
void combine(const Plan& plan, int64_t result, int64_t update, std::span<const int64_t> to,
             std::span<const int64_t> from, std::vector<std::vector<std::byte>>& scratch) {
  const size_t n = plan.results.size();
  std::vector<const std::byte*> parameters(2 * n);
  std::vector<std::byte*> outputs(n);
  std::vector<int64_t> steps(2 * n, 1);
  for (size_t k = 0; k < n; ++k) {
    const auto width = static_cast<size_t>(plan.widths[k]);
    std::vector<std::byte>&left = scratch[k], &right = scratch[n + k];
    left.resize(to.size() * width);
    const auto update_width = static_cast<size_t>(plan.update_widths[k]);
    right.resize(to.size() * update_width);
    for (size_t i = 0; i < to.size(); ++i) {
      std::memcpy(left.data() + i * width,
                  plan.results[k].data() + (result + to[i]) * plan.widths[k], width);
      std::memcpy(right.data() + i * update_width,
                  plan.updates[k].data() + (update + from[i]) * plan.update_widths[k],
                  update_width);
    }
    parameters[k] = outputs[k] = left.data();
    parameters[n + k] = right.data();
  }
  plan.program->run(static_cast<int64_t>(to.size()), parameters.data(), steps.data(),
                    outputs.data());
  for (size_t k = 0; k < n; ++k) {
    const auto width = static_cast<size_t>(plan.widths[k]);
    std::byte* out = Buffer(plan.results[k]).mutable_data();
    for (size_t i = 0; i < to.size(); ++i) {
      std::memcpy(out + (result + to[i]) * plan.widths[k], scratch[k].data() + i * width, width);
    }
  }
}

void scatter_all(const Plan& plan, Workers& workers) {
  const int64_t window = count_of(plan.in_result);
  std::vector<int64_t> start(plan.limits.size()), to, from;
  std::vector<std::vector<std::byte>> scratch(2 * plan.results.size());
  OffsetWalk batch(plan.batch);
  for (int64_t i = 0; i < plan.starts.count(); ++i, batch.next()) {
    if (i % kBlock == 0 && workers.is_late()) return;
    plan.starts.read(i, start);
    int64_t offset = 0;
    bool inside = true;
    for (size_t k = 0; k < start.size() && inside; ++k) {
      inside = start[k] >= 0 && start[k] <= plan.limits[k];
      offset += inside ? start[k] * plan.operand_strides[k] : 0;
    }
    if (!inside) continue;
    OffsetWalk in_result(plan.in_result), in_update(plan.in_update);
    for (int64_t done = 0; done < window;) {
      to.clear();
      from.clear();
      for (; done < window && static_cast<int64_t>(to.size()) < kBlock; ++done) {
        to.push_back(in_result.offset());
        from.push_back(in_update.offset());
        in_result.next();
        in_update.next();
      }
      combine(plan, offset, batch.offset(), to, from, scratch);
    }
  }
}

}  // namespace

KernelResult scatter_kernel(KernelCall& call) {
  const Instruction& scatter = call.instruction;
  const size_t n = call.operands.size() / 2;
  std::vector<ElementType> gives;
  for (size_t k = 0; k < n; ++k) gives.push_back(call.operand_shape(k)->element_type());
  std::vector<ElementType> takes = gives;
  for (size_t k = 0; k < n; ++k) takes.push_back(call.operand_shape(n + 1 + k)->element_type());
  auto program =
      call.context.programs.of(*scatter.get(attr::to_apply), std::move(takes), std::move(gives));
  if (!program) return tl::unexpected(std::move(program.error()));
  const Shape *operand = call.operand_shape(0), *updates = call.operand_shape(n + 1);
  std::span<const int64_t> window_dims = scatter.get(attr::update_window_dims);
  std::span<const int64_t> inserted = scatter.get(attr::inserted_window_dims);
  std::span<const int64_t> batching = scatter.get(attr::input_batching_dims);
  Plan plan{
      IndexVectors(call.operands[n], call.operand_shape(n), scatter.get(attr::index_vector_dim),
                   scatter.get(attr::scatter_dims_to_operand_dims), batching,
                   scatter.get(attr::scatter_indices_batching_dims)),
      *program,
      {},
      {},
      {},
      {},
      row_major_strides(operand->dims()),
      {},
      {},
      {},
      {}};
  for (size_t k = 0; k < n; ++k) {
    const Shape* shape = call.operand_shape(k);
    const int64_t width = info(shape->element_type()).bytes;
    plan.widths.push_back(width);
    plan.update_widths.push_back(info(call.operand_shape(n + 1 + k)->element_type()).bytes);
    auto update = call.dense(n + 1 + k);
    if (!update) return tl::unexpected(std::move(update.error()));
    plan.updates.push_back(*std::move(update));
    const size_t candidate[] = {k};
    auto result = call.allocate_over(shape, candidate);
    if (!result) return tl::unexpected(std::move(result.error()));
    if (!(*result == call.operands[k])) {
      StridedCopy whole;
      whole.axes = {{shape->element_count(), 1, 1}};
      add_copies(call, {{whole, call.operands[k]}}, *result, width);
    }
    call.results.push_back(*result);
    plan.results.push_back(*std::move(result));
  }
  call.next_stage();

  std::vector<int64_t> update_strides = row_major_strides(updates->dims());
  size_t next = 0;
  for (int64_t i = 0; i < operand->rank(); ++i) {
    const auto axis = static_cast<size_t>(i);
    bool single = std::ranges::find(inserted, i) != inserted.end() ||
                  std::ranges::find(batching, i) != batching.end();
    int64_t size = 1;
    if (!single) {
      const int64_t dim = window_dims[next++];
      size = updates->dim(dim);
      plan.in_result.push_back({size, plan.operand_strides[axis]});
      plan.in_update.push_back({size, update_strides[static_cast<size_t>(dim)]});
    }
    plan.limits.push_back(operand->dim(i) - size);
  }
  for (int64_t i = 0; i < updates->rank(); ++i) {
    if (std::ranges::find(window_dims, i) != window_dims.end()) continue;
    plan.batch.push_back({updates->dim(i), update_strides[static_cast<size_t>(i)]});
  }
  if (updates->element_count() == 0) return {};
  call.add(1, updates->byte_count(),
           [plan = std::move(plan), &workers = call.context.workers](int64_t, int64_t) {
             scatter_all(plan, workers);
           });
  return {};
}

}  // namespace minihlo

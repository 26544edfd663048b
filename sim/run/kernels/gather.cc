// gather: a window of the operand for each start index vector, starts clamped into the operand.
#include <algorithm>

#include "sim/run/kernel.h"
#include "sim/run/kernels/index_vectors.h"

namespace minihlo {

KernelResult gather_kernel(KernelCall& call) {
  const Instruction& gather = call.instruction;
  const Shape *operand = call.operand_shape(0), *indices = call.operand_shape(1);
  const Shape* shape = gather.shape();
  auto data = call.dense(0);
  if (!data) return tl::unexpected(std::move(data.error()));
  auto result = call.allocate(shape);
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*result);
  if (shape->element_count() == 0) return {};

  std::span<const int64_t> sizes = gather.get(attr::slice_sizes);
  std::span<const int64_t> offset_dims = gather.get(attr::offset_dims);
  std::span<const int64_t> collapsed = gather.get(attr::collapsed_slice_dims);
  std::span<const int64_t> batching = gather.get(attr::operand_batching_dims);
  IndexVectors starts(call.operands[1], indices, gather.get(attr::index_vector_dim),
                      gather.get(attr::start_index_map), batching,
                      gather.get(attr::start_indices_batching_dims));

  // The window: axes of the operand that are left, beside the result's offset dimensions.
  std::vector<int64_t> operand_strides = row_major_strides(operand->dims());
  std::vector<int64_t> result_strides = row_major_strides(shape->dims());
  StridedCopy window;
  size_t next = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    auto dim = static_cast<int64_t>(i);
    if (std::ranges::find(collapsed, dim) != collapsed.end() ||
        std::ranges::find(batching, dim) != batching.end()) {
      continue;
    }
    int64_t result_stride = result_strides[static_cast<size_t>(offset_dims[next++])];
    window.axes.push_back({sizes[i], result_stride, operand_strides[i]});
  }
  std::vector<StridedAxis> batch;
  for (int64_t i = 0; i < shape->rank(); ++i) {
    if (std::ranges::find(offset_dims, i) != offset_dims.end()) continue;
    batch.push_back({shape->dim(i), result_strides[static_cast<size_t>(i)]});
  }
  std::vector<int64_t> limits;
  for (size_t i = 0; i < sizes.size(); ++i) limits.push_back(operand->dims()[i] - sizes[i]);

  const int64_t width = info(shape->element_type()).bytes;
  const int64_t batches = count_of(batch);
  std::byte* to = result->mutable_data();
  call.add(
      batches, shape->byte_count() / batches + 32,
      [=, starts = std::move(starts), data = *data, keep = *result](int64_t begin, int64_t end) {
        StridedCopy copy = window;
        OffsetWalk place(batch, begin);
        std::vector<int64_t> start(limits.size());
        for (int64_t i = begin; i < end; ++i, place.next()) {
          starts.read(i, start);
          copy.operand_offset = 0;
          for (size_t k = 0; k < start.size(); ++k) {
            copy.operand_offset += std::clamp<int64_t>(start[k], 0, limits[k]) * operand_strides[k];
          }
          copy.result_offset = place.offset();
          copy_strided(copy, data.data(), to, width);
        }
      });
  return {};
}

}  // namespace minihlo

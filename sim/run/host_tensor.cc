#include "sim/run/host_tensor.h"

#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/module.h"
#include "sim/run/dynamic_shapes.h"

namespace minihlo {
namespace {

// Tensors outlive the module, whose constants they may be.
tl::expected<Buffer, Stop> copied(KernelCall& call, const Buffer& buffer) {
  auto copy = call.allocate(buffer.size());
  if (copy && buffer.size() > 0) {
    std::memcpy(copy->mutable_data(), buffer.data(), static_cast<size_t>(buffer.size()));
  }
  return copy;
}

}  // namespace

tl::expected<HostTensor, Stop> host_tensor(const Instruction& instruction, RunContext& context,
                                           const Shape* shape, const Buffer& buffer) {
  KernelCall call{instruction, context, {}, {}, {}, {}};
  const Shape* sized = runtime_shape(instruction.parent()->module()->shapes(), shape, buffer);
  auto dense = call.dense(buffer, sized);
  if (dense && dense->is_borrowed()) dense = copied(call, *dense);
  if (!dense) return tl::unexpected(std::move(dense.error()));
  auto keep = std::make_shared<Buffer>(*std::move(dense));
  if (keep->size() != sized->byte_count()) {
    return tl::unexpected(Stop::unsupported(
        "dynamic shapes", fmt::format("a value of another size stands for {}", to_string(shape))));
  }
  return HostTensor{sized->element_type(),
                    {sized->dims().begin(), sized->dims().end()},
                    {keep, keep->data()},
                    sized->byte_count()};
}

std::string tensor_misfit(const HostTensor& tensor, const Shape* shape) {
  if (!shape->is_array()) return fmt::format("no tensor can stand for {}", to_string(shape));
  bool fits = tensor.type == shape->element_type() && tensor.dims.size() == shape->dims().size();
  int64_t bytes = info(shape->element_type()).bytes;
  for (size_t i = 0; fits && i < tensor.dims.size(); ++i) {
    const int64_t size = tensor.dims[i], bound = shape->dims()[i];
    fits = size == bound || (shape->is_dynamic(static_cast<int64_t>(i)) && size >= 0 &&
                             (size < bound || bound == kUnboundedSize));
    fits = fits && !__builtin_mul_overflow(bytes, size, &bytes);
  }
  if (!fits) {
    return fmt::format("{} is needed, not {}[{}]", to_string(shape, false), to_string(tensor.type),
                       fmt::join(tensor.dims, ","));
  }
  if (tensor.bytes != bytes || (!tensor.data && tensor.bytes > 0)) {
    return fmt::format("{} bytes are needed, not {}", bytes, tensor.bytes);
  }
  return "";
}

}  // namespace minihlo

// Kernels of what has no operands to compute with: constants, iota, sizes of dimensions.
#include <cstring>

#include <fmt/format.h>

#include "ir/numbers.h"
#include "ir/semantics/evaluate.h"
#include "sim/run/inputs.h"
#include "sim/run/kernel.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

KernelResult literal_buffers(KernelCall& call, const Literal& literal) {
  if (literal.form == Literal::Form::kTuple) {
    for (const Literal* element : literal.elements) {
      if (KernelResult done = literal_buffers(call, *element); !done) return done;
    }
    return {};
  }
  if (!literal.shape->is_array()) {
    call.results.emplace_back();
    return {};
  }
  RunContext& context = call.context;
  if (literal.form != Literal::Form::kElided) {
    const auto size = static_cast<int64_t>(literal.bytes.size());
    // The module owns the bytes and outlives the run.
    Buffer buffer = context.pool->wrap(literal.bytes.data(), size, nullptr);
    if (reinterpret_cast<uintptr_t>(literal.bytes.data()) % alignof(std::max_align_t) != 0) {
      auto aligned = call.allocate(size);
      if (!aligned) return tl::unexpected(std::move(aligned.error()));
      if (size > 0)
        std::memcpy(aligned->mutable_data(), literal.bytes.data(), literal.bytes.size());
      buffer = *std::move(aligned);
    }
    bool splat = literal.form == Literal::Form::kSplat && literal.shape->element_count() != 1;
    call.results.push_back(splat ? buffer.as_splat() : buffer);
    return {};
  }
  if (context.elided == ElidedConstants::kRefuse) {
    return tl::unexpected(Stop::unsupported(
        "elided constant",
        fmt::format("{} has no value in the text; --elided=zero or --elided=seed gives it one",
                    instruction_place(call.instruction))));
  }
  auto buffer = call.allocate(literal.shape);
  if (!buffer) return tl::unexpected(std::move(buffer.error()));
  if (context.elided == ElidedConstants::kZero) {
    std::memset(buffer->mutable_data(), 0, static_cast<size_t>(buffer->size()));
  } else {
    fill_seeded(literal.shape, context.seed, 0, literal.shape->element_count(),
                literal.shape->element_count(), buffer->mutable_data());
  }
  call.results.push_back(*std::move(buffer));
  return {};
}

}  // namespace

KernelResult constant_kernel(KernelCall& call) {
  return literal_buffers(call, *call.instruction.get(attr::literal_value));
}

KernelResult iota_kernel(KernelCall& call) {
  const Shape* shape = call.instruction.shape();
  auto op = iota_op(call.instruction);
  if (!op) {
    return tl::unexpected(Stop::unsupported(
        "iota", fmt::format("{}: {}", instruction_place(call.instruction), op.error())));
  }
  auto result = call.allocate(shape);
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*result);
  const int64_t width = info(shape->element_type()).bytes;
  std::byte* to = result->mutable_data();
  call.add(
      shape->element_count(), width,
      [&iota = call.instruction, op = *op, to, width, keep = *result](int64_t begin, int64_t end) {
        fill_iota(iota, op, begin, end, to + begin * width);
      });
  return {};
}

KernelResult get_dimension_size_kernel(KernelCall& call) {
  auto result = call.allocate(call.instruction.shape());
  if (!result) return tl::unexpected(std::move(result.error()));
  auto size =
      static_cast<int32_t>(call.operand_shape(0)->dim(call.instruction.get(attr::dimensions)[0]));
  std::memcpy(result->mutable_data(), &size, sizeof(size));
  call.results.push_back(*std::move(result));
  return {};
}

}  // namespace minihlo

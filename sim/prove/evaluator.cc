#include "sim/prove/evaluator.h"

#include <cstring>

namespace minihlo::prove {
namespace {

constexpr int64_t kMaxMemory = int64_t{256} << 20;

}  // namespace

Evaluator::Evaluator()
    : context_{BufferPool::make(kMaxMemory), Workers(1), {}, ElidedConstants::kRefuse, 0},
      domain_(mesh_, context_) {}

std::optional<std::vector<std::vector<std::byte>>> Evaluator::evaluate(
    const Instruction& instruction, const std::vector<std::vector<std::byte>>& operands) {
  using Array = BufferDomain::Array;
  std::vector<Array> arrays;
  for (const std::vector<std::byte>& bytes : operands) {
    auto buffer = context_.pool->allocate(static_cast<int64_t>(bytes.size()), "a known value");
    if (!buffer) return std::nullopt;
    if (!bytes.empty()) std::memcpy(buffer->mutable_data(), bytes.data(), bytes.size());
    arrays.emplace_back(*std::move(buffer));
  }
  std::vector<Operand<Array>> references;
  for (Array& array : arrays) references.push_back({&array, false});
  const int device = 0;
  BufferDomain::Leaves leaves = domain_.apply(instruction, references, std::span(&device, 1));
  if (!leaves) return std::nullopt;
  std::vector<const Shape*> shapes = leaf_shapes(instruction.shape());
  std::vector<std::vector<std::byte>> results;
  for (size_t i = 0; i < leaves->size(); ++i) {
    if (!(*leaves)[i].is_set()) return std::nullopt;
    const Shape* shape = shapes[i];
    const Buffer& buffer = (*leaves)[i][0];
    std::vector<std::byte>& bytes = results.emplace_back(static_cast<size_t>(shape->byte_count()));
    auto width = static_cast<size_t>(info(shape->element_type()).bytes);
    if (!buffer.is_splat()) {
      if (!bytes.empty()) std::memcpy(bytes.data(), buffer.data(), bytes.size());
      continue;
    }
    for (size_t at = 0; at < bytes.size(); at += width) {
      std::memcpy(bytes.data() + at, buffer.data(), width);
    }
  }
  return results;
}

const ScalarProgram* Evaluator::program(const Computation& computation) {
  auto program = context_.programs.of(computation);
  return program ? *program : nullptr;
}

}  // namespace minihlo::prove

#include "sim/run/element_walk.h"

#include <cstring>
#include <mutex>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "ir/semantics/collective_forms.h"
#include "sim/run/domain.h"
#include "sim/walker.h"

namespace minihlo {
namespace {

using Array = BufferDomain::Array;

constexpr int kMaxDepth = 20;

// The first instruction, called computations included, that is more than a function of its
// operands; or null.
const Instruction* find_effect(const Computation& computation,
                               std::unordered_set<const Computation*>& seen) {
  std::vector<const Computation*> pending{&computation};
  while (!pending.empty()) {
    const Computation* next = pending.back();
    pending.pop_back();
    if (!seen.insert(next).second) continue;
    for (const Instruction* instruction : next->instructions()) {
      switch (info(instruction->opcode()).family) {
        case Family::kIdentity:
        case Family::kCollective:
        case Family::kEffect:
          return instruction;
        case Family::kRandom:
          if (instruction->opcode() != Opcode::kRngBitGenerator) return instruction;
          break;
        case Family::kAsync:
          if (is_collective(instruction->opcode())) return instruction;
          break;
        default:
          break;
      }
      for (const Computation* called : instruction->called_computations()) {
        pending.push_back(called);
      }
    }
  }
  return nullptr;
}

class ElementWalk : public ElementFunction {
 public:
  ElementWalk(const Computation& computation, RunContext& context, const WalkLimits& limits,
              int depth)
      : computation_(computation),
        workers_(context.workers),
        context_{context.pool, Workers(1, limits.deadline), {}, context.elided,
                 context.seed, Plans::kNoClusters},
        domain_(kMesh, context_),
        walker_(kMesh, domain_, limits),
        parameters_(leaf_types(computation.parameters())),
        results_(leaf_shapes(computation.root()->shape())) {
    context_.programs.set_fallback([this, limits, depth](const Computation& called) {
      return walked_program(called, context_, limits, depth + 1);
    });
  }

  void run(int64_t count, const std::byte* const* parameters, const int64_t* steps,
           std::byte* const* results) const override {
    // One at a time, so that limits count alike for any number of threads.
    std::lock_guard lock(mutex_);
    for (int64_t i = 0; i < count; ++i) {
      if (workers_.is_late()) return;
      std::vector<Value<Array>> arguments;
      for (size_t k = 0; k < parameters_.size(); ++k) {
        const int64_t width = info(parameters_[k]).bytes;
        auto buffer = context_.pool->allocate(width, computation_.name());
        if (!buffer) return workers_.fail(std::move(buffer.error()));
        std::memcpy(buffer->mutable_data(), parameters[k] + i * steps[k] * width,
                    static_cast<size_t>(width));
        arguments.push_back({Array(*std::move(buffer)), nullptr, nullptr});
      }
      constexpr int kDevice = 0;
      auto value = walker_.run(computation_, std::move(arguments), std::span(&kDevice, 1));
      if (!value) return workers_.fail(std::move(value.error()));
      std::vector<Array> leaves;
      append_leaves(*value, leaves);
      for (size_t k = 0; k < results_.size(); ++k) {
        const int64_t width = info(results_[k]->element_type()).bytes;
        std::memcpy(results[k] + i * width, leaves[k][0].data(), static_cast<size_t>(width));
      }
    }
  }

 private:
  static constexpr Mesh kMesh{1, 1};

  static std::vector<ElementType> leaf_types(std::span<Instruction* const> parameters) {
    std::vector<ElementType> types;
    for (const Instruction* parameter : parameters) {
      types.push_back(parameter->shape()->element_type());
    }
    return types;
  }

  const Computation& computation_;
  Workers& workers_;
  mutable std::mutex mutex_;
  mutable RunContext context_;
  mutable BufferDomain domain_;
  mutable Walker<BufferDomain> walker_;
  const std::vector<ElementType> parameters_;
  const std::vector<const Shape*> results_;
};

}  // namespace

tl::expected<ScalarProgram, Stop> walked_program(const Computation& computation,
                                                 RunContext& context, const WalkLimits& limits,
                                                 int depth) {
  auto unsupported = [&](std::string_view why) {
    return tl::unexpected(Stop::unsupported(
        "computation on elements",
        fmt::format("%{} can't be applied to elements: {}", computation.name(), why)));
  };
  if (depth >= kMaxDepth) return unsupported("computations on elements are nested too deeply");
  std::vector<ElementType> parameters, results;
  for (const Instruction* parameter : computation.parameters()) {
    if (!parameter || !parameter->shape()->is_scalar())
      return unsupported("it takes more than scalars");
    parameters.push_back(parameter->shape()->element_type());
  }
  for (const Shape* shape : leaf_shapes(computation.root()->shape())) {
    if (!shape->is_scalar()) return unsupported("it gives more than scalars");
    results.push_back(shape->element_type());
  }
  std::unordered_set<const Computation*> seen;
  if (const Instruction* effect = find_effect(computation, seen)) {
    return unsupported(instruction_place(*effect) + " is no function of elements");
  }
  auto walk = std::make_shared<ElementWalk>(computation, context, limits, depth);
  return ScalarProgram(std::move(walk), std::move(parameters), std::move(results));
}

}  // namespace minihlo

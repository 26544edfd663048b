#include "sim/cost/memory.h"

#include <numeric>

#include "sim/cost/size_domain.h"

namespace minihlo {
namespace {

// Both branches of conditionals are walked, which may come to any number of steps where they nest.
constexpr int64_t kMaxSteps = int64_t{1} << 21;

}  // namespace

tl::expected<MemoryPrediction, Stop> predict_memory(const Module& module, const Mesh& mesh,
                                                    int64_t cluster_elements) {
  using Array = SizeDomain::Array;
  SizeCounter counter;
  SizeDomain domain(counter, cluster_elements);
  WalkLimits limits;
  limits.max_steps = kMaxSteps;
  Walker<SizeDomain> walker(mesh, domain, limits);
  std::vector<int> devices(static_cast<size_t>(mesh.device_count()));
  std::iota(devices.begin(), devices.end(), 0);
  std::vector<Value<Array>> arguments;
  for (const Instruction* parameter : module.entry()->parameters()) {
    std::vector<Array> leaves;
    for (const Shape* leaf : leaf_shapes(parameter->shape())) {
      std::vector<SizeBlock> values;
      for (size_t i = 0; i < devices.size() && leaf->is_array(); ++i) {
        values.emplace_back(counter, block_bytes(leaf), SizeBlock::Owner::kOthers);
      }
      leaves.emplace_back(std::move(values));
    }
    Array* next = leaves.data();
    arguments.push_back(value_from_leaves<Array>(parameter->shape(), next));
  }
  auto result = walker.run(*module.entry(), std::move(arguments), devices);
  if (!result) return tl::unexpected(std::move(result.error()));
  return MemoryPrediction{counter.peak()};
}

}  // namespace minihlo

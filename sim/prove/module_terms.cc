#include "sim/prove/module_terms.h"

#include <numeric>

namespace minihlo::prove {

tl::expected<ModuleTerms, Stop> module_terms(const Module& module, const Mesh& mesh,
                                             const SharedInputs& shared, Terms& terms,
                                             Evaluator& evaluator, Rules& rules, LoopMode mode,
                                             const WalkLimits& limits) {
  using Array = TermDomain::Array;
  TermDomain domain(mesh, terms, evaluator, rules, mode);
  Walker<TermDomain> walker(mesh, domain, limits);
  domain.set_walker(walker);
  std::vector<int> devices(static_cast<size_t>(mesh.device_count()));
  std::iota(devices.begin(), devices.end(), 0);

  std::vector<TermDomain::Val> arguments;
  int64_t number = 0;
  for (const Instruction* parameter : module.entry()->parameters()) {
    std::vector<Array> leaves;
    for (const Shape* shape : leaf_shapes(parameter->shape())) {
      Array& leaf = leaves.emplace_back();
      if (!shape->is_array()) continue;
      std::vector<Handle> handles;
      for (int device : devices) {
        handles.push_back(terms.parameter(number, shared.owner(mesh, device, number),
                                          shape->element_type(), shape->element_count()));
      }
      leaf = Array(std::move(handles));
      ++number;
    }
    Array* next = leaves.data();
    arguments.push_back(value_from_leaves<Array>(parameter->shape(), next));
  }
  auto value = walker.run(*module.entry(), std::move(arguments), devices);
  if (!value) return tl::unexpected(std::move(value.error()));

  ModuleTerms result;
  result.has_loop_terms = domain.has_loop_terms();
  result.assumptions = domain.assumptions();
  std::vector<Array> leaves;
  append_leaves(*value, leaves);
  for (const Array& leaf : leaves) {
    if (!leaf.is_set()) continue;
    std::vector<Handle>& handles = result.outputs.emplace_back();
    for (size_t i = 0; i < devices.size(); ++i) handles.push_back(leaf[i]);
  }
  return result;
}

}  // namespace minihlo::prove

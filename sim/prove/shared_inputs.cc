#include "sim/prove/shared_inputs.h"

#include <algorithm>

#include <fmt/format.h>

namespace minihlo::prove {

void SharedInputs::list(const Module& module) {
  if (!leaves_.empty()) return;
  std::span<Instruction* const> parameters = module.entry()->parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    for (const Shape* shape : leaf_shapes(parameters[i]->shape())) {
      if (shape->is_array()) leaves_.push_back({static_cast<int64_t>(i)});
    }
  }
}

void SharedInputs::add_said(const Module& module) {
  list(module);
  auto leaf = leaves_.begin();
  for (const Instruction* parameter : module.entry()->parameters()) {
    const Sharding* sharding = parameter->get(attr::sharding);
    std::span<const bool> replicas = parameter->get(attr::parameter_replication);
    const std::vector<const Shape*> shapes = leaf_shapes(parameter->shape());
    for (size_t i = 0; i < shapes.size(); ++i) {
      if (!shapes[i]->is_array()) continue;
      const Sharding* own = sharding;
      if (sharding && sharding->form == Sharding::Form::kTuple) {
        own = i < sharding->elements.size() ? sharding->elements[i] : nullptr;
      }
      leaf->over_partitions |= own && own->form == Sharding::Form::kReplicated;
      leaf->over_replicas |= i < replicas.size() && replicas[i];
      ++leaf;
    }
  }
}

void SharedInputs::add(const Module& module, int64_t number) {
  list(module);
  for (Leaf& leaf : leaves_) {
    if (leaf.parameter == number) leaf.over_replicas = leaf.over_partitions = true;
  }
}

int64_t SharedInputs::owner(const Mesh& mesh, int64_t device, int64_t leaf) const {
  if (leaf >= static_cast<int64_t>(leaves_.size())) return device;
  const Leaf& own = leaves_[static_cast<size_t>(leaf)];
  return mesh.flattened(own.over_replicas ? 0 : mesh.replica(device),
                        own.over_partitions ? 0 : mesh.partition(device));
}

void SharedInputs::share(const Mesh& mesh, std::vector<std::vector<HostTensor>>& inputs) const {
  for (size_t device = 0; device < inputs.size(); ++device) {
    for (size_t leaf = 0; leaf < inputs[device].size(); ++leaf) {
      const auto from = static_cast<size_t>(
          owner(mesh, static_cast<int64_t>(device), static_cast<int64_t>(leaf)));
      if (from != device) inputs[device][leaf] = inputs[from][leaf];
    }
  }
}

std::vector<std::string> SharedInputs::sentences() const {
  std::vector<std::string> result;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const Leaf& leaf = leaves_[i];
    if (!leaf.over_replicas && !leaf.over_partitions) continue;
    const char* over = !leaf.over_partitions ? "replicas"
                       : leaf.over_replicas  ? "devices"
                                             : "partitions";
    const bool is_whole = std::ranges::count(leaves_, leaf.parameter, &Leaf::parameter) == 1;
    result.push_back(fmt::format("parameter {}{} is the same on all {}", leaf.parameter,
                                 is_whole ? "" : fmt::format(" (leaf {})", i), over));
  }
  return result;
}

}  // namespace minihlo::prove

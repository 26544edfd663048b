#include "tools/campaign/case.h"

namespace minihlo::campaign {

std::unique_ptr<Module> make_module(const CampaignCase& one) {
  auto module = std::make_unique<Module>("campaign");
  const Mesh mesh = one.mesh();
  if (mesh.replicas > 1) module->set(make_attribute(attr::replica_count, mesh.replicas));
  if (mesh.partitions > 1) module->set(make_attribute(attr::num_partitions, mesh.partitions));
  Computation* entry = module->add_computation("main");
  module->set_entry(entry);
  const Shape* shape = module->shapes().array(one.type, one.dims);
  const Attribute first[] = {make_attribute(attr::parameter_number, 0)};
  Instruction* operand = entry->append(Opcode::kParameter, "x", shape, {}, first);
  const Attribute attributes[] = {
      make_attribute(attr::source_target_pairs, module->arena().copy(one.pairs)),
      make_attribute(attr::channel_id, 1),
  };
  const bool has_channel = one.mode == GroupMode::kCrossPartition;
  entry->set_root(entry->append(Opcode::kCollectivePermute, "permute", shape, {&operand, 1},
                                std::span(attributes).first(has_channel ? 2 : 1)));
  return module;
}

}  // namespace minihlo::campaign

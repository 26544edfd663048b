// collective-broadcast-to-all-gather: every device of a group gathers, and takes what the first
// one had.
//
//   %b = f32[8] collective-broadcast(%x), replica_groups={{1,0},{3,2}}
//
//   %all-gather = f32[16] all-gather(%x), replica_groups={{1,0},{3,2}}, dimensions={0}
//   %b = f32[8] slice(%all-gather), slice={[0:8]}
//
// All-gathers need groups of one size that take in every device. Where those of the broadcast are
// not so, devices gather in the smallest equal groups that hold them, look up where the root of
// their group is in a table, and those in no group select zeros: the chain of
// collective-permute-to-all-gather (docs/lowering-pass.md). A root that an operand names
// (has_dynamic_root) is where the slice starts. A scalar is gathered as one element.
//
// Keeps bits, metadata, sharding, frontend attributes, statistics and origin; control predecessors
// go to what reads the operand. backend_config goes. Channel ids are fresh.
#include <limits>

#include <fmt/format.h>

#include "ir/semantics/groups.h"
#include "passes/permute_to_gather/gather_chain.h"
#include "passes/permute_to_gather/orbits.h"
#include "passes/ring/decomposition.h"
#include "passes/ring/mesh_links.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "collective-broadcast-to-all-gather";

class Broadcasts : public Decomposition {
 public:
  Broadcasts(const Module& module, const Mesh& mesh) : mesh_(mesh), links_(module, mesh) {}

  bool wants(const Instruction& instruction) const override {
    return instruction.opcode() == Opcode::kCollectiveBroadcast;
  }

  tl::expected<std::vector<Instruction*>, std::string> begin(
      Emitter& emit, const Instruction& broadcast, std::span<const Shape* const> results) override {
    auto groups = collective_groups(broadcast, mesh_);
    if (!groups) return tl::make_unexpected(std::move(groups.error()));
    const bool has_root = broadcast.get(attr::has_dynamic_root);
    const bool is_regular = groups->is_uniform() && groups->covers_mesh() && groups->size() > 0;
    if (has_root && !is_regular) {
      return tl::make_unexpected(
          "an operand names the root, and the groups are not equal parts of the mesh");
    }
    if (links_.is_shared(broadcast)) return tl::make_unexpected(MeshLinks::shared_channel());
    if (!is_regular && !links_.runs_on_all(broadcast)) {
      return tl::make_unexpected(MeshLinks::waits_for_others());
    }
    const PermuteTable table = is_regular ? regular_table(*groups) : packed_table(*groups);
    std::vector<GatherPlan> plans;
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i]->element_count() == 0) return tl::make_unexpected("it has no elements");
      auto plan = plan_gather(emit.shapes(), broadcast.operand(i), results[i], table.group_size(),
                              options_);
      if (!plan) return tl::make_unexpected(std::move(plan.error()));
      plans.push_back(*plan);
    }
    const DeviceGroups* listed = keep_groups(emit.module(), table.groups);
    GatherChain chain(emit.rewriter(), table, mesh_, plans, options_);
    std::vector<Instruction*> values;
    for (size_t i = 0; i < plans.size(); ++i) {
      GatherAttributes attributes{listed, std::nullopt};
      if (table.flattened_groups) attributes.channel_id = links_.fresh_channel();
      Instruction* first = nullptr;
      Instruction* gathered = chain.gather(plans[i], attributes, false, first);
      if (!is_regular) {
        values.push_back(chain.take_shard(plans[i], gathered));
        continue;
      }
      Instruction* own = has_root ? at_root(emit, broadcast, i, gathered, plans[i])
                                  : emit.slice_along(gathered, 0, 0, plans[i].shard->dim(0));
      values.push_back(results[i]->is_scalar() ? emit.reshape(own, {}) : own);
    }
    return values;
  }

 private:
  // The groups as they are, replicas or flattened ids; nothing is looked up.
  PermuteTable regular_table(const CollectiveGroups& groups) const {
    PermuteTable table;
    table.index = groups.mode;
    table.flattened_groups = groups.mode != GroupMode::kCrossReplica;
    table.entries = {0};
    for (int64_t i = 0; i < groups.size(); ++i) {
      std::vector<int64_t> ids(groups.group(i).begin(), groups.group(i).end());
      if (!table.flattened_groups) {
        // The same replicas in each partition: listed once.
        if (mesh_.partition(ids[0]) != 0) continue;
        for (int64_t& id : ids) id = mesh_.replica(id);
      }
      table.groups.push_back(std::move(ids));
    }
    return table;
  }

  PermuteTable packed_table(const CollectiveGroups& groups) const {
    const bool is_replicas = groups.mode == GroupMode::kCrossReplica;
    std::vector<int64_t> source_of(static_cast<size_t>(id_count(groups.mode, mesh_)), -1);
    std::vector<SourceTarget> pairs;
    for (int64_t id = 0; id < static_cast<int64_t>(source_of.size()); ++id) {
      const int64_t device = is_replicas ? mesh_.flattened(id, 0) : id;
      const int64_t group = groups.group_of[static_cast<size_t>(device)];
      if (group < 0) continue;
      const int64_t root = groups.group(group)[0];
      pairs.push_back({is_replicas ? mesh_.replica(root) : root, id});
      source_of[static_cast<size_t>(id)] = pairs.back().source;
    }
    return gather_table(source_of, pack_orbits(pairs, static_cast<int64_t>(source_of.size())),
                        groups.mode, mesh_);
  }

  // The shard of the root that the last operand names for operand `i`.
  static Instruction* at_root(Emitter& emit, const Instruction& broadcast, size_t i,
                              Instruction* gathered, const GatherPlan& plan) {
    Instruction* roots = broadcast.operand(broadcast.operand_count() - 1);
    const auto at = static_cast<int64_t>(i);
    Instruction* root = emit.reshape(emit.slice_along(roots, 0, at, at + 1), {});
    ElementType type = ElementType::S32;
    if (gathered->shape()->dim(0) > std::numeric_limits<int32_t>::max()) {
      type = ElementType::S64;
      root = emit.convert(root, type);
    }
    const int64_t extent = plan.shard->dim(0);
    Instruction* start = emit.make(Opcode::kMultiply, {root, emit.scalar(type, extent)});
    return emit.dynamic_slice_along(gathered, 0, start, extent);
  }

  const Mesh mesh_;
  const PermuteToGatherOptions options_;
  MeshLinks links_;
};

class CollectiveBroadcastToAllGather : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    auto mesh = make_mesh(context.replica_count(module), context.num_partitions(module));
    if (!mesh) return tl::make_unexpected(std::move(mesh.error()));
    Broadcasts broadcasts(module, *mesh);
    decompose_collectives(module, context, kName, broadcasts);
    return {};
  }
};

}  // namespace

const PassInfo kCollectiveBroadcastToAllGather = {
    .name = kName,
    .summary = "gather, and take what the first device of the group had",
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> {
      return std::make_unique<CollectiveBroadcastToAllGather>();
    },
};

}  // namespace minihlo

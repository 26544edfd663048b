// all-gather-to-ring: gathers by sending shards round a ring.
//
// Every device passes on what it got last, and writes what it sees into its place: members - 1
// permutes between neighbours instead of an all-gather. With directions=2 shards go round both ways
// at once, in half as many steps.
//
//   %g = f32[8] all-gather(%x), replica_groups={{0,1,2,3}}, dimensions={0}
//
// becomes, for x: f32[2],
//
//   %w = (s32[], f32[2], f32[8]) while((0, %x, zeros)), three trips of
//          %next = f32[2] collective-permute(%shard), source_target_pairs={{3,0},{0,1},{1,2},{2,3}}
//          %offset = (rank - i) mod 4 * 2
//          %out = f32[8] dynamic-update-slice(%result, %shard, %offset)
//   %g = f32[8] dynamic-update-slice(the result, the shard that came last, (rank - 3) mod 4 * 2)
//
// Keeps all bits, metadata, sharding, frontend attributes, statistics and origin; control
// predecessors go to what reads the operand. backend_config goes. Of a start and done pair the ring
// takes the place of the start, and is not asynchronous.
#include "passes/ring/decomposition.h"
#include "passes/ring/options.h"
#include "passes/ring/ring_collectives.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "all-gather-to-ring";
constexpr OptionInfo kOptions[] = {kRingForm, kRingDirections};

class AllGathers : public Decomposition {
 public:
  AllGathers(const Module& module, const Mesh& mesh, bool unroll, bool both_directions)
      : links_(module, mesh), unroll_(unroll), both_directions_(both_directions) {}

  bool wants(const Instruction& instruction) const override {
    return instruction.opcode() == Opcode::kAllGather ||
           instruction.opcode() == Opcode::kAllGatherStart;
  }

  tl::expected<std::vector<Instruction*>, std::string> begin(
      Emitter& emit, const Instruction& gather, std::span<const Shape* const> results) override {
    auto ring = Ring::make(gather, links_, unroll_);
    if (!ring) return tl::make_unexpected(std::move(ring.error()));
    auto axis = collective_axis(gather, results);
    if (!axis) return tl::make_unexpected(std::move(axis.error()));
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i]->element_count() == 0) {
        return tl::make_unexpected("it has no elements, so there is nothing to move");
      }
      if (gather.operand(i)->shape()->dim(*axis) * ring->size() != results[i]->dim(*axis)) {
        return tl::make_unexpected("its result is not one shard a member");
      }
    }
    std::vector<Instruction*> gathered;
    for (Instruction* operand : gather.operands()) {
      gathered.push_back(ring_all_gather(emit, *ring, operand, *axis, both_directions_));
    }
    return gathered;
  }

 private:
  MeshLinks links_;
  bool unroll_;
  bool both_directions_;
};

class AllGatherToRing : public Pass {
 public:
  explicit AllGatherToRing(const PassOptions& options)
      : unroll_(is_unrolled(options)), both_directions_(goes_both_ways(options)) {}

  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    auto mesh = make_mesh(context.replica_count(module), context.num_partitions(module));
    if (!mesh) return tl::make_unexpected(std::move(mesh.error()));
    AllGathers gathers(module, *mesh, unroll_, both_directions_);
    decompose_collectives(module, context, kName, gathers);
    return {};
  }

 private:
  bool unroll_;
  bool both_directions_;
};

}  // namespace

const PassInfo kAllGatherToRing = {
    .name = kName,
    .summary = "gather by sending shards round a ring of permutes",
    .keeps = Keeps::kBits,
    .options = kOptions,
    .make = [](const PassOptions& options) -> std::unique_ptr<Pass> {
      return std::make_unique<AllGatherToRing>(options);
    },
};

}  // namespace minihlo

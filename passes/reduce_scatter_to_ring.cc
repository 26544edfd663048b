// reduce-scatter-to-ring: reduces and scatters by sending chunks round a ring.
//
// Chunks start one after the other at the first member of the group and collect what each has of
// them, are complete at the last, and go on from there to the member that each is for: 3 members -
// 4 permutes of a chunk between neighbours instead of a reduce-scatter. Sums are taken in the order
// of the group, as the reduce-scatter takes them, so all bits stay.
//
// order=ring is the usual ring: each chunk goes round to its own member and collects what the
// others have of it, in members - 1 permutes. Each is summed in an order of its own, from the
// member behind its owner on, so floats differ from the reduce-scatter's by rounding. With
// directions=2 one half of each chunk goes the other way round.
//
//   %s = f32[2] reduce-scatter(%x), replica_groups={{0,1,2,3}}, dimensions={0}, to_apply=%add
//
// becomes, for x: f32[8] and order=ring,
//
//   %own = f32[2] dynamic-slice(%x, (rank - 1) mod 4 * 2)
//   %w = (s32[], f32[2], f32[8]) while((0, %own, %x)), three trips of
//          %received = f32[2] collective-permute(%sum),
//          source_target_pairs={{3,0},{0,1},{1,2},{2,3}} %own = f32[2] dynamic-slice(%x, (rank - 2
//          - i) mod 4 * 2) %sum = f32[2] add(%received, %own)
//
// Keeps metadata, sharding, frontend attributes, statistics and origin; control predecessors go to
// what reads the operand. backend_config goes.
#include "passes/ring/decomposition.h"
#include "passes/ring/options.h"
#include "passes/ring/ring_collectives.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "reduce-scatter-to-ring";
constexpr OptionInfo kOptions[] = {kRingForm, kRingDirections, kRingOrder};

class ReduceScatters : public Decomposition {
 public:
  ReduceScatters(const Module& module, const Mesh& mesh, bool unroll, const RingSum& how)
      : links_(module, mesh), unroll_(unroll), how_(how) {}

  bool wants(const Instruction& instruction) const override {
    return instruction.opcode() == Opcode::kReduceScatter;
  }

  tl::expected<std::vector<Instruction*>, std::string> begin(
      Emitter& emit, const Instruction& scatter, std::span<const Shape* const> results) override {
    auto ring = Ring::make(scatter, links_, unroll_);
    if (!ring) return tl::make_unexpected(std::move(ring.error()));
    auto axis = collective_axis(scatter, results);
    if (!axis) return tl::make_unexpected(std::move(axis.error()));
    std::vector<Combine> combines;
    for (size_t i = 0; i < results.size(); ++i) {
      auto combine =
          combine_by(*scatter.get(attr::to_apply), results[i]->element_type(), how_.in_group_order);
      if (!combine) return tl::make_unexpected(std::move(combine.error()));
      combines.push_back(*std::move(combine));
      if (results[i]->element_count() == 0) {
        return tl::make_unexpected("it has no elements, so there is nothing to reduce");
      }
      if (results[i]->dim(*axis) * ring->size() != scatter.operand(i)->shape()->dim(*axis)) {
        return tl::make_unexpected("its operand is not one chunk a member");
      }
    }
    std::vector<Instruction*> scattered;
    for (size_t i = 0; i < results.size(); ++i) {
      const ElementType type = results[i]->element_type();
      const ElementType wide = ring_sum_type(*scatter.get(attr::to_apply), type, *ring, how_);
      Instruction* array = as_type(emit, scatter.operand(i), wide);
      Instruction* sum = ring_reduce_scatter(emit, *ring, array, *axis, combines[i], how_);
      scattered.push_back(as_type(emit, sum, type));
    }
    return scattered;
  }

 private:
  MeshLinks links_;
  bool unroll_;
  RingSum how_;
};

class ReduceScatterToRing : public Pass {
 public:
  explicit ReduceScatterToRing(const PassOptions& options)
      : unroll_(is_unrolled(options)), how_(read_ring_sum(options)) {}

  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    if (auto fits = check(how_); !fits) return fits;
    auto mesh = make_mesh(context.replica_count(module), context.num_partitions(module));
    if (!mesh) return tl::make_unexpected(std::move(mesh.error()));
    ReduceScatters scatters(module, *mesh, unroll_, how_);
    decompose_collectives(module, context, kName, scatters);
    return {};
  }

 private:
  bool unroll_;
  RingSum how_;
};

}  // namespace

const PassInfo kReduceScatterToRing = {
    .name = kName,
    .summary = "reduce and scatter by sending chunks round a ring of permutes",
    .keeps = Keeps::kRounding,
    .options = kOptions,
    .make = [](const PassOptions& options) -> std::unique_ptr<Pass> {
      return std::make_unique<ReduceScatterToRing>(options);
    },
};

}  // namespace minihlo

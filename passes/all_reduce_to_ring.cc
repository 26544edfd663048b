// all-reduce-to-ring: reduces by sending chunks round a ring.
//
// The array is cut into one chunk a member. Chunks start one after the other at the first member of
// the group and collect what each has of them, are complete at the last, and go on from there to
// all others: 3 members - 3 permutes of a chunk between neighbours instead of an all-reduce. Sums
// are taken in the order of the group, as the all-reduce takes them, so all bits stay; those of
// more than two bf16 or narrower floats go round in f32, and are rounded at the end.
//
// order=ring is the usual ring: first each chunk goes round to its own member and collects what the
// others have of it, then the sums go round once more, to all: 2 (members - 1) permutes. Each chunk
// is summed in an order of its own, from the member behind its owner on, so floats differ from the
// all-reduce's by rounding. With directions=2 one half of each chunk goes the other way round, and
// sums go both ways.
//
//   %r = f32[8] all-reduce(%x), replica_groups={{0,1,2,3}}, to_apply=%add
//
// becomes, for four members and order=ring,
//
//   %own = f32[2] dynamic-slice(%x, (rank - 1) mod 4 * 2)
//   %w = (s32[], f32[2], f32[8]) while((0, %own, %x)), three trips of
//          %received = f32[2] collective-permute(%sum),
//          source_target_pairs={{3,0},{0,1},{1,2},{2,3}} %own = f32[2] dynamic-slice(%x, (rank - 2
//          - i) mod 4 * 2) %sum = f32[2] add(%received, %own)
//   %r = what all-gather-to-ring makes of the sums
//
// Chunks lie along the first dimension that the members divide; where there is none, along all
// elements in a row, with zeros behind them.
//
// Keeps metadata, sharding, frontend attributes, statistics and origin; control predecessors go to
// what reads the operand. backend_config goes. Of a start and done pair the ring takes the place of
// the start, and is not asynchronous.
#include "passes/ring/decomposition.h"
#include "passes/ring/options.h"
#include "passes/ring/ring_collectives.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "all-reduce-to-ring";
constexpr OptionInfo kOptions[] = {kRingForm, kRingDirections, kRingOrder};
// Larger ones might not fit 63 bits with what is put behind them.
constexpr int64_t kMaxBytes = int64_t{1} << 61;

class AllReduces : public Decomposition {
 public:
  AllReduces(const Module& module, const Mesh& mesh, bool unroll, const RingSum& how)
      : links_(module, mesh), unroll_(unroll), how_(how) {}

  bool wants(const Instruction& instruction) const override {
    return instruction.opcode() == Opcode::kAllReduce ||
           instruction.opcode() == Opcode::kAllReduceStart;
  }

  tl::expected<std::vector<Instruction*>, std::string> begin(
      Emitter& emit, const Instruction& reduce, std::span<const Shape* const> results) override {
    auto ring = Ring::make(reduce, links_, unroll_);
    if (!ring) return tl::make_unexpected(std::move(ring.error()));
    if (results.size() != reduce.operand_count()) {
      return tl::make_unexpected("it has not one result for each operand");
    }
    std::vector<Combine> combines;
    for (const Shape* result : results) {
      auto combine =
          combine_by(*reduce.get(attr::to_apply), result->element_type(), how_.in_group_order);
      if (!combine) return tl::make_unexpected(std::move(combine.error()));
      combines.push_back(*std::move(combine));
      if (result->element_count() == 0) {
        return tl::make_unexpected("it has no elements, so there is nothing to reduce");
      }
      if (result->byte_count() > kMaxBytes) return tl::make_unexpected("it is too large");
    }
    std::vector<Instruction*> reduced;
    for (size_t i = 0; i < results.size(); ++i) {
      const ElementType type = results[i]->element_type();
      const ElementType wide = ring_sum_type(*reduce.get(attr::to_apply), type, *ring, how_);
      Instruction* array = as_type(emit, reduce.operand(i), wide);
      Instruction* sum = ring_all_reduce(emit, *ring, array, combines[i], how_);
      reduced.push_back(as_type(emit, sum, type));
    }
    return reduced;
  }

 private:
  MeshLinks links_;
  bool unroll_;
  RingSum how_;
};

class AllReduceToRing : public Pass {
 public:
  explicit AllReduceToRing(const PassOptions& options)
      : unroll_(is_unrolled(options)), how_(read_ring_sum(options)) {}

  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    if (auto fits = check(how_); !fits) return fits;
    auto mesh = make_mesh(context.replica_count(module), context.num_partitions(module));
    if (!mesh) return tl::make_unexpected(std::move(mesh.error()));
    AllReduces reduces(module, *mesh, unroll_, how_);
    decompose_collectives(module, context, kName, reduces);
    return {};
  }

 private:
  bool unroll_;
  RingSum how_;
};

}  // namespace

const PassInfo kAllReduceToRing = {
    .name = kName,
    .summary = "reduce by sending chunks round a ring of permutes",
    .keeps = Keeps::kRounding,
    .options = kOptions,
    .make = [](const PassOptions& options) -> std::unique_ptr<Pass> {
      return std::make_unique<AllReduceToRing>(options);
    },
};

}  // namespace minihlo

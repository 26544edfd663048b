// all-gather-slice-cancel: what a device gathers and then slices out again was its own.
//
//   %gather = f32[32] all-gather(%x), replica_groups={{0,1,2,3}}, dimensions={0}
//   %start = s32[] multiply(%replica-id, %eight)
//   %own = f32[8] dynamic-slice(%gather, %start), dynamic_slice_sizes={8}       ->  %x
//   %part = f32[2] dynamic-slice(%gather, %start), dynamic_slice_sizes={2}      ->  slice of %x
//
// A slice of a part of its own shard, the same part on all devices, becomes a slice of the operand.
// The gather goes when nobody else uses it.
//
// Keeps bits. Where the operand itself takes the slice's place, the slice's metadata, sharding and
// other attributes go, as they would speak of the operand. What waited for the slice waits for what
// slice and gather waited for.
#include <algorithm>

#include "passes/emitter.h"
#include "passes/keep_attributes.h"
#include "passes/shards/slice_rewrite.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "all-gather-slice-cancel";

// What stands for the slice: a part of the all-gather's operand.
struct OwnPart {
  bool is_whole = true;
  int64_t axis = 0;   // of the gather
  int64_t start = 0;  // along it, where it is not the whole
};

class Cancel : public SliceRewrite<OwnPart> {
 public:
  Cancel(Module& module, PassContext& context, const Mesh& mesh)
      : SliceRewrite(module, context, mesh, kName, Opcode::kAllGather,
                     {Opcode::kAllGather, Opcode::kAllGatherStart, Opcode::kAllGatherDone}) {}

 private:
  tl::expected<OwnPart, std::string> plan(const Instruction& slice,
                                          const CollectiveValue& gathered) override {
    const Instruction& gather = *gathered.collective;
    auto equal = equal_groups(gather);
    if (!equal) return Reason(std::move(equal.error()));
    const CollectiveGroups* groups = *equal;
    std::span<const int64_t> whole = gathered.result->shape()->dims();
    OwnPart part;
    part.axis = gather.get(attr::dimensions)[0];
    if (!std::ranges::equal(slice.operand(0)->shape()->dims(), whole)) {
      auto places = sliced_shards(slice, {whole, part.axis, groups->group_size(0)}, known_, mesh_);
      if (!places) return Reason(std::move(places.error()));
      if (*places != groups->rank_of) return Reason("it is not each device's own shard");
      return part;
    }
    std::span<const int64_t> sizes = slice.get(attr::dynamic_slice_sizes);
    const int64_t size = sizes[static_cast<size_t>(part.axis)];
    const int64_t extent = gathered.operand()->shape()->dim(part.axis);
    auto starts = slice_starts(slice, part.axis, known_, mesh_);
    if (!starts) return Reason("where it slices does not follow from constants and ids");
    for (size_t device = 0; device < starts->size(); ++device) {
      const int64_t start = (*starts)[device] - groups->rank_of[device] * extent;
      if (start < 0 || start + size > extent) {
        return Reason("it is not part of each device's own shard");
      }
      if (device > 0 && start != part.start) {
        return Reason("it is not the same part of each device's own shard");
      }
      part.start = start;
    }
    part.is_whole = std::ranges::equal(sizes, gathered.operand()->shape()->dims());
    if (!part.is_whole && slice.operand(1)->shape()->rank() == 1) {
      return Reason("a vector says where it slices a part of its own shard");
    }
    return part;
  }

  const Instruction* replace(Rewriter& rewriter, Instruction* slice,
                             const CollectiveValue& gathered, const OwnPart& part) override {
    Emitter emit(rewriter);
    Instruction* operand = gathered.operand();
    const Shape* shape = slice->shape();
    Instruction* value = operand;
    if (!part.is_whole) {
      std::vector<Instruction*> operands(slice->operands().begin(), slice->operands().end());
      operands[0] = operand;
      Instruction*& start = operands[static_cast<size_t>(1 + part.axis)];
      start = emit.scalar(start->shape()->element_type(), part.start);
      Attribute sizes =
          make_attribute(attr::dynamic_slice_sizes, slice->get(attr::dynamic_slice_sizes));
      value = emit.make(Opcode::kDynamicSlice, operands, std::span(&sizes, 1), shape);
    } else if (operand->shape() != shape) {
      value = emit.make(compatible(operand->shape(), shape) ? Opcode::kCopy : Opcode::kReshape,
                        {operand}, {}, shape);
    }
    std::vector<Instruction*> way = gathered.way();
    way.push_back(slice);
    if (value == operand) {
      std::vector<Instruction*> heirs = {value};
      for (const Instruction* one : way) {
        std::span<Instruction* const> before = one->get(attr::control_predecessors);
        heirs.insert(heirs.end(), before.begin(), before.end());
      }
      rewriter.remove(slice, heirs);
    } else {
      keep_common_attributes(*slice, value);
      keep_control_predecessors(way, value);
      rewriter.replace(slice, value);
    }
    return value;
  }
};

class AllGatherSliceCancel : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    auto mesh = make_mesh(context.replica_count(module), context.num_partitions(module));
    if (!mesh) return tl::make_unexpected(std::move(mesh.error()));
    Cancel(module, context, *mesh).run();
    return {};
  }
};

}  // namespace

const PassInfo kAllGatherSliceCancel = {
    .name = kName,
    .summary = "put the operand of an all-gather in the place of each device's own shard",
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> {
      return std::make_unique<AllGatherSliceCancel>();
    },
};

}  // namespace minihlo

// flip-all-gather-dynamic-slice: slices before it gathers, so that less is moved and held.
//
//   %gather = f32[32,8] all-gather(%x), replica_groups={{0,1,2,3}}, dimensions={0}
//   %slice = f32[32,2] dynamic-slice(%gather, %zero, %i), dynamic_slice_sizes={32,2}
//
//   %slice = f32[8,2] dynamic-slice(%x, %zero, %i), dynamic_slice_sizes={8,2}
//   %gather = f32[32,2] all-gather(%slice), replica_groups={{0,1,2,3}}, dimensions={0}
//
// So the layer of a loop is taken out of stacked weights before the weights are gathered. The slice
// has to keep the gathered dimension whole, and to start at the same place on all members of a
// group: known from constants and ids, or made of constants and loop counters alone. Not in
// branches of conditionals, where devices may meet others that slice elsewhere. What the compiler
// does that this pass is named after is not public; this is our reading of its name.
//
// Keeps bits. The new gather takes the slice's place with its attributes, and metadata of the old
// gather where that has none; the new slice has the old one's metadata. Both wait for what the two
// waited for.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "passes/emitter.h"
#include "passes/keep_attributes.h"
#include "passes/shards/slice_rewrite.h"
#include "passes/shards/uniform_values.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "flip-all-gather-dynamic-slice";

struct Flipped {
  int64_t axis = 0;  // of the gather
};

class Flip : public SliceRewrite<Flipped> {
 public:
  Flip(Module& module, PassContext& context, const Mesh& mesh)
      : SliceRewrite(module, context, mesh, kName, Opcode::kAllGather, {Opcode::kAllGather}),
        uniform_(module, mesh) {}

 private:
  void begin(const Computation& computation) override { users_.emplace(computation); }

  tl::expected<Flipped, std::string> plan(const Instruction& slice,
                                          const CollectiveValue& gathered) override {
    const Instruction& gather = *gathered.collective;
    if (gathered.done) return Reason("the all-gather is asynchronous");
    if (gathered.result != &gather) return Reason("the all-gather has several operands");
    if (!gathered.views.empty()) return Reason("what is gathered is reshaped or copied before");
    auto groups = equal_groups(gather);
    if (!groups) return Reason(std::move(groups.error()));
    if (users_->only(gather) != &slice || users_->is_waited_for(gather)) {
      return Reason("the all-gather has other users");
    }
    if (!uniform_.runs_together(*slice.parent())) {
      return Reason("it is in a branch, or in a loop whose test may differ between devices");
    }
    const Flipped flipped{gather.get(attr::dimensions)[0]};
    std::span<const int64_t> whole = gather.shape()->dims();
    std::span<const int64_t> sizes = slice.get(attr::dynamic_slice_sizes);
    const auto axis = static_cast<size_t>(flipped.axis);
    if (sizes[axis] != whole[axis])
      return Reason("it slices along the dimension of the all-gather");
    if (std::ranges::equal(sizes, whole)) return Reason("it takes all that is gathered");
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == whole[d]) continue;
      const bool is_vector = slice.operand(1)->shape()->rank() == 1;
      if (uniform_.is_uniform(*slice.operand(is_vector ? 1 : 1 + d))) continue;
      auto starts = slice_starts(slice, static_cast<int64_t>(d), known_, mesh_);
      if (!starts) {
        return Reason("where it slices may differ between members of a group");
      }
      for (size_t device = 0; device < starts->size(); ++device) {
        const auto first = static_cast<size_t>((*groups)->group((*groups)->group_of[device])[0]);
        if ((*starts)[device] != (*starts)[first]) {
          return Reason("where it slices differs between members of a group");
        }
      }
    }
    return flipped;
  }

  const Instruction* replace(Rewriter& rewriter, Instruction* slice,
                             const CollectiveValue& gathered, const Flipped& flipped) override {
    Emitter emit(rewriter);
    Instruction* gather = gathered.collective;
    // The start along the gathered dimension was clamped to 0, and is again.
    std::vector<Instruction*> operands(slice->operands().begin(), slice->operands().end());
    operands[0] = gather->operand(0);
    std::span<const int64_t> old_sizes = slice->get(attr::dynamic_slice_sizes);
    std::vector<int64_t> sizes(old_sizes.begin(), old_sizes.end());
    sizes[static_cast<size_t>(flipped.axis)] = gather->operand(0)->shape()->dim(flipped.axis);
    Attribute attribute = make_attribute(attr::dynamic_slice_sizes, keep_ints(module_, sizes));
    Instruction* part = emit.make(Opcode::kDynamicSlice, operands, std::span(&attribute, 1));
    keep_description(*slice, part);
    std::vector<Attribute> attributes;
    for (const AttributeUse& use : info(Opcode::kAllGather).attributes) {
      const Attribute* one = find_attribute(gather->attributes(), use.id);
      if (one) attributes.push_back(*one);
    }
    Instruction* made =
        emit.make(Opcode::kAllGather, std::span(&part, 1), attributes, slice->shape());
    Instruction* both[] = {gather, slice};
    keep_control_predecessors(both, part);
    keep_common_attributes(*slice, made);
    keep_description(*gather, made);
    rewriter.replace(slice, made);
    return made;
  }

  const UniformValues uniform_;
  std::optional<Users> users_;
};

class FlipAllGatherDynamicSlice : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    auto mesh = make_mesh(context.replica_count(module), context.num_partitions(module));
    if (!mesh) return tl::make_unexpected(std::move(mesh.error()));
    Flip(module, context, *mesh).run();
    return {};
  }
};

}  // namespace

const PassInfo kFlipAllGatherDynamicSlice = {
    .name = kName,
    .summary = "slice along other dimensions before gathering",
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> {
      return std::make_unique<FlipAllGatherDynamicSlice>();
    },
};

}  // namespace minihlo

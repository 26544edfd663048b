// all-reduce-slice-to-reduce-scatter: what a device sums and then slices its own part out of is a
// reduce-scatter.
//
//   %sum = f32[32] all-reduce(%x), replica_groups={{0,1,2,3}}, to_apply=%add
//   %start = s32[] multiply(%replica-id, %eight)
//   %own = f32[8] dynamic-slice(%sum, %start), dynamic_slice_sizes={8}
//
//   %own = f32[8] reduce-scatter(%x), replica_groups={{0,1,2,3}}, dimensions={0}, to_apply=%add
//
// The start has to follow from constants and ids, written in any way. Reshapes and copies between
// the two go before the reduce-scatter. A slice that is a run of elements but no part along one
// dimension is scattered as a row of an [N, size] array. Where members take each other's parts, the
// groups are reordered, if the reducer does not care about the order in which it meets the members.
// The all-reduce goes when nobody else uses it.
//
// Keeps bits: the same members are reduced in the same order, or in another that gives the same
// bits. The result has the slice's attributes, metadata of the all-reduce where that has none, and
// waits for what both waited for. backend_config goes; channel ids are fresh.
#include <algorithm>

#include <fmt/format.h>

#include "ir/semantics/reducers.h"
#include "passes/computations.h"
#include "passes/emitter.h"
#include "passes/keep_attributes.h"
#include "passes/shards/slice_rewrite.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "all-reduce-slice-to-reduce-scatter";

// A slice that becomes a reduce-scatter.
struct Scatter {
  int64_t members = 0;
  std::vector<int64_t> dims;  // of what is scattered
  int64_t axis = 0;
  /// The groups in the order of the parts that members take; none where that is theirs already.
  std::vector<std::vector<int64_t>> groups;
  GroupMode mode = GroupMode::kCrossReplica;  // of these groups
};

class ToReduceScatter : public SliceRewrite<Scatter> {
 public:
  ToReduceScatter(Module& module, PassContext& context, const Mesh& mesh)
      : SliceRewrite(module, context, mesh, kName, Opcode::kAllReduce, {Opcode::kAllReduce}),
        next_channel_(module.next_channel_id()) {}

 private:
  tl::expected<Scatter, std::string> plan(const Instruction& slice,
                                          const CollectiveValue& reduced) override {
    const Instruction& all_reduce = *reduced.collective;
    if (reduced.done) return Reason("the all-reduce is asynchronous, and no reduce-scatter is");
    auto equal = equal_groups(all_reduce);
    if (!equal) return Reason(std::move(equal.error()));
    const CollectiveGroups* groups = *equal;
    Scatter scatter;
    scatter.members = groups->group_size(0);
    if (scatter.members == 1) return Reason("the all-reduce's groups have one member");

    std::span<const int64_t> whole = slice.operand(0)->shape()->dims();
    std::span<const int64_t> sizes = slice.get(attr::dynamic_slice_sizes);
    int64_t cut_axes = 0;
    for (size_t axis = 0; axis < whole.size(); ++axis) {
      if (sizes[axis] == whole[axis]) continue;
      scatter.axis = static_cast<int64_t>(axis);
      ++cut_axes;
    }
    scatter.dims.assign(whole.begin(), whole.end());
    if (cut_axes > 1) {
      const int64_t count = slice.shape()->element_count();
      scatter.dims = {slice.operand(0)->shape()->element_count() / std::max<int64_t>(count, 1),
                      count};
      scatter.axis = 0;
    }
    const auto axis = static_cast<size_t>(scatter.axis);
    if (cut_axes == 0 || scatter.dims[axis] % scatter.members != 0 ||
        scatter.dims[axis] / scatter.members != (cut_axes > 1 ? 1 : sizes[axis])) {
      return Reason(fmt::format("it is not one of {} equal parts", scatter.members));
    }
    auto places =
        sliced_shards(slice, {scatter.dims, scatter.axis, scatter.members}, known_, mesh_);
    if (!places) return Reason(std::move(places.error()));
    if (*places == groups->rank_of) return scatter;
    std::optional<Opcode> reducer = reducer_opcode(*all_reduce.get(attr::to_apply));
    if (!reducer || !is_exact_reduction(*reducer, slice.shape()->element_type())) {
      return Reason("it is not each device's own part, and the order of members counts");
    }
    if (!reorder(*groups, *places, scatter)) {
      return Reason("two members of a group take the same part");
    }
    return scatter;
  }

  // Groups in which each member has the place of the part that it takes; false where two take one.
  bool reorder(const CollectiveGroups& groups, std::span<const int64_t> places, Scatter& scatter) {
    for (int64_t i = 0; i < groups.size(); ++i) {
      std::vector<int64_t>& group =
          scatter.groups.emplace_back(static_cast<size_t>(scatter.members), -1);
      for (int64_t device : groups.group(i)) {
        int64_t& place = group[static_cast<size_t>(places[static_cast<size_t>(device)])];
        if (place >= 0) return false;
        place = device;
      }
    }
    scatter.mode = GroupMode::kFlattenedId;
    if (groups.mode != GroupMode::kCrossReplica) return true;
    // Replicas can be listed where all partitions have them in the same groups.
    std::vector<std::vector<std::vector<int64_t>>> by_partition(
        static_cast<size_t>(mesh_.partitions));
    for (const std::vector<int64_t>& group : scatter.groups) {
      std::vector<int64_t> replicas;
      for (int64_t device : group) replicas.push_back(mesh_.replica(device));
      by_partition[static_cast<size_t>(mesh_.partition(group[0]))].push_back(std::move(replicas));
    }
    for (auto& of_one : by_partition) {
      std::ranges::sort(of_one);
      if (of_one != by_partition[0]) return true;
    }
    scatter.mode = GroupMode::kCrossReplica;
    scatter.groups = std::move(by_partition[0]);
    return true;
  }

  const Instruction* replace(Rewriter& rewriter, Instruction* slice, const CollectiveValue& reduced,
                             const Scatter& scatter) override {
    Emitter emit(rewriter);
    const Instruction& all_reduce = *reduced.collective;
    Instruction* operand = reduced.operand();
    if (!std::ranges::equal(operand->shape()->dims(), scatter.dims)) {
      operand = emit.reshape(operand, scatter.dims);
    }
    std::vector<int64_t> dims = scatter.dims;
    dims[static_cast<size_t>(scatter.axis)] /= scatter.members;
    const bool same_dims = std::ranges::equal(dims, slice->shape()->dims());
    const Shape* shape =
        same_dims ? slice->shape() : module_.shapes().array(slice->shape()->element_type(), dims);
    Instruction* made = emit.make(Opcode::kReduceScatter, std::span(&operand, 1),
                                  attributes(all_reduce, scatter), shape);
    std::vector<Instruction*> way = reduced.way();
    way.push_back(slice);
    keep_control_predecessors(way, made);
    Instruction* value = same_dims ? made : emit.make(Opcode::kReshape, {made}, {}, slice->shape());
    keep_common_attributes(*slice, value);
    keep_description(all_reduce, made);
    rewriter.replace(slice, value);
    return made;
  }

  std::vector<Attribute> attributes(const Instruction& all_reduce, const Scatter& scatter) {
    std::vector<Attribute> list;
    for (const AttributeUse& use : info(Opcode::kAllReduce).attributes) {
      const Attribute* attribute = find_attribute(all_reduce.attributes(), use.id);
      if (attribute) list.push_back(*attribute);
    }
    list.push_back(
        make_attribute(attr::dimensions, keep_ints(module_, std::span(&scatter.axis, 1))));
    auto set = [&](const Attribute& attribute) {
      std::erase_if(list, [&](const Attribute& one) { return one.id == attribute.id; });
      list.push_back(attribute);
    };
    const bool is_flattened = !scatter.groups.empty() && scatter.mode == GroupMode::kFlattenedId;
    if (is_flattened) {
      set(make_attribute(attr::use_global_device_ids, true));
      std::erase_if(list, [](const Attribute& one) { return one.id == AttributeId::mode; });
    }
    if (is_flattened || all_reduce.has(attr::channel_id)) {
      set(make_attribute(attr::channel_id, next_channel_++));
    }
    if (!scatter.groups.empty()) {
      set(make_attribute(attr::replica_groups, keep_groups(module_, scatter.groups)));
    }
    return list;
  }

  int64_t next_channel_;
};

class AllReduceSliceToReduceScatter : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    auto mesh = make_mesh(context.replica_count(module), context.num_partitions(module));
    if (!mesh) return tl::make_unexpected(std::move(mesh.error()));
    ToReduceScatter(module, context, *mesh).run();
    return {};
  }
};

}  // namespace

const PassInfo kAllReduceSliceToReduceScatter = {
    .name = kName,
    .summary = "scatter a sum of which each device slices out its own part",
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> {
      return std::make_unique<AllReduceSliceToReduceScatter>();
    },
};

}  // namespace minihlo

// decompose-integer-all-reduce: gathers, and reduces what was gathered on each device.
//
//   %sum = s32[8] all-reduce(%x), replica_groups={{0,1}}, to_apply=%add
//
//   %reshape = s32[1,8] reshape(%x)
//   %all-gather = s32[2,8] all-gather(%reshape), replica_groups={{0,1}}, dimensions={0}
//   %sum = s32[8] reduce(%all-gather, %zero), dimensions={0}, to_apply=%add
//
// Why: links and engines that add floats on the way may not add integers.
//
// Only all-reduces of integers. In the order of the group, from the neutral element of the reducer
// on; a reducer that is no single opcode, and so has none that is known, is mapped over the shards
// one by one. All-gathers need groups of one size: where those of the all-reduce differ, devices
// gather in the smallest equal groups that hold them, and what is of another group is made neutral.
//
// Keeps bits: integers give the same in any order. Keeps metadata, sharding, frontend attributes,
// statistics and origin; control predecessors go to what reads the operand. backend_config goes.
// Channel ids are fresh. Of a start and done pair the all-gather stays asynchronous.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/semantics/groups.h"
#include "ir/semantics/reducers.h"
#include "passes/computations.h"
#include "passes/permute_to_gather/orbits.h"
#include "passes/ring/decomposition.h"
#include "passes/ring/mesh_links.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "decompose-integer-all-reduce";

// Entries of the tables that tell members from others, of one run.
constexpr int64_t kMaxEntries = int64_t{1} << 26;

// What changes nothing when it is reduced with any other value.
int64_t neutral_element(Opcode opcode, ElementType type) {
  const int bits = info(type).bits;
  const uint64_t ones = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const auto half = static_cast<int64_t>(ones >> 1);
  switch (opcode) {
    case Opcode::kMultiply:
      return 1;
    case Opcode::kAnd:
      return is_signed(type) ? -1 : static_cast<int64_t>(ones);
    case Opcode::kMinimum:
      return is_signed(type) ? half : static_cast<int64_t>(ones);
    case Opcode::kMaximum:
      return is_signed(type) ? -half - 1 : 0;
    default:
      return 0;
  }
}

// Who gathers together, and who of them belongs together.
struct Gathering {
  std::vector<Attribute> attributes;
  int64_t size = 0;
  /// By device, one after the other: which of those that it gathers from are in its group. Empty
  /// where all are.
  std::vector<int64_t> is_member;
};

class AllReduces : public Decomposition {
 public:
  AllReduces(const Module& module, const Mesh& mesh) : mesh_(mesh), links_(module, mesh) {}

  bool wants(const Instruction& instruction) const override {
    return instruction.opcode() == Opcode::kAllReduce ||
           instruction.opcode() == Opcode::kAllReduceStart;
  }

  tl::expected<std::vector<Instruction*>, std::string> begin(
      Emitter& emit, const Instruction& all_reduce,
      std::span<const Shape* const> results) override {
    const std::optional<Opcode> reducer = reducer_opcode(*all_reduce.get(attr::to_apply));
    for (const Shape* result : results) {
      if (!is_integer(result->element_type())) return tl::make_unexpected("it is not of integers");
    }
    auto groups = collective_groups(all_reduce, mesh_);
    if (!groups) return tl::make_unexpected(std::move(groups.error()));
    if (!groups->covers_mesh())
      return tl::make_unexpected("some devices are in none of its groups");
    const bool is_known = reducer && is_exact_reduction(*reducer, results[0]->element_type());
    if (!groups->is_uniform() && !is_known) {
      return tl::make_unexpected(
          "its groups differ in size, and its reducer has no neutral element that is known");
    }
    if (links_.is_shared(all_reduce)) return tl::make_unexpected(MeshLinks::shared_channel());
    if (!groups->is_uniform() && !links_.runs_on_all(all_reduce)) {
      return tl::make_unexpected(MeshLinks::waits_for_others());
    }
    const int64_t largest = groups->group_size(0);
    for (const Shape* result : results) {
      if (!widened(emit.shapes(), result, std::max(largest, mesh_.device_count()))) {
        return tl::make_unexpected("gathered it would have too many elements to count");
      }
    }
    auto gathering = gathering_of(emit.module(), all_reduce, *groups);
    if (!gathering) return tl::make_unexpected(std::move(gathering.error()));

    std::vector<Instruction*> gathered;
    const bool is_start = all_reduce.opcode() == Opcode::kAllReduceStart;
    for (size_t i = 0; i < results.size(); ++i) {
      const Shape* part = widened(emit.shapes(), results[i], 1);
      const Shape* whole = widened(emit.shapes(), results[i], gathering->size);
      Instruction* row = emit.reshape(all_reduce.operand(i), part->dims());
      std::vector<Attribute> attributes = gathering->attributes;
      if (find_attribute(attributes, AttributeId::channel_id)) {
        std::erase_if(attributes,
                      [](const Attribute& one) { return one.id == AttributeId::channel_id; });
        attributes.push_back(make_attribute(attr::channel_id, links_.fresh_channel()));
      }
      const Shape* both[] = {part, whole};
      gathered.push_back(
          is_start ? emit.make(Opcode::kAllGatherStart, std::span(&row, 1), attributes,
                               emit.shapes().tuple(both))
                   : emit.make(Opcode::kAllGather, std::span(&row, 1), attributes, whole));
    }
    gatherings_.emplace(&all_reduce, *std::move(gathering));
    return gathered;
  }

  std::vector<Instruction*> end(Emitter& emit, const Instruction& all_reduce,
                                std::vector<Instruction*> begun) override {
    auto found = gatherings_.find(&all_reduce);
    const Gathering gathering = std::move(found->second);
    gatherings_.erase(found);
    Computation* reducer = all_reduce.get(attr::to_apply);
    const std::optional<Opcode> opcode = reducer_opcode(*reducer);
    Instruction* members = nullptr;
    std::vector<Instruction*> sums;
    for (Instruction* whole : begun) {
      if (whole->opcode() == Opcode::kAllGatherStart) {
        whole = emit.make(Opcode::kAllGatherDone, {whole}, {}, whole->shape()->element(1));
      }
      const ElementType type = whole->shape()->element_type();
      if (!opcode || !is_exact_reduction(*opcode, type)) {
        sums.push_back(mapped(emit, whole, reducer));
        continue;
      }
      Instruction* neutral = emit.scalar(type, neutral_element(*opcode, type));
      if (!gathering.is_member.empty()) {
        if (!members) members = own_members(emit, gathering);
        const int64_t axis = 0;
        Attribute along =
            make_attribute(attr::dimensions, keep_ints(emit.module(), std::span(&axis, 1)));
        Instruction* mask =
            emit.make(Opcode::kBroadcast, std::span(&members, 1), std::span(&along, 1),
                      emit.shapes().array(ElementType::PRED, whole->shape()->dims()));
        whole = emit.make(Opcode::kSelect, {mask, whole, emit.broadcast(neutral, whole->shape())});
      }
      const int64_t axis = 0;
      sums.push_back(emit.make(
          Opcode::kReduce, {whole, neutral},
          {make_attribute(attr::dimensions, keep_ints(emit.module(), std::span(&axis, 1))),
           make_attribute(attr::to_apply, reducer)}));
    }
    return sums;
  }

 private:
  // `count` arrays of a shape in a row along a new dimension 0; null where that is too large.
  static const Shape* widened(ShapePool& shapes, const Shape* shape, int64_t count) {
    std::vector<int64_t> dims = {count};
    dims.insert(dims.end(), shape->dims().begin(), shape->dims().end());
    return shapes.try_array(shape->element_type(), dims);
  }

  tl::expected<Gathering, std::string> gathering_of(Module& module, const Instruction& all_reduce,
                                                    const CollectiveGroups& groups) {
    Gathering made;
    const int64_t axis = 0;
    made.attributes.push_back(
        make_attribute(attr::dimensions, keep_ints(module, std::span(&axis, 1))));
    if (groups.is_uniform()) {
      made.size = groups.group_size(0);
      for (const AttributeUse& use : info(Opcode::kAllGather).attributes) {
        const Attribute* attribute = find_attribute(all_reduce.attributes(), use.id);
        if (attribute) made.attributes.push_back(*attribute);
      }
      return made;
    }
    std::vector<SourceTarget> pairs;
    for (int64_t device = 0; device < mesh_.device_count(); ++device) {
      pairs.push_back({groups.group(groups.group_of[static_cast<size_t>(device)])[0], device});
    }
    const std::vector<std::vector<int64_t>> packed = pack_orbits(pairs, mesh_.device_count());
    made.size = static_cast<int64_t>(packed[0].size());
    entries_ += mesh_.device_count() * made.size;
    if (entries_ > kMaxEntries) {
      return tl::make_unexpected(fmt::format(
          "tables of who is in which group would hold more than {} entries", kMaxEntries));
    }
    made.is_member.resize(static_cast<size_t>(mesh_.device_count() * made.size));
    for (const std::vector<int64_t>& together : packed) {
      for (int64_t device : together) {
        for (size_t place = 0; place < together.size(); ++place) {
          made.is_member[static_cast<size_t>(device * made.size) + place] =
              groups.group_of[static_cast<size_t>(together[place])] ==
              groups.group_of[static_cast<size_t>(device)];
        }
      }
    }
    made.attributes.push_back(make_attribute(attr::replica_groups, keep_groups(module, packed)));
    made.attributes.push_back(make_attribute(attr::use_global_device_ids, true));
    made.attributes.push_back(make_attribute(attr::channel_id, 0));
    return made;
  }

  // The device's own row of the table: pred[size].
  Instruction* own_members(Emitter& emit, const Gathering& gathering) {
    Instruction* table = emit.rewriter().constant(ElementType::PRED, gathering.is_member);
    Instruction* rows =
        emit.reshape(table, std::vector<int64_t>{mesh_.device_count(), gathering.size});
    Instruction* row =
        emit.dynamic_slice_along(rows, 0, emit.id(GroupMode::kFlattenedId, mesh_), 1);
    return emit.reshape(row, std::vector<int64_t>{gathering.size});
  }

  // The rows of an array, reduced one after the other.
  static Instruction* mapped(Emitter& emit, Instruction* whole, Computation* reducer) {
    std::span<const int64_t> dims = whole->shape()->dims().subspan(1);
    std::vector<int64_t> all;
    for (size_t d = 0; d < dims.size(); ++d) all.push_back(static_cast<int64_t>(d));
    Instruction* sum = nullptr;
    for (int64_t i = 0; i < whole->shape()->dim(0); ++i) {
      Instruction* row = emit.reshape(emit.slice_along(whole, 0, i, i + 1), dims);
      sum = !sum ? row
                 : emit.make(Opcode::kMap, {sum, row},
                             {make_attribute(attr::dimensions, keep_ints(emit.module(), all)),
                              make_attribute(attr::to_apply, reducer)});
    }
    return sum;
  }

  const Mesh mesh_;
  MeshLinks links_;
  int64_t entries_ = 0;
  std::unordered_map<const Instruction*, Gathering> gatherings_;  // of those begun
};

class DecomposeIntegerAllReduce : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    auto mesh = make_mesh(context.replica_count(module), context.num_partitions(module));
    if (!mesh) return tl::make_unexpected(std::move(mesh.error()));
    AllReduces all_reduces(module, *mesh);
    decompose_collectives(module, context, kName, all_reduces);
    return {};
  }
};

}  // namespace

const PassInfo kDecomposeIntegerAllReduce = {
    .name = kName,
    .summary = "gather integers and reduce them on each device",
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> {
      return std::make_unique<DecomposeIntegerAllReduce>();
    },
};

}  // namespace minihlo

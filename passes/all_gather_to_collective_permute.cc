// all-gather-to-collective-permute: the inverse of collective-permute-to-all-gather. Where all that
// devices do with what they gathered is to slice out a shard each, they are sent that shard alone.
//
//   %gather = f32[32] all-gather(%x), replica_groups={{0,1,2,3}}, dimensions={0}
//   %from = s32[4] constant({3, 0, 1, 2})
//   %entry = s32[1] dynamic-slice(%from, %replica-id), dynamic_slice_sizes={1}
//   %place = s32[] reshape(%entry)
//   %start = s32[] multiply(%place, %eight)
//   ROOT %r = f32[8] dynamic-slice(%gather, %start), dynamic_slice_sizes={8}
//
//   ROOT %collective-permute = f32[8] collective-permute(%x),
//                                     source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
//
// However the start is written, it has to follow from constants and ids. Zeros that a known mask
// selects on some devices stand for no pair. Slices whose results make a tuple and that share their
// look-up become one permute of several operands. What is left without use goes too.
//
// Lowering with the default options (and groups=orbits) and raising gives back a module, but for
// names, channel ids, the order of pairs, and what lowering drops: backend_config of a permute, and
// of a start its sharding and its contexts (u32[] behind the result).
//
// The permute has the attributes of the slice that it takes the place of, metadata of the
// all-gather where that has none, and waits for all that one of the chain waited for.
// backend_config goes: it speaks of other opcodes.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/rewriter.h"
#include "passes/channels.h"
#include "passes/emitter.h"
#include "passes/keep_attributes.h"
#include "passes/permute_raising/join_slices.h"
#include "passes/permute_raising/raise_plan.h"
#include "passes/report.h"
#include "passes/ring/lockstep.h"
#include "passes/users.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "all-gather-to-collective-permute";

class Run {
 public:
  Run(Module& module, PassContext& context, const Mesh& mesh)
      : module_(module),
        report_(context, kName),
        mesh_(mesh),
        known_(module, mesh),
        lockstep_(module, mesh),
        next_channel_(module.next_channel_id()) {}

  void run() {
    // What is planned for a computation may ask for values in others, so all comes first.
    std::vector<RaisePlan> plans = plan({});
    RefusedGathers refused = unlike_meetings(plans);
    refused.merge(waiting_for_others(plans));
    if (!refused.empty()) plans = plan(refused);
    for (size_t i = 0; i < plans.size(); ++i) rewrite(module_.computations()[i], plans[i]);
  }

 private:
  std::vector<RaisePlan> plan(const RefusedGathers& refused) {
    std::vector<RaisePlan> plans;
    for (const Computation* computation : module_.computations()) {
      plans.push_back(plan_raising(*computation, known_, mesh_, refused));
    }
    return plans;
  }

  // All-gathers of one channel in different branches, where devices that parted meet, unless all of
  // them become permutes that meet as well: with the same pairs, of as many operands.
  RefusedGathers unlike_meetings(const std::vector<RaisePlan>& plans) const {
    std::unordered_map<const Instruction*, std::vector<const RaisedPermute*>> permutes_of;
    for (const RaisePlan& plan : plans) {
      for (const RaisedPermute& permute : plan.permutes) {
        for (const RaisedSlice& slice : permute.slices) {
          permutes_of[slice.gather].push_back(&permute);
        }
      }
    }
    RefusedGathers unlike;
    for (const std::vector<Instruction*>& meeting : channel_groups(module_)) {
      if (meeting.size() < 2) continue;
      const std::vector<const RaisedPermute*>& first = permutes_of[meeting[0]];
      const bool are_alike = std::ranges::all_of(meeting, [&](const Instruction* one) {
        const std::vector<const RaisedPermute*>& own = permutes_of[one];
        return own.size() == 1 && first.size() == 1 &&
               own[0]->slices.size() == first[0]->slices.size() &&
               have_same_pairs(sample(*own[0]), sample(*first[0]));
      });
      if (are_alike) continue;
      for (const Instruction* one : meeting) {
        unlike.emplace(one, "devices in another branch may meet it, and not all are raised alike");
      }
    }
    return unlike;
  }

  // All-gathers that not all devices come to, where a permute would wait for some that the
  // all-gather does not wait for: a permute waits for the whole row or column of the mesh.
  RefusedGathers waiting_for_others(const std::vector<RaisePlan>& plans) const {
    RefusedGathers waiting;
    for (const RaisePlan& plan : plans) {
      for (const RaisedPermute& permute : plan.permutes) {
        const GroupMode mode = sample(permute).mode;
        for (const RaisedSlice& slice : permute.slices) {
          if (lockstep_.runs_on_all(*slice.gather->parent()) ||
              holds_whole_rows(*slice.gather, mode)) {
            continue;
          }
          waiting.emplace(
              slice.gather,
              "devices of other groups may not come to it, and a permute waits for all");
        }
      }
    }
    return waiting;
  }

  // Whether all devices that a permute of the mode would move data among are in one group.
  bool holds_whole_rows(const Instruction& gather, GroupMode mode) const {
    auto groups = collective_groups(gather, mesh_);
    if (!groups) return false;
    for (int64_t device = 0; device < mesh_.device_count(); ++device) {
      const int64_t first = mode == GroupMode::kCrossReplica
                                ? mesh_.flattened(0, mesh_.partition(device))
                                : mesh_.flattened(mesh_.replica(device), 0);
      if (groups->group_of[static_cast<size_t>(device)] !=
          groups->group_of[static_cast<size_t>(first)]) {
        return false;
      }
    }
    return true;
  }

  // A slice whose pairs are known.
  static const RaisedSlice& sample(const RaisedPermute& permute) {
    return *std::ranges::find_if_not(permute.slices, &RaisedSlice::is_empty);
  }

  void rewrite(Computation* computation, const RaisePlan& plan) {
    if (plan.permutes.empty() && plan.reasons.empty()) return;
    std::unordered_map<const Instruction*, std::vector<const RaisedPermute*>> at_result, at_start;
    for (const RaisedPermute& permute : plan.permutes) {
      at_result[permute.result].push_back(&permute);
      if (permute.start) at_start[permute.start].push_back(&permute);
    }
    Rewriter rewriter(computation);
    Emitter emit(rewriter);
    std::vector<Instruction*> unused;
    while (Instruction* at = rewriter.next()) {
      if (auto reason = plan.reasons.find(at); reason != plan.reasons.end()) {
        report_.left_alone(*at, reason->second);
      }
      if (auto found = at_start.find(at); found != at_start.end()) {
        for (const RaisedPermute* permute : found->second) start(emit, *permute);
      }
      auto found = at_result.find(at);
      if (found == at_result.end()) continue;
      for (const RaisedPermute* permute : found->second) finish(emit, *permute, unused);
    }
    // A start may have become several, and stands for them all.
    for (const auto& [gather, starts] : starts_of_) rewriter.remove(gather, starts);
    starts_of_.clear();
    rewriter.finish();
    remove_unused(computation, std::move(unused));
  }

  std::vector<Attribute> permute_attributes(const RaisedPermute& permute) {
    const RaisedSlice& slice = sample(permute);
    std::vector<Attribute> attributes;
    if (slice.mode == GroupMode::kCrossPartition) {
      // Its own, but for the second permute that is made of one all-gather.
      std::optional<int64_t> channel = slice.gather->find(attr::channel_id);
      if (!channel || !has_given_channel_.insert(slice.gather).second) channel = next_channel_++;
      attributes.push_back(make_attribute(attr::channel_id, *channel));
    }
    attributes.push_back(
        make_attribute(attr::source_target_pairs, module_.arena().copy(slice.pairs)));
    return attributes;
  }

  // The shape of what the permute itself gives.
  const Shape* result_shape(const RaisedPermute& permute) const {
    if (permute.slices.size() > 1) return permute.result->shape();
    const RaisedSlice& slice = permute.slices[0];
    return slice.is_reshaped ? slice.operand->shape() : slice.result->shape();
  }

  static std::vector<Instruction*> operands(const RaisedPermute& permute) {
    std::vector<Instruction*> operands;
    for (const RaisedSlice& slice : permute.slices) operands.push_back(slice.operand);
    return operands;
  }

  void start(Emitter& emit, const RaisedPermute& permute) {
    std::vector<Instruction*> sent = operands(permute);
    std::vector<const Shape*> shapes;
    for (const Instruction* operand : sent) shapes.push_back(operand->shape());
    const Shape* both[] = {shapes.size() == 1 ? shapes[0] : module_.shapes().tuple(shapes),
                           result_shape(permute)};
    Instruction* made = emit.make(Opcode::kCollectivePermuteStart, sent,
                                  permute_attributes(permute), module_.shapes().tuple(both));
    std::vector<Instruction*> from;
    for (const RaisedSlice& slice : permute.slices) {
      from.push_back(slice.gather);
      if (slice.wide) from.push_back(slice.wide);
      std::vector<Instruction*>& starts = starts_of_[slice.gather];
      if (std::ranges::find(starts, made) == starts.end()) starts.push_back(made);
    }
    keep_common_attributes(*permute.start, made);
    made->erase(AttributeId::sharding);
    keep_control_predecessors(from, made);
    start_of_[&permute] = made;
  }

  void finish(Emitter& emit, const RaisedPermute& permute, std::vector<Instruction*>& unused) {
    std::vector<Instruction*> gone;
    for (const RaisedSlice& slice : permute.slices) {
      gone.insert(gone.end(), slice.inside.begin(), slice.inside.end());
      gone.push_back(slice.result);
      if (slice.done) continue;
      gone.push_back(slice.gather);
    }
    if (permute.slices.size() > 1) gone.push_back(permute.result);
    std::vector<Instruction*> waiting = gone;
    for (const RaisedSlice& slice : permute.slices) {
      if (!slice.wide) continue;
      unused.push_back(slice.wide);
      if (!slice.done) waiting.push_back(slice.wide);
    }
    Instruction* made = nullptr;
    if (permute.start) {
      made = emit.make(Opcode::kCollectivePermuteDone, {start_of_.at(&permute)}, {},
                       result_shape(permute));
    } else {
      made = emit.make(Opcode::kCollectivePermute, operands(permute), permute_attributes(permute),
                       result_shape(permute));
    }
    keep_control_predecessors(waiting, made);
    Instruction* value = made;
    if (permute.slices[0].is_reshaped) {
      value = emit.make(Opcode::kReshape, {made}, {}, permute.result->shape());
    }
    keep_common_attributes(*permute.result, value);
    for (const RaisedSlice& slice : permute.slices) {
      if (!slice.done) keep_description(*slice.gather, made);
      if (!reported_.insert(slice.gather).second) continue;
      report_.rewritten(*slice.gather, *made);
    }
    for (Instruction* one : gone) {
      unused.insert(unused.end(), one->operands().begin(), one->operands().end());
      if (one != permute.result) emit.rewriter().remove(one);
    }
    emit.rewriter().replace(permute.result, value);
  }

  Module& module_;
  Reporter report_;
  const Mesh mesh_;
  KnownValues known_;
  const Lockstep lockstep_;
  int64_t next_channel_;
  std::unordered_map<const RaisedPermute*, Instruction*> start_of_;
  std::unordered_map<Instruction*, std::vector<Instruction*>> starts_of_;  // by gather
  std::unordered_set<const Instruction*> has_given_channel_;
  std::unordered_set<const Instruction*> reported_;
};

class AllGatherToCollectivePermute : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    auto mesh = make_mesh(context.replica_count(module), context.num_partitions(module));
    if (!mesh) return tl::make_unexpected(std::move(mesh.error()));
    Run(module, context, *mesh).run();
    return {};
  }
};

}  // namespace

const PassInfo kAllGatherToCollectivePermute = {
    .name = kName,
    .summary =
        "send shards along pairs where all that is done with a gathered value is to slice "
        "them out",
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> {
      return std::make_unique<AllGatherToCollectivePermute>();
    },
};

}  // namespace minihlo

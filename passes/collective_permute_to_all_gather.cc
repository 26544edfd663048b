// collective-permute-to-all-gather: lets every device gather all operands and slice out the shard
// that the permute would have sent it (docs/lowering-pass.md).
//
// Why: a runtime may move permutes natively only when the pairs form rings over direct links. The
// others still have to run.
//
//   ROOT %p = f32[8] collective-permute(%x), source_target_pairs={{0,1},{1,0}}
//
//   %all-gather = f32[16] all-gather(%x), replica_groups={{0,1}}, constrain_layout=true,
//                                         dimensions={0}
//   %constant = s32[2] constant({1, 0})
//   %replica-id = u32[] replica-id()
//   %dynamic-slice = s32[1] dynamic-slice(%constant, %replica-id), dynamic_slice_sizes={1}
//   %reshape = s32[] reshape(%dynamic-slice)
//   %constant.1 = s32[] constant(8)
//   %multiply = s32[] multiply(%reshape, %constant.1)
//   ROOT %dynamic-slice.1 = f32[8] dynamic-slice(%all-gather, %multiply), dynamic_slice_sizes={8}
//
// The result takes the permute's place with its metadata, sharding, frontend attributes, statistics
// and origin. backend_config goes: it speaks of a permute. What had to come before the permute
// comes before the all-gather, what had to come after it after the result. Of a start and done
// pair the all-gather stays asynchronous, and the rest stands where the done stood; the start's
// sharding goes, as the shape of the all-gather-start is another.
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "ir/opcode.h"
#include "ir/rewriter.h"
#include "ir/semantics/groups.h"
#include "passes/channels.h"
#include "passes/computations.h"
#include "passes/keep_attributes.h"
#include "passes/pass.h"
#include "passes/permute_to_gather/gather_chain.h"
#include "passes/permute_to_gather/options.h"
#include "passes/permute_to_gather/permute_table.h"
#include "passes/permute_to_gather/platforms.h"
#include "passes/permute_to_gather/predicate.h"
#include "passes/report.h"

namespace minihlo {
namespace {

using Gate = PermuteToGatherOptions::Gate;

constexpr std::string_view kName = "collective-permute-to-all-gather";

// Numbers in tables and groups that one run may emit: what keeps a module of many permutes on an
// enormous mesh from taking all memory.
constexpr int64_t kMaxNumbers = int64_t{1} << 26;

// How often each instruction is used and, of a start, by which done.
struct Uses {
  std::vector<int64_t> count;
  std::vector<Instruction*> done;

  explicit Uses(const Computation& computation)
      : count(computation.size()), done(computation.size()) {
    if (computation.root()) ++count[computation.root()->number()];
    for (Instruction* instruction : computation.instructions()) {
      for (const Instruction* operand : instruction->operands()) ++count[operand->number()];
      if (instruction->opcode() != Opcode::kCollectivePermuteDone) continue;
      done[instruction->operand(0)->number()] = instruction;
    }
  }
};

bool takes(const Instruction& instruction, AttributeId id) {
  for (const AttributeUse& use : info(instruction.opcode()).attributes) {
    if (use.id == id) return true;
  }
  return false;
}

// One permute, or a start with its done, of which everything is known before anything is emitted.
struct Lowering {
  PermuteTable table;
  std::vector<GatherPlan> plans;
  const DeviceGroups* groups = nullptr;
};

// A pair whose start was rewritten and whose done is to come.
struct OpenPair {
  Lowering lowering;
  std::vector<Instruction*> gathered;  // by plan
};

class Run {
 public:
  Run(Module& module, PassContext& context, const PermuteToGatherOptions& options)
      : module_(module), context_(context), options_(options) {}

  tl::expected<void, std::string> run() {
    replicas_ = context_.replica_count(module_);
    partitions_ = context_.num_partitions(module_);
    log_configuration();
    if (replicas_ <= 1 && partitions_ <= 1 && options_.mesh > 0) partitions_ = options_.mesh;
    mesh_ = make_mesh(replicas_, partitions_);
    next_channel_ = module_.next_channel_id();
    find_meetings();
    is_asynchronous_ = asynchronous_computations(module_);
    for (Computation* computation : module_.computations()) {
      auto done = rewrite(computation);
      if (!done) return done;
    }
    return {};
  }

 private:
  tl::expected<void, std::string> rewrite(Computation* computation) {
    bool has_permutes = false;
    for (const Instruction* instruction : computation->instructions()) {
      has_permutes |= takes(*instruction, AttributeId::source_target_pairs);
    }
    if (!has_permutes) return {};
    Rewriter rewriter(computation);
    const Uses uses(*computation);
    while (Instruction* at = rewriter.next()) {
      if (at->opcode() == Opcode::kCollectivePermuteDone) {
        finish_pair(rewriter, at);
        continue;
      }
      if (!takes(*at, AttributeId::source_target_pairs)) continue;
      log([&] { return fmt::format("Found collective-permute: %{}", at->name()); });
      auto fault = gate_fault(*at);
      if (!fault) return tl::make_unexpected(std::move(fault.error()));
      auto lowering = plan(*at, uses, *fault);
      if (!lowering) {
        Reporter(context_, kName).left_alone(*at, std::move(lowering.error()));
      } else if (at->opcode() == Opcode::kCollectivePermuteStart) {
        start_pair(rewriter, at, *std::move(lowering));
      } else {
        lower(rewriter, at, *lowering);
      }
    }
    rewriter.finish();
    return {};
  }

  // Why the predicate calls the pairs invalid, or nothing where it does not or was not asked.
  // Error: the predicate's own failure, which ends the pass. It depends on the mesh alone, so it
  // comes at the first permute of the module if at all, before anything is changed.
  tl::expected<std::string, std::string> gate_fault(const Instruction& permute) const {
    if (options_.gate == Gate::kAlways || replicas_ < 1 || partitions_ < 1) return "";
    return source_target_pairs_fault(permute.get(attr::source_target_pairs), replicas_,
                                     partitions_);
  }

  // Everything about a permute, or why it is left alone.
  tl::expected<Lowering, std::string> plan(const Instruction& permute, const Uses& uses,
                                           const std::string& fault) {
    if (!mesh_) return tl::make_unexpected(mesh_.error());
    const Shape* shape = permute.shape();
    if (permute.opcode() == Opcode::kCollectivePermuteStart) {
      const Instruction* done = uses.done[permute.number()];
      if (uses.count[permute.number()] != 1 || !done) {
        return tl::make_unexpected("it has other users than one collective-permute-done");
      }
      shape = done->shape();
    }
    if (is_asynchronous_[permute.parent()->number()]) {
      return tl::make_unexpected(
          "it is all that an asynchronous computation runs, which holds a single operation");
    }
    std::vector<const Shape*> results(shape->elements().begin(), shape->elements().end());
    if (shape->is_array()) results = {shape};
    if (permute.has(attr::permute_slice_sizes) ||
        (permute.operand_count() == 4 && results.size() != 4)) {
      return tl::make_unexpected("it permutes slices of buffers in place");
    }
    if (permute.operand_count() == 0) return tl::make_unexpected("it has no operand");
    if (results.size() != permute.operand_count()) {
      return tl::make_unexpected("its shape is not that of its operands");
    }
    std::span<const SourceTarget> pairs = permute.get(attr::source_target_pairs);
    auto mode = group_mode(permute);
    if (!mode) return tl::make_unexpected(std::move(mode.error()));
    if (numbers_ > kMaxNumbers) {
      return tl::make_unexpected(
          fmt::format("the tables and groups of the permutes before it hold more than {} numbers",
                      kMaxNumbers));
    }
    numbers_ += mesh_->device_count();
    auto table = make_permute_table(pairs, *mode, *mesh_, options_);
    if (!table) return tl::make_unexpected(std::move(table.error()));
    if (options_.gate == Gate::kFallback && fault.empty()) {
      return tl::make_unexpected(
          fmt::format("gate=fallback: its pairs are a full permutation inside groups of {}, which "
                      "runs natively",
                      replicas_));
    }
    if (options_.gate == Gate::kConvertible && !fault.empty()) {
      return tl::make_unexpected("gate=convertible: " + fault);
    }

    Lowering lowering;
    lowering.table = *std::move(table);
    bool moves = options_.preset;
    for (size_t i = 0; i < results.size(); ++i) {
      auto plan = plan_gather(module_.shapes(), permute.operand(i), results[i],
                              lowering.table.group_size(), options_);
      if (!plan) return tl::make_unexpected(std::move(plan.error()));
      moves |= results[i]->element_count() > 0;
      lowering.plans.push_back(*plan);
    }
    if (!moves) return tl::make_unexpected("it has no elements, so there is nothing to move");
    lowering.groups = device_groups(lowering.table);
    return lowering;
  }

  void lower(Rewriter& rewriter, Instruction* permute, const Lowering& lowering) {
    GatherChain chain(rewriter, lowering.table, *mesh_, lowering.plans, options_);
    std::vector<Instruction*> results;
    for (const GatherPlan& plan : lowering.plans) {
      Instruction* first = nullptr;
      Instruction* gathered =
          chain.gather(plan, attributes(*permute, lowering, results.size()), false, first);
      keep_order(*permute, first);
      results.push_back(take_shard(chain, plan, gathered, *permute));
    }
    Instruction* result = finish(rewriter, *permute, results);
    rewriter.replace(permute, result);
    report(*permute, *result);
  }

  void start_pair(Rewriter& rewriter, Instruction* start, Lowering lowering) {
    OpenPair pair{std::move(lowering), {}};
    GatherChain chain(rewriter, pair.lowering.table, *mesh_, pair.lowering.plans, options_);
    for (const GatherPlan& plan : pair.lowering.plans) {
      Instruction* first = nullptr;
      Instruction* gathered =
          chain.gather(plan, attributes(*start, pair.lowering, pair.gathered.size()), true, first);
      keep_order(*start, first);
      copy(*start, attr::metadata, gathered);
      copy(*start, attr::frontend_attributes, gathered);
      pair.gathered.push_back(gathered);
    }
    rewriter.remove(start, pair.gathered);
    open_.emplace(start, std::move(pair));
  }

  void finish_pair(Rewriter& rewriter, Instruction* done) {
    auto found = open_.find(done->operand(0));
    if (found == open_.end()) return;
    const Instruction* start = found->first;
    const OpenPair& pair = found->second;
    GatherChain chain(rewriter, pair.lowering.table, *mesh_, pair.lowering.plans, options_);
    std::vector<Instruction*> results;
    for (size_t i = 0; i < pair.gathered.size(); ++i) {
      const GatherPlan& plan = pair.lowering.plans[i];
      Instruction* gathered = rewriter.emit(Opcode::kAllGatherDone, "all-gather-done",
                                            plan.gathered, {pair.gathered[i]});
      keep_order(*done, gathered);
      results.push_back(take_shard(chain, plan, gathered, *done));
    }
    Instruction* result = finish(rewriter, *done, results);
    rewriter.replace(done, result);
    report(*start, *result);
    open_.erase(found);
  }

  Instruction* take_shard(GatherChain& chain, const GatherPlan& plan, Instruction* gathered,
                          const Instruction& permute) {
    Instruction* result = chain.take_shard(plan, gathered);
    copy(permute, attr::metadata, result);
    log_table(chain);
    return result;
  }

  // The value of the permute's shape, with all that the permute said of it.
  Instruction* finish(Rewriter& rewriter, const Instruction& permute,
                      const std::vector<Instruction*>& results) {
    Instruction* result = results.front();
    if (permute.shape()->is_tuple()) {
      result = rewriter.emit(Opcode::kTuple, "tuple", permute.shape(), results);
    }
    keep_common_attributes(permute, result);
    return result;
  }

  template <class T>
  static void copy(const Instruction& from, AttributeKey<T> key, Instruction* to) {
    if (auto value = from.find(key)) to->set(key, *value);
  }

  // Lets an emitted instruction wait for what the permute waited for.
  static void keep_order(const Instruction& permute, Instruction* first) {
    copy(permute, attr::control_predecessors, first);
  }

  GatherAttributes attributes(const Instruction& permute, const Lowering& lowering,
                              size_t operand) {
    GatherAttributes result{lowering.groups, std::nullopt};
    if (!lowering.table.flattened_groups) return result;
    auto meeting = meeting_of_.find(&permute);
    if (meeting == meeting_of_.end()) {
      result.channel_id = next_channel_++;
      return result;
    }
    // Devices that meet at permutes in different branches meet at their all-gathers.
    std::vector<int64_t>& channels = meeting_channels_[meeting->second];
    while (channels.size() <= operand) channels.push_back(next_channel_++);
    result.channel_id = channels[operand];
    return result;
  }

  void find_meetings() {
    size_t meeting = 0;
    for (const std::vector<Instruction*>& group : channel_groups(module_)) {
      if (group.size() < 2) continue;
      for (const Instruction* one : group) meeting_of_.emplace(one, meeting);
      ++meeting;
    }
    meeting_channels_.resize(meeting);
  }

  // The groups in the module's storage; those of the permute before where they are the same.
  const DeviceGroups* device_groups(const PermuteTable& table) {
    if (last_groups_ && table.groups == last_listed_) return last_groups_;
    for (const std::vector<int64_t>& group : table.groups) {
      numbers_ += static_cast<int64_t>(group.size());
    }
    last_listed_ = table.groups;
    return last_groups_ = keep_groups(module_, table.groups);
  }

  void report(const Instruction& permute, const Instruction& result) {
    Reporter(context_, kName).rewritten(permute, result);
  }

  template <class Text>
  void log(const Text& text) const {
    if (context_.log) context_.log(text());
  }

  // These texts are those of the original.
  void log_configuration() const {
    const Platform& platform = platform_of(options_.platform_version);
    const int64_t cores = core_count(platform, options_.nc_divisor, options_.override_core_count);
    log([&] {
      return fmt::format("Platform Version: {}{}", options_.platform_version,
                         platform.is_divided ? "" : fmt::format(". Defaulting to {} cores", cores));
    });
    log([&] { return fmt::format("core count {}", cores); });
    log([&] { return fmt::format("override_core_count {}", options_.override_core_count); });
    log([&] { return fmt::format("Initial replica_count from config = {}", replicas_); });
    log([&] { return fmt::format("Initial num_partitions from config = {}", partitions_); });
  }

  void log_table(const GatherChain& chain) {
    if (!context_.log || chain.table_constant() == last_logged_) return;
    last_logged_ = chain.table_constant();
    context_.log(
        fmt::format("Created mapping array constant: %{} with values: ", last_logged_->name()));
    for (size_t i = 0; i < chain.entries().size(); ++i) {
      context_.log(fmt::format("  mapping_array[{}] = {}", i, chain.entries()[i]));
    }
  }

  Module& module_;
  PassContext& context_;
  const PermuteToGatherOptions& options_;
  int64_t replicas_ = 1;
  int64_t partitions_ = 1;
  tl::expected<Mesh, std::string> mesh_;
  int64_t next_channel_ = 1;
  int64_t numbers_ = 0;
  std::unordered_map<const Instruction*, size_t> meeting_of_;  // of those that share a channel
  std::vector<std::vector<int64_t>> meeting_channels_;         // one an operand
  std::vector<bool> is_asynchronous_;
  std::unordered_map<const Instruction*, OpenPair> open_;
  std::vector<std::vector<int64_t>> last_listed_;
  const DeviceGroups* last_groups_ = nullptr;
  const Instruction* last_logged_ = nullptr;
};

class CollectivePermuteToAllGather : public Pass {
 public:
  explicit CollectivePermuteToAllGather(const PassOptions& options)
      : options_(read_permute_to_gather_options(options)) {}

  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    return Run(module, context, options_).run();
  }

 private:
  PermuteToGatherOptions options_;
};

}  // namespace

const PassInfo kCollectivePermuteToAllGather = {
    .name = kName,
    .summary = "gather the operands of permutes from all devices and slice out the shard",
    .options = kPermuteToGatherOptions,
    .make = [](const PassOptions& options) -> std::unique_ptr<Pass> {
      return std::make_unique<CollectivePermuteToAllGather>(options);
    },
    .takes_invalid = true,
};

}  // namespace minihlo

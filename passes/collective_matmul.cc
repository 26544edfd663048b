// collective-matmul: lets dots and the collectives around them run step by step beside each other
// (windowed einsum).
//
// Gathered operand: the dot of each shard is taken while the shard is sent on.
//
//   %g = f32[8,3] all-gather(%x), replica_groups={{0,1,2,3}}, dimensions={0}
//   %d = f32[8,5] dot(%g, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
//
// becomes a loop, and a last step behind it, of
//
//   %next = f32[2,3] collective-permute(%shard), source_target_pairs={{3,0},{0,1},{1,2},{2,3}}
//   %part = f32[2,5] dot(%shard, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
//   %out = f32[8,5] dynamic-update-slice(%result, %part, (rank - i) mod 4 * 2, 0)
//
// Where the gathered dimension is a batch dimension, the other operand is sliced along its own.
// Each element of the result is the sum that it was, so all bits stay. contracted=yes does the same
// where the gathered dimension is contracted: parts are added up, those of floats narrower than f32
// in f32.
//
// Scattered result: the sum of each chunk goes round to its member, and every device takes the dot
// of what it adds to it just then.
//
//   %d = f32[8,5] dot(%x, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
//   %s = f32[2,5] reduce-scatter(%d), replica_groups={{0,1,2,3}}, dimensions={0}, to_apply=%add
//
// becomes a loop of
//
//   %received = f32[2,5] collective-permute(%sum), source_target_pairs={{3,0},{0,1},{1,2},{2,3}}
//   %own = f32[2,5] dot(dynamic-slice(%x, (rank - 2 - i) mod 4 * 2, 0), %y), ...
//   %sum = f32[2,5] add(%received, %own)
//
// Each chunk is summed from the member behind its owner on, not in the order of the group, so
// floats may differ by rounding. With directions=2 shards go round both ways at once, in half as
// many steps; of chunks the one half goes one way and the other half the other.
//
// A gather must have one dot as its only user, a dot one scatter. The result has the metadata,
// sharding, frontend attributes, statistics and origin of the dot, or of the scatter; control
// predecessors go to what reads the operands. backend_config goes.
#include <algorithm>
#include <unordered_set>

#include "ir/async_pairs.h"
#include "passes/computations.h"
#include "passes/keep_attributes.h"
#include "passes/report.h"
#include "passes/ring/decomposition.h"
#include "passes/ring/options.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "collective-matmul";
constexpr OptionInfo kOptions[] = {
    kRingForm,
    kRingDirections,
    {.name = "contracted",
     .default_value = "no",
     .words = "no yes",
     .minimum = {},
     .help = "whether all-gathers along contracted dimensions take part; that reorders sums"},
};

// Where a dimension of a dot's result, or a contracted one, lies in each operand; -1: not there.
struct DotDimension {
  int64_t in[2] = {-1, -1};
};

// The dimensions of the result, in order.
std::vector<DotDimension> result_dimensions(const Instruction& dot) {
  std::span<const int64_t> batch[] = {dot.get(attr::lhs_batch_dims), dot.get(attr::rhs_batch_dims)};
  std::span<const int64_t> summed[] = {dot.get(attr::lhs_contracting_dims),
                                       dot.get(attr::rhs_contracting_dims)};
  std::vector<DotDimension> result;
  for (size_t i = 0; i < batch[0].size(); ++i) result.push_back({{batch[0][i], batch[1][i]}});
  for (size_t side : {0, 1}) {
    for (int64_t axis = 0; axis < dot.operand(side)->shape()->rank(); ++axis) {
      const auto is_in = [&](std::span<const int64_t> list) {
        return std::ranges::find(list, axis) != list.end();
      };
      if (is_in(batch[side]) || is_in(summed[side])) continue;
      DotDimension& made = result.emplace_back();
      made.in[side] = axis;
    }
  }
  return result;
}

// The same dot of other operands, which may be parts of its own along some dimensions.
Instruction* make_dot(Emitter& emit, const Instruction& dot, Instruction* lhs, Instruction* rhs,
                      ElementType type) {
  Instruction* operands[] = {lhs, rhs};
  std::vector<Attribute> attributes;
  for (const AttributeUse& use : info(Opcode::kDot).attributes) {
    if (const Attribute* attribute = find_attribute(dot.attributes(), use.id)) {
      attributes.push_back(*attribute);
    }
  }
  std::vector<int64_t> dims;
  for (const DotDimension& dimension : result_dimensions(dot)) {
    const size_t side = dimension.in[0] >= 0 ? 0 : 1;
    dims.push_back(operands[side]->shape()->dim(dimension.in[side]));
  }
  return emit.make(Opcode::kDot, operands, attributes, emit.shapes().array(type, dims));
}

// What else than its operands and contracted dimensions a dot's value depends on.
std::string dot_fault(const Instruction& dot) {
  const bool is_plain = dot.operand_count() == 2 && !dot.has(attr::sparsity) &&
                        !dot.has(attr::sparsity_config) && !dot.has(attr::block_scaling_config);
  if (!is_plain) return "its dot is sparse or scales blocks";
  for (const Instruction* operand : dot.operands()) {
    if (operand->shape()->is_dynamic()) return "its dot has a dynamic dimension";
    if (operand->shape()->element_count() == 0) return "its dot has no elements";
  }
  if (dot.shape()->element_count() == 0) return "its dot has no elements";
  return "";
}

struct MatmulOptions {
  bool unroll = false;
  bool both_directions = false;
  bool contracted = false;
};

class Run {
 public:
  Run(Module& module, PassContext& context, const Mesh& mesh, const MatmulOptions& options)
      : module_(module), context_(context), options_(options), links_(module, mesh) {}

  void run() {
    const std::vector<Computation*> computations(module_.computations().begin(),
                                                 module_.computations().end());
    for (Computation* computation : computations) {
      if (std::ranges::any_of(computation->instructions(), [](const Instruction* one) {
            return is_gather(*one) || one->opcode() == Opcode::kReduceScatter;
          })) {
        rewrite(computation);
      }
    }
    if (module_.computations().size() != computations.size()) order_callees_first(module_);
  }

 private:
  static bool is_gather(const Instruction& instruction) {
    return instruction.opcode() == Opcode::kAllGather ||
           instruction.opcode() == Opcode::kAllGatherStart;
  }

  void rewrite(Computation* computation) {
    find_users(*computation);
    taken_.clear();
    Rewriter rewriter(computation);
    while (Instruction* at = rewriter.next()) {
      if (is_gather(*at) && !reading_dot(*at)) {
        report(*at, nullptr, "it has other users than one operand of one dot");
      } else if (at->opcode() == Opcode::kDot) {
        gather_into(rewriter, at);
      } else if (at->opcode() == Opcode::kReduceScatter) {
        Instruction* result = nullptr;
        std::string reason = scatter_from(rewriter, at, result);
        report(*at, result, std::move(reason));
      }
    }
    rewriter.finish();
  }

  // For each instruction its user where it has only one, who reads it once. Who waits for it
  // counts.
  void find_users(const Computation& computation) {
    std::vector<int> uses(computation.size());
    only_user_.assign(computation.size(), nullptr);
    if (computation.root()) ++uses[computation.root()->number()];
    auto use = [&](const Instruction* used, Instruction* user) {
      only_user_[used->number()] = ++uses[used->number()] == 1 ? user : nullptr;
    };
    for (Instruction* instruction : computation.instructions()) {
      for (const Instruction* operand : instruction->operands()) use(operand, instruction);
      for (const Instruction* one : instruction->get(attr::control_predecessors)) {
        use(one, nullptr);
      }
    }
  }

  // The dot that alone uses what an all-gather, or its done, gives; or null.
  const Instruction* reading_dot(const Instruction& gather) const {
    const Instruction* user = only_user_[gather.number()];
    if (user && user->opcode() == Opcode::kAllGatherDone) user = only_user_[user->number()];
    return user && user->opcode() == Opcode::kDot ? user : nullptr;
  }

  // The all-gather whose value a dot's operand is, which nobody else uses; or null.
  Instruction* gather_of(const Instruction& dot, size_t side) const {
    Instruction* operand = dot.operand(side);
    if (operand->opcode() == Opcode::kAllGatherDone) operand = operand->operand(0);
    return is_gather(*operand) && reading_dot(*operand) == &dot ? operand : nullptr;
  }

  void gather_into(Rewriter& rewriter, Instruction* dot) {
    for (size_t side = 0; side < dot->operand_count(); ++side) {
      Instruction* gather = gather_of(*dot, side);
      if (!gather) continue;
      if (taken_.contains(dot)) {
        report(*gather, nullptr, "its dot takes in the shards of another all-gather");
        continue;
      }
      Instruction* result = nullptr;
      std::string reason = side > 1 ? "it is no factor of its dot" : "";
      if (reason.empty()) reason = visit_gathered(rewriter, dot, side, gather, result);
      report(*gather, result, std::move(reason));
    }
  }

  // Takes the dot of each shard. Returns why not, where it leaves all as it is.
  std::string visit_gathered(Rewriter& rewriter, Instruction* dot, size_t side, Instruction* gather,
                             Instruction*& result) {
    if (std::string fault = dot_fault(*dot); !fault.empty()) return fault;
    if (gather->operand_count() != 1) return "it gathers several arrays";
    auto ring = Ring::make(*gather, links_, options_.unroll);
    if (!ring) return std::move(ring.error());
    Instruction* shard = gather->operand(0);
    const int64_t axis = gather->get(attr::dimensions)[0];
    const int64_t extent = shard->shape()->dim(axis);
    if (extent * ring->size() != dot->operand(side)->shape()->dim(axis)) {
      return "its result is not one shard a member";
    }
    // Where the dimension is in the result, and in the other operand.
    const std::vector<DotDimension> dimensions = result_dimensions(*dot);
    const auto found = std::ranges::find_if(
        dimensions, [&](const DotDimension& one) { return one.in[side] == axis; });
    const int64_t in_result =
        found == dimensions.end() ? -1 : static_cast<int64_t>(found - dimensions.begin());
    int64_t in_other = in_result < 0 ? -1 : found->in[1 - side];
    if (in_result < 0) {
      if (!options_.contracted) return "its dimension is contracted: contracted=yes takes these";
      in_other = contracted_in_other(*dot, side, axis);
    }

    const EmittedSince emitted(rewriter.computation());
    Emitter emit(rewriter);
    const ElementType type = dot->shape()->element_type();
    const bool is_narrow = is_float(type) && info(type).bits < 32;
    const ElementType part_type = in_result < 0 && is_narrow ? ElementType::F32 : type;
    const Shape* whole = emit.shapes().array(part_type, dot->shape()->dims());
    const Visit visit = [&](Emitter& inner, Instruction* seen, const ChunkPlace& place,
                            const State& state) {
      Instruction* start = ring->offset(inner, place, extent);
      Instruction* factors[] = {seen, seen};
      Instruction*& other = factors[1 - side];
      other = state[1];
      if (in_other >= 0) other = inner.dynamic_slice_along(other, in_other, start, extent);
      Instruction* part = make_dot(inner, *dot, factors[0], factors[1], part_type);
      Instruction* now = in_result >= 0
                             ? inner.dynamic_update_along(state[0], part, in_result, start)
                             : inner.make(Opcode::kAdd, {state[0], part}, {}, whole);
      return State{now, state[1]};
    };
    State state = {emit.zeros(whole), dot->operand(1 - side)};
    result = visit_shards(emit, *ring, options_.both_directions, shard, state, visit)[0];
    if (part_type != type) result = emit.convert(result, type);
    finish(emit, emitted, *dot, *gather, result);
    rewriter.replace(dot, result);
    if (dot->operand(side) != gather) rewriter.remove(dot->operand(side));
    rewriter.remove(gather);
    taken_.insert(dot);
    return "";
  }

  static int64_t contracted_in_other(const Instruction& dot, size_t side, int64_t axis) {
    std::span<const int64_t> summed[] = {dot.get(attr::lhs_contracting_dims),
                                         dot.get(attr::rhs_contracting_dims)};
    const auto place = std::ranges::find(summed[side], axis) - summed[side].begin();
    return summed[1 - side][static_cast<size_t>(place)];
  }

  // Takes the dot of each chunk when it is summed. Returns why not, where it leaves all as it is.
  std::string scatter_from(Rewriter& rewriter, Instruction* scatter, Instruction*& result) {
    if (scatter->operand_count() != 1) return "it scatters several arrays";
    Instruction* dot = scatter->operand(0);
    if (dot->opcode() != Opcode::kDot) return "its operand is no dot";
    if (only_user_[dot->number()] != scatter) return "its dot has other users";
    if (taken_.contains(dot)) return "its dot takes in the shards of an all-gather";
    if (std::string fault = dot_fault(*dot); !fault.empty()) return fault;
    auto ring = Ring::make(*scatter, links_, options_.unroll);
    if (!ring) return std::move(ring.error());
    auto combine = combine_by(*scatter->get(attr::to_apply), dot->shape()->element_type(), false);
    if (!combine) return std::move(combine.error());
    const int64_t axis = scatter->get(attr::dimensions)[0];
    const int64_t extent = scatter->shape()->dim(axis);
    if (extent * ring->size() != dot->shape()->dim(axis)) {
      return "its operand is not one chunk a member";
    }

    const EmittedSince emitted(rewriter.computation());
    Emitter emit(rewriter);
    const std::vector<DotDimension> dimensions = result_dimensions(*dot);
    const int64_t shared = options_.both_directions ? lane_dimension(*dot, axis) : -1;
    State factors = {dot->operand(0), dot->operand(1)};
    std::vector<Lane> lanes = {
        {Direction::kNext,
         chunk_of(*ring, *dot, dimensions[static_cast<size_t>(axis)], extent, 0)}};
    if (shared >= 0) {
      factors = halves(emit, *dot, dimensions[static_cast<size_t>(shared)]);
      lanes.push_back({Direction::kPrevious,
                       chunk_of(*ring, *dot, dimensions[static_cast<size_t>(axis)], extent, 2)});
    }
    std::vector<Instruction*> sums = sum_chunks(emit, *ring, lanes, factors, *combine);
    result = shared >= 0 ? emit.concatenate(sums, shared) : sums[0];
    finish(emit, emitted, *scatter, *dot, result);
    rewriter.replace(scatter, result);
    rewriter.remove(dot);
    return "";
  }

  // The largest dimension of a dot's result but `axis`, that two lanes can share; or -1.
  static int64_t lane_dimension(const Instruction& dot, int64_t axis) {
    int64_t best = -1;
    for (int64_t other = 0; other < dot.shape()->rank(); ++other) {
      if (other == axis || dot.shape()->dim(other) < 2) continue;
      if (best < 0 || dot.shape()->dim(other) > dot.shape()->dim(best)) best = other;
    }
    return best;
  }

  // The factors of both halves of a dot along a dimension of its result: two, and two more.
  static State halves(Emitter& emit, const Instruction& dot, const DotDimension& dimension) {
    State result;
    for (bool second : {false, true}) {
      for (size_t side : {0, 1}) {
        Instruction* factor = dot.operand(side);
        const int64_t axis = dimension.in[side];
        if (axis >= 0) {
          const int64_t size = factor->shape()->dim(axis);
          const int64_t half = (size + 1) / 2;
          factor = emit.slice_along(factor, axis, second ? half : 0, second ? size : half);
        }
        result.push_back(factor);
      }
    }
    return result;
  }

  // The dot of a chunk along a dimension of its result, from the factors in state[first] and
  // behind.
  static OwnChunk chunk_of(const Ring& ring, const Instruction& dot, const DotDimension& dimension,
                           int64_t extent, size_t first) {
    return [&ring, &dot, dimension, extent, first](Emitter& emit, const ChunkPlace& place,
                                                   const State& state) {
      Instruction* start = ring.offset(emit, place, extent);
      Instruction* factors[2];
      for (size_t side : {0, 1}) {
        factors[side] = state[first + side];
        if (dimension.in[side] < 0) continue;
        factors[side] = emit.dynamic_slice_along(factors[side], dimension.in[side], start, extent);
      }
      return make_dot(emit, dot, factors[0], factors[1], dot.shape()->element_type());
    };
  }

  // Lets the result look as `replaced` did; `other` goes with it.
  static void finish(Emitter& emit, const EmittedSince& emitted, const Instruction& replaced,
                     const Instruction& other, Instruction*& result) {
    // Only layouts can differ.
    if (result->shape() != replaced.shape()) {
      result = emit.make(Opcode::kCopy, {result}, {}, replaced.shape());
    }
    emitted.belong_to(replaced);
    emitted.belong_to(other);
    keep_common_attributes(replaced, result);
  }

  void report(const Instruction& collective, const Instruction* result, std::string reason) {
    Reporter(context_, kName).report(collective, result ? result->name() : "", std::move(reason));
  }

  Module& module_;
  PassContext& context_;
  const MatmulOptions options_;
  MeshLinks links_;
  std::vector<Instruction*> only_user_;           // by number
  std::unordered_set<const Instruction*> taken_;  // dots that are gone
};

class CollectiveMatmul : public Pass {
 public:
  explicit CollectiveMatmul(const PassOptions& options)
      : options_{is_unrolled(options), goes_both_ways(options),
                 options.text("contracted") == "yes"} {}

  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    auto mesh = make_mesh(context.replica_count(module), context.num_partitions(module));
    if (!mesh) return tl::make_unexpected(std::move(mesh.error()));
    Run(module, context, *mesh, options_).run();
    return {};
  }

 private:
  MatmulOptions options_;
};

}  // namespace

const PassInfo kCollectiveMatmul = {
    .name = kName,
    .summary = "take dots shard by shard while their operands or results go round a ring",
    .keeps = Keeps::kRounding,
    .options = kOptions,
    .make = [](const PassOptions& options) -> std::unique_ptr<Pass> {
      return std::make_unique<CollectiveMatmul>(options);
    },
};

}  // namespace minihlo

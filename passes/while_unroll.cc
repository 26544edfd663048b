// while-unroll: writes the trips of a loop one after the other.
//
// A loop whose number of trips is known and at most `limit` becomes that many copies of its body.
// One of more trips becomes, with factor=F, a loop over F trips at a time; the trips that are over
// come before it.
//
//   %w = (s32[], f32[4]) while(%init),         ->  %i1 = s32[] add(%i0, %one)    body, on %init
//       condition=less_than_2, body=step           %t1 = (s32[], f32[4]) tuple(%i1, ...)
//                                                  ...                           body, on %t1
//
// The tuples between trips go with algebraic-simplify. Trips follow one another: what has effects
// (passes/effects.h) waits for what has any before it, by control predecessors. Copies of a
// collective keep its channel, so that devices which meet in the loop's body meet in the copies.
// A loop of F trips at a time has a body of its own and no backend_config, which says how many
// trips there are; else all is kept that the loop says of itself.
//
// Left alone: loops whose trips are not known, or not the same on all devices; in asynchronous
// work; with layouts that change from trip to trip; what would make more than max_instructions.
#include <unordered_map>

#include <fmt/format.h>

#include "passes/computations.h"
#include "passes/emitter.h"
#include "passes/fused.h"
#include "passes/keep_attributes.h"
#include "passes/loops/trip_count.h"
#include "passes/pass.h"
#include "passes/report.h"
#include "passes/splice.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "while-unroll";
// Of loops that are unrolled by a factor.
constexpr int64_t kMaxTrips = int64_t{1} << 20;

struct UnrollOptions {
  int64_t limit = 0;
  int64_t factor = 1;
  int64_t max_instructions = 0;
};

class Run {
 public:
  Run(Module& module, PassContext& context, const UnrollOptions& options)
      : module_(module),
        context_(context),
        options_(options),
        instructions_left_(options.max_instructions),
        effects_(module, context.num_partitions(module) > 1) {}

  void run() {
    count_trips();
    const std::vector<Computation*> all(module_.computations().begin(),
                                        module_.computations().end());
    const FusedBodies fused(module_);
    for (Computation* computation : all) {
      if (fused.may_change(*computation)) unroll_in(computation);
    }
    finish_bodies(module_);
  }

 private:
  void count_trips() {
    const Mesh mesh{context_.replica_count(module_), context_.num_partitions(module_)};
    KnownValues values(module_, mesh);
    const int64_t most = options_.factor > 1 ? kMaxTrips : options_.limit;
    for (const Computation* computation : module_.computations()) {
      for (const Instruction* at : computation->instructions()) {
        if (at->opcode() != Opcode::kWhile) continue;
        if (auto count = trip_count(*at, values, std::max(most, options_.limit))) {
          trips_.emplace(at, *count);
        }
      }
    }
  }

  void unroll_in(Computation* computation) {
    Rewriter rewriter(computation);
    while (Instruction* at = rewriter.next()) {
      if (at->opcode() != Opcode::kWhile) continue;
      std::string reason = obstacle(*at);
      std::string result;
      if (reason.empty()) {
        const int64_t trips = trips_.at(at);
        result = (trips <= options_.limit ? unroll(rewriter, at, trips)
                                          : unroll_by_factor(rewriter, at, trips))
                     ->name();
      }
      Reporter(context_, kName).report(*at, result, reason);
    }
    rewriter.finish();
  }

  std::string obstacle(const Instruction& at) {
    auto trips = trips_.find(&at);
    if (trips == trips_.end()) return "the number of trips is not known, or too large";
    const bool fully = trips->second <= options_.limit;
    if (!fully && options_.factor < 2) {
      return fmt::format("{} trips are more than limit={}", trips->second, options_.limit);
    }
    if (!fully && trips->second < options_.factor) return "it has fewer trips than the factor";
    if (effects_.is_asynchronous(*at.parent())) return "it belongs to asynchronous work";
    const Computation& body = *at.get(attr::body);
    const int64_t copies = fully ? trips->second : 2 * options_.factor;
    int64_t instructions = 0;
    if (__builtin_mul_overflow(copies, copied_size(body), &instructions) ||
        instructions > instructions_left_) {
      return "it would make more than max_instructions";
    }
    std::string reason = splice_obstacle(body, at.operands(), at.shape());
    if (reason.empty() && body.root()->shape() != body.parameters()[0]->shape() &&
        !body.root()->shape()->is_array()) {
      reason = "the layout changes from trip to trip";
    }
    if (reason.empty()) instructions_left_ -= instructions;
    return reason;
  }

  // So many trips on `state`, waiting for what `before` names. In `last` is left what is last in
  // them, and in `effect` what has the last effect; null: nothing has.
  Instruction* trips(Rewriter& rewriter, const Instruction& loop, Instruction* state, int64_t count,
                     std::span<Instruction* const> before, std::vector<Instruction*>& last,
                     Instruction*& effect) {
    const Computation& body = *loop.get(attr::body);
    for (int64_t i = 0; i < count; ++i) {
      Spliced made = splice(rewriter, body, std::span(&state, 1), *body.root(), before, effects_);
      for (Instruction* one : made.effects) {
        if (effect) wait(one, effect);
        effect = one;
      }
      state = made.root;
      last.insert(last.end(), made.last.begin(), made.last.end());
    }
    return state;
  }

  void wait(Instruction* instruction, Instruction* before) {
    std::vector<Instruction*> all;
    for (Instruction* one : instruction->get(attr::control_predecessors)) {
      if (one == before) return;
      all.push_back(one);
    }
    all.push_back(before);
    instruction->set(attr::control_predecessors, module_.arena().copy(all));
  }

  Instruction* unroll(Rewriter& rewriter, Instruction* at, int64_t count) {
    std::vector<Instruction*> last;
    Instruction* effect = nullptr;
    Instruction* state = trips(rewriter, *at, at->operand(0), count,
                               at->get(attr::control_predecessors), last, effect);
    if (state->shape() != at->shape()) {
      state = rewriter.emit(Opcode::kCopy, "copy", at->shape(), {state});
    }
    if (count > 0) keep_description(*at, state);
    replace_by(rewriter, at, {state, {}, std::move(last)});
    return state;
  }

  Instruction* unroll_by_factor(Rewriter& rewriter, Instruction* at, int64_t count) {
    std::vector<Instruction*> last;
    Instruction* effect = nullptr;
    Instruction* state = trips(rewriter, *at, at->operand(0), count % options_.factor,
                               at->get(attr::control_predecessors), last, effect);
    const Computation& body = *at->get(attr::body);
    const Shape* taken = body.parameters()[0]->shape();
    if (state->shape() != at->operand(0)->shape()) {
      state = rewriter.emit(Opcode::kCopy, "copy", at->operand(0)->shape(), {state});
    }
    Computation* made = new_computation(module_, fmt::format("{}.unrolled", body.name()));
    made->set_execution_thread(body.execution_thread());
    Rewriter inner(made);
    Emitter emit(inner);
    Instruction* inner_effect = nullptr;
    made->set_root(
        trips(inner, *at, emit.parameter(0, taken), options_.factor, {}, last, inner_effect));
    inner.finish();
    effects_.add_new(module_);
    std::vector<Attribute> attributes(at->attributes().begin(), at->attributes().end());
    std::erase_if(attributes, [](const Attribute& one) {
      return one.id == AttributeId::backend_config || one.id == AttributeId::body ||
             one.id == AttributeId::control_predecessors;
    });
    attributes.push_back(make_attribute(attr::body, made));
    Instruction* loop =
        rewriter.emit(Opcode::kWhile, at->name(), at->shape(), std::span(&state, 1), attributes);
    if (auto before = at->find(attr::control_predecessors)) {
      loop->set(attr::control_predecessors, *before);
    }
    if (effect) wait(loop, effect);
    rewriter.replace(at, loop);
    return loop;
  }

  Module& module_;
  PassContext& context_;
  UnrollOptions options_;
  int64_t instructions_left_;
  Effects effects_;
  std::unordered_map<const Instruction*, int64_t> trips_;
};

class WhileUnroll : public Pass {
 public:
  explicit WhileUnroll(const PassOptions& options)
      : options_{*options.number("limit"), *options.number("factor"),
                 *options.number("max_instructions")} {}

  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    Run(module, context, options_).run();
    return {};
  }

 private:
  UnrollOptions options_;
};

constexpr OptionInfo kOptions[] = {
    {"limit", "16", "", 0, "loops of at most so many trips are unrolled whole"},
    {"factor", "1", "", 1, "of longer ones so many trips are done at a time"},
    {"max_instructions", "1000000", "", 0, "how many instructions may be made in all"},
};

}  // namespace

const PassInfo kWhileUnroll = {
    .name = kName,
    .summary = "write the trips of loops one after the other",
    .options = kOptions,
    .make = [](const PassOptions& options) -> std::unique_ptr<Pass> {
      return std::make_unique<WhileUnroll>(options);
    },
};

}  // namespace minihlo

// algebraic-simplify: replaces what is said at length by the same said shortly.
//
//   %t = f32[3,2] transpose(%x), dimensions={1,0}
//   %u = f32[2,3] transpose(%t), dimensions={1,0}
//   %s = (f32[2,3], s32[]) tuple(%u, %i)       ->  ROOT %n = f32[2,3] negate(%x)
//   %g = f32[2,3] get-tuple-element(%s), index=0
//   ROOT %n = f32[2,3] negate(%g)
//
// All rules hold bit for bit, for every value of each type that they are used for: NaN keep their
// payload, zeros their sign. They are listed in docs/passes.md and stand in passes/simplify. What
// takes a place has the very shape, layout too, of what stood there. What is new is given all that
// the instruction said of itself; what was there before is not, so an instruction with a sharding
// or frontend attributes is not replaced by such. What is left without use is for dce.
//
// Left alone: what names control predecessors, has dynamic shapes, or belongs to asynchronous work;
// bodies of fusions that say by number what they alias.
#include <vector>

#include <fmt/format.h>

#include "passes/effects.h"
#include "passes/fused.h"
#include "passes/keep_attributes.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace minihlo {
namespace {

// Rules that one instruction may go through: each makes it simpler, so this is never met.
constexpr int kMaxSteps = 64;

class Simplification {
 public:
  explicit Simplification(Computation* computation)
      : rewriter_(computation), emit_(rewriter_), now_(computation->size()) {}

  int64_t run() {
    int64_t replaced = 0;
    while (Instruction* at = rewriter_.next()) {
      for (size_t i = 0; i < at->operand_count(); ++i) {
        Instruction* now = standing(at->operand(i));
        if (now != at->operand(i)) at->set_operand(i, now);
      }
      if (at->has_dynamic_shape() || at->has(attr::control_predecessors)) continue;
      Instruction* by = simplified(at);
      if (by == at) continue;
      now_[at->number()] = by;
      rewriter_.replace(at, by);
      ++replaced;
    }
    rewriter_.finish();
    return replaced;
  }

 private:
  Instruction* standing(Instruction* instruction) const {
    Instruction* now = instruction->number() < now_.size() ? now_[instruction->number()] : nullptr;
    return now ? now : instruction;
  }

  Instruction* simplified(Instruction* at) {
    const bool says_more = at->has(attr::sharding) || at->has(attr::frontend_attributes);
    // What is emitted from here on has larger numbers.
    const size_t mark = rewriter_.computation()->size();
    auto is_new = [&](const Instruction* one) { return one->number() >= mark; };
    Instruction* current = at;
    for (int step = 0; step < kMaxSteps; ++step) {
      Instruction* by = next(*current);
      if (!by || (says_more && !is_new(by))) break;
      // What stood in between is nobody's operand.
      if (current != at) rewriter_.remove(current);
      current = by;
      if (!is_new(by)) return by;
    }
    if (current != at) keep_common_attributes(*at, current);
    return current;
  }

  Instruction* next(const Instruction& at) {
    for (auto* rule :
         {simplify::structure, simplify::movement, simplify::elementwise, simplify::conversion}) {
      if (Instruction* by = rule(emit_, at)) return by;
    }
    return nullptr;
  }

  Rewriter rewriter_;
  Emitter emit_;
  std::vector<Instruction*> now_;  // by number; null: itself
};

class AlgebraicSimplify : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    const Effects effects(module, context.num_partitions(module) > 1);
    int64_t replaced = 0;
    const FusedBodies fused(module);
    for (Computation* computation : module.computations()) {
      if (effects.is_asynchronous(*computation) || !fused.may_change(*computation)) continue;
      replaced += Simplification(computation).run();
    }
    if (replaced > 0) finish_bodies(module);
    if (context.log) {
      context.log(fmt::format("algebraic-simplify: instructions replaced: {}", replaced));
    }
    return {};
  }
};

}  // namespace

const PassInfo kAlgebraicSimplify = {
    .name = "algebraic-simplify",
    .summary = "replace what is said at length by the same said shortly, bit for bit",
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> {
      return std::make_unique<AlgebraicSimplify>();
    },
};

}  // namespace minihlo

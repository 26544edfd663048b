// inline: puts the instructions of what is called in the place of the call.
//
//   f { %p = f32[4] parameter(0)
//       ROOT %n = f32[4] negate(%p) }
//   %a = f32[4] call(%x), to_apply=f           ->  %n = f32[4] negate(%x)
//   ROOT %r = f32[4] add(%a, %x)                   ROOT %r = f32[4] add(%n, %x)
//
// Calls, and fusions with fusions=true. The computation stays where it is; dce removes it when
// nothing calls it any more. What waits for the call waits for all that was in it, and what the
// call waited for is waited for by what is first in it. Of the call, metadata and frontend
// attributes go to its value where that has none; backend_config, sharding and aliasing go.
//
// Left alone: composite calls, and those marked inlineable="false"; calls in asynchronous work or
// into another execution thread; tuples whose layout changes at the call; what would make more
// than max_instructions new ones. And where devices exchange data without a channel in a
// computation that several calls share, under a condition or in a loop: they meet there because
// the instruction is the same, which copies are not.
#include <algorithm>

#include <fmt/format.h>

#include "passes/computations.h"
#include "passes/fused.h"
#include "passes/pass.h"
#include "passes/report.h"
#include "passes/splice.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "inline";

class Run {
 public:
  Run(Module& module, PassContext& context, bool fusions, int64_t max_instructions)
      : module_(module),
        context_(context),
        fusions_(fusions),
        instructions_left_(max_instructions),
        effects_(module, context.num_partitions(module) > 1),
        calls_(call_counts(module)) {}

  void run() {
    const FusedBodies fused(module_);
    const std::vector<Computation*> all(module_.computations().begin(),
                                        module_.computations().end());
    for (Computation* computation : all) {
      if (fused.may_change(*computation)) inline_in(computation);
    }
    finish_bodies(module_);
  }

 private:
  void inline_in(Computation* computation) {
    Rewriter rewriter(computation);
    while (Instruction* at = rewriter.next()) {
      const bool is_call = at->opcode() == Opcode::kCall;
      if (!is_call && !(fusions_ && at->opcode() == Opcode::kFusion)) continue;
      const Computation& called = *(is_call ? at->get(attr::to_apply) : at->get(attr::calls));
      std::string reason = obstacle(*at, called);
      std::string result;
      if (reason.empty()) {
        instructions_left_ -= copied_size(called);
        Spliced spliced = splice(rewriter, called, at->operands(), *at,
                                 at->get(attr::control_predecessors), effects_);
        replace_by(rewriter, at, spliced);
        result = spliced.root->name();
      }
      Reporter(context_, kName).report(*at, result, reason);
    }
    rewriter.finish();
  }

  std::string obstacle(const Instruction& at, const Computation& called) const {
    if (at.get(attr::is_composite)) return "it is composite";
    for (const NamedString& one : at.get(attr::frontend_attributes)) {
      if (one.name == "inlineable" && one.value == "false") return "it is marked inlineable=false";
    }
    if (effects_.is_asynchronous(*at.parent())) return "it belongs to asynchronous work";
    if (called.execution_thread() != at.parent()->execution_thread()) {
      return "it runs on another execution thread";
    }
    if (copied_size(called) > instructions_left_) {
      return "it would make more than max_instructions";
    }
    if (meets_by_place(called) && calls_[called.number()] > 1 &&
        !effects_.runs_together(*at.parent())) {
      return "devices that come from different calls meet in it, and have no channel";
    }
    return splice_obstacle(called, at.operands(), at.shape());
  }

  // What was inlined into `called` counts, so this looks at it as it is now.
  static bool meets_by_place(const Computation& called) {
    return std::ranges::any_of(called.instructions(), [](const Instruction* one) {
      return is_exchange(*one) && !one->has(attr::channel_id);
    });
  }

  Module& module_;
  PassContext& context_;
  bool fusions_;
  int64_t instructions_left_;
  Effects effects_;
  std::vector<int64_t> calls_;
};

class Inline : public Pass {
 public:
  explicit Inline(const PassOptions& options)
      : fusions_(options.text("fusions") == "true"),
        max_instructions_(*options.number("max_instructions")) {}

  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    Run(module, context, fusions_, max_instructions_).run();
    return {};
  }

 private:
  bool fusions_;
  int64_t max_instructions_;
};

constexpr OptionInfo kOptions[] = {
    {"fusions", "false", "false true", std::nullopt, "inline fusions, too"},
    {"max_instructions", "1000000", "", 0, "how many instructions may be made in all"},
};

}  // namespace

const PassInfo kInline = {
    .name = kName,
    .summary = "put what is called in the place of the call",
    .options = kOptions,
    .make = [](const PassOptions& options) -> std::unique_ptr<Pass> {
      return std::make_unique<Inline>(options);
    },
};

}  // namespace minihlo

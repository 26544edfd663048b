// dce: removes what nobody uses.
//
// An instruction goes when its value reaches neither the root nor anything with a side effect.
// Afterwards computations go that nothing calls any more.
//
//   %a = f32[4] add(%p, %p)                        (gone)
//   %b = f32[4] multiply(%p, %p)               ->  %b = f32[4] multiply(%p, %p)
//   ROOT %r = f32[4] negate(%b)                    ROOT %r = f32[4] negate(%b)
//
// What stays though unused: what has an effect (passes/effects.h); what names control predecessors
// or is named as one, as somebody wanted that order; what ends work whose start stays. An
// instruction that calls a computation with one of these inside stays too.
#include <vector>

#include <fmt/format.h>

#include "ir/async_pairs.h"
#include "passes/effects.h"
#include "passes/pass.h"

namespace minihlo {
namespace {

// Whether an opcode ends, or goes on with, what an instruction began.
bool continues(const Instruction& start, Opcode opcode) {
  const std::optional<Opcode> done = done_of(start.opcode());
  return done &&
         (opcode == *done || (opcode == Opcode::kAsyncUpdate && done == Opcode::kAsyncDone));
}

class Dce : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    const bool is_partitioned = context.num_partitions(module) > 1;
    // Callees stand before callers, so one sweep finds which computations have effects inside, and
    // one back finds which are called.
    std::vector<bool> has_effect(module.computations().size());
    std::vector<std::vector<Instruction*>> kept(module.computations().size());
    size_t removed = 0;
    for (Computation* computation : module.computations()) {
      auto stays = [&](const Instruction& instruction) {
        if (has_own_effect(instruction, is_partitioned)) return true;
        for (const Computation* called : instruction.called_computations()) {
          if (has_effect[called->number()]) return true;
        }
        return false;
      };
      std::vector<bool> live = live_instructions(*computation, stays);
      for (Instruction* instruction : computation->instructions()) {
        if (!live[instruction->number()]) continue;
        kept[computation->number()].push_back(instruction);
        if (instruction->opcode() != Opcode::kParameter && stays(*instruction)) {
          has_effect[computation->number()] = true;
        }
      }
      removed += computation->size() - kept[computation->number()].size();
    }
    std::vector<bool> called(module.computations().size());
    if (module.entry()) called[module.entry()->number()] = true;
    for (size_t i = called.size(); i-- > 0;) {
      if (!called[i]) continue;
      for (const Instruction* instruction : kept[i]) {
        for (const Computation* callee : instruction->called_computations()) {
          called[callee->number()] = true;
        }
      }
    }
    for (Computation* computation : module.computations()) {
      std::vector<Instruction*>& list = kept[computation->number()];
      if (list.size() != computation->size()) computation->set_instructions(std::move(list));
    }
    size_t before = module.computations().size();
    module.retain_computations([&](const Computation& one) { return called[one.number()]; });
    if (context.log) {
      context.log(fmt::format("dce: instructions removed: {}, computations removed: {}", removed,
                              before - module.computations().size()));
    }
    return {};
  }

 private:
  template <class Stays>
  static std::vector<bool> live_instructions(const Computation& computation, const Stays& stays) {
    std::vector<bool> live(computation.size());
    if (computation.root()) live[computation.root()->number()] = true;
    std::span<Instruction* const> list = computation.instructions();
    for (const Instruction* instruction : list) {
      std::span<Instruction* const> before = instruction->get(attr::control_predecessors);
      if (!before.empty() || stays(*instruction)) live[instruction->number()] = true;
      for (const Instruction* one : before) live[one->number()] = true;
    }
    auto mark_operands = [&] {
      for (size_t i = list.size(); i-- > 0;) {
        if (!live[i]) continue;
        for (const Instruction* operand : list[i]->operands()) live[operand->number()] = true;
      }
    };
    mark_operands();
    // What is begun must be ended, though nobody uses what comes of it.
    bool changed = false;
    for (const Instruction* instruction : list) {
      if (live[instruction->number()] || instruction->operands().empty()) continue;
      const Instruction* start = instruction->operand(0);
      if (!live[start->number()] || !continues(*start, instruction->opcode())) continue;
      live[instruction->number()] = changed = true;
    }
    if (changed) mark_operands();
    return live;
  }
};

}  // namespace

const PassInfo kDce = {
    .name = "dce",
    .summary = "remove instructions without use, and computations that nothing calls",
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> { return std::make_unique<Dce>(); },
    .takes_invalid = true,
};

}  // namespace minihlo

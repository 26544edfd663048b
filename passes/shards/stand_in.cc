#include "passes/shards/stand_in.h"

#include <vector>

#include "ir/async_pairs.h"
#include "ir/rewriter.h"
#include "ir/semantics/collective_forms.h"
#include "passes/channels.h"
#include "passes/computations.h"
#include "passes/keep_attributes.h"
#include "passes/report.h"
#include "passes/users.h"

namespace minihlo {
namespace {

// Why operands can't stand for a collective; else nothing, and `last` becomes what gives its value.
std::string misfit(Instruction* collective, const Users& users, Instruction*& last) {
  last = collective;
  if (collective_opcode(collective->opcode()) != collective->opcode()) {
    last = users.only(*collective);
    if (!last || last->opcode() != done_of(collective->opcode())) {
      return "it has other users than one done";
    }
  }
  const std::vector<const Shape*> results = leaf_shapes(last->shape());
  if (results.empty() || results.size() > collective->operand_count()) {
    return "its result is not like its operand";
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!compatible(results[i], collective->operand(i)->shape())) {
      return "its result is not like its operand";
    }
  }
  return "";
}

// Emitted where the collective or its start stands: all that is needed is there.
Instruction* stand_in(Rewriter& rewriter, Instruction* collective, Instruction* last) {
  std::vector<Instruction*> values;
  for (const Shape* result : leaf_shapes(last->shape())) {
    Instruction* operand = collective->operand(values.size());
    values.push_back(operand->shape() == result
                         ? operand
                         : rewriter.emit(Opcode::kCopy, "copy", result, {operand}));
  }
  Instruction* value = values[0];
  if (last->shape()->is_tuple()) {
    value = rewriter.emit(Opcode::kTuple, "tuple", last->shape(), values);
  }
  if (value != collective->operand(0)) keep_common_attributes(*last, value);
  for (Instruction* gone : {collective, last}) {
    std::vector<Instruction*> heirs = {value};
    std::span<Instruction* const> before = gone->get(attr::control_predecessors);
    heirs.insert(heirs.end(), before.begin(), before.end());
    rewriter.remove(gone, heirs);
  }
  return value;
}

}  // namespace

void stand_in_for_collectives(Module& module, PassContext& context, std::string_view pass,
                              const std::function<bool(Opcode)>& wants,
                              const std::function<std::string(const Instruction&)>& work) {
  Reporter reporter(context, pass);
  const SharedChannels shared(module);
  const std::vector<bool> is_asynchronous = asynchronous_computations(module);
  for (Computation* computation : module.computations()) {
    Rewriter rewriter(computation);
    const Users users(*computation);
    while (Instruction* at = rewriter.next()) {
      if (!wants(collective_opcode(at->opcode())) || at->opcode() == Opcode::kRecv) continue;
      std::string reason = work(*at);
      Instruction* last = nullptr;
      if (reason.empty()) reason = misfit(at, users, last);
      if (reason.empty() && shared.is_shared(*at)) {
        reason = "devices in another branch may meet it";
      }
      if (reason.empty() && is_asynchronous[computation->number()]) {
        reason = "it is all that an asynchronous computation runs, which holds a single operation";
      }
      if (reason.empty()) {
        reporter.rewritten(*at, *stand_in(rewriter, at, last));
      } else {
        reporter.left_alone(*at, std::move(reason));
      }
    }
    rewriter.finish();
  }
}

}  // namespace minihlo

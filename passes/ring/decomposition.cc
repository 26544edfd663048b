#include "passes/ring/decomposition.h"

#include <algorithm>
#include <unordered_map>

#include "ir/async_pairs.h"
#include "ir/semantics/collective_forms.h"
#include "passes/computations.h"
#include "passes/keep_attributes.h"
#include "passes/report.h"

namespace minihlo {
namespace {

bool is_start(const Instruction& instruction) {
  return collective_opcode(instruction.opcode()) != instruction.opcode();
}

class Run {
 public:
  Run(Module& module, PassContext& context, std::string_view pass, Decomposition& decomposition)
      : module_(module), context_(context), pass_(pass), decomposition_(decomposition) {}

  void run() {
    const std::vector<Computation*> computations(module_.computations().begin(),
                                                 module_.computations().end());
    const std::vector<bool> is_asynchronous = asynchronous_computations(module_);
    for (size_t i = 0; i < computations.size(); ++i) {
      if (std::ranges::none_of(computations[i]->instructions(), [&](const Instruction* one) {
            return decomposition_.wants(*one);
          })) {
        continue;
      }
      if (is_asynchronous[i]) {
        leave_alone(*computations[i]);
      } else {
        rewrite(computations[i]);
      }
    }
    if (module_.computations().size() != computations.size()) order_callees_first(module_);
  }

 private:
  void leave_alone(const Computation& computation) {
    for (const Instruction* instruction : computation.instructions()) {
      if (!decomposition_.wants(*instruction)) continue;
      report(*instruction, nullptr,
             "it is all that an asynchronous computation runs, which holds a single operation");
    }
  }

  void rewrite(Computation* computation) {
    find_dones(*computation);
    Rewriter rewriter(computation);
    while (Instruction* at = rewriter.next()) {
      if (auto pair = open_.find(at); pair != open_.end()) {
        finish(rewriter, EmittedSince(computation), pair->second.start, at,
               std::move(pair->second.begun));
        continue;
      }
      if (!decomposition_.wants(*at)) continue;
      auto begun = begin(rewriter, at);
      if (!begun) report(*at, nullptr, std::move(begun.error()));
    }
    rewriter.finish();
    open_.clear();
  }

  // For each start its done, where that is all that uses it.
  void find_dones(const Computation& computation) {
    std::vector<int> uses(computation.size());
    done_of_.assign(computation.size(), nullptr);
    if (computation.root()) ++uses[computation.root()->number()];
    for (Instruction* instruction : computation.instructions()) {
      for (const Instruction* operand : instruction->operands()) {
        const uint32_t number = operand->number();
        ++uses[number];
        const bool is_its_done = done_of(operand->opcode()) == instruction->opcode();
        done_of_[number] = is_its_done && uses[number] == 1 ? instruction : nullptr;
      }
    }
  }

  tl::expected<void, std::string> begin(Rewriter& rewriter, Instruction* collective) {
    Instruction* done = collective;
    if (is_start(*collective)) {
      done = done_of_[collective->number()];
      if (!done) return tl::make_unexpected("it has other users than one done");
    }
    std::vector<const Shape*> results = leaf_shapes(done->shape());
    for (const Shape* result : results) {
      if (!result->is_array()) return tl::make_unexpected("its result is not made of arrays");
      if (result->is_dynamic()) return tl::make_unexpected("it has a dynamic dimension");
    }
    for (const Instruction* operand : collective->operands()) {
      if (!operand->shape()->is_array()) return tl::make_unexpected("its operand is no array");
      if (operand->shape()->is_dynamic()) return tl::make_unexpected("it has a dynamic dimension");
    }
    const EmittedSince emitted(rewriter.computation());
    Emitter emit(rewriter);
    auto begun = decomposition_.begin(emit, *collective, results);
    if (!begun) return tl::make_unexpected(std::move(begun.error()));
    if (done == collective) {
      finish(rewriter, emitted, collective, collective, *std::move(begun));
    } else {
      emitted.belong_to(*collective);
      rewriter.remove(collective, *begun);
      open_.emplace(done, Open{collective, *std::move(begun)});
    }
    return {};
  }

  void finish(Rewriter& rewriter, const EmittedSince& emitted, const Instruction* collective,
              Instruction* done, std::vector<Instruction*> begun) {
    Emitter emit(rewriter);
    std::vector<Instruction*> values = decomposition_.end(emit, *collective, std::move(begun));
    const std::vector<const Shape*> shapes = leaf_shapes(done->shape());
    for (size_t i = 0; i < values.size(); ++i) {
      // Only layouts can differ.
      if (values[i]->shape() == shapes[i]) continue;
      values[i] = emit.make(Opcode::kCopy, {values[i]}, {}, shapes[i]);
    }
    Instruction* result = values[0];
    if (done->shape()->is_tuple()) result = emit.make(Opcode::kTuple, values, {}, done->shape());
    emitted.belong_to(*done);
    keep_common_attributes(*done, result);
    rewriter.replace(done, result);
    report(*collective, result, "");
  }

  void report(const Instruction& collective, const Instruction* result, std::string reason) {
    Reporter(context_, pass_).report(collective, result ? result->name() : "", std::move(reason));
  }

  // A start that is gone, and what was emitted for it.
  struct Open {
    const Instruction* start;
    std::vector<Instruction*> begun;
  };

  Module& module_;
  PassContext& context_;
  const std::string_view pass_;
  Decomposition& decomposition_;
  std::vector<Instruction*> done_of_;                  // by number
  std::unordered_map<const Instruction*, Open> open_;  // by the done
};

}  // namespace

std::vector<Instruction*> Decomposition::end(Emitter&, const Instruction&,
                                             std::vector<Instruction*> begun) {
  return begun;
}

EmittedSince::EmittedSince(Computation* computation)
    : computation_(computation),
      instructions_(computation->size()),
      computations_(computation->module()->computations().size()) {}

void EmittedSince::belong_to(const Instruction& original) const {
  const auto metadata = original.find(attr::metadata);
  auto take_metadata = [&](Instruction* instruction) {
    if (metadata && !instruction->has(attr::metadata)) instruction->set(attr::metadata, *metadata);
  };
  const auto before = original.find(attr::control_predecessors);
  std::span<Instruction* const> emitted = computation_->instructions().subspan(instructions_);
  for (Instruction* instruction : emitted) {
    take_metadata(instruction);
    // Instructions are numbered as they are appended.
    if (before && std::ranges::any_of(instruction->operands(), [&](const Instruction* operand) {
          return operand->number() < instructions_;
        })) {
      std::span<Instruction* const> own = instruction->get(attr::control_predecessors);
      std::vector<Instruction*> all(before->begin(), before->end());
      all.insert(all.end(), own.begin(), own.end());
      instruction->set(attr::control_predecessors, computation_->module()->arena().copy(all));
    }
  }
  for (Computation* made : computation_->module()->computations().subspan(computations_)) {
    for (Instruction* instruction : made->instructions()) take_metadata(instruction);
  }
}

void decompose_collectives(Module& module, PassContext& context, std::string_view pass,
                           Decomposition& decomposition) {
  Run(module, context, pass, decomposition).run();
}

}  // namespace minihlo

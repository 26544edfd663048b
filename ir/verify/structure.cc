#include <tsl/robin_set.h>

#include "ir/hash.h"
#include "ir/instruction_rules.h"
#include "ir/text_repeats.h"
#include "ir/verify/verification.h"

namespace minihlo::verifier {
namespace {

void check_names(Verification& v) {
  if (v.module().name().empty()) v.header_error("module-name", "", "the module has no name");
  TextRepeats computation_names, instruction_names;
  instruction_names.reserve(v.module().instruction_count());
  for (const Computation* computation : v.module().computations()) {
    computation_names.add(computation->name());
    for (const Instruction* instruction : computation->instructions()) {
      instruction_names.add(instruction->name());
    }
  }
  if (!computation_names.any() && !instruction_names.any()) return;
  tsl::robin_set<std::string_view, TextHash> computations, instructions;
  for (const Computation* computation : v.module().computations()) {
    if (!computations.insert(computation->name()).second) {
      v.error("duplicate-name", computation, "a computation named %{} is there already",
              computation->name());
    }
    for (const Instruction* instruction : computation->instructions()) {
      if (instructions.insert(instruction->name()).second) continue;
      v.error("duplicate-name", instruction, "an instruction named %{} is there already",
              instruction->name());
    }
  }
}

void check_entry(Verification& v) {
  const Computation* entry = v.module().entry();
  if (!entry) {
    v.header_error("no-entry", "", "the module has no entry computation");
    return;
  }
  for (const Call& call : v.calls()) {
    const Instruction* instruction = call.caller;
    for (const Computation* called : v.called(call)) {
      if (called != entry) continue;
      if (instruction->opcode() == Opcode::kFusion) {
        v.error("called-entry", instruction, "%{} fuses the entry computation %{}",
                instruction->name(), entry->name());
      } else {
        v.warning("called-entry", instruction, "%{} calls the entry computation %{}",
                  instruction->name(), entry->name());
      }
    }
  }
}

bool stands_before(const Instruction* first, const Instruction* second) {
  const Computation* computation = second->parent();
  return first->parent() == computation && first->number() < second->number() &&
         computation->instructions()[first->number()] == first;
}

void check_root_and_parameters(Verification& v, const Computation* computation) {
  if (computation->instructions().empty()) {
    v.error("no-root", computation, "computation %{} has no instructions", computation->name());
    return;
  }
  const Instruction* root = computation->root();
  if (!root || root->parent() != computation || root->number() >= computation->size() ||
      computation->instructions()[root->number()] != root) {
    v.error("no-root", computation, "computation %{} has no root", computation->name());
  }
  std::span<Instruction* const> parameters = computation->parameters();
  for (const Instruction* instruction : computation->instructions()) {
    if (instruction->opcode() != Opcode::kParameter) continue;
    const int64_t number = instruction->get(attr::parameter_number);
    if (number < 0) {
      v.error("parameter-number", instruction, "%{} has the negative parameter number {}",
              instruction->name(), number);
    } else if (number < static_cast<int64_t>(parameters.size()) &&
               parameters[static_cast<size_t>(number)] != instruction) {
      v.error("parameter-number", instruction,
              "%{} has parameter number {}, which another one has already", instruction->name(),
              number);
    } else if (number >= static_cast<int64_t>(parameters.size())) {
      v.error("parameter-number", instruction, "%{} has parameter number {}, far beyond the others",
              instruction->name(), number);
    }
  }
  size_t missing = 0, first_missing = 0;
  for (size_t i = parameters.size(); i-- > 0;) {
    if (parameters[i]) continue;
    ++missing;
    first_missing = i;
  }
  if (missing > 0) {
    v.error("parameter-number", computation,
            "computation %{} has a parameter {}, but {} of the numbers below it are missing, {} "
            "first",
            computation->name(), parameters.size() - 1, missing, first_missing);
  }
}

// Whether operands and attributes are such that the instruction may be looked at. `call` is its own
// where it calls computations, else null.
bool check_instruction(Verification& v, const Instruction* instruction, const Call* call) {
  const Opcode opcode = instruction->opcode();
  bool sound = true;
  if (!instruction->shape()) {
    v.error("shape", instruction, "%{} has no shape", instruction->name());
    sound = false;
  }
  auto broken = check_operand_count(opcode, to_string(opcode), instruction->operand_count());
  if (broken) {
    v.error(std::string(broken->rule), instruction, "{}", broken->message);
    sound = false;
  }
  for (size_t i = 0; i < instruction->operand_count(); ++i) {
    const Instruction* operand = instruction->operand(i);
    if (operand && operand->shape() && stands_before(operand, instruction)) continue;
    sound = false;
    if (!operand) {
      v.error("operand", instruction, "operand {} of %{} is missing", i, instruction->name());
    } else if (operand->parent() != instruction->parent()) {
      v.error("operand", instruction, "operand {} of %{}, %{}, is of another computation", i,
              instruction->name(), operand->name());
    } else if (operand->shape()) {
      v.error("operand", instruction, "operand {} of %{}, %{}, does not stand before it", i,
              instruction->name(), operand->name());
    }
  }
  for (const Instruction* before : instruction->get(attr::control_predecessors)) {
    if (before && stands_before(before, instruction)) continue;
    v.error("control-predecessor", instruction,
            "control predecessor {} of %{} does not stand before it in its computation",
            before ? before->name() : "(none)", instruction->name());
  }
  if (sound) {
    broken = check_required_attributes(opcode, to_string(opcode), instruction->operands(),
                                       instruction->attributes());
    if (broken) {
      v.error(std::string(broken->rule), instruction, "{}", broken->message);
      sound = false;
    }
  }
  if (!call) return sound;
  for (const Computation* called : v.called(*call)) {
    if (called && called->module() == &v.module()) continue;
    v.error("called-computation", instruction, "%{} calls a computation that the module lacks",
            instruction->name());
    sound = false;
  }
  return sound;
}

// Reports each cycle of the call graph once, where it closes.
void check_call_graph(Verification& v) {
  enum class State : uint8_t { kNew, kOpen, kDone };
  struct Frame {
    const Computation* computation;
    size_t call = 0;  // the one to go on with, of the computation's
    size_t next = 0;  // of what it calls
  };
  std::span<Computation* const> computations = v.module().computations();
  std::vector<State> state(computations.size(), State::kNew);
  std::vector<Frame> stack;
  for (const Computation* start : computations) {
    if (state[start->number()] != State::kNew) continue;
    state[start->number()] = State::kOpen;
    stack.push_back({start});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const std::span<const Call> calls = v.calls_in(frame.computation);
      if (frame.call == calls.size()) {
        state[frame.computation->number()] = State::kDone;
        stack.pop_back();
        continue;
      }
      const Call& call = calls[frame.call];
      if (frame.next == call.count) {
        ++frame.call;
        frame.next = 0;
        continue;
      }
      const Computation* called = v.called(call)[frame.next++];
      if (!called || called->module() != &v.module()) continue;
      State& to = state[called->number()];
      if (to == State::kOpen) {
        v.error("call-cycle", call.caller, "%{} calls %{}, from which it is called itself",
                call.caller->name(), called->name());
      } else if (to == State::kNew) {
        to = State::kOpen;
        stack.push_back({called});
      }
    }
  }
}

}  // namespace

void check_structure(Verification& v) {
  check_names(v);
  check_entry(v);
  for (const Computation* computation : v.module().computations()) {
    check_root_and_parameters(v, computation);
    std::span<const Call> calls = v.calls_in(computation);
    for (const Instruction* instruction : computation->instructions()) {
      const Call* call = nullptr;
      if (!calls.empty() && calls.front().caller == instruction) {
        call = &calls.front();
        calls = calls.subspan(1);
      }
      if (!check_instruction(v, instruction, call)) v.mark_unsound(instruction);
    }
  }
  check_call_graph(v);
}

}  // namespace minihlo::verifier

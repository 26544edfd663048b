#include "ir/verify/verification.h"

namespace minihlo::verifier {
namespace {

constexpr std::string_view kMainThread = "main";

// Whether an instruction does something even where nobody uses its result.
bool has_side_effect(const Instruction* instruction) {
  switch (info(instruction->opcode()).family) {
    case Family::kEffect:
    case Family::kCollective:
    case Family::kAsync:
      return true;
    case Family::kRandom:
      return instruction->opcode() != Opcode::kRngBitGenerator;
    case Family::kCustom:
      return instruction->get(attr::custom_call_has_side_effect);
    default:
      return instruction->calls_computations();
  }
}

// A fusion's body is one expression: all but its root is used in it, and its root is not. `used` is
// for this function alone.
void check_fused(Verification& v, const Instruction* fusion, const Computation* body,
                 std::vector<bool>& used) {
  used.assign(body->size(), false);
  for (const Instruction* instruction : body->instructions()) {
    if (!v.is_sound(instruction)) return;
    for (const Instruction* operand : instruction->operands()) used[operand->number()] = true;
  }
  for (const Instruction* instruction : body->instructions()) {
    if (instruction == body->root()) {
      if (used[instruction->number()]) {
        v.error("fusion", instruction, "%{}, the root of what %{} calls, is used there",
                instruction->name(), fusion->name());
      }
    } else if (!used[instruction->number()] && !has_side_effect(instruction)) {
      v.error("fusion", instruction, "%{} is not used in %{}, which %{} calls", instruction->name(),
              body->name(), fusion->name());
    }
  }
}

// What a computation holds besides its root and parameters and must not when it is wrapped; null
// if nothing, where a barrier holds it together, or where all it does is send and receive.
const Instruction* find_extra(const Computation* wrapped) {
  const Instruction* extra = nullptr;
  bool transfers = true;
  for (const Instruction* instruction : wrapped->instructions()) {
    const Opcode opcode = instruction->opcode();
    if (opcode == Opcode::kOptimizationBarrier) return nullptr;
    transfers &= opcode == Opcode::kSend || opcode == Opcode::kRecv || opcode == Opcode::kBitcast ||
                 opcode == Opcode::kParameter || opcode == Opcode::kTuple;
    if (extra || instruction == wrapped->root()) continue;
    if (opcode != Opcode::kParameter && opcode != Opcode::kGetTupleElement) extra = instruction;
  }
  return transfers ? nullptr : extra;
}

// On the main thread, one instruction is wrapped; several only where a start says that they are a
// group of collectives, where a barrier holds them together, or, as older versions of XLA have it,
// where they send and receive.
class WrappedComputations {
 public:
  explicit WrappedComputations(Verification& v) : v_(v), extra_(v.module().computations().size()) {}

  void check(const Instruction* start, const Computation* wrapped) {
    if (start->find(attr::async_execution_thread).value_or(kMainThread) != kMainThread ||
        wrapped->execution_thread() != kMainThread ||
        has_frontend_attribute(start, "_collectives_group")) {
      return;
    }
    std::optional<const Instruction*>& extra = extra_[wrapped->number()];
    if (!extra) extra = find_extra(wrapped);
    if (!*extra) return;
    v_.error("async-computation", start,
             "%{} wraps %{}, which holds %{} besides its root and parameters", start->name(),
             wrapped->name(), (*extra)->name());
  }

 private:
  Verification& v_;
  std::vector<std::optional<const Instruction*>> extra_;  // by computation; looked for once
};

// Loops, conditionals and fusions run where they stand.
void check_thread(Verification& v, const Instruction* caller, const Computation* called) {
  switch (caller->opcode()) {
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kFusion:
      if (caller->parent()->execution_thread() == called->execution_thread()) return;
      v.error("execution-thread", caller, "%{} runs on thread \"{}\", but calls %{} on \"{}\"",
              caller->name(), caller->parent()->execution_thread(), called->name(),
              called->execution_thread());
      return;
    default:
      return;
  }
}

// A composite call says which operation it stands for.
void check_composite(Verification& v, const Instruction* call) {
  if (!call->get(attr::is_composite)) return;
  bool named = false;
  for (const NamedString& attribute : call->get(attr::frontend_attributes)) {
    if (attribute.name == "composite.name") {
      named = !attribute.value.empty();
    } else if (attribute.name == "composite.attributes" && attribute.value.empty()) {
      v.error("composite", call, "composite.attributes is empty");
    } else if (attribute.name == "composite.version" &&
               (attribute.value.empty() ||
                attribute.value.find_first_not_of("0123456789") != attribute.value.npos)) {
      v.error("composite", call, "composite.version is '{}', which is no version", attribute.value);
    }
  }
  if (!named) {
    v.error("composite", call, "a composite call needs the frontend attribute composite.name");
  }
}

// operand_layout_constraints={f32[2]{0}}: a shape with a layout for each operand.
void check_constraints(Verification& v, const Instruction* call) {
  auto shapes = call->find(attr::operand_layout_constraints);
  const std::string_view target = call->get(attr::custom_call_target);
  if (!shapes || target == "LayoutConstraint") return;
  if (shapes->size() != call->operand_count()) {
    v.error("layout-constraints", call,
            "operand_layout_constraints has {} shape{}, but there are {} operands", shapes->size(),
            shapes->size() == 1 ? "" : "s", call->operand_count());
    return;
  }
  for (size_t i = 0; i < shapes->size(); ++i) {
    if (compatible_but_for_dynamic((*shapes)[i], call->operand(i)->shape())) continue;
    v.error("layout-constraints", call,
            "operand_layout_constraints gives operand {} as {}, but %{} is {}", i,
            to_string((*shapes)[i], false), call->operand(i)->name(),
            to_string(call->operand(i)->shape(), false));
  }
}

}  // namespace

void check_called_computations(Verification& v) {
  if (v.uses(Family::kCustom)) {
    for (const Computation* computation : v.module().computations()) {
      for (const Instruction* instruction : computation->instructions()) {
        if (instruction->opcode() == Opcode::kCustomCall && v.is_sound(instruction)) {
          check_constraints(v, instruction);
        }
      }
    }
  }
  enum Caller : uint8_t { kAsync = 1, kOther = 2 };
  std::vector<uint8_t> callers(v.module().computations().size(), 0);
  std::vector<bool> done(callers.size(), false);
  std::vector<bool> used;
  WrappedComputations wrapped(v);
  for (const Call& call : v.calls()) {
    const Instruction* instruction = call.caller;
    if (!v.is_sound(instruction)) continue;
    const Opcode opcode = instruction->opcode();
    if (opcode == Opcode::kCall) check_composite(v, instruction);
    const bool is_async = opcode == Opcode::kAsyncStart || opcode == Opcode::kAsyncUpdate ||
                          opcode == Opcode::kAsyncDone;
    for (const Computation* called : v.called(call)) {
      uint8_t& callers_of = callers[called->number()];
      const uint8_t before = callers_of;
      callers_of |= is_async ? kAsync : kOther;
      if (before != callers_of && callers_of == (kAsync | kOther)) {
        v.warning("async-computation", instruction,
                  "%{} calls %{}, which is called by asynchronous and other instructions",
                  instruction->name(), called->name());
      }
      check_thread(v, instruction, called);
      if (done[called->number()]) {
        if (opcode == Opcode::kFusion) {
          v.error("fusion", instruction, "%{} calls %{}, which is the body of another fusion",
                  instruction->name(), called->name());
        }
        continue;
      }
      if (opcode == Opcode::kFusion) {
        check_fused(v, instruction, called, used);
        done[called->number()] = true;
      } else if (opcode == Opcode::kAsyncStart) {
        wrapped.check(instruction, called);
      }
    }
  }
}

}  // namespace minihlo::verifier

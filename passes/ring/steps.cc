#include "passes/ring/steps.h"

#include <numeric>

#include "passes/computations.h"

namespace minihlo {
namespace {

// The counter, then the state.
Computation* loop_body(Module& module, const Shape* shape, const StepBody& body) {
  Computation* made = new_computation(module, "ring_body");
  Rewriter rewriter(made);
  Emitter emit(rewriter);
  Instruction* all = emit.parameter(0, shape);
  Instruction* counter = emit.element(all, 0);
  State state;
  for (size_t i = 1; i < shape->elements().size(); ++i) {
    state.push_back(emit.element(all, static_cast<int64_t>(i)));
  }
  State after = body(emit, {0, counter}, state);
  Instruction* next = emit.make(Opcode::kAdd, {counter, emit.scalar(ElementType::S32, 1)});
  after.insert(after.begin(), next);
  Instruction* root = emit.make(Opcode::kTuple, after, {}, shape);
  rewriter.finish();
  made->set_root(root);
  return made;
}

Computation* loop_condition(Module& module, const Shape* shape, int64_t trips) {
  Computation* made = new_computation(module, "ring_condition");
  Rewriter rewriter(made);
  Emitter emit(rewriter);
  Instruction* counter = emit.element(emit.parameter(0, shape), 0);
  Instruction* root =
      emit.compare(ComparisonDirection::kLt, counter, emit.scalar(ElementType::S32, trips));
  rewriter.finish();
  made->set_root(root);
  return made;
}

}  // namespace

State emit_steps(Emitter& emit, int64_t trips, bool unroll, State start, const StepBody& body,
                 std::optional<std::vector<size_t>> wanted) {
  if (!wanted) {
    wanted.emplace(start.size());
    std::iota(wanted->begin(), wanted->end(), size_t{0});
  }
  State result;
  if (unroll || trips <= 1) {
    State state = std::move(start);
    for (int64_t i = 0; i < trips; ++i) state = body(emit, {i, nullptr}, state);
    for (const size_t one : *wanted) result.push_back(state[one]);
    return result;
  }
  start.insert(start.begin(), emit.scalar(ElementType::S32, 0));
  Instruction* begin = emit.tuple(start);
  const Shape* shape = begin->shape();
  Module& module = emit.module();
  Computation* loop = loop_body(module, shape, body);
  Computation* condition = loop_condition(module, shape, trips);
  Instruction* end = emit.make(
      Opcode::kWhile, {begin},
      {make_attribute(attr::condition, condition), make_attribute(attr::body, loop)}, shape);
  for (const size_t one : *wanted) {
    result.push_back(emit.element(end, static_cast<int64_t>(one) + 1));
  }
  return result;
}

}  // namespace minihlo

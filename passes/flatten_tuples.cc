// flatten-tuples: makes tuples of tuples flat where calls, loops and conditionals pass them.
//
//   %c = (f32[2], (s32[], pred[])) call(...)   ->  %c = (f32[2], s32[], pred[]) call(...)
//                                                  %0 = f32[2] get-tuple-element(%c), index=0
//                                                  %1 = s32[] get-tuple-element(%c), index=1
//                                                  ...
//                                                  (f32[2], (s32[], pred[])) tuple(%0, tuple(%1,
//                                                  %2))
//
// Parameters and results of what call, while and conditional run have all their leaves in one
// tuple, in order; on both sides of the call tuples are taken apart and put together, and
// algebraic-simplify removes what comes of that. Shardings and replications list leaves, so they
// stay right; origin, which follows the tree, goes. The entry computation keeps its signature.
//
// Left alone: computations that anything else runs, asynchronous work and fusions among it, and
// all that share their signature with one; calls that say what they alias; tuples that carry
// asynchronous work; what names control predecessors and would have to be taken apart for them.
#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "ir/async_pairs.h"
#include "passes/effects.h"
#include "passes/emitter.h"
#include "passes/pass.h"

namespace minihlo {
namespace {

// Leaves that one run may take apart: a few lines of text can pass millions.
constexpr int64_t kMaxLeaves = int64_t{1} << 20;

bool is_nested(const Shape* shape) {
  return shape->is_tuple() && std::ranges::any_of(shape->elements(), &Shape::is_tuple);
}

// All leaves of a value, in order.
void take_apart(Emitter& emit, Instruction* value, std::vector<Instruction*>& leaves) {
  if (!value->shape()->is_tuple()) {
    leaves.push_back(value);
    return;
  }
  const auto size = static_cast<int64_t>(value->shape()->elements().size());
  for (int64_t i = 0; i < size; ++i) take_apart(emit, emit.element(value, i), leaves);
}

Instruction* flat(Emitter& emit, Instruction* value) {
  std::vector<Instruction*> leaves;
  take_apart(emit, value, leaves);
  return emit.tuple(leaves);
}

// A value of the nested shape from the elements of a flat tuple, from number `next` on.
Instruction* put_together(Emitter& emit, Instruction* tuple, const Shape* shape, int64_t& next) {
  if (!shape->is_tuple()) return emit.element(tuple, next++);
  std::vector<Instruction*> elements;
  for (const Shape* element : shape->elements()) {
    elements.push_back(put_together(emit, tuple, element, next));
  }
  return emit.tuple(elements);
}

Instruction* nested(Emitter& emit, Instruction* tuple, const Shape* shape) {
  int64_t next = 0;
  return put_together(emit, tuple, shape, next);
}

class Run {
 public:
  explicit Run(Module& module, PassContext& context)
      : module_(module),
        context_(context),
        is_fixed_(module.computations().size()),
        leader_(module.computations().size()) {}

  tl::expected<void, std::string> run() {
    std::iota(leader_.begin(), leader_.end(), size_t{0});
    find_fixed();
    if (leaves_to_move() > kMaxLeaves) {
      return tl::unexpected(fmt::format("more than {} leaves are passed", kMaxLeaves));
    }
    for (Computation* computation : module_.computations()) rewrite(computation);
    if (context_.log) {
      context_.log(fmt::format("flatten-tuples: signatures and calls made flat: {}", flattened_));
    }
    return {};
  }

 private:
  static bool is_control(Opcode opcode) {
    return opcode == Opcode::kCall || opcode == Opcode::kWhile || opcode == Opcode::kConditional;
  }

  // Which computations keep their signatures. What one instruction calls is flattened together, or
  // not at all.
  void find_fixed() {
    if (module_.entry()) is_fixed_[module_.entry()->number()] = true;
    const Effects effects(module_, false);
    for (const Computation* computation : module_.computations()) {
      for (const Instruction* at : computation->instructions()) {
        if (done_of(at->opcode())) starts_.insert(at->shape()->bare());
      }
    }
    for (const Computation* computation : module_.computations()) {
      bool stays = effects.is_asynchronous(*computation) || carries_start(computation->root());
      for (const Instruction* one : computation->parameters()) stays |= carries_start(one);
      if (stays) is_fixed_[computation->number()] = true;
    }
    for (const Computation* computation : module_.computations()) {
      for (const Instruction* at : computation->instructions()) {
        const std::vector<Computation*> called = at->called_computations();
        for (const Computation* one : called) {
          if (!is_control(at->opcode())) is_fixed_[one->number()] = true;
          unite(called.front()->number(), one->number());
        }
      }
    }
    std::vector<bool> is_fixed(is_fixed_.size());
    for (size_t i = 0; i < is_fixed.size(); ++i) {
      if (is_fixed_[i]) is_fixed[leader(i)] = true;
    }
    for (size_t i = 0; i < is_fixed.size(); ++i) is_fixed_[i] = is_fixed[leader(i)];
  }

  // Whether a value can have what is under way in it, which its done takes whole.
  bool carries_start(const Instruction* value) const {
    return !starts_.empty() && contains_start(value->shape());
  }
  bool contains_start(const Shape* shape) const {
    return shape->is_tuple() && (starts_.contains(shape->bare()) ||
                                 std::ranges::any_of(shape->elements(), [&](const Shape* one) {
                                   return contains_start(one);
                                 }));
  }

  size_t leader(size_t i) {
    while (leader_[i] != i) i = leader_[i] = leader_[leader_[i]];
    return i;
  }
  void unite(size_t a, size_t b) { leader_[leader(a)] = leader(b); }

  // How many leaves there are to take apart or to put together.
  int64_t leaves_to_move() const {
    int64_t leaves = 0;
    auto count = [&](const Shape* shape) { leaves += is_nested(shape) ? shape->leaf_count() : 0; };
    for (const Computation* computation : module_.computations()) {
      if (!is_fixed_[computation->number()]) {
        for (const Instruction* one : computation->parameters()) count(one->shape());
        count(computation->root()->shape());
      }
      for (const Instruction* at : computation->instructions()) {
        if (!is_control(at->opcode())) continue;
        count(at->shape());
        for (const Instruction* operand : at->operands()) count(operand->shape());
      }
    }
    return leaves;
  }

  const Shape* flat_shape(const Shape* shape) {
    return is_nested(shape) ? module_.shapes().tuple(leaf_shapes(shape)) : shape;
  }

  void rewrite(Computation* computation) {
    const bool is_fixed = is_fixed_[computation->number()];
    Rewriter rewriter(computation);
    Emitter emit(rewriter);
    while (Instruction* at = rewriter.next()) {
      if (at->opcode() == Opcode::kParameter) {
        if (!is_fixed && is_nested(at->shape())) replace(rewriter, at, at->operands());
        continue;
      }
      const std::vector<Computation*> called = at->called_computations();
      if (called.empty() || is_fixed_[called.front()->number()]) continue;
      bool changes = is_nested(at->shape());
      std::vector<Instruction*> operands;
      for (Instruction* operand : at->operands()) {
        const bool is_deep = is_nested(operand->shape());
        operands.push_back(is_deep ? flat(emit, operand) : operand);
        changes |= is_deep;
      }
      if (changes) replace(rewriter, at, operands);
    }
    Instruction* root = computation->root();
    if (!is_fixed && is_nested(root->shape())) {
      // Behind the last one: here the root still is what it was, and is redirected at the end.
      Instruction* by = flat(emit, root);
      rewriter.finish();
      computation->set_root(by);
      return;
    }
    rewriter.finish();
  }

  // The same with flat operands and result, and a nested value for those that use it.
  void replace(Rewriter& rewriter, Instruction* at, std::span<Instruction* const> operands) {
    ++flattened_;
    Emitter emit(rewriter);
    std::vector<Attribute> attributes(at->attributes().begin(), at->attributes().end());
    std::erase_if(attributes, [](const Attribute& one) { return one.id == AttributeId::origin; });
    Instruction* made =
        rewriter.emit(at->opcode(), at->name(), flat_shape(at->shape()), operands, attributes);
    rewriter.replace(at, is_nested(at->shape()) ? nested(emit, made, at->shape()) : made);
  }

  Module& module_;
  PassContext& context_;
  std::vector<bool> is_fixed_;               // by computation
  std::unordered_set<const Shape*> starts_;  // what starts in the module give, without layouts
  std::vector<size_t> leader_;  // of computations that are fixed together or not at all
  int64_t flattened_ = 0;
};

class FlattenTuples : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    return Run(module, context).run();
  }
};

}  // namespace

const PassInfo kFlattenTuples = {
    .name = "flatten-tuples",
    .summary = "pass flat tuples to calls, loops and conditionals, and back",
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> {
      return std::make_unique<FlattenTuples>();
    },
};

}  // namespace minihlo

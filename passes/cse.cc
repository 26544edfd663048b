// cse: computes once what is computed twice.
//
// Two instructions of a computation are one where opcode, operands, shape with layout, and
// attributes are the same; of two that call computations, these may differ in names. What is left
// is the first; metadata, origin and statistics of the second go with it.
//
//   %a = f32[4] add(%x, %y)                        %a = f32[4] add(%x, %y)
//   %b = f32[4] add(%y, %x)                    ->  ROOT %r = f32[4] multiply(%a, %a)
//   ROOT %r = f32[4] multiply(%a, %b)
//
// Left alone: rng, custom-calls, asynchronous work, what has effects, tokens or buffers, or calls
// what has (passes/effects.h); constants whose value is elided; what names control predecessors, in
// the place of the second.
//
// Two equal collectives give the same only where each member of a group runs both, one after the
// other, and meets nobody else between them. So they are one only in the entry computation and in
// what is called from there unconditionally, where all devices come by; where nothing that is run
// under a condition or in a loop has their channel; and where no other program can wait for them.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "ir/hash.h"
#include "ir/rewriter.h"
#include "ir/semantics/elementwise.h"
#include "ir/text/printer.h"
#include "passes/effects.h"
#include "passes/fused.h"
#include "passes/pass.h"
#include "passes/report.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "cse";

void append_number(std::string& key, uint64_t number) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  key.append(bytes, sizeof(bytes));
}
void append_text(std::string& key, std::string_view text) {
  append_number(key, text.size());
  key += text;
}

// What decides whether two instructions are the same.
class Keys {
 public:
  explicit Keys(const Module& module) {
    for (const Computation* computation : module.computations()) {
      if (computation != module.entry()) add(*computation);
    }
  }

  // The key of an instruction whose operands are those of `operand(i)`.
  template <class Operand>
  std::string key(const Instruction& instruction, const Operand& operand) const {
    std::string key;
    append_number(key, static_cast<uint64_t>(instruction.opcode()));
    append_number(key, reinterpret_cast<uintptr_t>(instruction.shape()));
    std::vector<uint64_t> operands;
    for (size_t i = 0; i < instruction.operand_count(); ++i) operands.push_back(operand(i));
    if (is_commutative(instruction.opcode()) && instruction.shape()->is_array() &&
        !is_complex(instruction.shape()->element_type())) {
      std::ranges::sort(operands);
    }
    append_number(key, operands.size());
    for (uint64_t one : operands) append_number(key, one);
    std::vector<const Attribute*> attributes;
    for (const Attribute& attribute : instruction.attributes()) attributes.push_back(&attribute);
    std::ranges::sort(attributes, {}, [](const Attribute* one) { return one->id; });
    for (const Attribute* attribute : attributes) append_attribute(key, *attribute);
    if (instruction.opcode() == Opcode::kCompare) {
      append_number(key, static_cast<uint64_t>(instruction.comparison_type()));
    }
    return key;
  }

 private:
  void append_attribute(std::string& key, const Attribute& attribute) const {
    switch (attribute.id) {
      case AttributeId::metadata:
      case AttributeId::origin:
      case AttributeId::statistics:
      case AttributeId::control_predecessors:
      case AttributeId::comparison_type:
        return;
      default:
        break;
    }
    append_number(key, static_cast<uint64_t>(attribute.id));
    // Of a channel it only matters that there is one: groups are read by that.
    if (attribute.id == AttributeId::channel_id) return;
    switch (info(attribute.id).kind) {
      case AttributeKind::kComputation:
        append_number(key, class_of_[attribute_value<Computation*>(attribute)->number()]);
        return;
      case AttributeKind::kComputations:
        for (const Computation* one : attribute_value<std::span<Computation* const>>(attribute)) {
          append_number(key, class_of_[one->number()]);
        }
        return;
      case AttributeKind::kLiteral:
        append_literal(key, *attribute_value<const Literal*>(attribute));
        return;
      default:
        append_text(key, print_text(attribute));
    }
  }

  static void append_literal(std::string& key, const Literal& literal) {
    if (!literal.shape->is_array() || !literal.is_known()) {
      append_number(key, reinterpret_cast<uintptr_t>(&literal));
      return;
    }
    append_number(key, static_cast<uint64_t>(literal.form));
    append_text(key, {reinterpret_cast<const char*>(literal.bytes.data()), literal.bytes.size()});
  }

  // Computations that differ in names alone are of one class.
  void add(const Computation& computation) {
    std::string whole;
    append_text(whole, computation.execution_thread());
    append_number(whole, computation.root()->number());
    for (const Instruction* instruction : computation.instructions()) {
      append_text(whole,
                  key(*instruction, [&](size_t i) { return instruction->operand(i)->number(); }));
      for (const Instruction* one : instruction->get(attr::control_predecessors)) {
        append_number(whole, one->number());
      }
      if (auto channel = instruction->find(attr::channel_id)) {
        append_number(whole, static_cast<uint64_t>(*channel));
      }
    }
    class_of_.resize(std::max<size_t>(class_of_.size(), computation.number() + 1));
    class_of_[computation.number()] = classes_.emplace(whole, classes_.size()).first->second;
  }

  std::vector<uint64_t> class_of_;  // by computation
  std::unordered_map<std::string, uint64_t, TextHash> classes_;
};

class Run {
 public:
  Run(Module& module, PassContext& context)
      : module_(module),
        context_(context),
        is_partitioned_(context.num_partitions(module) > 1),
        effects_(module, is_partitioned_),
        keys_(module) {
    for (const Computation* computation : module.computations()) {
      if (effects_.runs_together(*computation)) continue;
      for (const Instruction* instruction : computation->instructions()) {
        if (auto channel = instruction->find(attr::channel_id)) apart_.insert(*channel);
      }
    }
  }

  void run() {
    for (Computation* computation : module_.computations()) merge_in(computation);
    finish_bodies(module_);
    if (context_.log) context_.log(fmt::format("cse: instructions merged: {}", merged_));
  }

 private:
  void merge_in(Computation* computation) {
    // What calls it takes it for the very work that it starts.
    if (effects_.is_asynchronous(*computation)) return;
    Rewriter rewriter(computation);
    std::unordered_map<std::string, Instruction*, TextHash> first;
    std::vector<Instruction*> by(computation->size());  // null: itself
    while (Instruction* at = rewriter.next()) {
      const bool is_collective = info(at->opcode()).family == Family::kCollective;
      if (!is_collective && (!effects_.is_pure(*at) || is_elided(*at))) continue;
      std::string key = keys_.key(*at, [&](size_t i) -> uint64_t {
        const Instruction* operand = at->operand(i);
        const Instruction* now = by[operand->number()];
        return (now ? now : operand)->number();
      });
      auto [found, is_new] = first.try_emplace(std::move(key), at);
      if (is_new) continue;
      if (is_collective) {
        std::string reason = obstacle(*at, *found->second);
        Reporter(context_, kName).report(*at, found->second->name(), reason);
        if (!reason.empty()) continue;
      }
      if (at->has(attr::control_predecessors)) continue;
      by[at->number()] = found->second;
      rewriter.replace(at, found->second);
      ++merged_;
    }
    rewriter.finish();
  }

  static bool is_elided(const Instruction& instruction) {
    const Literal* literal = instruction.get(attr::literal_value);
    return literal && !literal->is_known();
  }

  // Why two equal collectives are not one.
  std::string obstacle(const Instruction& one, const Instruction& other) const {
    if (has_own_effect(one, is_partitioned_) || has_own_effect(other, is_partitioned_)) {
      return "another program may wait for it";
    }
    if (one.has(attr::control_predecessors)) return "it waits for others";
    if (!effects_.runs_together(*one.parent())) {
      return "not all devices need come by, so it may meet another collective";
    }
    for (const Instruction* each : {&one, &other}) {
      auto channel = each->find(attr::channel_id);
      if (channel && apart_.contains(*channel)) {
        return fmt::format("channel {} is used under a condition or in a loop, too", *channel);
      }
    }
    return "";
  }

  Module& module_;
  PassContext& context_;
  bool is_partitioned_;
  Effects effects_;
  Keys keys_;
  std::set<int64_t> apart_;  // channels of what not all devices run together
  int64_t merged_ = 0;
};

class Cse : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    Run(module, context).run();
    return {};
  }
};

}  // namespace

const PassInfo kCse = {
    .name = kName,
    .summary = "compute once what is computed twice",
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> { return std::make_unique<Cse>(); },
};

}  // namespace minihlo

// The walker: runs a computation on many devices at once, whatever values are.
//
// A strand is a set of devices that stand at the same instruction; a run starts as one strand with
// all of them. An instruction's value is a vector over the strand's devices, which the domain
// represents and computes (buffers in the simulator, terms in the prover, sizes, tags). The walker
// owns what is the same in all domains: frames, calls, tuples, loops, branches, and who meets whom
// at a collective.
//
//   conditional, loop   a test that differs between devices splits the strand; the parts are joined
//                       again behind it
//   collective          a plain function of the vector where its groups lie inside the strand; else
//                       the strand parks until the others arrive
//   nothing can move    a deadlock, reported with all that wait
//
// There is no clock and no thread here: the same run gives the same result every time.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tl/expected.hpp>

#include "ir/module.h"
#include "ir/semantics/collective_forms.h"
#include "sim/plan.h"
#include "sim/stop.h"
#include "sim/walk.h"

namespace minihlo {

/// A device vector of an array (or token), or a tuple of values.
template <class Array>
struct Value {
  Array array{};
  std::shared_ptr<std::vector<Value>> elements;  // of tuples

  bool is_tuple() const { return elements != nullptr; }
};

template <class Array>
Value<Array> tuple_value(std::vector<Value<Array>> elements) {
  return {Array{}, std::make_shared<std::vector<Value<Array>>>(std::move(elements))};
}

/// The leaves of a value, in order.
template <class Array>
void append_leaves(const Value<Array>& value, std::vector<Array>& leaves) {
  if (!value.is_tuple()) {
    leaves.push_back(value.array);
    return;
  }
  for (const Value<Array>& element : *value.elements) append_leaves(element, leaves);
}

/// The value of `shape` whose leaves are those from *next on, which is moved behind them.
template <class Array>
Value<Array> value_from_leaves(const Shape* shape, Array*& next) {
  if (!shape->is_tuple()) return {std::move(*next++), nullptr};
  std::vector<Value<Array>> elements;
  elements.reserve(shape->elements().size());
  for (const Shape* element : shape->elements()) {
    elements.push_back(value_from_leaves<Array>(element, next));
  }
  return tuple_value(std::move(elements));
}

/// A value of `shape` that has none: contexts of asynchronous work, which nobody looks into.
template <class Array>
Value<Array> unset_value(const Shape* shape) {
  if (!shape->is_tuple()) return {};
  std::vector<Value<Array>> elements;
  for (const Shape* element : shape->elements()) elements.push_back(unset_value<Array>(element));
  return tuple_value(std::move(elements));
}

/// `function` of every leaf, in the same tuples.
template <class Array, class Function>
Value<Array> map_leaves(const Value<Array>& value, const Function& function) {
  if (!value.is_tuple()) return {function(value.array), nullptr};
  std::vector<Value<Array>> elements;
  elements.reserve(value.elements->size());
  for (const Value<Array>& element : *value.elements) {
    elements.push_back(map_leaves(element, function));
  }
  return tuple_value(std::move(elements));
}

/// An operand of an instruction. Where `last` is set nobody reads it afterwards: its memory may be
/// taken over.
template <class Array>
struct Operand {
  Array* array;
  bool last;
};

/// Devices that run a collective together. Operand vectors are over `devices`, in that order.
struct Gathering {
  std::span<const int> devices;
  const CollectiveGroups& groups;
  std::vector<int> position_of;  // by device; -1: not here (its group isn't either)
};

// What a domain offers:
//
//   using Array = ...;                          a device vector; default-constructed: a token's
//   bool is_set(const Array&)                   whether it is a vector, not a token or moved out
//   Array select(const Array&, std::span<const int> positions)
//   Array join(std::span<const Array* const> parts, std::span<const std::vector<int>> positions,
//              int count)                       part i gives the elements at positions[i]
//   expected<std::vector<Array>, Stop> apply(const Instruction&, std::span<Operand<Array>>,
//                                            std::span<const int> devices)
//       the leaves of the result; operands are the leaves of the instruction's operands
//   expected<std::vector<Array>, Stop> collective(const Instruction&, std::span<const Array>,
//                                                 const Gathering&)
//   std::optional<std::vector<int64_t>> known(const Array&)
//       the integer or truth value on each device, or one for all; nothing: not known
//   std::optional<expected<Value<Array>, Stop>> loop(Walker&, const Instruction& loop,
//                                                    Value<Array>& state, std::span<const int>)
//       the result of a loop that the domain deals with itself; nothing: the walker walks it
//   expected<Value<Array>, Stop> conditional(Walker&, const Instruction&, const Array& test,
//                                            std::vector<Value<Array>> arguments,
//                                            std::span<const int>)
//       the result of a conditional whose test is not known

template <class Domain>
class Walker {
 public:
  using Array = typename Domain::Array;
  using Val = Value<Array>;
  template <class T>
  using Expected = tl::expected<T, Stop>;

  Walker(const Mesh& mesh, Domain& domain, const WalkLimits& limits = {})
      : mesh_(mesh), domain_(domain), counter_(limits), meetings_(mesh_) {}

  /// Runs a computation on `devices` (sorted), with one argument a parameter. May be called from
  /// within the domain's own hooks; collectives then only meet devices of this run.
  Expected<Val> run(const Computation& computation, std::vector<Val> arguments,
                    std::span<const int> devices) {
    if (depth_ >= kMaxDepth) {
      return tl::unexpected(Stop::unsupported(
          "deep nesting", fmt::format("loops and conditionals are nested {} deep", kMaxDepth)));
    }
    ++depth_;
    Run run(*this, {devices.begin(), devices.end()});
    Expected<Val> result = run.execute(computation, std::move(arguments));
    --depth_;
    return result;
  }

  const Mesh& mesh() const { return mesh_; }
  Domain& domain() { return domain_; }
  int64_t steps() const { return counter_.steps(); }

 private:
  static constexpr int kMaxDepth = 100;
  static constexpr size_t kMaxFrames = 10000;

  // A computation at work, or a loop around it.
  struct Frame {
    // A computation.
    const Plan* plan = nullptr;
    const Computation* computation = nullptr;
    size_t next = 0;  // step
    std::vector<Val> values;
    std::vector<Val> arguments;
    // A loop; `plan` is null.
    const Instruction* loop = nullptr;
    Val state;
    bool testing = false;
    int64_t trips = 0;
    // For reports: the conditional's branch that this is.
    const Instruction* caller = nullptr;
    int branch = -1;
  };

  struct Strand {
    enum class Status { kRunning, kParked, kWaiting, kEnded };
    std::vector<int> devices;
    std::vector<Frame> frames;
    size_t join = 0;
    Status status = Status::kRunning;
  };

  // Where the parts of a split strand come together again.
  struct Join {
    static constexpr size_t kRoot = SIZE_MAX;
    size_t parent = kRoot;  // the strand that goes on
    std::vector<int> devices;
    size_t arrived = 0;
    std::vector<std::pair<std::vector<int>, Val>> parts;
  };

  class Run {
   public:
    Run(Walker& walker, std::vector<int> devices) : walker_(walker), domain_(walker.domain_) {
      joins_.push_back({Join::kRoot, devices, 0, {}});
      strands_.push_back(std::make_unique<Strand>());
      strands_.back()->devices = std::move(devices);
    }

    Expected<Val> execute(const Computation& computation, std::vector<Val> arguments) {
      push(*strands_[0], computation, std::move(arguments));
      for (;;) {
        if (std::optional<Stop> stop = run_all()) return tl::unexpected(*std::move(stop));
        if (joins_[0].arrived == joins_[0].devices.size()) return joined(joins_[0]);
        Expected<bool> moved = meet();
        if (!moved) return tl::unexpected(std::move(moved.error()));
        if (!*moved && walker_.depth_ > 1) {
          // Those that are missing may stand outside of this run.
          return tl::unexpected(Stop::unsupported(
              "collective",
              "a collective under a test that is not known waits for devices that "
              "are not under the same test"));
        }
        if (!*moved) return tl::unexpected(deadlock());
      }
    }

   private:
    // Runs every strand until it parks, waits or ends. Strands that a split makes come last.
    std::optional<Stop> run_all() {
      for (size_t i = 0; i < strands_.size(); ++i) {
        while (strands_[i]->status == Strand::Status::kRunning) {
          if (std::optional<Stop> stop = step(i)) return stop;
        }
      }
      for (const auto& strand : strands_) {
        if (strand->status == Strand::Status::kRunning) return run_all();
      }
      return std::nullopt;
    }

    void push(Strand& strand, const Computation& computation, std::vector<Val> arguments,
              const Instruction* caller = nullptr, int branch = -1) {
      Frame frame;
      frame.plan = &walker_.plans_.of(computation);
      frame.computation = &computation;
      frame.values.resize(computation.size());
      frame.arguments = std::move(arguments);
      frame.caller = caller;
      frame.branch = branch;
      strand.frames.push_back(std::move(frame));
    }

    std::optional<Stop> step(size_t index) {
      Strand& strand = *strands_[index];
      Frame& frame = strand.frames.back();
      if (frame.next == frame.plan->steps.size()) {
        Val result = std::move(frame.values[frame.computation->root()->number()]);
        return finish_frame(index, std::move(result));
      }
      if (std::optional<Stop> stop = walker_.counter_.step()) return stop;
      if (strand.frames.size() > kMaxFrames) {
        return Stop::unsupported("deep nesting", "computations call one another too deeply");
      }
      const Plan::Step& at = frame.plan->steps[frame.next];
      const Instruction& instruction = *at.instruction;
      switch (instruction.opcode()) {
        case Opcode::kParameter: {
          auto number = static_cast<size_t>(instruction.get(attr::parameter_number));
          if (number >= frame.arguments.size()) {
            return Stop::invalid(fmt::format("%{} has no argument", instruction.name()));
          }
          return store(frame, std::move(frame.arguments[number]));
        }
        case Opcode::kTuple: {
          std::vector<Val> elements;
          for (size_t i = 0; i < instruction.operand_count(); ++i) {
            elements.push_back(take(frame, at, i));
          }
          return store(frame, tuple_value(std::move(elements)));
        }
        case Opcode::kGetTupleElement:
          return store(frame,
                       take_element(frame, at, static_cast<size_t>(instruction.get(attr::index))));
        case Opcode::kAllGatherDone:
        case Opcode::kAsyncDone:
        case Opcode::kCollectivePermuteDone:
          return store(frame, take_element(frame, at, 1));
        case Opcode::kCopyDone:
          return store(frame, take_element(frame, at, 0));
        case Opcode::kAllReduceDone:
        case Opcode::kOptimizationBarrier:
        case Opcode::kDomain:
        case Opcode::kAddDependency:
          return store(frame, take(frame, at, 0));
        case Opcode::kAfterAll:
          return store(frame, Val{});
        case Opcode::kCopy:
          if (instruction.shape()->is_array()) break;
          return store(frame, take(frame, at, 0));
        case Opcode::kCopyStart: {
          Val source = take(frame, at, 0);
          return store(frame, started(instruction, source, source));
        }
        case Opcode::kAsyncStart: {
          const Computation& called = *instruction.called_computations()[0];
          if (instruction.operand_count() != called.parameters().size()) {
            return Stop::unsupported(
                "async-start", fmt::format("%{} leaves parameters of %{} to be bound by updates",
                                           instruction.name(), called.name()));
          }
          push(strand, called, operand_values(frame, instruction));
          return std::nullopt;
        }
        case Opcode::kSend: {
          if (instruction.get(attr::is_host_transfer)) break;
          std::vector<Val> elements(3);
          elements[0] = take(frame, at, 0);
          return store(frame, tuple_value(std::move(elements)));
        }
        case Opcode::kRecv:
          if (instruction.get(attr::is_host_transfer)) break;
          return store(frame, unset_value<Array>(instruction.shape()));
        case Opcode::kSendDone:
          if (instruction.get(attr::is_host_transfer)) break;
          return store(frame, Val{});
        case Opcode::kRecvDone:
          if (!at.send || at.send->number() >= frame.values.size() ||
              !frame.values[at.send->number()].is_tuple()) {
            return Stop::unsupported(
                "recv-done", fmt::format("no send of the same channel comes before %{} in its "
                                         "computation",
                                         instruction.name()));
          }
          return reach_collective(index);
        case Opcode::kAsyncUpdate:
          if (instruction.operand_count() == 1) return store(frame, take(frame, at, 0));
          break;
        case Opcode::kCall:
        case Opcode::kFusion: {
          std::vector<Val> arguments;
          for (size_t i = 0; i < instruction.operand_count(); ++i) {
            arguments.push_back(take(frame, at, i));
          }
          push(strand, *instruction.called_computations()[0], std::move(arguments));
          return std::nullopt;
        }
        case Opcode::kWhile:
          return start_loop(index, take(frame, at, 0));
        case Opcode::kConditional:
          return start_conditional(index);
        default:
          break;
      }
      if (is_collective(instruction.opcode())) return reach_collective(index);
      std::vector<Array> flattened;
      std::vector<Operand<Array>> operands = operands_of(frame, at, flattened);
      Expected<std::vector<Array>> leaves = domain_.apply(instruction, operands, strand.devices);
      if (!leaves) return std::move(leaves.error());
      return store_leaves(frame, *leaves);
    }

    // The operand's value, moved out where nobody needs it any more.
    Val take(Frame& frame, const Plan::Step& at, size_t i) {
      Val& value = frame.values[at.instruction->operand(i)->number()];
      return at.last_use[i] ? std::move(value) : value;
    }

    // An element of the operand, a tuple, likewise.
    Val take_element(Frame& frame, const Plan::Step& at, size_t index) {
      Val& tuple = frame.values[at.instruction->operand(0)->number()];
      Val& element = (*tuple.elements)[index];
      bool owned = at.last_use[0] && tuple.elements.use_count() == 1;
      return owned ? std::move(element) : element;
    }

    static std::vector<Val> operand_values(const Frame& frame, const Instruction& instruction) {
      std::vector<Val> values;
      for (const Instruction* operand : instruction.operands()) {
        values.push_back(frame.values[operand->number()]);
      }
      return values;
    }

    // The value of an instruction that starts work on `operands` whose result is known at once:
    // (operands, result, contexts...).
    static Val started(const Instruction& instruction, Val operands, Val result) {
      std::span<const Shape* const> shapes = instruction.shape()->elements();
      std::vector<Val> elements;
      elements.push_back(std::move(operands));
      elements.push_back(std::move(result));
      for (size_t i = 2; i < shapes.size(); ++i) {
        elements.push_back(unset_value<Array>(shapes[i]));
      }
      return tuple_value(std::move(elements));
    }

    // The value of a collective, or of its start form, whose result is `result`.
    static Val collective_value(const Frame& frame, const Instruction& instruction, Val result) {
      if (instruction.opcode() == Opcode::kRecv) {
        // Seen at the recv-done: (data, token).
        std::vector<Val> elements(2);
        elements[0] = std::move(result);
        return tuple_value(std::move(elements));
      }
      if (collective_result_shape(instruction) == instruction.shape()) return result;
      std::vector<Val> operands = operand_values(frame, instruction);
      bool single = operands.size() == 1 && !instruction.shape()->element(0)->is_tuple();
      return started(instruction, single ? operands[0] : tuple_value(std::move(operands)),
                     std::move(result));
    }

    // The leaves of all operands. `flattened` holds those that come out of tuples.
    std::vector<Operand<Array>> operands_of(Frame& frame, const Plan::Step& at,
                                            std::vector<Array>& flattened) {
      std::span<Instruction* const> from = at.instruction->operands();
      for (const Instruction* operand : from) {
        if (operand->shape()->is_tuple()) append_leaves(frame.values[operand->number()], flattened);
      }
      std::vector<Operand<Array>> operands;
      Array* leaf = flattened.data();
      for (size_t i = 0; i < from.size(); ++i) {
        if (!from[i]->shape()->is_tuple()) {
          operands.push_back({&frame.values[from[i]->number()].array, at.last_use[i]});
          continue;
        }
        for (int64_t n = from[i]->shape()->leaf_count(); n > 0; --n) {
          operands.push_back({leaf++, false});
        }
      }
      return operands;
    }

    // Keeps the value of the step at hand and goes on to the next.
    std::optional<Stop> store(Frame& frame, Val value) {
      const Plan::Step& at = frame.plan->steps[frame.next++];
      frame.values[at.instruction->number()] = std::move(value);
      for (uint32_t number : at.released) frame.values[number] = Val{};
      return std::nullopt;
    }

    std::optional<Stop> store_leaves(Frame& frame, std::vector<Array>& leaves) {
      Array* next = leaves.data();
      const Shape* shape = frame.plan->steps[frame.next].instruction->shape();
      return store(frame, value_from_leaves<Array>(shape, next));
    }

    // The top frame is done: hands its result to the frame below, or to whoever joins.
    std::optional<Stop> finish_frame(size_t index, Val result) {
      Strand& strand = *strands_[index];
      strand.frames.pop_back();
      if (strand.frames.empty()) {
        strand.status = Strand::Status::kEnded;
        deliver(strand.join, std::move(strand.devices), std::move(result));
        return std::nullopt;
      }
      Frame& below = strand.frames.back();
      if (!below.plan) return advance_loop(index, std::move(result));
      const Instruction& caller = *below.plan->steps[below.next].instruction;
      if (caller.opcode() == Opcode::kAsyncStart) {
        result = started(caller, tuple_value(operand_values(below, caller)), std::move(result));
      }
      return store(below, std::move(result));
    }

    // Loops.

    std::optional<Stop> start_loop(size_t index, Val state) {
      Strand& strand = *strands_[index];
      Frame& frame = strand.frames.back();
      const Instruction& loop = *frame.plan->steps[frame.next].instruction;
      if (auto own = domain_.loop(walker_, loop, state, strand.devices)) {
        if (!*own) return std::move(own->error());
        return store(frame, std::move(**own));
      }
      Frame looping;
      looping.loop = &loop;
      looping.state = std::move(state);
      strand.frames.push_back(std::move(looping));
      test_loop(strand);
      return std::nullopt;
    }

    void test_loop(Strand& strand) {
      Frame& frame = strand.frames.back();
      frame.testing = true;
      push(strand, *frame.loop->get(attr::condition), {frame.state});
    }

    // `result` came back from the condition or the body.
    std::optional<Stop> advance_loop(size_t index, Val result) {
      Strand& strand = *strands_[index];
      Frame& frame = strand.frames.back();
      if (!frame.testing) {
        frame.state = std::move(result);
        ++frame.trips;
        test_loop(strand);
        return std::nullopt;
      }
      std::optional<std::vector<int64_t>> test = domain_.known(result.array);
      if (!test) {
        return Stop::unsupported("while", fmt::format("the test of %{} is not known after {} trips",
                                                      frame.loop->name(), frame.trips));
      }
      std::vector<int> go_on, leave;
      for (size_t i = 0; i < strand.devices.size(); ++i) {
        bool again = (*test)[test->size() == 1 ? 0 : i] != 0;
        (again ? go_on : leave).push_back(static_cast<int>(i));
      }
      if (!leave.empty() && go_on.empty()) {
        Val state = std::move(frame.state);
        return finish_frame(index, std::move(state));
      }
      if (!leave.empty()) {
        split_loop(index, go_on, leave);
        return std::nullopt;
      }
      frame.testing = false;
      std::vector<Val> arguments;
      arguments.push_back(std::move(frame.state));
      const Computation& body = *frame.loop->get(attr::body);
      push(strand, body, std::move(arguments));
      return std::nullopt;
    }

    // Some devices leave the loop. Those that go on become a strand of their own; this one waits,
    // unless it is such a strand already.
    void split_loop(size_t index, std::span<const int> go_on, std::span<const int> leave) {
      Strand* strand = strands_[index].get();
      Frame frame = std::move(strand->frames.back());
      strand->frames.pop_back();
      Val left = select(frame.state, leave);
      std::vector<int> left_devices = pick(strand->devices, leave);
      frame.state = select(frame.state, go_on);
      std::vector<int> staying = pick(strand->devices, go_on);
      size_t join = strand->join;
      if (!strand->frames.empty()) {
        join = new_join(index);
        Strand& child = new_strand(std::move(staying), join);
        strand = &child;
      } else {
        strand->devices = std::move(staying);
      }
      const Computation& body = *frame.loop->get(attr::body);
      frame.testing = false;
      std::vector<Val> arguments;
      arguments.push_back(std::move(frame.state));
      strand->frames.push_back(std::move(frame));
      push(*strand, body, std::move(arguments));
      deliver(join, std::move(left_devices), std::move(left));
    }

    // Conditionals.

    std::optional<Stop> start_conditional(size_t index) {
      Strand& strand = *strands_[index];
      Frame& frame = strand.frames.back();
      const Plan::Step& at = frame.plan->steps[frame.next];
      const Instruction& instruction = *at.instruction;
      std::vector<Computation*> branches = instruction.called_computations();
      const Array& test = frame.values[instruction.operand(0)->number()].array;
      std::optional<std::vector<int64_t>> known = domain_.known(test);
      if (!known) {
        std::vector<Val> arguments;
        for (size_t i = 1; i < instruction.operand_count(); ++i) {
          arguments.push_back(frame.values[instruction.operand(i)->number()]);
        }
        Expected<Val> result =
            domain_.conditional(walker_, instruction, test, std::move(arguments), strand.devices);
        if (!result) return std::move(result.error());
        return store(frame, *std::move(result));
      }
      bool is_pred = instruction.operand(0)->shape()->element_type() == ElementType::PRED;
      auto last = static_cast<int64_t>(branches.size()) - 1;
      std::vector<std::vector<int>> takers(branches.size());
      for (size_t i = 0; i < strand.devices.size(); ++i) {
        int64_t value = (*known)[known->size() == 1 ? 0 : i];
        int64_t branch = is_pred ? (value ? 0 : 1) : value < 0 || value > last ? last : value;
        takers[static_cast<size_t>(branch)].push_back(static_cast<int>(i));
      }
      for (size_t branch = 0; branch < branches.size(); ++branch) {
        if (takers[branch].size() != strand.devices.size()) continue;
        std::vector<Val> arguments;
        arguments.push_back(take(frame, at, branch + 1));
        push(strand, *branches[branch], std::move(arguments), &instruction,
             static_cast<int>(branch));
        return std::nullopt;
      }
      size_t join = new_join(index);
      for (size_t branch = 0; branch < branches.size(); ++branch) {
        if (takers[branch].empty()) continue;
        Val argument =
            select(frame.values[instruction.operand(branch + 1)->number()], takers[branch]);
        Strand& child = new_strand(pick(strand.devices, takers[branch]), join);
        std::vector<Val> arguments;
        arguments.push_back(std::move(argument));
        push(child, *branches[branch], std::move(arguments), &instruction,
             static_cast<int>(branch));
      }
      return std::nullopt;
    }

    // Splitting and joining.

    // Tokens, and values that were moved out or not made yet, are no vectors.
    Val select(const Val& value, std::span<const int> positions) {
      return map_leaves(value, [&](const Array& array) {
        return domain_.is_set(array) ? domain_.select(array, positions) : array;
      });
    }

    static std::vector<int> pick(const std::vector<int>& devices, std::span<const int> positions) {
      std::vector<int> result;
      for (int position : positions) result.push_back(devices[static_cast<size_t>(position)]);
      return result;
    }

    size_t new_join(size_t parent) {
      strands_[parent]->status = Strand::Status::kWaiting;
      joins_.push_back({parent, strands_[parent]->devices, 0, {}});
      return joins_.size() - 1;
    }

    Strand& new_strand(std::vector<int> devices, size_t join) {
      strands_.push_back(std::make_unique<Strand>());
      strands_.back()->devices = std::move(devices);
      strands_.back()->join = join;
      return *strands_.back();
    }

    void deliver(size_t index, std::vector<int> devices, Val value) {
      Join& join = joins_[index];
      join.arrived += devices.size();
      join.parts.emplace_back(std::move(devices), std::move(value));
      if (join.arrived < join.devices.size() || join.parent == Join::kRoot) return;
      Strand& parent = *strands_[join.parent];
      parent.status = Strand::Status::kRunning;
      store(parent.frames.back(), joined(join));
    }

    Val joined(Join& join) {
      if (join.parts.size() == 1) return std::move(join.parts[0].second);
      std::vector<std::vector<int>> positions;
      std::vector<const Val*> parts;
      for (const auto& [devices, value] : join.parts) {
        std::vector<int>& own = positions.emplace_back();
        for (int device : devices) {
          auto at = std::lower_bound(join.devices.begin(), join.devices.end(), device);
          own.push_back(static_cast<int>(at - join.devices.begin()));
        }
        parts.push_back(&value);
      }
      return join_values(parts, positions, static_cast<int>(join.devices.size()));
    }

    Val join_values(std::span<const Val* const> parts, std::span<const std::vector<int>> positions,
                    int count) {
      if (!parts[0]->is_tuple()) {
        std::vector<const Array*> arrays;
        for (const Val* part : parts) arrays.push_back(&part->array);
        if (!domain_.is_set(*arrays[0])) return Val{};
        return {domain_.join(arrays, positions, count), nullptr};
      }
      std::vector<Val> elements;
      for (size_t i = 0; i < parts[0]->elements->size(); ++i) {
        std::vector<const Val*> of_parts;
        for (const Val* part : parts) of_parts.push_back(&(*part->elements)[i]);
        elements.push_back(join_values(of_parts, positions, count));
      }
      return tuple_value(std::move(elements));
    }

    // Collectives.

    static const Instruction& current(const Strand& strand) {
      const Frame& frame = strand.frames.back();
      return *frame.plan->steps[frame.next].instruction;
    }

    // What says who exchanges what: of a recv-done that is the recv.
    static const Instruction& exchange(const Instruction& instruction) {
      return instruction.opcode() == Opcode::kRecvDone ? *recv_of(instruction) : instruction;
    }

    std::optional<Stop> reach_collective(size_t index) {
      Strand& strand = *strands_[index];
      const Instruction& instruction = current(strand);
      Expected<const CollectiveGroups*> groups = walker_.meetings_.of(instruction);
      if (!groups) return std::move(groups.error());
      bool inside = true;
      std::vector<int> position_of = positions(strand.devices);
      if (strand.devices.size() != static_cast<size_t>(walker_.mesh_.device_count())) {
        for (int device : strand.devices) {
          int64_t group = (*groups)->group_of[static_cast<size_t>(device)];
          if (group < 0) continue;
          for (int64_t member : (*groups)->group(group)) {
            inside = inside && position_of[static_cast<size_t>(member)] >= 0;
          }
        }
      }
      if (!inside) {
        strand.status = Strand::Status::kParked;
        return std::nullopt;
      }
      size_t strands[] = {index};
      return run_collective(strands, std::move(position_of), **groups);
    }

    std::vector<int> positions(std::span<const int> devices) const {
      std::vector<int> result(static_cast<size_t>(walker_.mesh_.device_count()), -1);
      for (size_t i = 0; i < devices.size(); ++i) {
        result[static_cast<size_t>(devices[i])] = static_cast<int>(i);
      }
      return result;
    }

    // All strands stand at collectives that are one; their devices are those of `position_of`.
    std::optional<Stop> run_collective(std::span<const size_t> strands,
                                       std::vector<int> position_of,
                                       const CollectiveGroups& groups) {
      const Instruction& instruction = exchange(current(*strands_[strands[0]]));
      std::vector<int> devices;
      std::vector<std::vector<int>> parts;
      std::vector<std::vector<Array>> operands;  // by strand
      for (size_t index : strands) {
        Strand& strand = *strands_[index];
        std::vector<int>& own = parts.emplace_back();
        for (int device : strand.devices) own.push_back(position_of[static_cast<size_t>(device)]);
        devices.insert(devices.end(), strand.devices.begin(), strand.devices.end());
        std::vector<Array>& leaves = operands.emplace_back();
        const Frame& frame = strand.frames.back();
        if (const Instruction* send = frame.plan->steps[frame.next].send) {
          append_leaves((*frame.values[send->number()].elements)[0], leaves);
          continue;
        }
        for (const Instruction* operand : current(strand).operands()) {
          append_leaves(frame.values[operand->number()], leaves);
        }
      }
      std::vector<Array> together;
      if (strands.size() == 1) {
        together = std::move(operands[0]);
      } else {
        for (size_t i = 0; i < operands[0].size(); ++i) {
          std::vector<const Array*> arrays;
          for (const std::vector<Array>& own : operands) arrays.push_back(&own[i]);
          together.push_back(domain_.join(arrays, parts, static_cast<int>(devices.size())));
        }
      }
      Gathering gathering{devices, groups, std::move(position_of)};
      Expected<std::vector<Array>> leaves = domain_.collective(instruction, together, gathering);
      if (!leaves) return std::move(leaves.error());
      for (size_t i = 0; i < strands.size(); ++i) {
        Strand& strand = *strands_[strands[i]];
        std::vector<Array> own;
        for (Array& leaf : *leaves) {
          own.push_back(strands.size() == 1 ? std::move(leaf) : domain_.select(leaf, parts[i]));
        }
        strand.status = Strand::Status::kRunning;
        Frame& frame = strand.frames.back();
        const Instruction& at = exchange(current(strand));
        Array* next = own.data();
        Val result = value_from_leaves<Array>(collective_result_shape(at), next);
        store(frame, collective_value(frame, at, std::move(result)));
      }
      return std::nullopt;
    }

    // Nothing runs: lets those go on whose groups are complete. False where none is.
    Expected<bool> meet() {
      std::vector<size_t> waiting(static_cast<size_t>(walker_.mesh_.device_count()), SIZE_MAX);
      for (size_t i = 0; i < strands_.size(); ++i) {
        if (strands_[i]->status != Strand::Status::kParked) continue;
        for (int device : strands_[i]->devices) waiting[static_cast<size_t>(device)] = i;
      }
      std::vector<bool> complete(waiting.size(), false);
      bool any = false;
      for (size_t device = 0; device < waiting.size(); ++device) {
        if (waiting[device] == SIZE_MAX) continue;
        Expected<bool> all_here = is_complete(static_cast<int>(device), waiting);
        if (!all_here) return tl::unexpected(std::move(all_here.error()));
        complete[device] = *all_here;
        any = any || *all_here;
      }
      if (!any) return false;
      // Of a strand only part of which can go on, that part becomes a strand of its own.
      size_t count = strands_.size();
      for (size_t i = 0; i < count; ++i) {
        if (strands_[i]->status == Strand::Status::kParked) split_parked(i, complete, waiting);
      }
      std::vector<bool> done(strands_.size(), false);
      for (size_t i = 0; i < strands_.size(); ++i) {
        Strand& strand = *strands_[i];
        if (done[i] || strand.status != Strand::Status::kParked) continue;
        if (!complete[static_cast<size_t>(strand.devices[0])]) continue;
        if (std::optional<Stop> stop = run_meeting(i, waiting, done)) {
          return tl::unexpected(*std::move(stop));
        }
      }
      return true;
    }

    // Whether all that `device` waits for stand at a collective where they meet it.
    Expected<bool> is_complete(int device, std::span<const size_t> waiting) {
      const Instruction& own = current(*strands_[waiting[static_cast<size_t>(device)]]);
      const CollectiveGroups& groups = **walker_.meetings_.of(own);
      int64_t group = groups.group_of[static_cast<size_t>(device)];
      if (group < 0) return true;
      for (int64_t member : groups.group(group)) {
        size_t other = waiting[static_cast<size_t>(member)];
        if (other == SIZE_MAX) return false;
        const Instruction& theirs = current(*strands_[other]);
        if (!may_meet(own, theirs)) return false;
        Expected<const CollectiveGroups*> their_groups = walker_.meetings_.of(theirs);
        if (!their_groups) return tl::unexpected(std::move(their_groups.error()));
        int64_t their_group = (*their_groups)->group_of[static_cast<size_t>(member)];
        std::string conflict = meeting_conflict(own, theirs);
        if (conflict.empty() &&
            (their_group < 0 ||
             !std::ranges::equal(groups.group(group), (*their_groups)->group(their_group)))) {
          conflict = "their groups differ";
        }
        if (!conflict.empty()) {
          return tl::unexpected(Stop{
              Stop::Kind::kMismatch,
              fmt::format("{} and {} meet at collectives that do not fit together: {}\n  {}\n  {}",
                          device_name(walker_.mesh_, device), device_name(walker_.mesh_, member),
                          conflict, instruction_place(own), instruction_place(theirs)),
              {}});
        }
      }
      return true;
    }

    void split_parked(size_t index, const std::vector<bool>& complete,
                      std::vector<size_t>& waiting) {
      Strand& strand = *strands_[index];
      std::vector<int> stay, go;
      for (size_t i = 0; i < strand.devices.size(); ++i) {
        bool ready = complete[static_cast<size_t>(strand.devices[i])];
        (ready ? go : stay).push_back(static_cast<int>(i));
      }
      if (stay.empty() || go.empty()) return;
      auto restricted = [&](std::span<const int> positions) {
        std::vector<Frame> frames;
        for (const Frame& frame : strand.frames) {
          Frame copy = frame;
          for (Val& value : copy.values) value = select(value, positions);
          for (Val& value : copy.arguments) value = select(value, positions);
          copy.state = select(copy.state, positions);
          frames.push_back(std::move(copy));
        }
        return frames;
      };
      std::vector<Frame> going = restricted(go);
      std::vector<Frame> staying = restricted(stay);
      Strand& child = new_strand(pick(strand.devices, go), strand.join);
      child.frames = std::move(going);
      child.status = Strand::Status::kParked;
      for (int device : child.devices) {
        waiting[static_cast<size_t>(device)] = strands_.size() - 1;
      }
      strand.frames = std::move(staying);
      strand.devices = pick(strand.devices, stay);
    }

    // Runs the collective at which strand `first` stands, with all that meet it there.
    std::optional<Stop> run_meeting(size_t first, std::span<const size_t> waiting,
                                    std::vector<bool>& done) {
      const CollectiveGroups& groups = **walker_.meetings_.of(current(*strands_[first]));
      std::vector<size_t> strands{first};
      done[first] = true;
      std::vector<int> devices;
      for (size_t i = 0; i < strands.size(); ++i) {
        for (int device : strands_[strands[i]]->devices) {
          devices.push_back(device);
          int64_t group = groups.group_of[static_cast<size_t>(device)];
          if (group < 0) continue;
          for (int64_t member : groups.group(group)) {
            size_t other = waiting[static_cast<size_t>(member)];
            if (!done[other]) strands.push_back(other);
            done[other] = true;
          }
        }
      }
      return run_collective(strands, positions(devices), groups);
    }

    Stop deadlock() {
      std::vector<StrandState> states;
      for (const auto& strand : strands_) {
        if (strand->status == Strand::Status::kWaiting) continue;
        if (strand->status == Strand::Status::kEnded) continue;
        states.push_back({strand->devices, &current(*strand), path(*strand)});
      }
      for (const auto& [devices, value] : joins_[0].parts) states.push_back({devices, nullptr, {}});
      for (size_t i = 1; i < joins_.size(); ++i) {
        const Join& join = joins_[i];
        if (join.arrived == join.devices.size()) continue;
        for (const auto& [devices, value] : join.parts) {
          const Strand& parent = *strands_[join.parent];
          StrandState state{devices, nullptr, path(parent)};
          state.path.push_back(fmt::format("done with %{}", current(parent).name()));
          states.push_back(std::move(state));
        }
      }
      return deadlock_report(walker_.mesh_, states, walker_.meetings_);
    }

    std::vector<std::string> path(const Strand& strand) const {
      std::vector<std::string> result;
      if (joins_[strand.join].parent != Join::kRoot) {
        result = path(*strands_[joins_[strand.join].parent]);
      }
      for (const Frame& frame : strand.frames) {
        if (frame.loop) {
          result.push_back(fmt::format("%{} after {} trips", frame.loop->name(), frame.trips));
        } else if (frame.caller) {
          result.push_back(fmt::format("branch {} (%{}) of %{}", frame.branch,
                                       frame.computation->name(), frame.caller->name()));
        }
      }
      return result;
    }

    Walker& walker_;
    Domain& domain_;
    std::vector<std::unique_ptr<Strand>> strands_;
    std::vector<Join> joins_;
  };

  const Mesh mesh_;
  Domain& domain_;
  StepCounter counter_;
  Plans plans_;
  Meetings meetings_;
  int depth_ = 0;
};

}  // namespace minihlo

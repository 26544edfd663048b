// One run of the walker: steps of strands, loops and conditionals.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tl/expected.hpp>

#include "ir/semantics/custom_calls.h"
#include "sim/rendezvous.h"
#include "sim/strands.h"

namespace minihlo {

template <class Domain>
class Walker;

template <class Domain>
class WalkRun {
 public:
  using Array = typename Domain::Array;
  using Val = Value<Array>;
  using Status = typename Strand<Array>::Status;
  template <class T>
  using Expected = tl::expected<T, Stop>;

  WalkRun(Walker<Domain>& walker, std::vector<int> devices)
      : walker_(walker),
        domain_(walker.domain_),
        strands_(domain_, std::move(devices)),
        mail_(walker.mesh_, domain_, walker.meetings_),
        rendezvous_(walker.mesh_, domain_, walker.meetings_, strands_, mail_) {}

  Expected<Val> execute(const Computation& computation, std::vector<Val> arguments) {
    push(strands_[0], computation, std::move(arguments));
    for (;;) {
      if (std::optional<Stop> stop = run_all()) return tl::unexpected(*std::move(stop));
      if (strands_.is_done()) {
        if (std::optional<Stop> stop = mail_.unclaimed()) return tl::unexpected(*std::move(stop));
        Val result = strands_.result();
        const Instruction& root = *computation.root();
        if (!lacks_values(root.shape(), result)) return result;
        return tl::unexpected(no_value(fmt::format("%{}, a result,", root.name())));
      }
      Expected<bool> moved = rendezvous_.meet();
      if (!moved) return tl::unexpected(std::move(moved.error()));
      if (!*moved) return tl::unexpected(rendezvous_.deadlock());
    }
  }

 private:
  static constexpr size_t kMaxFrames = 10000;

  // Runs every strand until it parks, waits or ends.
  std::optional<Stop> run_all() {
    for (bool any = true; any;) {
      any = false;
      for (size_t i = 0; i < strands_.size(); ++i) {
        while (strands_[i].status == Status::kRunning) {
          any = true;
          if (std::optional<Stop> stop = step(i)) return placed(*std::move(stop), strands_[i]);
        }
      }
    }
    return std::nullopt;
  }

  // Limits are not of one instruction, but where they end the run is what the user asks.
  Stop placed(Stop stop, const Strand<Array>& strand) const {
    const Frame<Array>* top = strand.frames.empty() ? nullptr : &strand.frames.back();
    // That of a loop is between two trips and has no plan.
    const bool stands = top && top->plan && !top->is_done();
    if (stop.is_limit() && stands && walker_.depth_ == 1) {
      stop.message += " at " + strands_.place(strand);
    }
    return stop;
  }

  void push(Strand<Array>& strand, const Computation& computation, std::vector<Val> arguments,
            const Instruction* caller = nullptr, int branch = -1) {
    Frame<Array> frame;
    frame.plan = &walker_.plans_.of(computation);
    frame.computation = &computation;
    frame.values.resize(computation.size());
    frame.arguments = std::move(arguments);
    frame.caller = caller;
    frame.branch = branch;
    frame.is_watched = domain_.is_watched();
    strand.frames.push_back(std::move(frame));
  }

  std::optional<Stop> step(size_t index) {
    Strand<Array>& strand = strands_[index];
    Frame<Array>& frame = strand.frames.back();
    if (frame.made) {
      const Instruction& last = *frame.plan->steps[frame.next - 1].instruction;
      if (std::optional<Stop> stop = domain_.observe(last, *frame.made, strand.devices)) {
        return stop;
      }
      frame.made.reset();
    }
    if (frame.is_done()) {
      return finish_frame(index, std::move(frame.value_of(*frame.computation->root())));
    }
    const Cluster* cluster = frame.at().cluster.get();
    const size_t members = cluster ? cluster->members.size() : 1;
    if (std::optional<Stop> stop = walker_.counter_.step(static_cast<int64_t>(members))) {
      return stop;
    }
    if (cluster) return run_cluster(strand, *cluster);
    if (strand.frames.size() > kMaxFrames) {
      return Stop::unsupported("deep nesting",
                               fmt::format("{}: calls are nested more than {} deep",
                                           instruction_place(frame.instruction()), kMaxFrames));
    }
    const Instruction& instruction = frame.instruction();
    if (std::optional<Val> value = structural_value(frame)) {
      frame.store(*std::move(value));
      return std::nullopt;
    }
    switch (instruction.opcode()) {
      case Opcode::kParameter:
        return Stop::invalid(fmt::format("%{} has no argument", instruction.name()));
      case Opcode::kAsyncStart:
      case Opcode::kAsyncUpdate:
        return bind_async(strand);
      case Opcode::kAsyncDone:
        return show_async(frame);
      case Opcode::kSend:
      case Opcode::kRecv:
      case Opcode::kRecvDone:
        if (!instruction.get(attr::is_host_transfer)) return exchange(index);
        break;
      case Opcode::kCall:
      case Opcode::kFusion: {
        std::vector<Val> arguments = frame.take_all();
        push(strand, *instruction.called_computations()[0], std::move(arguments));
        return std::nullopt;
      }
      case Opcode::kWhile:
        return start_loop(strand);
      case Opcode::kConditional:
        return start_conditional(index);
      default:
        break;
    }
    for (const Instruction* operand : instruction.operands()) {
      if (lacks_values(operand->shape(), frame.value_of(*operand))) {
        return no_value(
            fmt::format("%{}, an operand of %{},", operand->name(), instruction.name()));
      }
    }
    if (is_collective(instruction.opcode()) && instruction.opcode() != Opcode::kRecv) {
      return rendezvous_.reach(index);
    }
    std::vector<Array> flattened;
    std::vector<Operand<Array>> operands = frame.operand_leaves(flattened);
    Expected<std::vector<Array>> leaves = domain_.apply(instruction, operands, strand.devices);
    if (!leaves) return std::move(leaves.error());
    frame.store_leaves(*leaves);
    return std::nullopt;
  }

  std::optional<Stop> run_cluster(Strand<Array>& strand, const Cluster& cluster) {
    Frame<Array>& frame = strand.frames.back();
    std::vector<Operand<Array>> inputs;
    for (size_t i = 0; i < cluster.inputs.size(); ++i) {
      Val& value = frame.value_of(*cluster.inputs[i]);
      if (lacks_values(cluster.inputs[i]->shape(), value)) {
        return no_value(fmt::format("%{}, an operand,", cluster.inputs[i]->name()));
      }
      inputs.push_back({&value.array, cluster.last_use[i]});
    }
    if constexpr (requires { &Domain::apply_cluster; }) {
      Expected<std::vector<Array>> outputs = domain_.apply_cluster(cluster, inputs, strand.devices);
      if (!outputs) return std::move(outputs.error());
      frame.store_outputs(cluster, *outputs);
    }
    return std::nullopt;
  }

  // Whether there is an array in it that is no vector: the context of asynchronous work, or what a
  // recv will have brought when it is done.
  bool lacks_values(const Shape* shape, const Val& value) const {
    if (shape->is_array()) return !domain_.is_set(value.array);
    if (!value.is_tuple()) return false;
    for (size_t i = 0; i < value.elements->size(); ++i) {
      if (lacks_values(shape->elements()[i], (*value.elements)[i])) return true;
    }
    return false;
  }

  static Stop no_value(const std::string& where) {
    return Stop::unsupported("asynchronous context",
                             fmt::format("{} has no value: it is what asynchronous work keeps for "
                                         "itself",
                                         where));
  }

  // The value of what only names, groups or hands on values; nothing for other instructions.
  static std::optional<Val> structural_value(Frame<Array>& frame) {
    const Instruction& instruction = frame.instruction();
    switch (instruction.opcode()) {
      case Opcode::kParameter: {
        auto number = static_cast<size_t>(instruction.get(attr::parameter_number));
        if (number >= frame.arguments.size()) return std::nullopt;
        return std::move(frame.arguments[number]);
      }
      case Opcode::kTuple:
        return tuple_value(frame.take_all());
      case Opcode::kGetTupleElement:
        return frame.take_element(static_cast<size_t>(instruction.get(attr::index)));
      case Opcode::kAllGatherDone:
      case Opcode::kCollectivePermuteDone:
        return frame.take_element(1);
      case Opcode::kCopyDone:
        return frame.take_element(0);
      case Opcode::kAllReduceDone:
      case Opcode::kOptimizationBarrier:
      case Opcode::kDomain:
      case Opcode::kAddDependency:
        return frame.take(0);
      case Opcode::kAfterAll:
        return Val{};
      case Opcode::kCopy:
        if (instruction.shape()->is_array()) return std::nullopt;
        return frame.take(0);
      case Opcode::kCustomCall: {
        if (!is_identity_call(instruction)) return std::nullopt;
        const Shape* shape = instruction.shape();
        if (instruction.operand_count() == 1 &&
            compatible(shape, instruction.operand(0)->shape())) {
          return frame.take(0);
        }
        std::vector<Val> elements = frame.take_all();
        elements.resize(shape->elements().size());
        return tuple_value(std::move(elements));
      }
      case Opcode::kCopyStart: {
        Val source = frame.take(0);
        return Frame<Array>::started(instruction, source, source);
      }
      case Opcode::kSendDone:
        if (instruction.get(attr::is_host_transfer)) return std::nullopt;
        return Val{};
      default:
        return std::nullopt;
    }
  }

  // The top frame is done: hands its result to the frame below, or to whoever joins.
  std::optional<Stop> finish_frame(size_t index, Val result) {
    Strand<Array>& strand = strands_[index];
    strand.frames.pop_back();
    if (strand.frames.empty()) {
      strands_.end(index, std::move(result));
      return std::nullopt;
    }
    Frame<Array>& below = strand.frames.back();
    if (!below.plan) return advance_loop(index, std::move(result));
    if (below.instruction().opcode() == Opcode::kAsyncStart ||
        below.instruction().opcode() == Opcode::kAsyncUpdate) {
      result = async_state(below, bound_operands(below), std::move(result));
    }
    below.store(std::move(result));
    return std::nullopt;
  }

  // Data between devices: goes off at the send, is there at the recv-done.
  std::optional<Stop> exchange(size_t index) {
    Strand<Array>& strand = strands_[index];
    Frame<Array>& frame = strand.frames.back();
    const Instruction& instruction = frame.instruction();
    if (instruction.opcode() == Opcode::kRecvDone) {
      const Instruction* recv = frame.value_of(*instruction.operand(0)).begun_by();
      if (!recv || recv->opcode() != Opcode::kRecv) {
        return Stop::unsupported(
            "recv-done", fmt::format("which recv %{} ends is not known", instruction.name()));
      }
      return rendezvous_.reach(index);
    }
    Val state = unset_value<Array>(instruction.shape(), &instruction);
    if (instruction.opcode() == Opcode::kRecv) {
      if (std::optional<Stop> stop = mail_.expect(instruction, strand.devices)) return stop;
    } else {
      Val data = frame.take(0);
      if (lacks_values(instruction.operand(0)->shape(), data)) {
        return no_value(fmt::format("what %{} sends", instruction.name()));
      }
      std::vector<Array> leaves;
      append_leaves(data, leaves);
      std::optional<Stop> stop = mail_.send(instruction, strand.devices, std::move(leaves));
      if (stop) return stop;
      (*state.elements)[0] = std::move(data);
    }
    frame.store(std::move(state));
    return std::nullopt;
  }

  // Asynchronous calls. Work is done as soon as all operands are known: those of the start, and
  // those that updates add.

  static std::vector<Val> bound_operands(Frame<Array>& frame) {
    std::vector<Val> operands = frame.operand_values();
    if (frame.instruction().opcode() == Opcode::kAsyncStart) return operands;
    std::vector<Val> bound = *(*operands[0].elements)[0].elements;
    bound.insert(bound.end(), operands.begin() + 1, operands.end());
    return bound;
  }

  static Val async_state(Frame<Array>& frame, std::vector<Val> operands, Val result) {
    const Instruction& instruction = frame.instruction();
    Val state =
        Frame<Array>::started(instruction, tuple_value(std::move(operands)), std::move(result));
    if (instruction.opcode() == Opcode::kAsyncUpdate) {
      state.begun = frame.value_of(*instruction.operand(0)).begun_by();
    }
    return state;
  }

  std::optional<Stop> bind_async(Strand<Array>& strand) {
    Frame<Array>& frame = strand.frames.back();
    const Instruction& instruction = frame.instruction();
    const bool starts = instruction.opcode() == Opcode::kAsyncStart;
    const Val* before = starts ? nullptr : &frame.value_of(*instruction.operand(0));
    const Instruction* start = starts ? &instruction : before->begun_by();
    if (!start || start->opcode() != Opcode::kAsyncStart) return no_start(instruction);
    const Computation& called = *start->called_computations()[0];
    const size_t needed = called.parameters().size();
    if (before && (*before->elements)[0].elements->size() == needed) {
      frame.store(frame.take(0));  // the work is done
      return std::nullopt;
    }
    std::vector<Val> operands = bound_operands(frame);
    if (operands.size() < needed) {
      Val open = unset_value<Array>(called.root()->shape(), start);
      frame.store(async_state(frame, std::move(operands), std::move(open)));
      return std::nullopt;
    }
    push(strand, called, std::move(operands));
    return std::nullopt;
  }

  std::optional<Stop> show_async(Frame<Array>& frame) {
    const Instruction& instruction = frame.instruction();
    const Val& state = frame.value_of(*instruction.operand(0));
    const Instruction* start = state.begun_by();
    if (!start || start->opcode() != Opcode::kAsyncStart) return no_start(instruction);
    const Computation& called = *start->called_computations()[0];
    if ((*state.elements)[0].elements->size() != called.parameters().size()) {
      return Stop::invalid(
          fmt::format("%{} ends what %{} began, but not all parameters of %{} are "
                      "bound",
                      instruction.name(), start->name(), called.name()));
    }
    frame.store(frame.take_element(1));
    return std::nullopt;
  }

  static Stop no_start(const Instruction& instruction) {
    return Stop::unsupported(
        std::string(to_string(instruction.opcode())),
        fmt::format("which async-start %{} goes on with is not known", instruction.name()));
  }

  // Loops.

  std::optional<Stop> start_loop(Strand<Array>& strand) {
    Frame<Array>& frame = strand.frames.back();
    const Instruction& loop = frame.instruction();
    Val state = frame.take(0);
    if (!lacks_values(loop.shape(), state)) {
      if (auto own = domain_.loop(walker_, loop, state, strand.devices)) {
        if (!*own) return std::move(own->error());
        frame.store(std::move(**own));
        return std::nullopt;
      }
    }
    Frame<Array> looping;
    looping.loop = &loop;
    looping.state = std::move(state);
    strand.frames.push_back(std::move(looping));
    test_loop(strand);
    return std::nullopt;
  }

  void test_loop(Strand<Array>& strand) {
    Frame<Array>& frame = strand.frames.back();
    frame.testing = true;
    const Computation& condition = *frame.loop->get(attr::condition);
    push(strand, condition, {frame.state});
  }

  void run_body(Strand<Array>& strand) {
    Frame<Array>& frame = strand.frames.back();
    frame.testing = false;
    std::vector<Val> arguments;
    arguments.push_back(std::move(frame.state));
    const Computation& body = *frame.loop->get(attr::body);
    push(strand, body, std::move(arguments));
  }

  // `result` came back from the condition or the body.
  std::optional<Stop> advance_loop(size_t index, Val result) {
    Strand<Array>& strand = strands_[index];
    Frame<Array>& frame = strand.frames.back();
    if (!frame.testing) {
      frame.state = std::move(result);
      ++frame.trips;
      test_loop(strand);
      return std::nullopt;
    }
    if (!domain_.is_set(result.array)) {
      return no_value(fmt::format("the test of %{}", frame.loop->name()));
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
    if (go_on.empty()) {
      Val state = std::move(frame.state);
      return finish_frame(index, std::move(state));
    }
    if (leave.empty()) {
      run_body(strand);
    } else {
      split_loop(index, go_on, leave);
    }
    return std::nullopt;
  }

  // Some devices leave the loop. Those that go on become a strand of their own; this one waits,
  // unless it is such a strand already.
  void split_loop(size_t index, std::span<const int> go_on, std::span<const int> leave) {
    Frame<Array> frame = std::move(strands_[index].frames.back());
    strands_[index].frames.pop_back();
    Val left = strands_.select(frame.state, leave);
    std::vector<int> left_devices = strands_.pick(strands_[index].devices, leave);
    frame.state = strands_.select(frame.state, go_on);
    std::vector<int> staying = strands_.pick(strands_[index].devices, go_on);
    size_t looping = index;
    size_t join = strands_[index].join;
    if (strands_[index].frames.empty()) {
      strands_[index].devices = std::move(staying);
    } else {
      join = strands_.add_join(index);
      looping = strands_.add(std::move(staying), join);
    }
    strands_[looping].frames.push_back(std::move(frame));
    run_body(strands_[looping]);
    strands_.deliver(join, std::move(left_devices), std::move(left));
  }

  // Conditionals.

  std::optional<Stop> start_conditional(size_t index) {
    Strand<Array>& strand = strands_[index];
    Frame<Array>& frame = strand.frames.back();
    const Instruction& instruction = frame.instruction();
    std::vector<Computation*> branches = instruction.called_computations();
    const Array& test = frame.value_of(*instruction.operand(0)).array;
    if (!domain_.is_set(test)) {
      return no_value(fmt::format("the test of %{}", instruction.name()));
    }
    std::optional<std::vector<int64_t>> known = domain_.known(test);
    if (!known) {
      std::vector<Val> arguments = frame.operand_values();
      arguments.erase(arguments.begin());
      Expected<Val> result =
          domain_.conditional(walker_, instruction, test, std::move(arguments), strand.devices);
      if (!result) return std::move(result.error());
      frame.store(*std::move(result));
      return std::nullopt;
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
      arguments.push_back(frame.take(branch + 1));
      push(strand, *branches[branch], std::move(arguments), &instruction, static_cast<int>(branch));
      return std::nullopt;
    }
    size_t join = strands_.add_join(index);
    for (size_t branch = 0; branch < branches.size(); ++branch) {
      if (takers[branch].empty()) continue;
      std::vector<Val> arguments;
      arguments.push_back(
          strands_.select(frame.value_of(*instruction.operand(branch + 1)), takers[branch]));
      size_t child = strands_.add(strands_.pick(strand.devices, takers[branch]), join);
      push(strands_[child], *branches[branch], std::move(arguments), &instruction,
           static_cast<int>(branch));
    }
    return std::nullopt;
  }

  Walker<Domain>& walker_;
  Domain& domain_;
  Strands<Domain> strands_;
  Mail<Domain> mail_;
  Rendezvous<Domain> rendezvous_;
};

}  // namespace minihlo

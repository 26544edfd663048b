#include "sim/run/domain.h"

#include <cstring>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "ir/numbers.h"
#include "sim/run/distinct.h"
#include "sim/run/host_tensor.h"

namespace minihlo {

using Array = BufferDomain::Array;

namespace {

// Runs the work of calls together, and gives each leaf of the results to the devices it is for.
BufferDomain::Leaves run_calls(std::vector<KernelCall>& calls, std::span<const size_t> of_position,
                               Workers& workers) {
  size_t stages = 0;
  for (const KernelCall& call : calls) stages = std::max(stages, call.stages.size());
  for (size_t stage = 0; stage < stages; ++stage) {
    std::vector<Work> works;
    for (KernelCall& call : calls) {
      if (stage >= call.stages.size()) continue;
      for (Work& work : call.stages[stage]) works.push_back(std::move(work));
    }
    if (auto stop = workers.run(works)) return tl::unexpected(*std::move(stop));
  }
  std::vector<Array> leaves;
  for (size_t leaf = 0; leaf < calls[0].results.size(); ++leaf) {
    if (!calls[0].results[leaf].is_set()) {
      leaves.emplace_back();
      continue;
    }
    std::vector<Buffer> values;
    values.reserve(of_position.size());
    for (size_t number : of_position) values.push_back(calls[number].results[leaf]);
    leaves.emplace_back(std::move(values));
  }
  return leaves;
}

}  // namespace

BufferDomain::Leaves BufferDomain::apply(const Instruction& instruction,
                                         std::span<Operand<Array>> operands,
                                         std::span<const int> devices) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kReplicaId || opcode == Opcode::kPartitionId) {
    auto ids = device_ids(instruction, devices);
    if (!ids) return tl::unexpected(std::move(ids.error()));
    return std::vector<Array>{*std::move(ids)};
  }
  if (opcode == Opcode::kRngGetAndUpdateState) {
    auto states = next_random_states(instruction, devices);
    if (!states) return tl::unexpected(std::move(states.error()));
    return std::vector<Array>{*std::move(states)};
  }
  if (opcode == Opcode::kRng && !context_.pure) {
    auto numbers = random_numbers_.draw(instruction, context_, *operands[0].array,
                                        *operands[1].array, devices);
    if (!numbers) return tl::unexpected(std::move(numbers.error()));
    return std::vector<Array>{*std::move(numbers)};
  }
  if (opcode == Opcode::kInfeed && feeds_) return feeds_->take(instruction, context_, devices);
  if (opcode == Opcode::kOutfeed && feeds_) {
    std::vector<const Array*> leaves;
    for (const Operand<Array>& operand : operands) leaves.push_back(operand.array);
    auto done = feeds_->put(instruction, context_, leaves, devices);
    if (!done) return tl::unexpected(std::move(done.error()));
    return std::vector<Array>(1);
  }
  // The shape of a size that is a constant and the bound itself is static.
  if (instruction.has_dynamic_shape() || opcode == Opcode::kSetDimensionSize) {
    return apply_dynamic(instruction, operands, devices);
  }
  Kernel kernel = kernel_of(instruction);
  if (!kernel) {
    return tl::unexpected(Stop::unsupported(
        std::string(to_string(opcode)),
        fmt::format("{} is not supported in a run{}", instruction_place(instruction),
                    instruction.has(attr::is_host_transfer) ? ": it is a transfer to the host, "
                                                              "or from it"
                                                            : "")));
  }
  if (context_.has_dynamic) {
    std::vector<const Shape*> shapes;
    std::vector<const Array*> arrays;
    for (const Instruction* operand : instruction.operands()) {
      std::ranges::copy(leaf_shapes(operand->shape()), std::back_inserter(shapes));
    }
    for (const Operand<Array>& operand : operands) arrays.push_back(operand.array);
    if (auto stop = misfit(instruction, shapes, arrays)) return tl::unexpected(*std::move(stop));
  }

  DistinctCalls calls = distinct_calls(operands, devices.size());
  std::vector<KernelCall> runs;
  runs.reserve(calls.tuples.size());
  for (size_t i = 0; i < calls.tuples.size(); ++i) {
    if (i % 1024 == 1023 && context_.workers.is_late()) {
      return tl::unexpected(*context_.workers.run({}));
    }
    std::vector<bool> writable = writable_operands(operands, calls.tuples[i], calls.positions[i]);
    runs.push_back(
        {instruction, context_, std::move(calls.tuples[i]), std::move(writable), {}, {}});
    if (KernelResult done = kernel(runs.back()); !done) {
      return tl::unexpected(std::move(done.error()));
    }
  }
  return run_calls(runs, calls.of_position, context_.workers);
}

BufferDomain::Leaves BufferDomain::apply_dynamic(const Instruction& instruction,
                                                 std::span<Operand<Array>> operands,
                                                 std::span<const int> devices) {
  if (context_.pure) {
    return tl::unexpected(Stop::unsupported(
        "dynamic shapes", fmt::format("{} has a dynamic shape", instruction_place(instruction))));
  }
  DistinctCalls calls = distinct_calls(operands, devices.size());
  std::vector<std::vector<Buffer>> results;  // by call
  for (size_t i = 0; i < calls.tuples.size(); ++i) {
    auto leaves = dynamic_shapes_.run(instruction, context_, std::move(calls.tuples[i]));
    if (!leaves) return tl::unexpected(std::move(leaves.error()));
    results.push_back(*std::move(leaves));
  }
  std::vector<Array> leaves;
  for (size_t leaf = 0; leaf < results[0].size(); ++leaf) {
    std::vector<Buffer> values;
    values.reserve(calls.of_position.size());
    for (size_t number : calls.of_position) values.push_back(results[number][leaf]);
    leaves.emplace_back(std::move(values));
  }
  return leaves;
}

std::optional<Stop> BufferDomain::misfit(const Instruction& instruction,
                                         std::span<const Shape* const> shapes,
                                         std::span<const Array* const> arrays) const {
  for (size_t i = 0; i < shapes.size() && i < arrays.size(); ++i) {
    if (!shapes[i]->is_array() || !arrays[i]->is_set()) continue;
    for (const Buffer& buffer : arrays[i]->kept()) {
      if (buffer.is_splat() || buffer.size() == shapes[i]->byte_count()) continue;
      return Stop::unsupported("dynamic shapes",
                               fmt::format("{}: a value of another size stands for {}",
                                           instruction_place(instruction), to_string(shapes[i])));
    }
  }
  return std::nullopt;
}

// Members that depend on nothing but what is the same everywhere are computed once, before the
// others.
BufferDomain::Leaves BufferDomain::apply_cluster(const Cluster& cluster,
                                                 std::span<Operand<Array>> inputs,
                                                 std::span<const int> devices) {
  if (context_.has_dynamic) {
    std::vector<const Shape*> shapes;
    std::vector<const Array*> arrays;
    for (const Instruction* input : cluster.inputs) shapes.push_back(input->shape());
    for (const Operand<Array>& input : inputs) arrays.push_back(input.array);
    auto stop = misfit(*cluster.members.back(), shapes, arrays);
    if (stop) return tl::unexpected(*std::move(stop));
  }
  auto program = cluster_programs_.of(cluster);
  if (!program) return tl::unexpected(std::move(program.error()));
  const ClusterProgram& compiled = **program;
  std::vector<Array> values(compiled.value_count());
  std::vector<Operand<Array>> operands(compiled.value_count(), {nullptr, true});
  std::vector<bool> uniform(compiled.value_count(), true);
  for (size_t i = 0; i < inputs.size(); ++i) {
    operands[i] = inputs[i];
    uniform[i] = inputs[i].array->is_uniform();
  }
  std::vector<size_t> members[2];  // uniform ones, others
  for (size_t m = 0; m < compiled.member_count(); ++m) {
    const size_t value = compiled.member_value(m);
    operands[value].array = &values[value];
    for (size_t operand : compiled.operands_of(m))
      uniform[value] = uniform[value] && uniform[operand];
    members[uniform[value] ? 0 : 1].push_back(m);
  }
  std::vector<bool> wanted(compiled.value_count(), false);  // by others, or by the second part
  for (size_t output : compiled.outputs()) {
    wanted[output] = true;
    operands[output].last = false;
  }
  for (size_t m : members[1]) {
    for (size_t operand : compiled.operands_of(m)) {
      if (operand >= compiled.input_count() && uniform[operand]) wanted[operand] = true;
    }
  }
  for (int part = 0; part < 2; ++part) {
    if (members[part].empty()) continue;
    std::vector<size_t> read, made;
    std::vector<bool> seen(compiled.value_count(), false);
    for (size_t m : members[part]) seen[compiled.member_value(m)] = true;
    for (size_t m : members[part]) {
      for (size_t operand : compiled.operands_of(m)) {
        if (!seen[operand]) read.push_back(operand);
        seen[operand] = true;
      }
      if (wanted[compiled.member_value(m)]) made.push_back(compiled.member_value(m));
    }
    std::vector<Operand<Array>> own;
    for (size_t value : read) own.push_back(operands[value]);
    // What the second part reads is not to be taken over by the first.
    if (part == 0) {
      for (size_t m : members[1]) {
        for (size_t operand : compiled.operands_of(m)) {
          for (size_t i = 0; i < read.size(); ++i) own[i].last = own[i].last && read[i] != operand;
        }
      }
    }
    DistinctCalls calls = distinct_calls(own, devices.size());
    std::vector<KernelCall> runs;
    runs.reserve(calls.tuples.size());
    for (size_t i = 0; i < calls.tuples.size(); ++i) {
      if (i % 1024 == 1023 && context_.workers.is_late()) {
        return tl::unexpected(*context_.workers.run({}));
      }
      std::vector<bool> writable = writable_operands(own, calls.tuples[i], calls.positions[i]);
      runs.push_back({*cluster.members.back(),
                      context_,
                      std::move(calls.tuples[i]),
                      std::move(writable),
                      {},
                      {}});
      KernelResult done = compiled.add_work(runs.back(), {members[part], read, made});
      if (!done) return tl::unexpected(std::move(done.error()));
    }
    Leaves leaves = run_calls(runs, calls.of_position, context_.workers);
    if (!leaves) return leaves;
    for (size_t i = 0; i < made.size(); ++i) values[made[i]] = std::move((*leaves)[i]);
  }
  std::vector<Array> outputs;
  for (size_t output : compiled.outputs()) outputs.push_back(values[output]);
  return outputs;
}

std::optional<Stop> BufferDomain::observe(const Instruction& instruction, const Value<Array>& value,
                                          std::span<const int> devices) {
  if (!context_.observer->watches(instruction)) return std::nullopt;
  std::vector<Array> arrays;
  append_leaves(value, arrays);
  std::vector<const Shape*> shapes = leaf_shapes(instruction.shape());
  std::vector<std::vector<HostTensor>> leaves(arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    std::unordered_map<const void*, HostTensor> made;
    for (const Buffer& buffer : arrays[i].kept()) {
      HostTensor& tensor = made[buffer.identity()];
      if (!tensor.data) {
        auto fresh = host_tensor(instruction, context_, shapes[i], buffer);
        if (!fresh) return std::move(fresh.error());
        tensor = *std::move(fresh);
      }
      leaves[i].push_back(tensor);
    }
  }
  return context_.observer->observe({instruction, devices, leaves});
}

tl::expected<Array, Stop> BufferDomain::device_ids(const Instruction& instruction,
                                                   std::span<const int> devices) {
  const bool of_replica = instruction.opcode() == Opcode::kReplicaId;
  std::unordered_map<int64_t, Buffer> made;
  std::vector<Buffer> values;
  for (int device : devices) {
    int64_t id = of_replica ? mesh_.replica(device) : mesh_.partition(device);
    Buffer& buffer = made[id];
    if (!buffer.is_set()) {
      auto fresh = allocate_for(instruction, context_, sizeof(uint32_t));
      if (!fresh) return tl::unexpected(std::move(fresh.error()));
      auto value = static_cast<uint32_t>(id);
      std::memcpy(fresh->mutable_data(), &value, sizeof(value));
      buffer = *std::move(fresh);
    }
    values.push_back(buffer);
  }
  return Array(std::move(values));
}

// The state before `delta` is added, low word first; it starts as on XLA's CPU backend.
tl::expected<Array, Stop> BufferDomain::next_random_states(const Instruction& instruction,
                                                           std::span<const int> devices) {
  constexpr uint64_t kStart = 0x7012395;
  if (random_states_.empty()) {
    random_states_.assign(static_cast<size_t>(mesh_.device_count()), kStart);
  }
  if (instruction.shape()->byte_count() != 2 * sizeof(uint64_t)) {
    return tl::unexpected(
        Stop::unsupported("rng-get-and-update-state",
                          fmt::format("{} is not u64[2]", instruction_place(instruction))));
  }
  std::map<Wide, Buffer> made;
  std::vector<Buffer> values;
  for (int device : devices) {
    Wide& state = random_states_[static_cast<size_t>(device)];
    Buffer& buffer = made[state];
    if (!buffer.is_set()) {
      auto fresh = allocate_for(instruction, context_, sizeof(state));
      if (!fresh) return tl::unexpected(std::move(fresh.error()));
      const uint64_t words[] = {static_cast<uint64_t>(state), static_cast<uint64_t>(state >> 64)};
      std::memcpy(fresh->mutable_data(), words, sizeof(words));
      buffer = *std::move(fresh);
    }
    values.push_back(buffer);
    state += static_cast<uint64_t>(instruction.get(attr::delta));
  }
  return Array(std::move(values));
}

std::optional<std::vector<int64_t>> BufferDomain::known(const Array& array) {
  std::vector<int64_t> values;
  for (const Buffer& buffer : array.kept()) {
    // A test is a truth value in one byte or a branch number in four.
    values.push_back(buffer.size() == 1 ? integer_at(buffer, ElementType::PRED)
                                        : integer_at(buffer, ElementType::S32));
  }
  return values;
}

}  // namespace minihlo

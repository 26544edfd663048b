#include "sim/run/domain.h"

#include <cstring>
#include <map>

#include <fmt/format.h>

#include "ir/numbers.h"
#include "sim/run/distinct.h"

namespace minihlo {
namespace {

using Array = BufferDomain::Array;

// How often the block of buffer `buffer` stands in a vector.
int64_t occurrences(const Array& array, const Buffer& buffer) {
  int64_t count = 0;
  for (const Buffer& kept : array.kept()) count += kept.identity() == buffer.identity();
  return count;
}

// The operands of all devices, each different set once.
struct Calls {
  DistinctTuples tuples;
  std::vector<size_t> of_position;  // one entry if all operands are uniform
  std::vector<int64_t> positions;   // how many each tuple has
};

Calls distinct_calls(std::span<Operand<Array>> operands, size_t device_count) {
  Calls calls;
  bool uniform = true;
  for (const Operand<Array>& operand : operands) {
    uniform = uniform && (!operand.array->is_set() || operand.array->is_uniform());
  }
  const size_t positions = uniform ? 1 : device_count;
  for (size_t i = 0; i < positions; ++i) {
    std::vector<Buffer> tuple;
    tuple.reserve(operands.size());
    for (const Operand<Array>& operand : operands) {
      tuple.push_back(operand.array->is_set() ? (*operand.array)[i] : Buffer());
    }
    size_t number = calls.tuples.insert(std::move(tuple));
    if (number == calls.positions.size()) calls.positions.push_back(0);
    ++calls.positions[number];
    calls.of_position.push_back(number);
  }
  return calls;
}

// An operand's block may be taken over if nobody reads it afterwards, and nobody but this call
// holds it: neither another value nor a device whose other operands differ.
std::vector<bool> writable_operands(std::span<Operand<Array>> operands,
                                    const std::vector<Buffer>& tuple, int64_t positions) {
  std::vector<bool> writable(operands.size(), false);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].last || !tuple[i].is_set()) continue;
    int64_t in_vector = occurrences(*operands[i].array, tuple[i]);
    int64_t of_call = operands[i].array->is_uniform() ? 1 : positions;
    // One more handle is the tuple's own.
    writable[i] = in_vector == of_call && tuple[i].is_writable(in_vector + 1);
  }
  return writable;
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
  Kernel kernel = kernel_of(instruction);
  if (!kernel) {
    return tl::unexpected(Stop::unsupported(
        std::string(to_string(opcode)),
        fmt::format("{} is not supported in a run", instruction_place(instruction))));
  }
  if (instruction.has_dynamic_shape()) {
    return tl::unexpected(Stop::unsupported(
        "dynamic shapes", fmt::format("{} has a dynamic shape", instruction_place(instruction))));
  }

  Calls calls = distinct_calls(operands, devices.size());
  std::vector<KernelCall> runs;
  runs.reserve(calls.tuples.size());
  size_t stages = 0;
  for (size_t i = 0; i < calls.tuples.size(); ++i) {
    std::vector<bool> writable = writable_operands(operands, calls.tuples[i], calls.positions[i]);
    runs.push_back(
        {instruction, context_, std::move(calls.tuples[i]), std::move(writable), {}, {}});
    if (KernelResult done = kernel(runs.back()); !done) {
      return tl::unexpected(std::move(done.error()));
    }
    stages = std::max(stages, runs.back().stages.size());
  }
  for (size_t stage = 0; stage < stages; ++stage) {
    std::vector<Work> works;
    for (KernelCall& run : runs) {
      if (stage >= run.stages.size()) continue;
      for (Work& work : run.stages[stage]) works.push_back(std::move(work));
    }
    if (auto stop = context_.workers.run(works)) return tl::unexpected(*std::move(stop));
  }

  std::vector<Array> leaves;
  for (size_t leaf = 0; leaf < runs[0].results.size(); ++leaf) {
    if (!runs[0].results[leaf].is_set()) {
      leaves.emplace_back();
      continue;
    }
    std::vector<Buffer> values;
    values.reserve(calls.of_position.size());
    for (size_t number : calls.of_position) values.push_back(runs[number].results[leaf]);
    leaves.emplace_back(std::move(values));
  }
  return leaves;
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
      auto fresh = context_.pool->allocate(sizeof(uint32_t), instruction.name());
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
      auto fresh = context_.pool->allocate(sizeof(state), instruction.name());
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

#include "sim/cost/size_domain.h"

#include <map>

#include "ir/semantics/collective_forms.h"

namespace minihlo {
namespace {

using Array = SizeDomain::Array;

// Blocks start at multiples of so many bytes.
constexpr int64_t kAlignment = 64;

int64_t rounded(int64_t bytes) {
  return (std::max<int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

// Whether the value of operand 0 is the result's, element by element, in the same place.
bool shares_operand(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kBitcast:
    case Opcode::kBitcastConvert:
    case Opcode::kCopy:
    case Opcode::kReshape:
      return instruction.shape()->is_array() &&
             instruction.operand(0)->shape()->byte_count() == instruction.shape()->byte_count();
    case Opcode::kBroadcast:
    case Opcode::kReverse:
    case Opcode::kTranspose:
      return instruction.operand(0)->shape()->element_count() ==
                 instruction.shape()->element_count() &&
             instruction.shape()->element_count() == 1;
    default:
      return false;
  }
}

// Whether equal elements of operand 0 give equal elements.
bool only_moves(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBroadcast:
    case Opcode::kDynamicSlice:
    case Opcode::kReverse:
    case Opcode::kShuffle:
    case Opcode::kSlice:
    case Opcode::kTranspose:
      return true;
    default:
      return false;
  }
}

// Whether the result may be made in the memory of an operand of the same size.
bool works_in_place(const Instruction& instruction, size_t operand) {
  switch (instruction.opcode()) {
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kScatter:
      return operand == 0;
    default:
      return info(instruction.opcode()).family == Family::kElementwise;
  }
}

// Calls make(position, positions) once for each different set of operands, with the first position
// that has it and how many have, and gives each device its result.
template <class Make>
Array for_each_call(std::span<const Operand<Array>> operands, size_t devices, const Make& make) {
  bool uniform = true;
  for (const Operand<Array>& operand : operands) {
    uniform = uniform && (!operand.array->is_set() || operand.array->is_uniform());
  }
  struct Call {
    size_t position;  // the first
    int64_t positions = 0;
    SizeBlock result;
  };
  std::map<std::vector<const void*>, Call> calls;
  std::vector<Call*> of_position;
  for (size_t i = 0; i < (uniform ? 1 : devices); ++i) {
    std::vector<const void*> key;
    for (const Operand<Array>& operand : operands) {
      key.push_back(operand.array->is_set() ? (*operand.array)[i].identity() : nullptr);
    }
    Call& call = calls.try_emplace(std::move(key), Call{i, 0, {}}).first->second;
    ++call.positions;
    of_position.push_back(&call);
  }
  std::vector<SizeBlock> values;
  for (Call* call : of_position) {
    if (!call->result.is_set()) call->result = make(call->position, call->positions);
    values.push_back(call->result);
  }
  return Array(std::move(values));
}

// The operand whose memory a result of `bytes` takes over in a call, or null. As in a run, nobody
// but the call's positions may have it.
const SizeBlock* taken_over(std::span<const Operand<Array>> operands, size_t position,
                            int64_t positions, int64_t bytes, const std::vector<bool>& may) {
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand<Array>& operand = operands[i];
    if (!may[i] || !operand.last || !operand.array->is_set()) continue;
    const SizeBlock& block = (*operand.array)[position];
    if (!block.is_writable() || block.bytes() != bytes) continue;
    if (block.references() == (operand.array->is_uniform() ? 1 : positions)) return &block;
  }
  return nullptr;
}

}  // namespace

int64_t block_bytes(const Shape* shape) { return rounded(shape->byte_count()); }

SizeDomain::Leaves SizeDomain::apply(const Instruction& instruction,
                                     std::span<Operand<Array>> operands,
                                     std::span<const int> devices) {
  std::vector<Array> leaves;
  std::vector<bool> in_place;
  for (size_t i = 0; i < operands.size(); ++i) in_place.push_back(works_in_place(instruction, i));
  const bool elementwise = info(instruction.opcode()).family == Family::kElementwise;
  for (const Shape* shape : leaf_shapes(instruction.shape())) {
    if (!shape->is_array()) {
      leaves.emplace_back();
      continue;
    }
    if (instruction.opcode() == Opcode::kPartitionId ||
        instruction.opcode() == Opcode::kReplicaId) {
      std::vector<SizeBlock> values;
      for (size_t i = 0; i < devices.size(); ++i) values.emplace_back(counter_, kAlignment);
      leaves.emplace_back(std::move(values));
      continue;
    }
    leaves.push_back(
        for_each_call(operands, devices.size(), [&](size_t position, int64_t positions) {
          auto operand = [&](size_t i) -> const SizeBlock& {
            return (*operands[i].array)[position];
          };
          if (shares_operand(instruction)) return operand(0);
          const bool single =
              instruction.operand_count() > 0 && instruction.operand(0)->shape()->is_array() &&
              (operand(0).is_splat() || instruction.operand(0)->shape()->element_count() == 1);
          if (only_moves(instruction.opcode()) && single) return operand(0).as_splat();
          if (elementwise && shape->element_count() > 1) {
            bool all_single = true;
            for (size_t i = 0; i < operands.size(); ++i) {
              all_single = all_single && (operand(i).is_splat() ||
                                          instruction.operand(i)->shape()->element_count() == 1);
            }
            if (all_single) return SizeBlock(counter_, kAlignment).as_splat();
          }
          if (instruction.opcode() == Opcode::kConstant) {
            return SizeBlock(counter_, block_bytes(shape), SizeBlock::Owner::kOthers);
          }
          const SizeBlock* over =
              taken_over(operands, position, positions, block_bytes(shape), in_place);
          return over ? *over : SizeBlock(counter_, block_bytes(shape));
        }));
  }
  return leaves;
}

SizeDomain::Leaves SizeDomain::apply_cluster(const Cluster& cluster,
                                             std::span<Operand<Array>> inputs,
                                             std::span<const int> devices) {
  std::vector<bool> in_place;
  for (const Instruction* input : cluster.inputs) {
    bool viewed = false;
    for (const Instruction* member : cluster.members) {
      viewed = viewed || (member->opcode() == Opcode::kBroadcast && member->operand(0) == input);
    }
    in_place.push_back(!viewed);
  }
  std::vector<Array> outputs;
  for (const Instruction* output : cluster.outputs) {
    outputs.push_back(
        for_each_call(inputs, devices.size(), [&](size_t position, int64_t positions) {
          const int64_t bytes = block_bytes(output->shape());
          const SizeBlock* over = taken_over(inputs, position, positions, bytes, in_place);
          return over ? *over : SizeBlock(counter_, bytes);
        }));
  }
  return outputs;
}

// All-gathers and reductions make one block a group, permutes and broadcasts none.
SizeDomain::Leaves SizeDomain::collective(const Instruction& instruction,
                                          std::span<const Array> operands,
                                          const Gathering& gathering) {
  const size_t devices = gathering.devices.size();
  const Opcode opcode = collective_opcode(instruction.opcode());
  const bool moves = opcode == Opcode::kCollectivePermute || opcode == Opcode::kCollectiveBroadcast;
  const bool shared = opcode == Opcode::kAllGather || opcode == Opcode::kAllReduce ||
                      opcode == Opcode::kCollectiveReduce;
  std::vector<Array> leaves;
  std::vector<const Shape*> shapes = leaf_shapes(collective_result_shape(instruction));
  for (size_t leaf = 0; leaf < shapes.size(); ++leaf) {
    if (!shapes[leaf]->is_array()) {
      leaves.emplace_back();
      continue;
    }
    if (moves && leaf < operands.size()) {
      leaves.push_back(operands[leaf]);
      continue;
    }
    std::map<int64_t, SizeBlock> of_group;
    std::vector<SizeBlock> values;
    for (size_t i = 0; i < devices; ++i) {
      const int64_t group = gathering.groups.group_of[static_cast<size_t>(gathering.devices[i])];
      if (!shared || group < 0) {
        values.emplace_back(counter_, block_bytes(shapes[leaf]));
        continue;
      }
      SizeBlock& block = of_group[group];
      if (!block.is_set()) block = SizeBlock(counter_, block_bytes(shapes[leaf]));
      values.push_back(block);
    }
    leaves.emplace_back(std::move(values));
  }
  return leaves;
}

std::optional<tl::expected<SizeDomain::Val, Stop>> SizeDomain::loop(Walker<SizeDomain>& walker,
                                                                    const Instruction& loop,
                                                                    Val& state,
                                                                    std::span<const int> devices) {
  auto test = walker.run(*loop.get(attr::condition), {state}, devices);
  if (!test) return tl::unexpected(std::move(test.error()));
  std::vector<Val> arguments;
  arguments.push_back(std::move(state));
  return walker.run(*loop.get(attr::body), std::move(arguments), devices);
}

tl::expected<SizeDomain::Val, Stop> SizeDomain::conditional(Walker<SizeDomain>& walker,
                                                            const Instruction& instruction,
                                                            const Array&,
                                                            std::vector<Val> arguments,
                                                            std::span<const int> devices) {
  std::vector<Computation*> branches = instruction.called_computations();
  tl::expected<Val, Stop> result = Val{};
  for (size_t i = 0; i < branches.size(); ++i) {
    result = walker.run(*branches[i], {arguments[i]}, devices);
    if (!result) return result;
  }
  return result;
}

}  // namespace minihlo

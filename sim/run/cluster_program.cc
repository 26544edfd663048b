#include "sim/run/cluster_program.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/run/kernels/chain.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

// Bytes of the widest value at a time: those of a chain stay in the first-level cache, beside what
// the machine fetches ahead.
constexpr int64_t kBlockBytes = 2048;
constexpr int64_t kAlignment = 64;
constexpr size_t kMaxChain = 32;  // instructions

// Elements that stand somewhere, or in the memory of the thread.
struct Source {
  const std::byte* data = nullptr;
  int64_t scratch = -1;  // offset there, where `data` is null
  int64_t bytes = 0;     // of an element
};

// A step of a chain: what it does with the value so far and operand `other` of the whole.
struct Link {
  static constexpr int kItself = -1;  // the value so far, again

  Opcode opcode;
  bool other_first;
  int other;
};

struct Step {
  std::optional<ElementwiseOp> op;  // else a broadcast
  std::vector<StridedAxis> axes;    // of a broadcast
  std::vector<Source> operands;
  std::byte* result = nullptr;  // null: at `scratch`
  int64_t scratch = -1;
  int64_t bytes = 0;
  std::vector<Link> chain = {};  // from operand 0 on; where there are several, instead of `op`
};

// One element that stands for all, spread over a block of the thread's memory at the start.
struct Spread {
  const std::byte* element;
  int64_t scratch;
  int64_t bytes;
};

struct Blocks {
  std::vector<Spread> spreads;
  std::vector<Step> steps;
  std::vector<Buffer> keep;
  int64_t scratch_bytes = 0;
  int64_t size = 0;  // elements
};

// Elements [begin, begin + count) of a broadcast.
void copy_broadcast(const Step& step, int64_t begin, int64_t count, std::byte* to) {
  const auto bytes = static_cast<size_t>(step.bytes);
  const std::byte* from = step.operands[0].data;
  const StridedAxis inner = step.axes.empty() ? StridedAxis{1, 0} : step.axes.back();
  std::span<const StridedAxis> outer(step.axes.data(), step.axes.size() - !step.axes.empty());
  StridedCopy row;
  while (count > 0) {
    const int64_t at = begin % inner.size, size = std::min(count, inner.size - at);
    const int64_t offset = offset_of(outer, begin / inner.size) + at * inner.stride;
    if (inner.stride == 1) {
      std::memcpy(to, from + offset * step.bytes, static_cast<size_t>(size) * bytes);
    } else {
      row.axes = {{size, 1, inner.stride}};
      row.operand_offset = offset;
      copy_strided(row, from, to, step.bytes);
    }
    begin += size;
    count -= size;
    to += size * step.bytes;
  }
}

// Elements [begin, begin + count) of an elementwise instruction or a chain of them.
void run_step(const Step& step, int64_t begin, int64_t count, const std::byte* scratch,
              std::byte* to) {
  auto place = [&](const Source& from) {
    return from.data ? from.data + begin * from.bytes : scratch + from.scratch;
  };
  if (step.chain.size() > 1) {
    ChainStep steps[kMaxChain];
    for (size_t i = 0; i < step.chain.size(); ++i) {
      const Link& link = step.chain[i];
      steps[i] = {link.opcode, link.other_first,
                  link.other == Link::kItself
                      ? nullptr
                      : place(step.operands[static_cast<size_t>(link.other)])};
    }
    run_chain(step.op->result_type(), place(step.operands[0]), {steps, step.chain.size()}, count,
              to);
    return;
  }
  const std::byte* operands[ElementwiseOp::kMaxOperands] = {};
  constexpr int64_t kSteps[] = {1, 1, 1};
  static_assert(std::size(kSteps) == ElementwiseOp::kMaxOperands);
  for (size_t i = 0; i < step.operands.size(); ++i) operands[i] = place(step.operands[i]);
  (*step.op)(count, operands, kSteps, to);
}

void run_blocks(const Blocks& blocks, int64_t begin, int64_t end) {
  static thread_local std::vector<std::byte> memory;
  const auto needed = static_cast<size_t>(blocks.scratch_bytes + kAlignment);
  if (memory.size() < needed) memory.resize(needed);
  std::byte* scratch =
      memory.data() + (-reinterpret_cast<uintptr_t>(memory.data()) & uintptr_t{kAlignment - 1});
  for (const Spread& spread : blocks.spreads) {
    StridedCopy copy;
    copy.axes = {{std::min(blocks.size, end - begin), 1, 0}};
    copy_strided(copy, spread.element, scratch + spread.scratch, spread.bytes);
  }
  for (int64_t next = begin; begin < end; begin = next) {
    next = std::min(end, begin + blocks.size);
    for (const Step& step : blocks.steps) {
      std::byte* to = step.result ? step.result + begin * step.bytes : scratch + step.scratch;
      if (step.op) {
        run_step(step, begin, next - begin, scratch, to);
      } else {
        copy_broadcast(step, begin, next - begin, to);
      }
    }
  }
}

}  // namespace

tl::expected<ClusterProgram, Stop> ClusterProgram::compile(const Cluster& cluster) {
  ClusterProgram program;
  std::unordered_map<const Instruction*, size_t> values;
  for (const Instruction* input : cluster.inputs) values.emplace(input, values.size());
  program.input_count_ = values.size();
  for (const Instruction* instruction : cluster.members) {
    Member member{instruction, {}, std::nullopt, {}, 0};
    const Shape* shape = instruction->shape();
    member.bytes = info(shape->element_type()).bytes;
    for (const Instruction* operand : instruction->operands()) {
      member.operands.push_back(values.at(operand));
    }
    if (instruction->opcode() == Opcode::kBroadcast) {
      const Shape* from = instruction->operand(0)->shape();
      std::vector<int64_t> strides = row_major_strides(from->dims());
      std::vector<StridedAxis> axes;
      for (int64_t dim : shape->dims()) axes.push_back({dim, 0});
      std::span<const int64_t> dimensions = instruction->get(attr::dimensions);
      for (size_t i = 0; i < dimensions.size(); ++i) {
        axes[static_cast<size_t>(dimensions[i])].stride = strides[i];
      }
      member.axes = merge_axes(axes);
    } else {
      auto op = elementwise_op(*instruction);
      if (!op) {
        return tl::unexpected(
            Stop::unsupported(std::string(to_string(instruction->opcode())),
                              fmt::format("{}: {}", instruction_place(*instruction), op.error())));
      }
      member.op = *op;
    }
    values.emplace(instruction, values.size());
    program.members_.push_back(std::move(member));
  }
  for (const Instruction* output : cluster.outputs) {
    program.outputs_.push_back(values.at(output));
  }
  return program;
}

class ClusterProgram::Assembler {
 public:
  Assembler(const ClusterProgram& program, KernelCall& call, const Part& part)
      : program_(program), call_(call), part_(part), values_(program.value_count()) {
    count_ = program.members_[part.members.back()].instruction->shape()->element_count();
    for (size_t i = 0; i < part.inputs.size(); ++i) {
      Value& value = values_[part.inputs[i]];
      value.buffer = call.operands[i];
      value.writable = call.writable[i];
    }
    int64_t widest = 1;
    for (size_t m : part.members) {
      const Member& member = program.members_[m];
      widest = std::max(widest, member.bytes);
      for (const Instruction* operand : member.instruction->operands()) {
        widest = std::max(widest, int64_t{info(operand->shape()->element_type()).bytes});
      }
      for (size_t operand : member.operands) {
        values_[operand].last_reader = m;
        if (!member.op) values_[operand].writable = false;  // it is not read in step
      }
    }
    blocks_.size = kBlockBytes / widest;
    for (size_t output : part.outputs) values_[output].is_output = true;
  }

  KernelResult run() {
    for (size_t m : part_.members) {
      if (KernelResult done = add_member(m); !done) return done;
      for (size_t operand : program_.members_[m].operands) {
        Value& value = values_[operand];
        // What is spread is so once for all blocks.
        if (value.last_reader != m || value.scratch < 0 || value.buffer.is_set()) continue;
        free_slots_.push_back(std::exchange(value.scratch, -1));
      }
    }
    for (size_t output : part_.outputs) call_.results.push_back(values_[output].buffer);
    if (blocks_.steps.empty()) return {};
    for (size_t input : part_.inputs) blocks_.keep.push_back(values_[input].buffer);
    for (size_t output : part_.outputs) blocks_.keep.push_back(values_[output].buffer);
    call_.add(count_, cost_, [blocks = std::move(blocks_)](int64_t begin, int64_t end) {
      run_blocks(blocks, begin, end);
    });
    return {};
  }

 private:
  static constexpr size_t kNobody = SIZE_MAX;

  struct Value {
    Buffer buffer;         // of an input, an output, or the one element that stands for all
    int64_t scratch = -1;  // of others
    bool is_output = false;
    bool writable = false;
    size_t last_reader = kNobody;
  };

  // Whether operand i of a member is one element that stands for all.
  bool is_single(const Member& member, size_t i) const {
    const Value& value = values_[member.operands[i]];
    const int64_t count = member.instruction->operand(i)->shape()->element_count();
    return value.buffer.is_set() &&
           (value.buffer.is_splat() || (member.op ? count != count_ : count == 1));
  }

  int64_t new_slot() {
    blocks_.scratch_bytes += kBlockBytes;
    return blocks_.scratch_bytes - kBlockBytes;
  }

  // The elements of operand i as a member reads them.
  Source source(const Member& member, size_t i) {
    Value& value = values_[member.operands[i]];
    Source from;
    from.bytes = info(member.instruction->operand(i)->shape()->element_type()).bytes;
    if (value.buffer.is_set() && !is_single(member, i)) {
      from.data = value.buffer.data();
      cost_ += from.bytes;
      return from;
    }
    if (value.buffer.is_set() && value.scratch < 0) {
      value.scratch = new_slot();  // earlier steps write to those that are free by now
      blocks_.spreads.push_back({value.buffer.data(), value.scratch, from.bytes});
      blocks_.keep.push_back(value.buffer);
    }
    from.scratch = value.scratch;
    return from;
  }

  KernelResult add_member(size_t m) {
    const Member& member = program_.members_[m];
    Value& value = values_[program_.member_value(m)];
    if (!value.is_output && value.last_reader == kNobody) return {};
    bool all_single = true;
    for (size_t i = 0; i < member.operands.size(); ++i) {
      all_single = all_single && is_single(member, i);
    }
    if (all_single) return add_one_element(member, value);
    Step step = chained_to_last(m);
    if (value.is_output) {
      auto result = memory_of(m);
      if (!result) return tl::unexpected(std::move(result.error()));
      value.buffer = *std::move(result);
      step.result = value.buffer.mutable_data();
      cost_ += member.bytes;
    } else {
      if (free_slots_.empty()) free_slots_.push_back(new_slot());
      step.scratch = value.scratch = free_slots_.back();
      free_slots_.pop_back();
    }
    ++cost_;
    blocks_.steps.push_back(std::move(step));
    return {};
  }

  // The step of member m, without a result. If it alone reads what the last step makes, and both
  // can be parts of a chain, that step becomes one with it.
  Step chained_to_last(size_t m) {
    const Member& member = program_.members_[m];
    const Opcode opcode = member.instruction->opcode();
    const bool can_chain = member.op && has_chain_step(opcode, member.op->result_type());
    const size_t before = std::exchange(last_value_, program_.member_value(m));
    Step step{member.op, member.axes, {}, nullptr, -1, member.bytes};
    const bool joins = can_chain && before != kNobody && values_[before].last_reader == m &&
                       !values_[before].is_output && !blocks_.steps.empty() &&
                       !blocks_.steps.back().chain.empty() &&
                       blocks_.steps.back().chain.size() < kMaxChain;
    if (joins && std::ranges::count(member.operands, before) > 0) {
      step = std::move(blocks_.steps.back());
      blocks_.steps.pop_back();
      step.scratch = -1;
      const bool other_first = member.operands[0] != before;
      const size_t other = other_first ? 0 : 1;
      Link link{opcode, other_first, Link::kItself};
      if (member.operands[other] != before) {
        link.other = static_cast<int>(step.operands.size());
        step.operands.push_back(source(member, other));
      }
      step.chain.push_back(link);
      return step;
    }
    for (size_t i = 0; i < member.operands.size(); ++i) step.operands.push_back(source(member, i));
    if (can_chain) step.chain.push_back({opcode, false, 1});
    return step;
  }

  // All operands have one element for all: so has the result.
  KernelResult add_one_element(const Member& member, Value& value) {
    if (!member.op) {
      value.buffer = values_[member.operands[0]].buffer.as_splat();
      return {};
    }
    auto result = call_.allocate(member.bytes);
    if (!result) return tl::unexpected(std::move(result.error()));
    const std::byte* operands[ElementwiseOp::kMaxOperands] = {};
    const int64_t steps[ElementwiseOp::kMaxOperands] = {};
    for (size_t i = 0; i < member.operands.size(); ++i) {
      operands[i] = values_[member.operands[i]].buffer.data();
    }
    (*member.op)(1, operands, steps, result->mutable_data());
    value.buffer = result->as_splat();
    return {};
  }

  // Memory for what member m makes: an operand's where nobody reads that afterwards.
  tl::expected<Buffer, Stop> memory_of(size_t m) {
    const Member& member = program_.members_[m];
    for (size_t operand : member.operands) {
      Value& value = values_[operand];
      if (!value.writable || value.last_reader != m) continue;
      if (value.buffer.is_splat() || value.buffer.size() != count_ * member.bytes) continue;
      value.writable = false;
      return value.buffer;
    }
    return call_.allocate(member.instruction->shape());
  }

  const ClusterProgram& program_;
  KernelCall& call_;
  const Part& part_;
  std::vector<Value> values_;
  int64_t count_ = 0;
  int64_t cost_ = 1;
  size_t last_value_ = kNobody;  // what the last step makes
  std::vector<int64_t> free_slots_;
  Blocks blocks_;
};

KernelResult ClusterProgram::add_work(KernelCall& call, const Part& part) const {
  return Assembler(*this, call, part).run();
}

tl::expected<const ClusterProgram*, Stop> ClusterPrograms::of(const Cluster& cluster) {
  std::unique_ptr<ClusterProgram>& program = programs_[&cluster];
  if (!program) {
    auto compiled = ClusterProgram::compile(cluster);
    if (!compiled) return tl::unexpected(std::move(compiled.error()));
    program = std::make_unique<ClusterProgram>(*std::move(compiled));
  }
  return program.get();
}

}  // namespace minihlo

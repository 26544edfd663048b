// Collectives on buffers: what the members of each group hand in, and what each gets.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "ir/semantics/collective_forms.h"
#include "ir/semantics/groups.h"
#include "ir/semantics/reducers.h"
#include "sim/run/distinct.h"
#include "sim/run/domain.h"
#include "sim/run/in_place_permute.h"
#include "sim/run/kernels/axes.h"

namespace minihlo {
namespace {

using Array = BufferDomain::Array;

class CollectiveRun {
 public:
  CollectiveRun(const Mesh& mesh, RunContext& context, const Instruction& instruction,
                std::span<const Array> operands, const Gathering& gathering)
      : mesh_(mesh),
        instruction_(instruction),
        operands_(operands),
        gathering_(gathering),
        call_{instruction, context, {}, {}, {}, {}} {
    const Shape* shape = collective_result_shape(instruction);
    if (shape->is_tuple()) {
      shapes_.assign(shape->elements().begin(), shape->elements().end());
    } else {
      shapes_ = {shape};
    }
    results_.assign(shapes_.size(), std::vector<Buffer>(gathering.devices.size()));
  }

  BufferDomain::Leaves run() {
    KernelResult done = prepare();
    if (!done) return tl::unexpected(std::move(done.error()));
    for (std::vector<Work>& stage : call_.stages) {
      if (auto stop = call_.context.workers.run(stage)) return tl::unexpected(*std::move(stop));
    }
    std::vector<Array> leaves;
    for (std::vector<Buffer>& values : results_) leaves.emplace_back(std::move(values));
    return leaves;
  }

 private:
  KernelResult prepare() {
    switch (collective_opcode(instruction_.opcode())) {
      case Opcode::kCollectivePermute:
        return permute();
      case Opcode::kCollectiveBroadcast:
        return broadcast();
      case Opcode::kAllGather:
        return for_each_group([&](std::span<const int64_t> group) { return gather(group); });
      case Opcode::kAllToAll:
        return for_each_group([&](std::span<const int64_t> group) { return exchange(group); });
      case Opcode::kRaggedAllToAll:
        return for_each_group([&](std::span<const int64_t> group) { return exchange_rows(group); });
      case Opcode::kAllReduce:
      case Opcode::kCollectiveReduce:
      case Opcode::kReduceScatter:
        return reduce_groups();
      default:
        return tl::unexpected(unsupported("it is not supported in a run"));
    }
  }

  Stop unsupported(std::string_view why) const {
    return Stop::unsupported(std::string(to_string(instruction_.opcode())),
                             fmt::format("{}: {}", instruction_place(instruction_), why));
  }
  Stop invalid(std::string_view why) const {
    return Stop::invalid(fmt::format("{}: {}", instruction_place(instruction_), why));
  }

  size_t position(int64_t device) const {
    return static_cast<size_t>(gathering_.position_of[static_cast<size_t>(device)]);
  }
  const Buffer& operand(size_t i, int64_t device) const { return operands_[i][position(device)]; }
  const Shape* operand_shape(size_t i) const { return instruction_.operand(i)->shape(); }
  int64_t width(const Shape* shape) const { return info(shape->element_type()).bytes; }

  // One zero that stands for all elements of what nobody sends.
  tl::expected<Buffer, Stop> zeros(const Shape* shape) {
    int64_t bytes = width(shape);
    for (auto& [known_bytes, buffer] : zeros_) {
      if (known_bytes == bytes) return shape->element_count() == 1 ? buffer : buffer.as_splat();
    }
    auto buffer = call_.allocate(bytes);
    if (!buffer) return buffer;
    std::fill_n(buffer->mutable_data(), bytes, std::byte{0});
    zeros_.emplace_back(bytes, *buffer);
    return shape->element_count() == 1 ? *buffer : buffer->as_splat();
  }

  // Of a dynamic shape, with the sizes of what the device itself hands in.
  tl::expected<Buffer, Stop> sized_zeros(const Shape* shape, const Buffer& own) {
    const Shape* sized = runtime_shape(instruction_.parent()->module()->shapes(), shape, own);
    auto buffer = call_.allocate(sized);
    if (!buffer) return buffer;
    std::fill_n(buffer->mutable_data(), buffer->size(), std::byte{0});
    buffer->set_sizes(sized->dims());
    return buffer;
  }

  KernelResult give_zeros(size_t at) {
    for (size_t i = 0; i < shapes_.size(); ++i) {
      auto buffer =
          shapes_[i]->is_dynamic() ? sized_zeros(shapes_[i], operands_[i][at]) : zeros(shapes_[i]);
      if (!buffer) return tl::unexpected(std::move(buffer.error()));
      results_[i][at] = *std::move(buffer);
    }
    return {};
  }

  KernelResult permute() {
    if (instruction_.has(attr::permute_slice_sizes)) {
      return permute_in_place(call_, mesh_, operands_, gathering_, results_);
    }
    auto map = permute_sources(instruction_, mesh_);
    if (!map) return tl::unexpected(invalid(map.error()));
    for (size_t at = 0; at < gathering_.devices.size(); ++at) {
      int64_t source = map->source_of[static_cast<size_t>(gathering_.devices[at])];
      if (source < 0) {
        if (KernelResult done = give_zeros(at); !done) return done;
        continue;
      }
      for (size_t i = 0; i < shapes_.size(); ++i) results_[i][at] = operand(i, source);
    }
    return {};
  }

  KernelResult broadcast() {
    const bool has_root = instruction_.get(attr::has_dynamic_root);
    for (size_t at = 0; at < gathering_.devices.size(); ++at) {
      int64_t device = gathering_.devices[at];
      int64_t group = gathering_.groups.group_of[static_cast<size_t>(device)];
      if (group < 0) {
        if (KernelResult done = give_zeros(at); !done) return done;
        continue;
      }
      std::span<const int64_t> members = gathering_.groups.group(group);
      for (size_t i = 0; i < shapes_.size(); ++i) {
        int64_t rank = 0;
        if (has_root) {
          rank = integer_at(operand(operands_.size() - 1, device), ElementType::S32,
                            static_cast<int64_t>(i));
        }
        if (rank < 0 || rank >= static_cast<int64_t>(members.size())) {
          return tl::unexpected(
              invalid(fmt::format("root {} in a group of {} devices", rank, members.size())));
        }
        results_[i][at] = operand(i, members[static_cast<size_t>(rank)]);
      }
    }
    return {};
  }

  template <class Function>
  KernelResult for_each_group(const Function& function) {
    std::vector<bool> seen(static_cast<size_t>(gathering_.groups.size()), false);
    for (int device : gathering_.devices) {
      int64_t group = gathering_.groups.group_of[static_cast<size_t>(device)];
      if (group < 0) {
        return tl::unexpected(
            invalid(fmt::format("{} is in none of its groups", device_name(mesh_, device))));
      }
      if (seen[static_cast<size_t>(group)]) continue;
      seen[static_cast<size_t>(group)] = true;
      if (KernelResult done = function(gathering_.groups.group(group)); !done) return done;
    }
    return {};
  }

  // The operands of all members, member by member. Groups with the same ones get the same result.
  std::vector<Buffer> operands_of(std::span<const int64_t> group) const {
    std::vector<Buffer> tuple;
    for (int64_t member : group) {
      for (size_t i = 0; i < operands_.size(); ++i) tuple.push_back(operand(i, member));
    }
    return tuple;
  }

  KernelResult moved(size_t output, std::span<const int64_t> group, int rank, Buffer& result) {
    auto movement = collective_movement(instruction_, static_cast<int>(output),
                                        static_cast<int>(group.size()), rank);
    if (!movement) return tl::unexpected(invalid(movement.error()));
    auto source = [&](const Box& box) {
      return operand(static_cast<size_t>(box.operand), group[static_cast<size_t>(box.member)]);
    };
    const std::vector<Box>& boxes = movement->boxes;
    if (!boxes.empty() && (movement->is_identity() || boxes.size() == group.size())) {
      // All from one place: a group of one, or members that all have the same one value.
      Buffer first = source(boxes[0]);
      bool all = first.is_splat() || boxes.size() == 1;
      for (const Box& box : boxes) all = all && source(box) == first;
      if (all) {
        result = std::move(first);
        return {};
      }
    }
    auto fresh = call_.allocate(shapes_[output]);
    if (!fresh) return tl::unexpected(std::move(fresh.error()));
    result = *std::move(fresh);
    add_movement(call_, *movement, result, width(shapes_[output]), {}, source);
    return {};
  }

  KernelResult gather(std::span<const int64_t> group) {
    size_t number = distinct_.insert(operands_of(group));
    if (number == made_.size()) {
      std::vector<Buffer>& made = made_.emplace_back(shapes_.size());
      for (size_t i = 0; i < shapes_.size(); ++i) {
        if (KernelResult done = moved(i, group, 0, made[i]); !done) return done;
      }
    }
    for (int64_t member : group) {
      for (size_t i = 0; i < shapes_.size(); ++i) results_[i][position(member)] = made_[number][i];
    }
    return {};
  }

  KernelResult exchange(std::span<const int64_t> group) {
    for (size_t rank = 0; rank < group.size(); ++rank) {
      for (size_t i = 0; i < shapes_.size(); ++i) {
        Buffer& result = results_[i][position(group[rank])];
        if (KernelResult done = moved(i, group, static_cast<int>(rank), result); !done) return done;
      }
    }
    return {};
  }

  // Rank q sends rows [input_offsets[i], + send_sizes[i]) to rank i, who has them from
  // output_offsets[i] (as q says) on in a copy of its `output`.
  KernelResult exchange_rows(std::span<const int64_t> group) {
    const Shape *input = operand_shape(0), *output = operand_shape(1), *table = operand_shape(2);
    const int64_t bytes = width(output);
    const auto ranks = static_cast<int64_t>(group.size());
    if (input->rank() == 0 || output->rank() == 0 || table->rank() == 0 || table->dim(0) != ranks) {
      return tl::unexpected(invalid(
          fmt::format("offsets and sizes are for each of the {} devices of a group", ranks)));
    }
    const int64_t updates = table->element_count() / ranks;
    const int64_t row = input->dim(0) == 0 ? 0 : input->element_count() / input->dim(0);
    auto entry = [&](size_t i, int64_t device, int64_t at) {
      return integer_at(operand(i, device), operand_shape(i)->element_type(), at);
    };
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const int64_t receiver = group[static_cast<size_t>(rank)];
      auto fresh = call_.allocate(output);
      if (!fresh) return tl::unexpected(std::move(fresh.error()));
      StridedCopy whole;
      whole.axes = {{output->element_count(), 1, 1}};
      // Rows go over what was there, so they wait for it.
      call_.stages.resize(std::max<size_t>(call_.stages.size(), 2));
      std::swap(call_.stages[0], call_.stages.back());
      add_copies(call_, {{whole, operand(1, receiver)}}, *fresh, bytes);
      std::swap(call_.stages[0], call_.stages.back());
      std::vector<CopyTask> copies;
      for (int64_t sender : group) {
        for (int64_t u = 0; u < updates; ++u) {
          const int64_t at = rank * updates + u;
          const int64_t from = entry(2, sender, at), size = entry(3, sender, at);
          const int64_t to = entry(4, sender, at);
          if (size <= 0 || row == 0) continue;
          if (from < 0 || size > input->dim(0) || from > input->dim(0) - size || to < 0 ||
              size > output->dim(0) || to > output->dim(0) - size) {
            return tl::unexpected(invalid(fmt::format(
                "{} sends {} rows from {} to {} of {}, beyond what they have",
                device_name(mesh_, sender), size, from, to, device_name(mesh_, receiver))));
          }
          StridedCopy rows;
          rows.operand_offset = from * row;
          rows.result_offset = to * row;
          rows.axes = {{size * row, 1, 1}};
          copies.push_back({std::move(rows), operand(0, sender)});
        }
      }
      // Updates may overlap: in order, on one thread.
      call_.add(1, 64, [copies = std::move(copies), result = *fresh, bytes](int64_t, int64_t) {
        for (const CopyTask& task : copies) {
          StridedCopy copy = task.copy;
          if (task.from.is_splat()) {
            copy.operand_offset = 0;
            copy.axes[0].operand_stride = 0;
          }
          copy_strided(copy, task.from.data(), Buffer(result).mutable_data(), bytes);
        }
      });
      results_[0][position(receiver)] = *std::move(fresh);
    }
    return {};
  }

  // What takes in one member after the other, on blocks of elements.
  struct Reducer {
    const ScalarProgram* program;  // on the elements' own type
    // Where sums are of a wider type, the opcode on that, there and back again.
    std::optional<ElementwiseOp> combine, widen, narrow;
  };

  static tl::expected<Reducer, Stop> make_reducer(ScalarPrograms& programs,
                                                  const Computation& computation,
                                                  ElementType type) {
    auto program = programs.of(computation, {type, type}, {type});
    if (!program) return tl::unexpected(std::move(program.error()));
    Reducer reducer{*program, {}, {}, {}};
    const std::optional<Opcode> opcode = reducer.program->single_opcode();
    if (!opcode || accumulator_type(*opcode, type) == type) return reducer;
    const ElementType wide = accumulator_type(*opcode, type);
    const ElementType narrows[] = {type}, wides[] = {wide, wide};
    auto combine = elementwise_op(ElementwiseSignature{*opcode, wides, wide, {}});
    auto widen = elementwise_op(ElementwiseSignature{Opcode::kConvert, narrows, wide, {}});
    auto narrow =
        elementwise_op(ElementwiseSignature{Opcode::kConvert, std::span(wides).first(1), type, {}});
    if (combine && widen && narrow) {
      reducer.combine = *std::move(combine);
      reducer.widen = *std::move(widen);
      reducer.narrow = *std::move(narrow);
    }
    return reducer;
  }

  KernelResult reduce_groups() {
    reducers_.reserve(shapes_.size());
    for (const Shape* shape : shapes_) {
      auto reducer = make_reducer(call_.context.programs, *instruction_.get(attr::to_apply),
                                  shape->element_type());
      if (!reducer) return tl::unexpected(std::move(reducer.error()));
      reducers_.push_back(*std::move(reducer));
    }
    return for_each_group([&](std::span<const int64_t> group) {
      size_t number = distinct_.insert(operands_of(group));
      bool scatters = instruction_.opcode() == Opcode::kReduceScatter;
      size_t parts = scatters ? group.size() : 1;
      if (number == made_.size()) {
        std::vector<Buffer>& made = made_.emplace_back(shapes_.size() * parts);
        for (size_t i = 0; i < shapes_.size(); ++i) {
          for (size_t part = 0; part < parts; ++part) {
            KernelResult done =
                reduced(i, group, static_cast<int64_t>(part), reducers_[i], made[i * parts + part]);
            if (!done) return done;
          }
        }
      }
      for (size_t rank = 0; rank < group.size(); ++rank) {
        for (size_t i = 0; i < shapes_.size(); ++i) {
          results_[i][position(group[rank])] = made_[number][i * parts + (scatters ? rank : 0)];
        }
      }
      return KernelResult{};
    });
  }

  // Reduces the members' operand `i`, of a reduce-scatter only chunk `part`: runs of elements that
  // lie together in the operand go through the reducer in rank order.
  KernelResult reduced(size_t i, std::span<const int64_t> group, int64_t part,
                       const Reducer& reducer, Buffer& result) {
    const Shape* from = operand_shape(i);
    int64_t run = shapes_[i]->element_count(), period = 0, start = 0;
    if (instruction_.opcode() == Opcode::kReduceScatter) {
      int64_t axis = instruction_.get(attr::dimensions)[0];
      if (shapes_[i]->dim(axis) * static_cast<int64_t>(group.size()) != from->dim(axis)) {
        return tl::unexpected(invalid(fmt::format(
            "a group of {} devices scatters {} elements along dimension {}, but the result has {}",
            group.size(), from->dim(axis), axis, shapes_[i]->dim(axis))));
      }
      int64_t inner = row_major_strides(from->dims())[static_cast<size_t>(axis)];
      run = shapes_[i]->dim(axis) * inner;
      period = from->dim(axis) * inner;
      start = part * run;
    }
    if (group.size() == 1) {
      result = operand(i, group[0]);
      return {};
    }
    auto fresh = call_.allocate(shapes_[i]);
    if (!fresh) return tl::unexpected(std::move(fresh.error()));
    result = *std::move(fresh);
    std::vector<Buffer> members;
    for (int64_t member : group) members.push_back(operand(i, member));
    const int64_t bytes = width(shapes_[i]);
    std::byte* to = result.mutable_data();
    // Element k of the result is element place(k) of the operand.
    call_.add(
        shapes_[i]->element_count(), bytes * static_cast<int64_t>(members.size() + 1),
        [=, &reducer, members = std::move(members), keep = result](int64_t begin, int64_t end) {
          while (begin < end) {
            int64_t row = begin / run;
            int64_t size = std::min({end, (row + 1) * run, begin + kBlock}) - begin;
            int64_t place = row * period + start + begin % run;
            reduce_run(members, reducer, place, size, bytes, to + begin * bytes);
            begin += size;
          }
        });
    return {};
  }

  static constexpr int64_t kBlock = 4096;  // the accumulator stays in the cache

  static void reduce_run(const std::vector<Buffer>& members, const Reducer& reducer, int64_t place,
                         int64_t size, int64_t bytes, std::byte* to) {
    auto at = [&](const Buffer& member) {
      return member.data() + (member.is_splat() ? 0 : place * bytes);
    };
    auto step = [](const Buffer& member) -> int64_t { return member.is_splat() ? 0 : 1; };
    if (reducer.combine && members.size() > 2) {
      alignas(64) float sums[kBlock], values[kBlock];
      auto* sum = reinterpret_cast<std::byte*>(sums);
      auto* value = reinterpret_cast<std::byte*>(values);
      for (const Buffer& member : members) {
        const std::byte* from[] = {at(member)};
        const int64_t from_steps[] = {step(member)};
        const bool is_first = &member == &members[0];
        (*reducer.widen)(size, from, from_steps, is_first ? sum : value);
        if (is_first) continue;
        const std::byte* both[] = {sum, value};
        const int64_t both_steps[] = {1, 1};
        (*reducer.combine)(size, both, both_steps, sum);
      }
      const std::byte* from[] = {sum};
      const int64_t from_steps[] = {1};
      (*reducer.narrow)(size, from, from_steps, to);
      return;
    }
    StridedCopy first;
    first.axes = {{size, 1, step(members[0])}};
    copy_strided(first, at(members[0]), to, bytes);
    for (size_t k = 1; k < members.size(); ++k) {
      const std::byte* parameters[] = {to, at(members[k])};
      const int64_t steps[] = {1, step(members[k])};
      reducer.program->run(size, parameters, steps, &to);
    }
  }

  const Mesh& mesh_;
  const Instruction& instruction_;
  std::span<const Array> operands_;
  const Gathering& gathering_;
  KernelCall call_;
  std::vector<const Shape*> shapes_;
  std::vector<std::vector<Buffer>> results_;  // by output, then position
  std::vector<std::pair<int64_t, Buffer>> zeros_;
  std::vector<Reducer> reducers_;  // by output
  DistinctTuples distinct_;
  std::vector<std::vector<Buffer>> made_;  // of each distinct tuple of operands
};

}  // namespace

BufferDomain::Leaves BufferDomain::collective(const Instruction& instruction,
                                              std::span<const Array> operands,
                                              const Gathering& gathering) {
  if (instruction.has_dynamic_shape()) return dynamic_collective(instruction, operands, gathering);
  if (context_.has_dynamic && instruction.opcode() != Opcode::kRecv) {
    std::vector<const Shape*> shapes;
    std::vector<const Array*> arrays;
    for (const Instruction* operand : instruction.operands()) {
      std::ranges::copy(leaf_shapes(operand->shape()), std::back_inserter(shapes));
    }
    for (const Array& operand : operands) arrays.push_back(&operand);
    if (auto stop = misfit(instruction, shapes, arrays)) return tl::unexpected(*std::move(stop));
  }
  return CollectiveRun(mesh_, context_, instruction, operands, gathering).run();
}

// What only moves values whole moves their sizes with them. Else each group runs the static
// collective that the sizes of its members' operands, which must be the same, make of it.
BufferDomain::Leaves BufferDomain::dynamic_collective(const Instruction& instruction,
                                                      std::span<const Array> operands,
                                                      const Gathering& gathering) {
  auto unsupported = [&](std::string_view why) {
    return tl::unexpected(Stop::unsupported(
        "dynamic shapes", fmt::format("{}: {}", instruction_place(instruction), why)));
  };
  if (context_.pure) return unsupported("it has a dynamic shape");
  const Opcode opcode = collective_opcode(instruction.opcode());
  if (opcode == Opcode::kCollectivePermute || opcode == Opcode::kCollectiveBroadcast) {
    if (instruction.has(attr::permute_slice_sizes)) return unsupported("slices of a dynamic shape");
    return CollectiveRun(mesh_, context_, instruction, operands, gathering).run();
  }
  if (operands.size() != instruction.operand_count()) return unsupported("operands are tuples");
  std::vector<std::vector<Buffer>> results(leaf_shapes(collective_result_shape(instruction)).size(),
                                           std::vector<Buffer>(gathering.devices.size()));
  std::vector<bool> done(static_cast<size_t>(gathering.groups.size()), false);
  for (int device : gathering.devices) {
    const int64_t group = gathering.groups.group_of[static_cast<size_t>(device)];
    if (group < 0) {
      return tl::unexpected(
          Stop::invalid(fmt::format("{}: {} is in none of its groups",
                                    instruction_place(instruction), device_name(mesh_, device))));
    }
    if (done[static_cast<size_t>(group)]) continue;
    done[static_cast<size_t>(group)] = true;
    if (KernelResult run = run_sized_group(instruction, operands, gathering, group, results); !run)
      return tl::unexpected(std::move(run.error()));
  }
  std::vector<Array> leaves;
  for (std::vector<Buffer>& values : results) leaves.emplace_back(std::move(values));
  return leaves;
}

KernelResult BufferDomain::run_sized_group(const Instruction& instruction,
                                           std::span<const Array> operands,
                                           const Gathering& gathering, int64_t group,
                                           std::vector<std::vector<Buffer>>& results) {
  std::span<const int64_t> members = gathering.groups.group(group);
  const std::vector<int> devices(members.begin(), members.end());
  std::vector<int> positions, position_of(gathering.position_of.size(), -1);
  for (int device : devices) {
    position_of[static_cast<size_t>(device)] = static_cast<int>(positions.size());
    positions.push_back(gathering.position_of[static_cast<size_t>(device)]);
  }
  std::vector<Array> own;
  std::vector<Buffer> first;
  for (size_t i = 0; i < operands.size(); ++i) {
    own.push_back(operands[i].select(positions));
    first.push_back(own[i][0]);
    for (size_t k = 1; k < devices.size(); ++k) {
      if (std::ranges::equal(own[i][k].sizes(), first[i].sizes())) continue;
      return tl::unexpected(
          Stop{Stop::Kind::kMismatch,
               fmt::format("{} and {} hand in arrays of different sizes, [{}] and [{}], at {}",
                           device_name(mesh_, devices[0]), device_name(mesh_, devices[k]),
                           fmt::join(first[i].sizes(), ","), fmt::join(own[i][k].sizes(), ","),
                           instruction_place(instruction)),
               {}});
    }
  }
  auto twin = dynamic_shapes_.collective_twin(instruction, context_, std::move(first),
                                              static_cast<int64_t>(devices.size()));
  if (!twin) return tl::unexpected(std::move(twin.error()));
  auto leaves = CollectiveRun(mesh_, context_, **twin, own,
                              {devices, gathering.groups, std::move(position_of)})
                    .run();
  if (!leaves) return tl::unexpected(std::move(leaves.error()));
  const std::vector<const Shape*> shapes = leaf_shapes((*twin)->shape());
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (size_t k = 0; k < devices.size(); ++k) {
      auto sized = with_sizes(instruction, context_, (*leaves)[i][k], shapes[i]->dims());
      if (!sized) return tl::unexpected(std::move(sized.error()));
      results[i][static_cast<size_t>(positions[k])] = *std::move(sized);
    }
  }
  return {};
}

}  // namespace minihlo

#include "sim/run/in_place_permute.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "ir/row_major.h"
#include "ir/semantics/groups.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

// One slice of a buffer: where its offsets are among the leaves of the operands.
struct Slice {
  std::span<const int64_t> sizes;
  size_t from;
  size_t to;
};

bool is_tuple_of_tuples(const Shape* shape) {
  return shape->is_tuple() && !shape->elements().empty() && shape->element(0)->is_tuple();
}

// The shapes of the offsets of each slice of each buffer, or nothing where they do not fit.
std::vector<std::vector<const Shape*>> offsets_of(const Shape* buffers, const Shape* offsets) {
  std::vector<const Shape*> of_buffer{offsets};
  if (buffers->is_tuple()) {
    if (!offsets->is_tuple()) return {};
    of_buffer.assign(offsets->elements().begin(), offsets->elements().end());
  }
  std::vector<std::vector<const Shape*>> slices;
  for (const Shape* shape : of_buffer) {
    slices.push_back({shape});
    if (is_tuple_of_tuples(shape)) {
      slices.back().assign(shape->elements().begin(), shape->elements().end());
    }
  }
  return slices;
}

}  // namespace

KernelResult permute_in_place(KernelCall& call, const Mesh& mesh,
                              std::span<const BufferDomain::Array> operands,
                              const Gathering& gathering,
                              std::vector<std::vector<Buffer>>& results) {
  const Instruction& permute = call.instruction;
  auto invalid = [&](std::string_view why) {
    return tl::unexpected(Stop::invalid(fmt::format("{}: {}", instruction_place(permute), why)));
  };
  auto rounds = permute_rounds(permute, mesh);
  if (!rounds) return invalid(rounds.error());
  const std::vector<const Shape*> inputs = leaf_shapes(call.operand_shape(0));
  const std::vector<const Shape*> outputs = leaf_shapes(call.operand_shape(1));
  auto from = offsets_of(call.operand_shape(0), call.operand_shape(2));
  auto to = offsets_of(call.operand_shape(1), call.operand_shape(3));
  auto sizes = permute.get(attr::permute_slice_sizes);
  if (inputs.size() != outputs.size() || from.size() != inputs.size() || to.size() != from.size()) {
    return invalid("inputs, outputs and offsets are not of as many buffers");
  }
  if (results.size() != outputs.size()) return invalid("its result is not shaped like its output");

  std::vector<const Shape*> leaves;  // of all operands
  for (const Instruction* operand : permute.operands()) {
    std::ranges::copy(leaf_shapes(operand->shape()), std::back_inserter(leaves));
  }
  size_t next_from = inputs.size() + outputs.size();
  size_t next_to = next_from + static_cast<size_t>(call.operand_shape(2)->leaf_count());
  size_t next_size = 0;
  std::vector<std::vector<Slice>> slices(inputs.size());
  for (size_t b = 0; b < inputs.size(); ++b) {
    const auto rank = static_cast<size_t>(inputs[b]->is_array() ? inputs[b]->rank() : 0);
    if (!inputs[b]->is_array() || !outputs[b]->is_array() || outputs[b]->dims().size() != rank ||
        inputs[b]->element_type() != outputs[b]->element_type() || from[b].size() != to[b].size()) {
      return invalid("an input and its output do not fit together");
    }
    if (from[b].size() < rounds->size()) {
      return invalid(fmt::format("devices are named {} times, but there are {} slices",
                                 rounds->size(), from[b].size()));
    }
    for (size_t k = 0; k < from[b].size(); ++k) {
      bool fits = next_size < sizes.size() && sizes[next_size].size() == rank &&
                  static_cast<size_t>(from[b][k]->leaf_count()) == rank &&
                  static_cast<size_t>(to[b][k]->leaf_count()) == rank;
      for (size_t i = 0; fits && i < rank; ++i) {
        const int64_t size = sizes[next_size][i];
        fits = size >= 0 && size <= inputs[b]->dims()[i] && size <= outputs[b]->dims()[i] &&
               leaves[next_from + i]->is_scalar() && leaves[next_to + i]->is_scalar() &&
               is_integer(leaves[next_from + i]->element_type()) &&
               is_integer(leaves[next_to + i]->element_type());
      }
      if (!fits) return invalid("slice_sizes and offsets do not fit the buffers");
      slices[b].push_back({sizes[next_size++], next_from, next_to});
      next_from += rank;
      next_to += rank;
    }
  }

  auto position = [&](int64_t device) {
    return static_cast<size_t>(gathering.position_of[static_cast<size_t>(device)]);
  };
  // The linear offset of a slice in a buffer, as the device at `at` has it.
  auto start = [&](const Shape* buffer, const Slice& slice, size_t first, size_t at) {
    std::vector<int64_t> strides = row_major_strides(buffer->dims());
    int64_t offset = 0;
    for (size_t i = 0; i < strides.size(); ++i) {
      int64_t index = integer_at(operands[first + i][at], leaves[first + i]->element_type());
      offset += std::clamp<int64_t>(index, 0, buffer->dims()[i] - slice.sizes[i]) * strides[i];
    }
    return offset;
  };
  call.stages.resize(rounds->size() + 1);
  auto copy_in = [&](size_t stage, CopyTask task, const Buffer& result, int64_t width) {
    std::swap(call.stages[stage], call.stages.back());
    add_copies(call, {std::move(task)}, result, width);
    std::swap(call.stages[stage], call.stages.back());
  };
  for (size_t b = 0; b < outputs.size(); ++b) {
    const int64_t width = info(outputs[b]->element_type()).bytes;
    std::vector<int64_t> in_strides = row_major_strides(inputs[b]->dims());
    std::vector<int64_t> out_strides = row_major_strides(outputs[b]->dims());
    for (size_t at = 0; at < gathering.devices.size(); ++at) {
      const auto device = static_cast<size_t>(gathering.devices[at]);
      const Buffer& old = operands[outputs.size() + b][at];
      Buffer& result = results[b][at];
      result = old;
      if (std::ranges::all_of(*rounds, [&](auto& map) { return map.source_of[device] < 0; })) {
        continue;
      }
      auto fresh = call.allocate(outputs[b]);
      if (!fresh) return tl::unexpected(std::move(fresh.error()));
      result = *std::move(fresh);
      StridedCopy whole;
      whole.axes = {{outputs[b]->element_count(), 1, 1}};
      copy_in(0, {whole, old}, result, width);
      for (size_t round = 0; round < rounds->size(); ++round) {
        const int64_t source = (*rounds)[round].source_of[device];
        if (source < 0) continue;
        const Slice& slice = slices[b][round];
        StridedCopy copy;
        copy.operand_offset = start(inputs[b], slice, slice.from, position(source));
        copy.result_offset = start(outputs[b], slice, slice.to, at);
        for (size_t i = 0; i < slice.sizes.size(); ++i) {
          copy.axes.push_back({slice.sizes[i], out_strides[i], in_strides[i]});
        }
        if (std::ranges::find(slice.sizes, 0) != slice.sizes.end()) continue;
        copy_in(round + 1, {std::move(copy), operands[b][position(source)]}, result, width);
      }
    }
  }
  return {};
}

}  // namespace minihlo

#include "ir/semantics/movement.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ir/row_major.h"
#include "ir/semantics/collective_forms.h"
#include "ir/semantics/shuffle.h"

namespace minihlo {

Box whole_box(std::span<const int64_t> dims, int operand) {
  Box box;
  box.operand = operand;
  for (size_t i = 0; i < dims.size(); ++i) {
    box.axes.push_back({0, dims[i], 1, static_cast<int>(i), 1});
  }
  box.base.assign(dims.size(), 0);
  return box;
}

namespace {

std::vector<int64_t> to_vector(std::span<const int64_t> values) {
  return {values.begin(), values.end()};
}

// A box of the whole of `dims`, every element of it the operand's only one.
Box scalar_fill(std::span<const int64_t> dims, int operand) {
  Box box;
  box.operand = operand;
  for (int64_t dim : dims) box.axes.push_back({0, dim, 1, -1, 0});
  return box;
}

Movement one_box(std::span<const int64_t> result_dims, std::span<const int64_t> operand_dims,
                 Box box) {
  Movement result;
  result.result_dims = to_vector(result_dims);
  result.operand_dims.push_back(to_vector(operand_dims));
  result.boxes.push_back(std::move(box));
  return result;
}

Movement reshape(int64_t elements) {
  std::vector<int64_t> linear{elements};
  return one_box(linear, linear, whole_box(linear));
}

Movement transpose(std::span<const int64_t> operand_dims, std::span<const int64_t> permutation) {
  Box box;
  std::vector<int64_t> result_dims;
  for (int64_t from : permutation) {
    box.axes.push_back({0, operand_dims[from], 1, static_cast<int>(from), 1});
    result_dims.push_back(operand_dims[from]);
  }
  box.base.assign(operand_dims.size(), 0);
  return one_box(result_dims, operand_dims, std::move(box));
}

Movement broadcast(const Instruction& instruction) {
  std::span<const int64_t> dims = instruction.shape()->dims();
  std::span<const int64_t> operand_dims = instruction.operand(0)->shape()->dims();
  Box box = scalar_fill(dims, 0);
  std::span<const int64_t> map = instruction.get(attr::dimensions);
  for (size_t i = 0; i < map.size(); ++i) {
    box.axes[map[i]].operand_axis = static_cast<int>(i);
    box.axes[map[i]].stride = 1;
  }
  box.base.assign(operand_dims.size(), 0);
  return one_box(dims, operand_dims, std::move(box));
}

Movement slice(const Instruction& instruction) {
  std::span<const int64_t> dims = instruction.shape()->dims();
  Box box = whole_box(dims);
  std::span<const SliceDimension> ranges = instruction.get(attr::slice);
  for (size_t i = 0; i < ranges.size(); ++i) {
    box.base[i] = ranges[i].start;
    box.axes[i].stride = ranges[i].stride;
  }
  return one_box(dims, instruction.operand(0)->shape()->dims(), std::move(box));
}

Movement reverse(const Instruction& instruction) {
  std::span<const int64_t> dims = instruction.shape()->dims();
  Box box = whole_box(dims);
  for (int64_t axis : instruction.get(attr::dimensions)) {
    box.base[axis] = std::max<int64_t>(dims[axis] - 1, 0);
    box.axes[axis].stride = -1;
  }
  return one_box(dims, dims, std::move(box));
}

// Operands (or members) side by side along `axis`; `label(i)` says what box i is of.
template <class Label>
Movement side_by_side(std::span<const int64_t> result_dims,
                      std::vector<std::vector<int64_t>> operand_dims, size_t count, int64_t axis,
                      const Label& label) {
  Movement result;
  result.result_dims = to_vector(result_dims);
  result.operand_dims = std::move(operand_dims);
  int64_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    const std::vector<int64_t>& dims = result.operand_dims[result.operand_dims.size() == 1 ? 0 : i];
    Box box = whole_box(dims);
    box.axes[axis].start = at;
    at += dims[axis];
    label(box, static_cast<int>(i));
    result.boxes.push_back(std::move(box));
  }
  return result;
}

Movement concatenate(const Instruction& instruction) {
  std::vector<std::vector<int64_t>> operand_dims;
  for (const Instruction* operand : instruction.operands()) {
    operand_dims.push_back(to_vector(operand->shape()->dims()));
  }
  return side_by_side(instruction.shape()->dims(), std::move(operand_dims),
                      instruction.operand_count(), instruction.get(attr::dimensions)[0],
                      [](Box& box, int i) { box.operand = i; });
}

int64_t clamp_start(int64_t start, int64_t size, int64_t dim) {
  return std::clamp<int64_t>(start, 0, dim - size);
}

Movement dynamic_slice(const Instruction& instruction, std::span<const int64_t> starts) {
  std::span<const int64_t> operand_dims = instruction.operand(0)->shape()->dims();
  std::span<const int64_t> dims = instruction.shape()->dims();
  Box box = whole_box(dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    box.base[i] = clamp_start(starts[i], dims[i], operand_dims[i]);
  }
  return one_box(dims, operand_dims, std::move(box));
}

// Appends boxes that cover `outer` without its part `inner` (both ranges along every axis), taking
// each from the same place of operand 0.
void surround(const Box& outer, std::span<const int64_t> inner_start,
              std::span<const int64_t> inner_size, std::vector<Box>& boxes) {
  // Axis by axis: what lies before and behind, then go on within the inner range.
  Box rest = outer;
  for (size_t axis = 0; axis < outer.axes.size(); ++axis) {
    int64_t start = rest.axes[axis].start;
    int64_t end = start + rest.axes[axis].size;
    int64_t inner_end = inner_start[axis] + inner_size[axis];
    auto add = [&](int64_t from, int64_t to) {
      if (from >= to) return;
      Box part = rest;
      part.axes[axis].start = part.base[axis] = from;
      part.axes[axis].size = to - from;
      boxes.push_back(std::move(part));
    };
    add(start, inner_start[axis]);
    add(inner_end, end);
    rest.axes[axis].start = rest.base[axis] = inner_start[axis];
    rest.axes[axis].size = inner_size[axis];
  }
}

Movement dynamic_update_slice(const Instruction& instruction, std::span<const int64_t> starts) {
  std::span<const int64_t> dims = instruction.shape()->dims();
  std::span<const int64_t> update_dims = instruction.operand(1)->shape()->dims();
  Movement result;
  result.result_dims = to_vector(dims);
  result.operand_dims = {to_vector(dims), to_vector(update_dims)};
  Box update = whole_box(update_dims, 1);
  if (update.is_empty()) {
    result.boxes.push_back(whole_box(dims));
    return result;
  }
  std::vector<int64_t> clamped;
  for (size_t i = 0; i < dims.size(); ++i) {
    clamped.push_back(clamp_start(starts[i], update_dims[i], dims[i]));
    update.axes[i].start = clamped.back();
  }
  surround(whole_box(dims), clamped, update_dims, result.boxes);
  result.boxes.push_back(std::move(update));
  return result;
}

// The operand indices that land inside the result along one axis of a pad: first, count, and where
// the first lands.
struct PadRange {
  int64_t first, count, at, step;
};

PadRange pad_range(const PaddingDimension& padding, int64_t operand_dim, int64_t result_dim) {
  int64_t step = padding.interior + 1;
  int64_t first = padding.low < 0 ? (-padding.low + step - 1) / step : 0;
  int64_t at = padding.low + first * step;
  int64_t count = at >= result_dim ? 0 : (result_dim - 1 - at) / step + 1;
  count = std::max<int64_t>(0, std::min(count, operand_dim - first));
  return {first, count, at, step};
}

tl::expected<Movement, std::string> pad(const Instruction& instruction) {
  std::span<const int64_t> dims = instruction.shape()->dims();
  std::span<const int64_t> operand_dims = instruction.operand(0)->shape()->dims();
  std::span<const PaddingDimension> padding = instruction.get(attr::padding);
  Movement result;
  result.result_dims = to_vector(dims);
  result.operand_dims = {to_vector(operand_dims), {}};

  Box data = whole_box(dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    PadRange range = pad_range(padding[i], operand_dims[i], dims[i]);
    data.axes[i] = {range.at, range.count, range.step, static_cast<int>(i), 1};
    data.base[i] = range.first;
  }
  if (data.is_empty()) {
    result.boxes.push_back(scalar_fill(dims, 1));
    return result;
  }
  // What surrounds the data, axis by axis: before, between (one box for each offset between two
  // elements) and behind, at the positions of the data along the axes that came earlier.
  Box rest = scalar_fill(dims, 1);
  for (size_t i = 0; i < dims.size(); ++i) {
    const BoxAxis& axis = data.axes[i];
    int64_t end = axis.start + (axis.size - 1) * axis.step + 1;
    auto add = [&](int64_t start, int64_t size, int64_t step) {
      if (size <= 0) return;
      Box part = rest;
      part.axes[i].start = start;
      part.axes[i].size = size;
      part.axes[i].step = step;
      result.boxes.push_back(std::move(part));
    };
    add(0, axis.start, 1);
    add(end, dims[i] - end, 1);
    if (axis.size > 1) {
      if (axis.step > kMaxBoxes) {
        return tl::unexpected(fmt::format("interior padding of {} is too large", axis.step - 1));
      }
      for (int64_t offset = 1; offset < axis.step; ++offset) {
        add(axis.start + offset, axis.size - 1, axis.step);
      }
    }
    rest.axes[i].start = axis.start;
    rest.axes[i].size = axis.size;
    rest.axes[i].step = axis.step;
  }
  result.boxes.push_back(std::move(data));
  return result;
}

// From slowest to fastest: the order in which a layout stores dimensions.
std::vector<int64_t> major_to_minor(const Shape* shape) {
  std::vector<int64_t> order(shape->dims().size());
  std::iota(order.begin(), order.end(), int64_t{0});
  if (const Layout* layout = shape->layout()) {
    order.assign(layout->minor_to_major.rbegin(), layout->minor_to_major.rend());
  }
  return order;
}

}  // namespace

bool Movement::is_identity() const {
  if (boxes.size() != 1 || operand_dims.size() != 1 || boxes[0].operand != 0) return false;
  StridedCopy copy = strided_copy(boxes[0], result_dims, operand_dims[0]);
  if (copy.operand_offset != 0 || copy.result_offset != 0) return false;
  int64_t count = element_count(result_dims);
  if (count != element_count(operand_dims[0])) return false;
  return copy.axes.empty() || (copy.axes.size() == 1 && copy.axes[0].result_stride == 1 &&
                               copy.axes[0].operand_stride == 1 && copy.axes[0].size == count);
}

bool is_movement(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kBroadcast:
    case Opcode::kConcatenate:
    case Opcode::kDynamicSlice:
    case Opcode::kPad:
    case Opcode::kReshape:
    case Opcode::kReverse:
    case Opcode::kShuffle:
    case Opcode::kSlice:
    case Opcode::kTranspose:
      return true;
    case Opcode::kCopy:
    case Opcode::kDynamicUpdateSlice:
      return instruction.shape()->is_array();
    case Opcode::kBitcast:
      return instruction.shape()->is_array() &&
             instruction.shape()->element_type() == instruction.operand(0)->shape()->element_type();
    default:
      return false;
  }
}

size_t moved_operand_count(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kDynamicSlice:
      return 1;
    case Opcode::kDynamicUpdateSlice:
      return 2;
    default:
      return instruction.operand_count();
  }
}

tl::expected<std::vector<Movement>, std::string> movement(const Instruction& instruction,
                                                          const MovementFacts& facts) {
  if (instruction.has_dynamic_shape()) return tl::unexpected(std::string("dynamic shapes"));
  const Shape* shape = instruction.shape();
  auto one = [](Movement movement) {
    std::vector<Movement> list;
    list.push_back(std::move(movement));
    return list;
  };
  switch (instruction.opcode()) {
    case Opcode::kBitcast:
      return std::vector<Movement>{into_physical(instruction.operand(0)->shape()),
                                   out_of_physical(shape)};
    case Opcode::kBroadcast:
      return one(broadcast(instruction));
    case Opcode::kConcatenate:
      return one(concatenate(instruction));
    case Opcode::kCopy:
    case Opcode::kReshape:
      return one(reshape(shape->element_count()));
    case Opcode::kDynamicSlice:
      return one(dynamic_slice(instruction, facts.starts));
    case Opcode::kDynamicUpdateSlice:
      return one(dynamic_update_slice(instruction, facts.starts));
    case Opcode::kPad: {
      auto padded = pad(instruction);
      if (!padded) return tl::unexpected(padded.error());
      return one(*std::move(padded));
    }
    case Opcode::kReverse:
      return one(reverse(instruction));
    case Opcode::kShuffle:
      return shuffle_movement(instruction);
    case Opcode::kSlice:
      return one(slice(instruction));
    case Opcode::kTranspose:
      return one(
          transpose(instruction.operand(0)->shape()->dims(), instruction.get(attr::dimensions)));
    default:
      return tl::unexpected(fmt::format("{} is no movement", to_string(instruction.opcode())));
  }
}

Movement into_physical(const Shape* array) {
  return transpose(array->dims(), major_to_minor(array));
}

Movement out_of_physical(const Shape* array) {
  // The physical array has dimensions dims[order[i]]; logical axis order[i] is its axis i.
  std::vector<int64_t> order = major_to_minor(array);
  std::vector<int64_t> physical_dims, out_of(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    physical_dims.push_back(array->dim(order[i]));
    out_of[order[i]] = static_cast<int64_t>(i);
  }
  return transpose(physical_dims, out_of);
}

bool is_collective_movement(Opcode opcode) {
  switch (collective_opcode(opcode)) {
    case Opcode::kAllGather:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
      return true;
    default:
      return false;
  }
}

tl::expected<Movement, std::string> collective_movement(const Instruction& instruction, int output,
                                                        int members, int rank) {
  if (instruction.has_dynamic_shape()) return tl::unexpected(std::string("dynamic shapes"));
  const Shape* shape = collective_result_shape(instruction);
  const Shape* result = shape->is_tuple() ? shape->element(output) : shape;
  switch (collective_opcode(instruction.opcode())) {
    case Opcode::kAllGather: {
      const Shape* operand = instruction.operand(output)->shape();
      int64_t axis = instruction.get(attr::dimensions)[0];
      if (operand->dim(axis) * members != result->dim(axis)) {
        return tl::unexpected(fmt::format(
            "a group of {} gathers {} elements along dimension {}, but the result has {}", members,
            operand->dim(axis) * members, axis, result->dim(axis)));
      }
      return side_by_side(result->dims(), {to_vector(operand->dims())},
                          static_cast<size_t>(members), axis, [&](Box& box, int member) {
                            box.operand = output;
                            box.member = member;
                          });
    }
    case Opcode::kAllToAll: {
      if (!instruction.has(attr::dimensions)) {
        // The tuple form: element i of rank j is operand j of rank i.
        const auto parts = static_cast<int64_t>(instruction.operand_count());
        if (parts != members || shape->leaf_count() != members) {
          return tl::unexpected(
              fmt::format("{} operands in a group of {} devices", parts, members));
        }
        const Shape* operand = instruction.operand(rank)->shape();
        Movement moved = one_box(result->dims(), operand->dims(), whole_box(result->dims(), rank));
        moved.boxes[0].member = output;
        return moved;
      }
      const Shape* operand = instruction.operand(0)->shape();
      int64_t axis = instruction.get(attr::dimensions)[0];
      if (operand->dim(axis) % members != 0) {
        return tl::unexpected(fmt::format("dimension {} of {} elements does not split among {}",
                                          axis, operand->dim(axis), members));
      }
      int64_t chunk = operand->dim(axis) / members;
      Movement moved;
      moved.result_dims = to_vector(result->dims());
      moved.operand_dims.push_back(to_vector(operand->dims()));
      for (int member = 0; member < members; ++member) {
        Box box = whole_box(result->dims());
        box.member = member;
        box.axes[axis].start = member * chunk;
        box.axes[axis].size = chunk;
        box.base[axis] = rank * chunk;
        moved.boxes.push_back(std::move(box));
      }
      return moved;
    }
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
      return one_box(result->dims(), result->dims(),
                     whole_box(result->dims(), members == 0 ? Box::kZero : output));
    default:
      return tl::unexpected(
          fmt::format("{} moves no data between devices", to_string(instruction.opcode())));
  }
}

tl::expected<Movement, std::string> scatter_movement(const Instruction& reduce_scatter, int output,
                                                     int members, int rank) {
  if (reduce_scatter.has_dynamic_shape()) return tl::unexpected(std::string("dynamic shapes"));
  const Shape* shape = reduce_scatter.shape();
  std::span<const int64_t> dims = (shape->is_tuple() ? shape->element(output) : shape)->dims();
  std::span<const int64_t> operand_dims = reduce_scatter.operand(output)->shape()->dims();
  int64_t axis = reduce_scatter.get(attr::dimensions)[0];
  if (dims[axis] * members != operand_dims[axis]) {
    return tl::unexpected(fmt::format(
        "a group of {} devices scatters {} elements along dimension {}, but the result has {}",
        members, operand_dims[axis], axis, dims[axis]));
  }
  Box box = whole_box(dims);
  box.base[axis] = rank * dims[axis];
  return one_box(dims, operand_dims, std::move(box));
}

StridedCopy strided_copy(const Box& box, std::span<const int64_t> result_dims,
                         std::span<const int64_t> operand_dims) {
  StridedCopy copy;
  const std::vector<int64_t> operand_strides = row_major_strides(operand_dims);
  for (size_t i = 0; i < box.base.size(); ++i) {
    copy.operand_offset += box.base[i] * operand_strides[i];
  }
  int64_t result_stride = 1;
  for (size_t i = box.axes.size(); i-- > 0;) {
    const BoxAxis& axis = box.axes[i];
    copy.result_offset += axis.start * result_stride;
    if (axis.size != 1) {
      int64_t operand_stride =
          axis.operand_axis < 0 ? 0 : axis.stride * operand_strides[axis.operand_axis];
      StridedCopy::Axis outer{axis.size, axis.step * result_stride, operand_stride};
      StridedCopy::Axis* inner = copy.axes.empty() ? nullptr : &copy.axes.back();
      if (inner && outer.result_stride == inner->result_stride * inner->size &&
          outer.operand_stride == inner->operand_stride * inner->size) {
        inner->size *= outer.size;
      } else {
        copy.axes.push_back(outer);
      }
    }
    result_stride *= result_dims[i];
  }
  std::reverse(copy.axes.begin(), copy.axes.end());
  return copy;
}

}  // namespace minihlo

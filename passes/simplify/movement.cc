#include <algorithm>
#include <numeric>
#include <vector>

#include "ir/numbers.h"
#include "passes/simplify/rules.h"

namespace minihlo::simplify {
namespace {

// Concatenations of concatenations are written as one up to so many operands: they may share
// theirs, and would double with each level.
constexpr size_t kMaxOperands = 256;

bool is_identity(std::span<const int64_t> dims) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// outer[inner[i]] for each i.
std::vector<int64_t> composed(std::span<const int64_t> outer, std::span<const int64_t> inner) {
  std::vector<int64_t> result;
  for (int64_t i : inner) result.push_back(outer[static_cast<size_t>(i)]);
  return result;
}

Instruction* with_dimensions(Emitter& emit, const Instruction& at, Instruction* operand,
                             std::span<const int64_t> dimensions) {
  return emit.make(at.opcode(), {operand},
                   {make_attribute(attr::dimensions, keep_ints(emit.module(), dimensions))},
                   at.shape());
}

Instruction* reshape(Emitter& emit, const Instruction& at) {
  if (Instruction* same = same_shape(at, at.operand(0))) return same;
  if (Instruction* inner = operand_of(at, 0, Opcode::kReshape)) {
    return emit.make(Opcode::kReshape, {inner->operand(0)}, {}, at.shape());
  }
  return nullptr;
}

Instruction* transpose(Emitter& emit, const Instruction& at) {
  std::span<const int64_t> order = at.get(attr::dimensions);
  if (is_identity(order)) return same_shape(at, at.operand(0));
  if (const Instruction* inner = operand_of(at, 0, Opcode::kTranspose)) {
    return with_dimensions(emit, at, inner->operand(0),
                           composed(inner->get(attr::dimensions), order));
  }
  return nullptr;
}

Instruction* broadcast(Emitter& emit, const Instruction& at) {
  std::span<const int64_t> dims = at.get(attr::dimensions);
  if (at.shape()->rank() == at.operand(0)->shape()->rank() && is_identity(dims)) {
    return same_shape(at, at.operand(0));
  }
  if (const Instruction* inner = operand_of(at, 0, Opcode::kBroadcast)) {
    return with_dimensions(emit, at, inner->operand(0),
                           composed(dims, inner->get(attr::dimensions)));
  }
  const Instruction* inner = operand_of(at, 0, Opcode::kReshape);
  if (inner && inner->operand(0)->shape()->is_scalar()) {
    return repeat(emit, inner->operand(0), at.shape());
  }
  return nullptr;
}

Instruction* make_slice(Emitter& emit, Instruction* operand, const Shape* shape,
                        const std::vector<SliceDimension>& ranges) {
  return emit.make(Opcode::kSlice, {operand},
                   {make_attribute(attr::slice, emit.rewriter().arena().copy(ranges))}, shape);
}

// The first and last index that a slice takes along a dimension of its result, which has some.
int64_t last_index(const SliceDimension& range, int64_t size) {
  return range.start + (size - 1) * range.stride;
}

Instruction* slice_of_slice(Emitter& emit, const Instruction& at, const Instruction& inner) {
  std::vector<SliceDimension> ranges;
  std::span<const SliceDimension> own = at.get(attr::slice), before = inner.get(attr::slice);
  for (size_t i = 0; i < own.size(); ++i) {
    const int64_t size = at.shape()->dim(static_cast<int64_t>(i));
    if (size == 0) {
      ranges.push_back({0, 0, 1});
      continue;
    }
    const int64_t start = before[i].start + own[i].start * before[i].stride;
    // Of a single element the stride is nothing, and could be beyond all bounds.
    const int64_t stride = size == 1 ? 1 : own[i].stride * before[i].stride;
    ranges.push_back({start, start + (size - 1) * stride + 1, stride});
  }
  return make_slice(emit, inner.operand(0), at.shape(), ranges);
}

Instruction* slice_of_concatenate(Emitter& emit, const Instruction& at, const Instruction& inner) {
  const int64_t axis = inner.get(attr::dimensions)[0];
  std::vector<SliceDimension> ranges(at.get(attr::slice).begin(), at.get(attr::slice).end());
  SliceDimension& range = ranges[static_cast<size_t>(axis)];
  int64_t start = 0;
  for (Instruction* piece : inner.operands()) {
    const int64_t end = start + piece->shape()->dim(axis);
    if (range.start >= start && last_index(range, at.shape()->dim(axis)) < end) {
      range.start -= start;
      range.limit = std::min(range.limit, end) - start;
      return make_slice(emit, piece, at.shape(), ranges);
    }
    start = end;
  }
  return nullptr;
}

// A slice that takes nothing of what was padded, or nothing else.
Instruction* slice_of_pad(Emitter& emit, const Instruction& at, const Instruction& inner) {
  std::vector<SliceDimension> ranges(at.get(attr::slice).begin(), at.get(attr::slice).end());
  std::span<const PaddingDimension> padding = inner.get(attr::padding);
  const Shape* padded = inner.operand(0)->shape();
  bool inside = true;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    if (padding[i].interior != 0) return nullptr;
    const int64_t first = ranges[i].start - padding[i].low;
    const int64_t last = last_index(ranges[i], at.shape()->dim(dim)) - padding[i].low;
    if (last < 0 || first >= padded->dim(dim)) {
      return repeat(emit, inner.operand(1), at.shape());
    }
    inside &= first >= 0 && last < padded->dim(dim);
    ranges[i] = {first, last + 1, ranges[i].stride};
  }
  return inside ? make_slice(emit, inner.operand(0), at.shape(), ranges) : nullptr;
}

Instruction* slice(Emitter& emit, const Instruction& at) {
  if (std::ranges::equal(at.shape()->dims(), at.operand(0)->shape()->dims())) {
    return same_shape(at, at.operand(0));
  }
  if (const Instruction* inner = operand_of(at, 0, Opcode::kSlice)) {
    return slice_of_slice(emit, at, *inner);
  }
  if (at.shape()->element_count() == 0) return nullptr;
  if (const Instruction* inner = operand_of(at, 0, Opcode::kConcatenate)) {
    return slice_of_concatenate(emit, at, *inner);
  }
  if (const Instruction* inner = operand_of(at, 0, Opcode::kPad)) {
    return slice_of_pad(emit, at, *inner);
  }
  return nullptr;
}

// What two slices of one array are together, one behind the other along an axis; null: nothing.
Instruction* joined(Emitter& emit, Instruction* a, Instruction* b, int64_t axis) {
  if (a->opcode() != Opcode::kSlice || b->opcode() != Opcode::kSlice ||
      a->operand(0) != b->operand(0) || a->has_dynamic_shape() || b->has_dynamic_shape()) {
    return nullptr;
  }
  std::span<const SliceDimension> first = a->get(attr::slice), second = b->get(attr::slice);
  std::vector<SliceDimension> ranges(first.begin(), first.end());
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    if (dim == axis) {
      if (first[i].stride != 1 || second[i].stride != 1 || first[i].limit != second[i].start) {
        return nullptr;
      }
      ranges[i].limit = second[i].limit;
    } else if (first[i].start != second[i].start || first[i].limit != second[i].limit ||
               first[i].stride != second[i].stride) {
      return nullptr;
    }
  }
  std::vector<int64_t> dims(a->shape()->dims().begin(), a->shape()->dims().end());
  dims[static_cast<size_t>(axis)] += b->shape()->dim(axis);
  return make_slice(emit, a->operand(0), emit.shapes().with_dims(a->shape(), dims), ranges);
}

Instruction* concatenate(Emitter& emit, const Instruction& at) {
  const int64_t axis = at.get(attr::dimensions)[0];
  const ElementType type = at.shape()->element_type();
  std::vector<Instruction*> operands;
  for (Instruction* operand : at.operands()) {
    if (operand->shape()->element_type() != type) return nullptr;
    const bool is_nested =
        operand->opcode() == Opcode::kConcatenate && operand->get(attr::dimensions)[0] == axis &&
        !operand->has_dynamic_shape() &&
        operands.size() + operand->operand_count() + at.operand_count() <= kMaxOperands;
    if (is_nested) {
      operands.insert(operands.end(), operand->operands().begin(), operand->operands().end());
    } else {
      operands.push_back(operand);
    }
  }
  const bool any = at.shape()->dim(axis) > 0;
  if (any) {
    std::erase_if(operands, [&](const Instruction* one) { return one->shape()->dim(axis) == 0; });
  }
  std::vector<Instruction*> pieces;
  for (Instruction* operand : operands) {
    Instruction* both = pieces.empty() ? nullptr : joined(emit, pieces.back(), operand, axis);
    if (both) {
      pieces.back() = both;
    } else {
      pieces.push_back(operand);
    }
  }
  const Instruction* scalar = repeated_scalar(*pieces[0]);
  if (scalar && std::ranges::all_of(pieces, [&](const Instruction* one) {
        return repeated_scalar(*one) == scalar;
      })) {
    return repeat(emit, repeated_scalar(*pieces[0]), at.shape());
  }
  if (pieces.size() == 1) {
    // A slice of the result's dimensions may have another layout yet.
    if (pieces[0]->shape() == at.shape()) return pieces[0];
    if (pieces[0]->opcode() != Opcode::kSlice) return nullptr;
    return emit.make(Opcode::kSlice, {pieces[0]->operand(0)},
                     {make_attribute(attr::slice, pieces[0]->get(attr::slice))}, at.shape());
  }
  if (std::ranges::equal(pieces, at.operands())) return nullptr;
  Attribute dimensions = make_attribute(attr::dimensions, at.get(attr::dimensions));
  return emit.make(Opcode::kConcatenate, pieces, std::span(&dimensions, 1), at.shape());
}

Instruction* pad(Emitter& emit, const Instruction& at) {
  std::span<const PaddingDimension> padding = at.get(attr::padding);
  const ElementType type = at.shape()->element_type();
  if (at.operand(0)->shape()->element_type() != type ||
      at.operand(1)->shape()->element_type() != type) {
    return nullptr;
  }
  if (at.operand(0)->shape()->element_count() == 0) {
    return repeat(emit, at.operand(1), at.shape());
  }
  if (std::ranges::all_of(padding, [](const PaddingDimension& one) {
        return one.low == 0 && one.high == 0 && one.interior == 0;
      })) {
    return same_shape(at, at.operand(0));
  }
  const Instruction* inner = operand_of(at, 0, Opcode::kPad);
  if (!inner || inner->operand(1) != at.operand(1)) return nullptr;
  std::vector<PaddingDimension> sum;
  for (size_t i = 0; i < padding.size(); ++i) {
    const PaddingDimension &a = inner->get(attr::padding)[i], &b = padding[i];
    const int64_t least = std::min({a.low, a.high, b.low, b.high});
    if (least < 0 || a.interior != 0 || b.interior != 0) return nullptr;
    sum.push_back({a.low + b.low, a.high + b.high, 0});
  }
  return emit.make(Opcode::kPad, {inner->operand(0), at.operand(1)},
                   {make_attribute(attr::padding, emit.rewriter().arena().copy(sum))}, at.shape());
}

Instruction* reverse(Emitter& emit, const Instruction& at) {
  std::span<const int64_t> own = at.get(attr::dimensions);
  const Instruction* inner = operand_of(at, 0, Opcode::kReverse);
  std::vector<bool> turned(static_cast<size_t>(at.shape()->rank()));
  for (int64_t dim : own) turned[static_cast<size_t>(dim)] = true;
  if (inner) {
    for (int64_t dim : inner->get(attr::dimensions)) {
      turned[static_cast<size_t>(dim)] = !turned[static_cast<size_t>(dim)];
    }
  }
  std::vector<int64_t> dims;
  for (int64_t dim = 0; dim < at.shape()->rank(); ++dim) {
    if (turned[static_cast<size_t>(dim)] && at.shape()->dim(dim) > 1) dims.push_back(dim);
  }
  Instruction* from = inner ? inner->operand(0) : at.operand(0);
  if (dims.empty()) return same_shape(at, from);
  if (!inner && dims.size() == own.size()) return nullptr;
  return with_dimensions(emit, at, from, dims);
}

Instruction* dynamic_slice(Emitter& emit, const Instruction& at) {
  const Shape* from = at.operand(0)->shape();
  std::vector<SliceDimension> ranges;
  for (int64_t dim = 0; dim < from->rank(); ++dim) {
    const int64_t size = at.shape()->dim(dim), room = from->dim(dim) - size;
    int64_t start = 0;
    if (room > 0) {
      // Starts may be one vector instead.
      const auto place = static_cast<size_t>(dim) + 1;
      if (place >= at.operand_count() || !at.operand(place)->shape()->is_scalar()) return nullptr;
      auto bytes = splat(*at.operand(place));
      if (!bytes) return nullptr;
      start = decode_integer(at.operand(place)->shape()->element_type(), bytes->data());
    }
    start = std::clamp<int64_t>(start, 0, room);
    ranges.push_back({start, start + size, 1});
  }
  if (std::ranges::equal(at.shape()->dims(), from->dims())) return same_shape(at, at.operand(0));
  return make_slice(emit, at.operand(0), at.shape(), ranges);
}

Instruction* dynamic_update_slice(const Instruction& at) {
  Instruction* update = at.operand(1);
  if (update->shape()->element_count() == 0) return same_shape(at, at.operand(0));
  if (std::ranges::equal(update->shape()->dims(), at.shape()->dims())) {
    return same_shape(at, update);
  }
  return nullptr;
}

bool is_view(Opcode opcode) {
  switch (opcode) {
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kSlice:
    case Opcode::kReverse:
    case Opcode::kDynamicSlice:
    case Opcode::kCopy:
      return true;
    default:
      return false;
  }
}

}  // namespace

Instruction* movement(Emitter& emit, const Instruction& at) {
  // Wherever it is looked at, one scalar is all there is.
  if (is_view(at.opcode())) {
    if (Instruction* scalar = repeated_scalar(*at.operand(0))) {
      return repeat(emit, scalar, at.shape());
    }
  }
  switch (at.opcode()) {
    case Opcode::kReshape:
      return reshape(emit, at);
    case Opcode::kTranspose:
      return transpose(emit, at);
    case Opcode::kBroadcast:
      return broadcast(emit, at);
    case Opcode::kSlice:
      return slice(emit, at);
    case Opcode::kConcatenate:
      return concatenate(emit, at);
    case Opcode::kPad:
      return pad(emit, at);
    case Opcode::kReverse:
      return reverse(emit, at);
    case Opcode::kDynamicSlice:
      return dynamic_slice(emit, at);
    case Opcode::kDynamicUpdateSlice:
      return dynamic_update_slice(at);
    case Opcode::kBitcast:
      return same_shape(at, at.operand(0));
    default:
      return nullptr;
  }
}

}  // namespace minihlo::simplify

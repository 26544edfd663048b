#include <algorithm>
#include <numeric>

#include "tests/generator/rules.h"

namespace minihlo::generator {
namespace {

std::vector<int64_t> dims_of(const Instruction* instruction) {
  std::span<const int64_t> dims = instruction->shape()->dims();
  return {dims.begin(), dims.end()};
}

// Other dimensions for as many elements.
std::vector<int64_t> regrouped(Choices& choices, const Shape* shape) {
  std::vector<int64_t> dims(shape->dims().begin(), shape->dims().end());
  const int64_t steps = choices.between(1, 3);
  for (int64_t step = 0; step < steps; ++step) {
    if (dims.size() >= 2 && choices.chance(50)) {
      // Two neighbours become one.
      const auto at = static_cast<size_t>(choices.below(static_cast<int64_t>(dims.size()) - 1));
      dims[at] *= dims[at + 1];
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      continue;
    }
    // One is split, or a one is put in.
    const auto at = static_cast<size_t>(choices.below(static_cast<int64_t>(dims.size()) + 1));
    const auto place = dims.begin() + static_cast<std::ptrdiff_t>(at);
    int64_t factor = 1;
    if (at < dims.size()) {
      for (int64_t divisor : {2, 3, 5}) {
        if (dims[at] > 0 && dims[at] % divisor == 0 && choices.chance(50)) factor = divisor;
      }
      *place /= factor;
    }
    dims.insert(place, factor);
  }
  return dims;
}

}  // namespace

Instruction* make_bitcast(Builder& b, Opcode opcode) {
  Instruction* from = b.array(b.types());
  if (!from) return nullptr;
  const Shape* to =
      b.shapes().array(from->shape()->element_type(), regrouped(b.choices, from->shape()));
  const int bits = info(to->element_type()).bits;
  if (b.choices.chance(30) && bits >= 8 && !is_complex(to->element_type())) {
    Types same = b.types();
    std::erase_if(same,
                  [&](ElementType type) { return info(type).bits != bits || is_complex(type); });
    to = b.with_type(to, b.choices.pick(same));
  }
  return b.emit(opcode, {from}, {}, b.choices.chance(50) ? b.with_layout(to) : to);
}

Instruction* make_bitcast_convert(Builder& b, Opcode opcode) {
  Instruction* from = b.array(b.types(), 0, 4);
  if (!from) return nullptr;
  const ElementType type = from->shape()->element_type();
  std::vector<int64_t> dims = dims_of(from);
  Types fit = b.types();
  std::erase_if(fit, [&](ElementType to) {
    const int a = info(type).bits, z = info(to).bits;
    if (is_complex(type) != is_complex(to)) return true;
    // On the way to XLA's CPU lies StableHLO, in which a pred has one bit.
    if (b.oracle() && (type == ElementType::PRED) != (to == ElementType::PRED)) return true;
    return a >= z ? a % z != 0 : z % a != 0 || dims.empty() || dims.back() != z / a;
  });
  const ElementType to = b.choices.pick(fit);
  const int a = info(type).bits, z = info(to).bits;
  if (a > z) dims.push_back(a / z);
  if (a < z) dims.pop_back();
  return b.emit(opcode, {from}, {}, b.shapes().array(to, dims));
}

Instruction* make_broadcast(Builder& b, Opcode opcode) {
  Instruction* from = b.array(b.types(), 0, 4);
  if (!from) return nullptr;
  const int64_t rank = from->shape()->rank();
  const int64_t more = b.choices.between(0, 5 - rank);
  std::vector<int64_t> places = b.choices.subset(rank + more, rank);
  if (!b.runnable() && b.choices.chance(10)) b.choices.shuffle(places);
  std::vector<int64_t> dims(static_cast<size_t>(rank + more), -1);
  for (int64_t i = 0; i < rank; ++i) {
    dims[static_cast<size_t>(places[static_cast<size_t>(i)])] = from->shape()->dim(i);
  }
  for (int64_t& dim : dims) {
    if (dim < 0) dim = b.choices.pick({2, 1, 3, 0});
  }
  return b.emit(opcode, {from}, {make_attribute(attr::dimensions, b.ints(places))},
                b.shapes().array(from->shape()->element_type(), dims));
}

Instruction* make_concatenate(Builder& b, Opcode opcode) {
  Instruction* first = b.array(b.types(), 1);
  if (!first) return nullptr;
  const int64_t along = b.choices.below(first->shape()->rank());
  std::vector<Instruction*> operands = {first};
  for (int64_t i = b.choices.below(4); i > 0; --i) {
    std::vector<int64_t> dims = dims_of(first);
    if (b.choices.chance(50)) dims[static_cast<size_t>(along)] = b.choices.below(4);
    operands.push_back(b.value(b.shapes().array(first->shape()->element_type(), dims)));
  }
  return b.emit(opcode, operands, {make_attribute(attr::dimensions, b.ints({along}))});
}

Instruction* make_dynamic_reshape(Builder& b, Opcode opcode) {
  Instruction* from = b.array(b.types());
  if (!from) return nullptr;
  const std::vector<int64_t> dims = regrouped(b.choices, from->shape());
  auto dynamic = std::make_unique<bool[]>(dims.size());
  std::vector<Instruction*> operands = {from};
  for (size_t i = 0; i < dims.size(); ++i) {
    dynamic[i] = b.choices.chance(50);
    operands.push_back(b.index(ElementType::S32, dims[i]));
  }
  return b.emit(opcode, operands, {},
                b.shapes().try_array(from->shape()->element_type(), dims,
                                     std::span(dynamic.get(), dims.size())));
}

Instruction* make_iota(Builder& b, Opcode opcode) {
  Types types = b.types();
  std::erase(types, ElementType::PRED);
  const Shape* shape = b.array_shape(types, 1);
  return b.emit(opcode, {}, {make_attribute(attr::iota_dimension, b.choices.below(shape->rank()))},
                shape);
}

Instruction* make_pad(Builder& b, Opcode opcode) {
  // The padding of a scalar has no text that XLA reads.
  Instruction* from = b.array(b.types(), b.newest() ? 0 : 1);
  if (!from) return nullptr;
  std::vector<PaddingDimension> padding;
  for (int64_t dim : from->shape()->dims()) {
    PaddingDimension pad = {b.choices.below(3), b.choices.below(3),
                            b.choices.chance(20) ? b.choices.below(3) : 0};
    const int64_t size = dim + std::max<int64_t>(dim - 1, 0) * pad.interior;
    if (b.choices.chance(20)) pad.low = -b.choices.below(size + 1);
    if (b.choices.chance(20)) pad.high = -b.choices.below(size + std::min<int64_t>(pad.low, 0) + 1);
    padding.push_back(pad);
  }
  return b.emit(opcode, {from, b.scalar(from->shape()->element_type())},
                {make_attribute(attr::padding, b.arena().copy(padding))});
}

Instruction* make_reshape(Builder& b, Opcode opcode) {
  Instruction* from = b.array(b.types());
  if (!from) return nullptr;
  const std::vector<int64_t> dims = regrouped(b.choices, from->shape());
  std::vector<Attribute> attributes;
  if (!b.runnable() && !dims.empty() && b.choices.chance(10)) {
    attributes.push_back(make_attribute(attr::inferred_dimension,
                                        b.choices.below(static_cast<int64_t>(dims.size()))));
  }
  return b.emit(opcode, {from}, attributes, b.shapes().array(from->shape()->element_type(), dims));
}

Instruction* make_reverse(Builder& b, Opcode opcode) {
  Instruction* from = b.array(b.types(), 0, 5, !b.runnable());
  if (!from) return nullptr;
  const int64_t rank = from->shape()->rank();
  return b.emit(opcode, {from},
                {make_attribute(attr::dimensions,
                                b.ints(b.choices.subset(
                                    rank, b.choices.between(std::min<int64_t>(1, rank), rank))))});
}

Instruction* make_shuffle(Builder& b, Opcode opcode) {
  Instruction* from = b.array(b.types(), 1);
  if (!from) return nullptr;
  const std::span<const int64_t> dims = from->shape()->dims();
  const auto mode = static_cast<ShuffleMode>(b.choices.below(3));
  const std::vector<int64_t> dimensions = b.choices.subset(
      from->shape()->rank(),
      mode == ShuffleMode::kMultiRotate ? 1 : b.choices.between(1, from->shape()->rank()));
  std::vector<Attribute> attributes = {make_attribute(attr::dimensions, b.ints(dimensions)),
                                       make_attribute(attr::shuffle_mode, mode)};
  std::vector<int64_t> table(dims.begin(), dims.end());
  for (int64_t& size : table) {
    if (b.choices.chance(30)) size = 1;
  }
  switch (mode) {
    case ShuffleMode::kRotate: {
      std::vector<int64_t> shifts;
      for (size_t i = 0; i < dimensions.size(); ++i) shifts.push_back(b.choices.between(-9, 9));
      attributes.push_back(make_attribute(attr::shifts, b.ints(shifts)));
      break;
    }
    case ShuffleMode::kMultiRotate:
      table[static_cast<size_t>(dimensions[0])] = 1;
      attributes.push_back(
          make_attribute(attr::multi_shifts,
                         b.literal(b.shapes().array(b.choices.pick(b.integer_types()), table))));
      break;
    case ShuffleMode::kPermute:
      if (dimensions.size() > 1 || b.choices.chance(50)) {
        table.push_back(static_cast<int64_t>(dimensions.size()));
      }
      attributes.push_back(
          make_attribute(attr::shuffle_indices,
                         b.literal(b.shapes().array(b.choices.pick(b.integer_types()), table))));
      break;
  }
  return b.emit(opcode, {from}, attributes);
}

Instruction* make_slice(Builder& b, Opcode opcode) {
  Instruction* from = b.array(b.types());
  if (!from) return nullptr;
  std::vector<SliceDimension> slice;
  std::vector<int64_t> dims;
  for (int64_t dim : from->shape()->dims()) {
    const int64_t start = b.choices.chance(50) ? b.choices.between(0, dim) : 0;
    const int64_t limit = b.choices.chance(50) ? b.choices.between(start, dim) : dim;
    const int64_t stride = b.choices.chance(25) ? b.choices.between(1, 3) : 1;
    slice.push_back({start, limit, stride});
    dims.push_back((limit - start + stride - 1) / stride);
  }
  return b.emit(opcode, {from}, {make_attribute(attr::slice, b.arena().copy(slice))},
                b.shapes().array(from->shape()->element_type(), dims));
}

Instruction* make_transpose(Builder& b, Opcode opcode) {
  Instruction* from = b.array(b.types(), 0, 5, !b.runnable());
  if (!from) return nullptr;
  return b.emit(
      opcode, {from},
      {make_attribute(attr::dimensions, b.ints(b.choices.permutation(from->shape()->rank())))});
}

// get-dimension-size and set-dimension-size.
Instruction* make_dimension_size(Builder& b, Opcode opcode) {
  Instruction* of = b.array(b.types(), 1, 5, !b.runnable());
  if (!of) return nullptr;
  const int64_t at = b.choices.below(of->shape()->rank());
  const Attribute dimension = make_attribute(attr::dimensions, b.ints({at}));
  if (opcode == Opcode::kGetDimensionSize) return b.emit(opcode, {of}, {dimension});
  return b.emit(opcode, {of, b.index(ElementType::S32, std::min<int64_t>(of->shape()->dim(at), 9))},
                {dimension});
}

}  // namespace minihlo::generator

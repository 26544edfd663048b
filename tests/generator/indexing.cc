#include <algorithm>

#include "tests/generator/rules.h"

namespace minihlo::generator {
namespace {

int64_t smaller(Choices& choices, int64_t dim) {
  return choices.chance(70) ? choices.between(std::min<int64_t>(dim, 1), dim) : dim;
}

// Start indices of `operand` for a window of `sizes`: scalars, or the older form of one vector.
void append_starts(Builder& b, std::vector<Instruction*>& operands, const Shape* operand,
                   std::span<const int64_t> sizes) {
  const ElementType type = b.choices.pick(b.integer_types());
  if (!b.runnable() && operand->rank() > 0 && b.choices.chance(10)) {
    operands.push_back(b.value(b.shapes().array(type, {{operand->rank()}})));
    return;
  }
  for (int64_t i = 0; i < operand->rank(); ++i) {
    operands.push_back(b.index(type, operand->dim(i) - sizes[static_cast<size_t>(i)]));
  }
}

// How gather and scatter map an index vector and a window to the operand.
struct Maps {
  std::vector<int64_t> batching;          // operand dimensions
  std::vector<int64_t> indices_batching;  // their dimensions in the indices
  std::vector<int64_t> map;               // operand dimension of each number of an index
  std::vector<int64_t> collapsed;         // operand dimensions that the window drops
  std::vector<int64_t> kept;              // those that it keeps
  int64_t vector_dim = 0;
  std::vector<int64_t> indices_dims;
  std::vector<int64_t> batch_dims;  // of the indices, without the index vector
};

Maps random_maps(Builder& b, const Shape* operand) {
  Choices& choices = b.choices;
  Maps maps;
  const int64_t rank = operand->rank();
  std::vector<int64_t> free;
  for (int64_t d = 0; d < rank; ++d) {
    // Batching dimensions came late to HLO.
    if (maps.batching.empty() && operand->dim(d) > 0 && choices.chance(15)) {
      maps.batching.push_back(d);
    } else {
      free.push_back(d);
    }
  }
  std::vector<int64_t> shuffled = free;
  choices.shuffle(shuffled);
  shuffled.resize(static_cast<size_t>(choices.between(0, static_cast<int64_t>(free.size()))));
  maps.map = shuffled;
  for (int64_t d : free) {
    if (operand->dim(d) > 0 && choices.chance(40)) {
      maps.collapsed.push_back(d);
    } else {
      maps.kept.push_back(d);
    }
  }
  for (int64_t i = choices.below(3); i > 0; --i)
    maps.batch_dims.push_back(choices.pick({2, 3, 1, 0}));
  if (!maps.batching.empty()) {
    const int64_t at = choices.below(static_cast<int64_t>(maps.batch_dims.size()) + 1);
    maps.batch_dims.insert(maps.batch_dims.begin() + at, operand->dim(maps.batching[0]));
    maps.indices_batching.push_back(at);
  }
  // The index vector may stand anywhere, or, holding one number, be left out.
  maps.indices_dims = maps.batch_dims;
  maps.vector_dim = static_cast<int64_t>(maps.batch_dims.size());
  if (maps.map.size() != 1 || choices.chance(60)) {
    maps.vector_dim = choices.below(static_cast<int64_t>(maps.batch_dims.size()) + 1);
    maps.indices_dims.insert(maps.indices_dims.begin() + maps.vector_dim,
                             static_cast<int64_t>(maps.map.size()));
    for (int64_t& d : maps.indices_batching) d += d >= maps.vector_dim;
  }
  return maps;
}

Instruction* make_indices(Builder& b, const Maps& maps) {
  const ElementType type = b.choices.pick(b.integer_types());
  const Shape* shape = b.shapes().array(type, maps.indices_dims);
  if (b.choices.chance(30)) return b.value(shape);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < shape->element_count(); ++i) {
    values.push_back(b.choices.chance(85) ? b.choices.below(3)
                                          : b.choices.between(is_signed(type) ? -1 : 0, 9));
  }
  return b.constant(type, maps.indices_dims, values);
}

}  // namespace

Instruction* make_dynamic_slice(Builder& b, Opcode opcode) {
  Instruction* from = b.array(b.types(), b.oracle() ? 1 : 0);
  if (!from) return nullptr;
  std::vector<int64_t> sizes;
  for (int64_t dim : from->shape()->dims()) sizes.push_back(smaller(b.choices, dim));
  std::vector<Instruction*> operands = {from};
  append_starts(b, operands, from->shape(), sizes);
  return b.emit(opcode, operands, {make_attribute(attr::dynamic_slice_sizes, b.ints(sizes))},
                b.shapes().array(from->shape()->element_type(), sizes));
}

Instruction* make_dynamic_update_slice(Builder& b, Opcode opcode) {
  Instruction* into = b.array(b.types(), b.oracle() ? 1 : 0);
  if (!into) return nullptr;
  std::vector<int64_t> sizes;
  for (int64_t dim : into->shape()->dims()) sizes.push_back(smaller(b.choices, dim));
  Instruction* update = b.value(b.shapes().array(into->shape()->element_type(), sizes));
  std::vector<Instruction*> operands = {into, update};
  append_starts(b, operands, into->shape(), sizes);
  return b.emit(opcode, operands, {}, into->shape());
}

Instruction* make_gather(Builder& b, Opcode opcode) {
  Instruction* from = b.array(b.types(), 0, 4);
  if (!from) return nullptr;
  const Maps maps = random_maps(b, from->shape());
  std::vector<int64_t> sizes;
  for (int64_t dim : from->shape()->dims()) sizes.push_back(smaller(b.choices, dim));
  for (int64_t d : maps.collapsed) sizes[static_cast<size_t>(d)] = 1;
  for (int64_t d : maps.batching) sizes[static_cast<size_t>(d)] = 1;
  const auto kept = static_cast<int64_t>(maps.kept.size());
  const std::vector<int64_t> offsets =
      b.choices.subset(kept + static_cast<int64_t>(maps.batch_dims.size()), kept);
  std::vector<Attribute> attributes = {
      make_attribute(attr::offset_dims, b.ints(offsets)),
      make_attribute(attr::collapsed_slice_dims, b.ints(maps.collapsed)),
      make_attribute(attr::start_index_map, b.ints(maps.map)),
      make_attribute(attr::index_vector_dim, maps.vector_dim),
      make_attribute(attr::slice_sizes, b.ints(sizes))};
  if (!maps.batching.empty()) {
    attributes.push_back(make_attribute(attr::operand_batching_dims, b.ints(maps.batching)));
    attributes.push_back(
        make_attribute(attr::start_indices_batching_dims, b.ints(maps.indices_batching)));
  }
  // A promise that a run must be able to keep.
  if (!b.runnable() && b.choices.chance(30)) {
    attributes.push_back(make_attribute(attr::indices_are_sorted, true));
  }
  return b.emit(opcode, {from, make_indices(b, maps)}, attributes);
}

Instruction* make_scatter(Builder& b, Opcode opcode) {
  Instruction* into = b.array(b.types(), 0, 4);
  if (!into) return nullptr;
  const Shape* shape = into->shape();
  const Maps maps = random_maps(b, shape);
  if (b.runnable() && maps.map.empty()) return nullptr;  // XLA's CPU backend keeps the last update
  const auto kept = static_cast<int64_t>(maps.kept.size());
  const auto rank = kept + static_cast<int64_t>(maps.batch_dims.size());
  const std::vector<int64_t> windows = b.choices.subset(rank, kept);
  std::vector<int64_t> dims;
  size_t next_window = 0, next_batch = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (next_window < windows.size() && windows[next_window] == d) {
      dims.push_back(smaller(b.choices, shape->dim(maps.kept[next_window++])));
    } else {
      dims.push_back(maps.batch_dims[next_batch++]);
    }
  }
  Types types = {shape->element_type()};
  if (b.choices.chance(20)) types.push_back(b.choices.pick(b.types()));
  // XLA wants floats of one type.
  if (types.size() > 1 && is_float(types[0]) && is_float(types[1])) types[1] = types[0];
  std::vector<Instruction*> operands = {into};
  if (types.size() > 1) operands.push_back(b.value(b.with_type(shape, types[1])));
  operands.push_back(make_indices(b, maps));
  for (ElementType type : types) operands.push_back(b.value(b.shapes().array(type, dims)));
  std::vector<Attribute> attributes = {
      make_attribute(attr::update_window_dims, b.ints(windows)),
      make_attribute(attr::inserted_window_dims, b.ints(maps.collapsed)),
      make_attribute(attr::scatter_dims_to_operand_dims, b.ints(maps.map)),
      make_attribute(attr::index_vector_dim, maps.vector_dim),
      make_attribute(attr::to_apply, b.reducer(types))};
  if (!maps.batching.empty()) {
    attributes.push_back(make_attribute(attr::input_batching_dims, b.ints(maps.batching)));
    attributes.push_back(
        make_attribute(attr::scatter_indices_batching_dims, b.ints(maps.indices_batching)));
  }
  if (!b.runnable() && b.choices.chance(30)) {
    attributes.push_back(make_attribute(attr::indices_are_sorted, b.choices.chance(50)));
    attributes.push_back(make_attribute(attr::unique_indices, b.choices.chance(50)));
  }
  return b.emit(opcode, operands, attributes);
}

}  // namespace minihlo::generator

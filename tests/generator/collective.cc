#include <algorithm>

#include "tests/generator/groups.h"
#include "tests/generator/rules.h"

namespace minihlo::generator {
namespace {

// Types that collectives of XLA's CPU backend carry without fault.
Types carried_types(Builder& b) {
  if (!b.oracle()) return b.types();
  return {ElementType::F32, ElementType::S32, ElementType::F64, ElementType::U8, ElementType::S64};
}

std::vector<Instruction*> operands_of(Builder& b, const Types& types, int64_t min_rank) {
  std::vector<Instruction*> operands = {b.array(types, min_rank, 4)};
  while (!b.oracle() && operands.size() < 3 && b.choices.chance(20)) {
    operands.push_back(b.array(types, min_rank, 4));
  }
  if (std::find(operands.begin(), operands.end(), nullptr) != operands.end()) operands.clear();
  return operands;
}

std::vector<const Shape*> shapes_of(const std::vector<Instruction*>& values) {
  std::vector<const Shape*> shapes;
  for (const Instruction* value : values) shapes.push_back(value->shape());
  return shapes;
}

const Shape* one_or_tuple(Builder& b, const std::vector<const Shape*>& shapes) {
  return shapes.size() == 1 ? shapes[0] : b.tuple(shapes);
}

const Shape* resized(Builder& b, const Shape* shape, int64_t d, int64_t size) {
  std::vector<int64_t> dims(shape->dims().begin(), shape->dims().end());
  dims[static_cast<size_t>(d)] = size;
  return b.shapes().array(shape->element_type(), dims);
}

void add_extras(Builder& b, Opcode opcode, std::vector<Attribute>& attributes) {
  const bool reduces = opcode == Opcode::kAllReduce || opcode == Opcode::kAllReduceStart;
  // XLA wants it alike on all all-reduces of a module.
  const bool known = opcode != Opcode::kCollectiveBroadcast || b.newest();
  const bool constrains =
      reduces ? b.constrain_layout : known && !b.runnable() && b.choices.chance(15);
  if (constrains) attributes.push_back(make_attribute(attr::constrain_layout, true));
  const bool has_mode = std::ranges::any_of(
      info(opcode).attributes, [](const AttributeUse& use) { return use.id == AttributeId::mode; });
  if (has_mode && b.newest() && b.choices.chance(15)) {
    attributes.push_back(make_attribute(attr::mode, CollectiveMode::kFlattenedId));
  }
}

// Appends s32[k], a root for each of `k` operands, which has_dynamic_root asks for.
void add_roots(Builder& b, int64_t members, std::vector<Instruction*>& operands) {
  std::vector<int64_t> roots;
  for (size_t i = 0; i < operands.size(); ++i) roots.push_back(b.choices.below(members));
  operands.push_back(b.constant(ElementType::S32, {static_cast<int64_t>(roots.size())}, roots));
}

}  // namespace

// all-reduce, its start, collective-reduce.
Instruction* make_reducing_collective(Builder& b, Opcode opcode) {
  std::vector<Instruction*> operands = operands_of(b, carried_types(b), 0);
  if (operands.empty()) return nullptr;
  const ElementType type = operands[0]->shape()->element_type();
  // One computation reduces all operands.
  for (Instruction*& operand : operands) operand = b.value(b.with_type(operand->shape(), type));
  Groups groups = random_groups(b, opcode, false);
  std::vector<Attribute> attributes = groups.attributes;
  add_extras(b, opcode, attributes);
  attributes.push_back(make_attribute(attr::to_apply, b.reducer({type}, b.oracle())));
  if (opcode == Opcode::kCollectiveReduce) {
    const bool dynamic = !b.runnable() && b.choices.chance(40);
    attributes.push_back(make_attribute(attr::has_dynamic_root, dynamic));
    if (dynamic) add_roots(b, groups.members, operands);
  }
  if (opcode == Opcode::kAllReduceStart) return b.emit_start(opcode, operands, attributes);
  return b.emit(opcode, operands, attributes);
}

// all-gather and its start.
Instruction* make_all_gather(Builder& b, Opcode opcode) {
  const std::vector<Instruction*> operands = operands_of(b, carried_types(b), 1);
  if (operands.empty()) return nullptr;
  int64_t rank = 5;
  for (const Instruction* one : operands) rank = std::min(rank, one->shape()->rank());
  const int64_t d = b.choices.below(rank);
  Groups groups = random_groups(b, opcode);
  std::vector<Attribute> attributes = groups.attributes;
  attributes.push_back(make_attribute(attr::dimensions, b.ints({d})));
  add_extras(b, opcode, attributes);
  std::vector<const Shape*> results;
  for (const Instruction* one : operands) {
    results.push_back(resized(b, one->shape(), d, one->shape()->dim(d) * groups.members));
  }
  const Shape* result = one_or_tuple(b, results);
  // Nothing tells how many shards make nothing of nothing.
  if (operands[0]->shape()->dim(d) == 0 && operands.size() > 1) return nullptr;
  if (opcode == Opcode::kAllGather) return b.emit(opcode, operands, attributes, result);
  return b.emit_start(opcode, operands, attributes,
                      b.tuple({one_or_tuple(b, shapes_of(operands)), result}));
}

Instruction* make_reduce_scatter(Builder& b, Opcode opcode) {
  Groups groups = random_groups(b, opcode);
  const Shape* shape = b.array_shape(carried_types(b), 1, 4);
  const int64_t d = b.choices.below(shape->rank());
  const Shape* result = resized(b, shape, d, b.choices.between(1, 3));
  Instruction* operand = b.value(resized(b, shape, d, result->dim(d) * groups.members));
  std::vector<Attribute> attributes = groups.attributes;
  attributes.push_back(make_attribute(attr::dimensions, b.ints({d})));
  attributes.push_back(
      make_attribute(attr::to_apply, b.reducer({shape->element_type()}, b.oracle())));
  add_extras(b, opcode, attributes);
  return b.emit(opcode, {operand}, attributes, result);
}

Instruction* make_all_to_all(Builder& b, Opcode opcode) {
  Groups groups = random_groups(b, opcode);
  std::vector<Attribute> attributes = groups.attributes;
  add_extras(b, opcode, attributes);
  const Shape* shape = b.array_shape(carried_types(b), 1, 4);
  // XLA's CPU compiler wants groups where one array is split.
  const bool everyone = attribute_value<const DeviceGroups*>(groups.attributes.back())->empty();
  if (b.choices.chance(40) || (b.oracle() && everyone)) {
    std::vector<Instruction*> operands;
    for (int64_t i = 0; i < groups.members; ++i) operands.push_back(b.value(shape));
    return b.emit(opcode, operands, attributes);
  }
  const int64_t d = b.choices.below(shape->rank());
  attributes.push_back(make_attribute(attr::dimensions, b.ints({d})));
  return b.emit(opcode, {b.value(resized(b, shape, d, groups.members * b.choices.between(1, 2)))},
                attributes);
}

// Each device sends `rows` rows to each other one, and finds room for them by its own number. So
// the groups must be all ids in order, or there may be nothing to send.
Instruction* make_ragged_all_to_all(Builder& b, Opcode opcode) {
  Groups groups = random_groups(b, opcode);
  const bool in_order = attribute_value<const DeviceGroups*>(groups.attributes.back())->empty();
  const int64_t n = groups.members;
  const int64_t rows = in_order ? b.choices.below(3) : 0;
  const Shape* shape = b.array_shape(carried_types(b), 1, 3);
  Instruction* input = b.value(resized(b, shape, 0, n * rows + b.choices.below(2)));
  Instruction* output = b.value(resized(b, shape, 0, n * rows + b.choices.below(2)));
  const ElementType type = b.choices.pick({ElementType::S32, ElementType::S64});
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i < n; ++i) offsets.push_back(i * rows);
  const std::vector<int64_t> sizes(static_cast<size_t>(n), rows);
  Instruction* from = b.constant(type, {n}, offsets);
  Instruction* count = b.constant(type, {n}, sizes);
  Instruction* id = b.emit(
      groups.mode == GroupMode::kCrossReplica ? Opcode::kReplicaId : Opcode::kPartitionId, {});
  Instruction* own = b.emit(Opcode::kConvert, {id}, {}, b.shapes().scalar(type));
  Instruction* to =
      b.emit(Opcode::kBroadcast, {b.emit(Opcode::kMultiply, {own, b.constant(type, {}, {rows})})},
             {make_attribute(attr::dimensions, {})}, b.shapes().array(type, {{n}}));
  std::vector<Attribute> attributes = groups.attributes;
  // Read and without meaning.
  if (!b.runnable() && b.choices.chance(30)) {
    attributes.push_back(make_attribute(attr::dimensions, b.ints({0})));
  }
  return b.emit(opcode, {input, output, from, count, to, count}, attributes);
}

Instruction* make_collective_broadcast(Builder& b, Opcode opcode) {
  std::vector<Instruction*> operands = operands_of(b, carried_types(b), 0);
  if (operands.empty()) return nullptr;
  operands.resize(1);
  Groups groups = random_groups(b, opcode);
  std::vector<Attribute> attributes = groups.attributes;
  add_extras(b, opcode, attributes);
  if (b.newest() && b.choices.chance(40)) {
    attributes.push_back(make_attribute(attr::has_dynamic_root, true));
    add_roots(b, groups.members, operands);
  }
  return b.emit(opcode, operands, attributes);
}

// collective-permute and its start, plain and in place.
Instruction* make_collective_permute(Builder& b, Opcode opcode) {
  std::vector<Attribute> attributes = random_pairs(b);
  const bool starts = opcode == Opcode::kCollectivePermuteStart;
  std::vector<Instruction*> operands;
  if (!b.runnable() && b.choices.chance(15)) {
    Instruction* from = b.array(b.types(), 1, 3);
    if (!from) return nullptr;
    std::vector<int64_t> sizes;
    for (int64_t dim : from->shape()->dims()) sizes.push_back(std::min<int64_t>(dim, 2));
    auto offset = [&] {
      const std::vector<const Shape*> all(sizes.size(), b.shapes().scalar(ElementType::S32));
      return b.value(b.tuple(all));
    };
    Instruction* to = b.value(from->shape());
    Instruction* from_offset = offset();
    operands = {from, to, from_offset, offset()};
    attributes.push_back(
        make_attribute(attr::permute_slice_sizes,
                       b.arena().copy(std::vector<std::span<const int64_t>>{b.ints(sizes)})));
  } else {
    operands = operands_of(b, carried_types(b), 0);
    if (operands.empty()) return nullptr;
  }
  if (!starts) return b.emit(opcode, operands, attributes);
  const bool contexts = b.choices.chance(40) &&
                        find_attribute(attributes, AttributeId::permute_slice_sizes) == nullptr;
  if (!contexts) return b.emit_start(opcode, operands, attributes);
  const Shape* data = one_or_tuple(b, shapes_of(operands));
  const Shape* context = b.shapes().scalar(ElementType::U32);
  return b.emit_start(opcode, operands, attributes, b.tuple({data, data, context, context}));
}

}  // namespace minihlo::generator

#include "passes/emitter.h"

#include <cassert>

#include "ir/shape_inference.h"

namespace minihlo {

Instruction* Emitter::make(Opcode opcode, std::span<Instruction* const> operands,
                           std::span<const Attribute> attributes, const Shape* shape) {
  if (!shape) {
    auto inferred = infer_shape(shapes(), {opcode, operands, attributes});
    assert(inferred);
    shape = *inferred;
  }
  return rewriter_.emit(opcode, to_string(opcode), shape, operands, attributes);
}

Instruction* Emitter::parameter(int64_t number, const Shape* shape) {
  return make(Opcode::kParameter, {}, {make_attribute(attr::parameter_number, number)}, shape);
}

Instruction* Emitter::zeros(const Shape* shape) {
  Instruction* zero = rewriter_.zero(shape->element_type());
  return shape->is_scalar() ? zero : broadcast(zero, shape);
}

Instruction* Emitter::broadcast(Instruction* scalar, const Shape* shape) {
  return make(Opcode::kBroadcast, {scalar}, {make_attribute(attr::dimensions, {})},
              shapes().array(scalar->shape()->element_type(), shape->dims()));
}

Instruction* Emitter::reshape(Instruction* array, std::span<const int64_t> dims) {
  return make(Opcode::kReshape, {array}, {}, shapes().array(array->shape()->element_type(), dims));
}

Instruction* Emitter::convert(Instruction* array, ElementType type) {
  return make(Opcode::kConvert, {array}, {}, shapes().with_element_type(array->shape(), type));
}

Instruction* Emitter::compare(ComparisonDirection direction, Instruction* a, Instruction* b) {
  return make(Opcode::kCompare, {a, b}, {make_attribute(attr::direction, direction)});
}

Instruction* Emitter::slice_along(Instruction* array, int64_t axis, int64_t start, int64_t limit) {
  std::vector<SliceDimension> ranges;
  for (int64_t size : array->shape()->dims()) ranges.push_back({0, size, 1});
  ranges[static_cast<size_t>(axis)] = {start, limit, 1};
  std::vector<int64_t> dims(array->shape()->dims().begin(), array->shape()->dims().end());
  dims[static_cast<size_t>(axis)] = limit - start;
  return make(Opcode::kSlice, {array},
              {make_attribute(attr::slice, rewriter_.arena().copy(ranges))},
              shapes().with_dims(array->shape(), dims));
}

Instruction* Emitter::concatenate(std::span<Instruction* const> arrays, int64_t axis) {
  Attribute dimensions = make_attribute(attr::dimensions, keep_ints(module(), std::span(&axis, 1)));
  return make(Opcode::kConcatenate, arrays, std::span(&dimensions, 1));
}

std::vector<Instruction*> Emitter::starts_along(const Instruction* array, int64_t axis,
                                                Instruction* start) {
  std::vector<Instruction*> starts;
  for (int64_t dim = 0; dim < array->shape()->rank(); ++dim) {
    starts.push_back(dim == axis ? start : rewriter_.zero(start->shape()->element_type()));
  }
  return starts;
}

Instruction* Emitter::dynamic_slice_along(Instruction* array, int64_t axis, Instruction* start,
                                          int64_t size) {
  std::vector<Instruction*> operands = {array};
  for (Instruction* one : starts_along(array, axis, start)) operands.push_back(one);
  std::vector<int64_t> dims(array->shape()->dims().begin(), array->shape()->dims().end());
  dims[static_cast<size_t>(axis)] = size;
  Attribute sizes = make_attribute(attr::dynamic_slice_sizes, keep_ints(module(), dims));
  return make(Opcode::kDynamicSlice, operands, std::span(&sizes, 1),
              shapes().with_dims(array->shape(), dims));
}

Instruction* Emitter::dynamic_update_along(Instruction* array, Instruction* update, int64_t axis,
                                           Instruction* start) {
  std::vector<Instruction*> operands = {array, update};
  for (Instruction* one : starts_along(array, axis, start)) operands.push_back(one);
  return make(Opcode::kDynamicUpdateSlice, operands, {}, array->shape());
}

Instruction* Emitter::tuple(std::span<Instruction* const> elements) {
  return make(Opcode::kTuple, elements);
}

Instruction* Emitter::element(Instruction* tuple, int64_t index) {
  return make(Opcode::kGetTupleElement, {tuple}, {make_attribute(attr::index, index)});
}

Instruction* Emitter::id(GroupMode mode, const Mesh& mesh) {
  const Shape* shape = shapes().scalar(ElementType::U32);
  if (mode == GroupMode::kCrossPartition) return make(Opcode::kPartitionId, {}, {}, shape);
  Instruction* replica = make(Opcode::kReplicaId, {}, {}, shape);
  if (mode != GroupMode::kFlattenedId) return replica;
  Instruction* partitions = scalar(ElementType::U32, mesh.partitions);
  Instruction* start = make(Opcode::kMultiply, {replica, partitions});
  Instruction* partition = make(Opcode::kPartitionId, {}, {}, shape);
  return make(Opcode::kAdd, {start, partition});
}

Instruction* Emitter::look_up(Instruction* table, Instruction* id) {
  return reshape(dynamic_slice_along(table, 0, id, 1), {});
}

std::span<const int64_t> keep_ints(Module& module, std::span<const int64_t> values) {
  return module.arena().copy(std::vector<int64_t>(values.begin(), values.end()));
}

const DeviceGroups* keep_groups(Module& module, std::span<const std::vector<int64_t>> groups) {
  std::vector<std::span<const int64_t>> lists;
  for (const std::vector<int64_t>& group : groups) lists.push_back(module.arena().copy(group));
  DeviceGroups* kept = module.arena().make<DeviceGroups>();
  kept->lists = module.arena().copy(lists);
  return kept;
}

}  // namespace minihlo

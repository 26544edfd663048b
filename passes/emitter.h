// Says what a pass emits in few words: shapes are inferred, names are the opcodes'.
//
//   Emitter emit(rewriter);
//   Instruction* offset = emit.make(Opcode::kMultiply, {place, emit.scalar(ElementType::S32, 8)});
//   Instruction* shard = emit.dynamic_slice_along(whole, 0, offset, 8);
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "ir/rewriter.h"
#include "ir/semantics/groups.h"
#include "ir/semantics/mesh.h"

namespace minihlo {

class Emitter {
 public:
  /// Emits through a rewriter, which has to live as long: before its instruction at hand, or at the
  /// end of a computation that is new.
  explicit Emitter(Rewriter& rewriter) : rewriter_(rewriter) {}

  Rewriter& rewriter() const { return rewriter_; }
  Module& module() const { return rewriter_.module(); }
  ShapePool& shapes() const { return rewriter_.shapes(); }

  /// An instruction of any opcode. The shape is inferred unless it is given, which requires that
  /// operands and attributes are right.
  Instruction* make(Opcode opcode, std::span<Instruction* const> operands,
                    std::span<const Attribute> attributes = {}, const Shape* shape = nullptr);
  Instruction* make(Opcode opcode, std::initializer_list<Instruction*> operands,
                    std::initializer_list<Attribute> attributes = {},
                    const Shape* shape = nullptr) {
    return make(opcode, std::span(operands.begin(), operands.size()),
                std::span(attributes.begin(), attributes.size()), shape);
  }
  /// A parameter, of a computation that is new.
  Instruction* parameter(int64_t number, const Shape* shape);

  /// A scalar of an integer type or pred.
  Instruction* scalar(ElementType type, int64_t value) { return rewriter_.constant(type, value); }
  /// Zeros of any array shape.
  Instruction* zeros(const Shape* shape);
  /// A scalar everywhere.
  Instruction* broadcast(Instruction* scalar, const Shape* shape);
  Instruction* reshape(Instruction* array, std::span<const int64_t> dims);
  Instruction* convert(Instruction* array, ElementType type);
  /// A comparison by the default rule of the operands' type.
  Instruction* compare(ComparisonDirection direction, Instruction* a, Instruction* b);
  /// Elements [start, limit) along one axis, all along the others.
  Instruction* slice_along(Instruction* array, int64_t axis, int64_t start, int64_t limit);
  Instruction* concatenate(std::span<Instruction* const> arrays, int64_t axis);
  /// `size` elements from a start on along one axis, all along the others.
  Instruction* dynamic_slice_along(Instruction* array, int64_t axis, Instruction* start,
                                   int64_t size);
  /// The array with `update` written over it from a start on along one axis.
  Instruction* dynamic_update_along(Instruction* array, Instruction* update, int64_t axis,
                                    Instruction* start);
  Instruction* tuple(std::span<Instruction* const> elements);
  Instruction* element(Instruction* tuple, int64_t index);

  /// What `mode` numbers devices by, as u32[]: replica-id, partition-id, or the flattened id.
  Instruction* id(GroupMode mode, const Mesh& mesh);
  /// The entry of a vector at an id, as a scalar. The id is not converted.
  Instruction* look_up(Instruction* table, Instruction* id);

 private:
  std::vector<Instruction*> starts_along(const Instruction* array, int64_t axis,
                                         Instruction* start);

  Rewriter& rewriter_;
};

/// Lists as attributes hold them, in the module's storage.
std::span<const int64_t> keep_ints(Module& module, std::span<const int64_t> values);
const DeviceGroups* keep_groups(Module& module, std::span<const std::vector<int64_t>> groups);

}  // namespace minihlo

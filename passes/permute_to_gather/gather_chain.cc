#include "passes/permute_to_gather/gather_chain.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace minihlo {
namespace {

// The shape with one dimension `factor` times as large, in the same layout. Null where that does
// not fit 63 bits.
const Shape* scaled(ShapePool& shapes, const Shape* shape, int64_t dim, int64_t factor) {
  std::vector<int64_t> dims(shape->dims().begin(), shape->dims().end());
  int64_t& size = dims[static_cast<size_t>(dim)];
  if (__builtin_mul_overflow(size, factor, &size)) return nullptr;
  return shapes.try_array(shape->element_type(), dims, {}, shape->layout());
}

const Shape* one_element(ShapePool& shapes, const Shape* scalar) {
  const int64_t one = 1;
  return shapes.array(scalar->element_type(), std::span(&one, 1));
}

}  // namespace

tl::expected<GatherPlan, std::string> plan_gather(ShapePool& shapes, Instruction* operand,
                                                  const Shape* result, int64_t group_size,
                                                  const PermuteToGatherOptions& options) {
  const Shape* shape = operand->shape();
  if (!shape->is_array()) return tl::make_unexpected("its operand is no array");
  if (!compatible(shape, result)) {
    return tl::make_unexpected("its shape is not that of its operand");
  }
  if (shape->is_dynamic()) return tl::make_unexpected("its operand has a dynamic dimension");
  GatherPlan plan{.operand = operand, .result = result, .shard = shape};
  if (shape->is_scalar() && (options.preset || options.literal_axis)) {
    return tl::make_unexpected("its operand is a scalar, which has no dimension to gather");
  }
  if (options.literal_axis) {
    plan.gather_dim = shape->rank() > 1 ? 1 : 0;
  } else {
    plan.gather_dim = plan.slice_dim = options.axis;
    // A scalar is gathered as one element of a new dimension 0.
    if (options.axis >= std::max<int64_t>(shape->rank(), 1)) {
      return tl::make_unexpected(
          fmt::format("its operand has rank {}, so no dimension {}", shape->rank(), options.axis));
    }
  }
  if (shape->is_scalar()) plan.shard = one_element(shapes, shape);
  plan.gathered = scaled(shapes, plan.shard, plan.gather_dim, group_size);
  if (!plan.gathered) {
    return tl::make_unexpected(fmt::format(
        "gathered from {} devices its operand would have too many elements to count", group_size));
  }
  return plan;
}

GatherChain::GatherChain(Rewriter& rewriter, const PermuteTable& table, const Mesh& mesh,
                         const std::vector<GatherPlan>& plans,
                         const PermuteToGatherOptions& options)
    : rewriter_(rewriter), emit_(rewriter), table_(table), mesh_(mesh) {
  if (options.preset) return;
  const int64_t most = *std::max_element(table.entries.begin(), table.entries.end());
  for (const GatherPlan& plan : plans) {
    // The extent itself has to fit too.
    int64_t offset = 0;
    bool wraps = __builtin_mul_overflow(std::max<int64_t>(most, 1), plan.shard->dim(plan.slice_dim),
                                        &offset);
    if (wraps || offset > std::numeric_limits<int32_t>::max()) integer_ = ElementType::S64;
  }
}

Instruction* GatherChain::gather(const GatherPlan& plan, const GatherAttributes& attributes,
                                 bool asynchronous, Instruction*& first) {
  Instruction* shard = plan.operand;
  first = nullptr;
  if (plan.shard != plan.operand->shape()) {
    shard = first = rewriter_.emit(Opcode::kReshape, "reshape", plan.shard, {shard});
  }
  std::vector<Attribute> list;
  if (attributes.channel_id) {
    list.push_back(make_attribute(attr::channel_id, *attributes.channel_id));
  }
  list.push_back(make_attribute(attr::replica_groups, attributes.groups));
  list.push_back(make_attribute(attr::constrain_layout, true));
  list.push_back(
      make_attribute(attr::dimensions, rewriter_.arena().copy(std::vector{plan.gather_dim})));
  if (attributes.channel_id) list.push_back(make_attribute(attr::use_global_device_ids, true));

  Instruction* gathered = nullptr;
  if (asynchronous) {
    const Shape* both[] = {plan.shard, plan.gathered};
    gathered = rewriter_.emit(Opcode::kAllGatherStart, "all-gather-start",
                              rewriter_.shapes().tuple(both), std::span(&shard, 1), list);
  } else {
    gathered =
        rewriter_.emit(Opcode::kAllGather, "all-gather", plan.gathered, std::span(&shard, 1), list);
  }
  if (!first) first = gathered;
  return gathered;
}

// The entry of a vector at the device's id, as a scalar.
Instruction* GatherChain::look_up(Instruction* table) {
  if (!id_) id_ = emit_.id(table_.index, mesh_);
  return emit_.look_up(table, id_);
}

Instruction* GatherChain::take_shard(const GatherPlan& plan, Instruction* gathered) {
  if (!place_) {
    Instruction* table = rewriter_.constant(integer_, table_.entries);
    table_constant_ = table;
    place_ = look_up(table);
  }
  Instruction* extent = emit_.scalar(integer_, plan.shard->dim(plan.slice_dim));
  Instruction* offset = emit_.make(Opcode::kMultiply, {place_, extent});
  std::vector<Instruction*> operands = {gathered};
  for (int64_t dim = 0; dim < plan.shard->rank(); ++dim) {
    operands.push_back(dim == plan.slice_dim ? offset : emit_.scalar(integer_, 0));
  }
  const bool is_scalar = plan.result->is_scalar();
  const Shape* shape = is_scalar ? plan.shard : plan.result;
  Attribute sizes =
      make_attribute(attr::dynamic_slice_sizes, rewriter_.arena().copy(shape->dims()));
  Instruction* value = emit_.make(Opcode::kDynamicSlice, operands, std::span(&sizes, 1), shape);
  if (!table_.received.empty()) value = select_received(shape, value);
  if (is_scalar) value = emit_.make(Opcode::kReshape, {value}, {}, plan.result);
  return value;
}

Instruction* GatherChain::select_received(const Shape* shape, Instruction* value) {
  if (!received_) received_ = look_up(rewriter_.constant(ElementType::PRED, table_.received));
  Instruction* mask = emit_.broadcast(received_, shape);
  Instruction* zero = rewriter_.zero(shape->element_type());
  return emit_.make(Opcode::kSelect, {mask, value, emit_.broadcast(zero, shape)}, {}, shape);
}

}  // namespace minihlo

// The instructions that take the place of a permute.
//
//   %ag     = all-gather(%operand)
//   %map    = s32[N] constant({...})          the table
//   %id     = u32[] replica-id()              or partition-id, or both combined
//   %ds0    = s32[1] dynamic-slice(%map, %id)
//   %idx    = s32[] reshape(%ds0)
//   %shard  = s32[] constant(extent)
//   %off    = s32[] multiply(%idx, %shard)
//   %zero   = s32[] constant(0)               one for each dimension that is not sliced
//   %result = dynamic-slice(%ag, %off, %zero, ...)
//
// Where some devices receive nothing, a table of truth values is read in the same way and selects
// between the result and zeros. A scalar is reshaped to one element and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "passes/emitter.h"
#include "passes/permute_to_gather/options.h"
#include "passes/permute_to_gather/permute_table.h"

namespace minihlo {

/// What is known of one operand before anything is emitted.
struct GatherPlan {
  Instruction* operand = nullptr;
  const Shape* result = nullptr;    // of the permute, for this operand
  const Shape* shard = nullptr;     // what is gathered: the operand's shape, of a scalar [1]
  const Shape* gathered = nullptr;  // what comes out
  int64_t gather_dim = 0;
  int64_t slice_dim = 0;
};

/// Plans the operand of a permute for groups of `group_size`. Error: why it can't be done.
tl::expected<GatherPlan, std::string> plan_gather(ShapePool& shapes, Instruction* operand,
                                                  const Shape* result, int64_t group_size,
                                                  const PermuteToGatherOptions& options);

/// Attributes of the all-gathers of one permute.
struct GatherAttributes {
  const DeviceGroups* groups;
  std::optional<int64_t> channel_id;  // set where the groups are of flattened ids
};

/// Emits the chains of one permute, one an operand; they share their look-ups.
class GatherChain {
 public:
  GatherChain(Rewriter& rewriter, const PermuteTable& table, const Mesh& mesh,
              const std::vector<GatherPlan>& plans, const PermuteToGatherOptions& options);

  /// Emits what comes before the look-ups: all-gather, or all-gather-start where `asynchronous`.
  /// Returns it. `first` becomes what is to wait for the permute's control predecessors.
  Instruction* gather(const GatherPlan& plan, const GatherAttributes& attributes, bool asynchronous,
                      Instruction*& first);
  /// Emits the rest, from the gathered operand to the value of the permute's shape.
  Instruction* take_shard(const GatherPlan& plan, Instruction* gathered);

  /// The table's constant; null before the first take_shard().
  const Instruction* table_constant() const { return table_constant_; }
  /// The values of the table as they are stored.
  const std::vector<int64_t>& entries() const { return table_.entries; }

 private:
  Instruction* look_up(Instruction* table);
  Instruction* select_received(const Shape* shape, Instruction* value);

  Rewriter& rewriter_;
  Emitter emit_;
  const PermuteTable& table_;
  Mesh mesh_;
  ElementType integer_ = ElementType::S32;  // of table, offsets and starts
  Instruction* id_ = nullptr;
  Instruction* table_constant_ = nullptr;
  Instruction* place_ = nullptr;
  Instruction* received_ = nullptr;
};

}  // namespace minihlo

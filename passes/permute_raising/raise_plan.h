// Which all-gathers are permutes: all that is done with what they gather is to slice out shards.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/semantics/groups.h"
#include "ir/semantics/known_values.h"

namespace minihlo {

/// One slice of what an all-gather gives, from the operand to the value that the permute gives.
///
///   %wide = f32[1] reshape(%operand)                where the operand is a scalar
///   %gather = f32[4] all-gather(%wide)
///   %slice = f32[1] dynamic-slice(%gather, ...)
///   %select = f32[1] select(%mask, %slice, %zeros)  where some devices receive nothing
///   %result = f32[] reshape(%select)
struct RaisedSlice {
  Instruction* gather = nullptr;   // or its start
  Instruction* done = nullptr;     // of a start
  Instruction* operand = nullptr;  // what the permute takes
  Instruction* wide = nullptr;     // what the all-gather took where that is another
  Instruction* result = nullptr;   // the last one of the chain
  /// The chain between gather and result, the done too: nothing outside of it uses it.
  std::vector<Instruction*> inside;
  /// What the shard is looked up by; slices of one permute share it.
  const Instruction* place = nullptr;
  std::vector<SourceTarget> pairs;
  GroupMode mode = GroupMode::kCrossReplica;
  /// Whether the result has the operand's elements in order, but other dimensions.
  bool is_reshaped = false;
  /// Whether it has no elements, so that any pairs would do and none are known.
  bool is_empty = false;
};

/// A permute to be made: of one slice, or of several whose results make a tuple.
struct RaisedPermute {
  std::vector<RaisedSlice> slices;
  Instruction* result = nullptr;  // what it takes the place of: the slice's result, or the tuple
  Instruction* start = nullptr;   // the last of the starts, where there are any
};

/// What becomes of the all-gathers of a computation.
struct RaisePlan {
  std::vector<RaisedPermute> permutes;
  /// Why the other ones are left alone.
  std::map<const Instruction*, std::string> reasons;
};

/// All-gathers that are left alone, and why.
using RefusedGathers = std::unordered_map<const Instruction*, std::string>;

RaisePlan plan_raising(const Computation& computation, KnownValues& known, const Mesh& mesh,
                       const RefusedGathers& refused);

}  // namespace minihlo

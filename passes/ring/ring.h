// The members of a group in a ring, each with the next and the previous one, and the three ways in
// which data goes round it. All groups of a collective go round at the same time.
//
//   visit_shards      every member sees what each member has: all-gather
//   sum_chunks        chunk i of what all members have, combined, ends at the member of rank i, in
//                     the order in which it comes round: reduce-scatter
//   sum_in_order      the same in the order of ranks, bit for bit what the collective gives, in
//                     about three times the steps
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "ir/semantics/groups.h"
#include "passes/ring/mesh_links.h"
#include "passes/ring/steps.h"

namespace minihlo {

enum class Direction : uint8_t { kNext, kPrevious };

/// A chunk that is named from where a device stands and from the step:
/// (rank_sign * rank + shift + step_sign * step) mod members.
struct ChunkPlace {
  Step step;
  int64_t step_sign = 1;
  int64_t shift = 0;
  int64_t rank_sign = 1;
};

class Ring {
 public:
  /// The rings of a collective with replica_groups. Errors: those of its groups; groups of several
  /// sizes or of one member; devices in no group, or that may not come to it, or come to it from
  /// several branches; too many members to unroll, where that is asked
  /// for; what DeviceMove can't do, or `links` has no room for.
  static tl::expected<Ring, std::string> make(const Instruction& collective, MeshLinks& links,
                                              bool unroll);

  int64_t size() const { return size_; }
  bool unroll() const { return unroll_; }
  MeshLinks& links() const { return *links_; }

  /// Each member's array to the next one, or to the previous one.
  Instruction* move(Emitter& emit, Instruction* array, Direction direction) const;
  /// The number of a chunk times `extent`, as a scalar: s32[], or s64[] where members * extent does
  /// not fit.
  Instruction* offset(Emitter& emit, const ChunkPlace& place, int64_t extent) const;
  /// What a function makes of the device's rank, as a scalar.
  Instruction* by_rank(Emitter& emit, ElementType type,
                       const std::function<int64_t(int64_t)>& function) const;
  /// Whether a chunk is the one whose number is the device's rank, as pred[].
  Instruction* is_own(Emitter& emit, const ChunkPlace& place) const;

 private:
  static constexpr int64_t kMaxUnrolled = int64_t{1} << 12;  // members
  static constexpr int64_t kMaxTrips = 3;                    // of any loop, in members

  int64_t number_of(const ChunkPlace& place, int64_t rank) const;

  int64_t size_ = 1;
  bool unroll_ = false;
  MeshLinks* links_ = nullptr;
  std::vector<int64_t> ranks_;     // by flattened id
  std::vector<DeviceMove> moves_;  // by Direction
};

/// What a device does with a shard that it sees: returns the state behind it.
using Visit = std::function<State(Emitter& emit, Instruction* shard, const ChunkPlace& place,
                                  const State& state)>;

/// Sends a shard of each device round and calls `visit` with each one, the own one first, where
/// `place` is the rank of the member that it is from. Members - 1 steps with one direction, half as
/// many with both.
State visit_shards(Emitter& emit, const Ring& ring, bool both_directions, Instruction* shard,
                   State state, const Visit& visit);

/// A device's own part of a chunk. `state` is what was given to the function that asks.
using OwnChunk =
    std::function<Instruction*(Emitter& emit, const ChunkPlace& place, const State& state)>;
/// Combines what came with what is the device's own.
using Combine = std::function<Instruction*(Emitter& emit, Instruction* received, Instruction* own)>;

/// What goes round in one direction.
struct Lane {
  Direction direction = Direction::kNext;
  OwnChunk own;
};

/// The combined chunk whose number is the device's rank, for each lane. Chunk i starts behind the
/// member of rank i and goes round to it.
std::vector<Instruction*> sum_chunks(Emitter& emit, const Ring& ring, std::span<const Lane> lanes,
                                     const State& state, const Combine& combine);

/// What is kept of the chunks that come by: returns what is kept from here on. A chunk is seen
/// several times, the last time when it is complete.
using Keep = std::function<Instruction*(Emitter& emit, Instruction* chunk, const ChunkPlace& place,
                                        Instruction* kept)>;

/// Lets every chunk start at the first member of the group, go to the last one and from there round
/// once more, complete. Returns what `keep` made of `kept` in the end. `everyone`: all members keep
/// all chunks; else each the one with the number of its rank.
Instruction* sum_in_order(Emitter& emit, const Ring& ring, bool everyone, const OwnChunk& own,
                          const State& state, Instruction* kept, const Combine& combine,
                          const Keep& keep);

}  // namespace minihlo

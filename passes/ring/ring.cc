#include "passes/ring/ring.h"

#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace minihlo {
namespace {

State slice(const State& all, size_t first) {
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.end()};
}

State joined(State first, const State& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

}  // namespace

tl::expected<Ring, std::string> Ring::make(const Instruction& collective, MeshLinks& links,
                                           bool unroll) {
  const Mesh& mesh = links.mesh();
  if (links.is_shared(collective)) return tl::make_unexpected(MeshLinks::shared_channel());
  // Groups, ranks, and pairs both ways.
  if (!links.take_numbers(4 * mesh.device_count())) {
    return tl::make_unexpected(MeshLinks::numbers_used_up());
  }
  auto groups = collective_groups(collective, mesh);
  if (!groups) return tl::make_unexpected(std::move(groups.error()));
  if (!groups->covers_mesh()) return tl::make_unexpected("some devices are in no group");
  if (!groups->is_uniform()) return tl::make_unexpected("its groups are not all of one size");
  Ring ring;
  ring.size_ = groups->group_size(0);
  ring.unroll_ = unroll;
  ring.links_ = &links;
  if (ring.size_ == 1) return tl::make_unexpected("its groups have one member each");
  if (unroll && ring.size_ > kMaxUnrolled) {
    return tl::make_unexpected(
        fmt::format("its groups have more than {} members, too many to unroll", kMaxUnrolled));
  }
  std::vector<int64_t> next(groups->group_of.size()), previous(groups->group_of.size());
  for (int64_t g = 0; g < groups->size(); ++g) {
    std::span<const int64_t> members = groups->group(g);
    for (size_t i = 0; i < members.size(); ++i) {
      const int64_t from = members[i], to = members[(i + 1) % members.size()];
      next[static_cast<size_t>(to)] = from;
      previous[static_cast<size_t>(from)] = to;
    }
  }
  ring.ranks_ = std::move(groups->rank_of);
  Module& module = *collective.parent()->module();
  for (std::vector<int64_t>* sources : {&next, &previous}) {
    auto move = DeviceMove::plan(module, mesh, std::move(*sources));
    if (!move) return tl::make_unexpected(std::move(move.error()));
    if (!links.runs_on_all(collective) && !move->stays_within(mesh, ring.size_)) {
      return tl::make_unexpected(DeviceMove::waits_for_others());
    }
    ring.moves_.push_back(*std::move(move));
  }
  return ring;
}

Instruction* Ring::move(Emitter& emit, Instruction* array, Direction direction) const {
  return moves_[static_cast<size_t>(direction)].emit(emit, *links_, array);
}

Instruction* Ring::by_rank(Emitter& emit, ElementType type,
                           const std::function<int64_t(int64_t)>& function) const {
  std::vector<int64_t> entries;
  for (int64_t rank : ranks_) entries.push_back(function(rank));
  return entry_of_device(emit, links_->mesh(), type, entries);
}

// Without the counter.
int64_t Ring::number_of(const ChunkPlace& place, int64_t rank) const {
  const int64_t number = place.rank_sign * rank + place.shift + place.step_sign * place.step.number;
  return (number % size_ + size_) % size_;
}

Instruction* Ring::is_own(Emitter& emit, const ChunkPlace& place) const {
  if (!place.step.counter) {
    return by_rank(emit, ElementType::PRED,
                   [&](int64_t rank) { return number_of(place, rank) == rank; });
  }
  Instruction* own = by_rank(emit, ElementType::S32, [](int64_t rank) { return rank; });
  return emit.compare(ComparisonDirection::kEq, offset(emit, place, 1), own);
}

Instruction* Ring::offset(Emitter& emit, const ChunkPlace& place, int64_t extent) const {
  const bool is_wide = extent > std::numeric_limits<int32_t>::max() / size_;
  const ElementType type = is_wide ? ElementType::S64 : ElementType::S32;
  if (!place.step.counter) {
    return by_rank(emit, type, [&](int64_t rank) { return number_of(place, rank) * extent; });
  }
  // What the counter is subtracted from must not be less than it.
  const int64_t more = place.step_sign < 0 ? kMaxTrips * size_ : 0;
  Instruction* start =
      by_rank(emit, ElementType::S32, [&](int64_t rank) { return number_of(place, rank) + more; });
  Instruction* number = emit.make(place.step_sign < 0 ? Opcode::kSubtract : Opcode::kAdd,
                                  {start, place.step.counter});
  Instruction* chunk =
      emit.make(Opcode::kRemainder, {number, emit.scalar(ElementType::S32, size_)});
  if (is_wide) chunk = emit.convert(chunk, type);
  if (extent == 1) return chunk;
  return emit.make(Opcode::kMultiply, {chunk, emit.scalar(type, extent)});
}

State visit_shards(Emitter& emit, const Ring& ring, bool both_directions, Instruction* shard,
                   State state, const Visit& visit) {
  const int64_t others = ring.size() - 1;
  if (!both_directions) {
    // What was visited is on its way while it is visited.
    State all =
        emit_steps(emit, others, ring.unroll(), joined({shard}, state),
                   [&](Emitter& inner, const Step& step, const State& now) {
                     Instruction* next = ring.move(inner, now[0], Direction::kNext);
                     return joined({next}, visit(inner, now[0], {step, -1, 0}, slice(now, 1)));
                   });
    return visit(emit, all[0], {{}, 1, -others}, slice(all, 1));
  }
  // Trip i visits what came i steps forwards and i + 1 backwards. What is left is one of each, and,
  // where the others are an even number, one more.
  const int64_t trips = ring.size() / 2 - 1;
  Instruction* back = ring.move(emit, shard, Direction::kPrevious);
  State all = emit_steps(emit, trips, ring.unroll(), joined({shard, back}, state),
                         [&](Emitter& inner, const Step& step, const State& now) {
                           Instruction* ahead = ring.move(inner, now[0], Direction::kNext);
                           Instruction* behind = ring.move(inner, now[1], Direction::kPrevious);
                           State seen = visit(inner, now[0], {step, -1, 0}, slice(now, 2));
                           seen = visit(inner, now[1], {step, 1, 1}, seen);
                           return joined({ahead, behind}, seen);
                         });
  State seen = visit(emit, all[0], {{}, 1, -trips}, slice(all, 2));
  seen = visit(emit, all[1], {{}, 1, trips + 1}, seen);
  if (ring.size() % 2 == 0) return seen;
  return visit(emit, ring.move(emit, all[0], Direction::kNext), {{}, 1, -trips - 1}, seen);
}

std::vector<Instruction*> sum_chunks(Emitter& emit, const Ring& ring, std::span<const Lane> lanes,
                                     const State& state, const Combine& combine) {
  auto sign = [](const Lane& lane) { return lane.direction == Direction::kNext ? -1 : 1; };
  State sums;
  for (const Lane& lane : lanes) sums.push_back(lane.own(emit, {{}, 1, sign(lane)}, state));
  const StepBody body = [&](Emitter& inner, const Step& step, const State& now) {
    const State fixed = slice(now, lanes.size());
    State after;
    for (size_t i = 0; i < lanes.size(); ++i) {
      const int64_t by = sign(lanes[i]);
      Instruction* received = ring.move(inner, now[i], lanes[i].direction);
      Instruction* own = lanes[i].own(inner, {step, by, 2 * by}, fixed);
      after.push_back(combine(inner, received, own));
    }
    return joined(after, fixed);
  };
  std::vector<size_t> wanted(lanes.size());
  std::iota(wanted.begin(), wanted.end(), size_t{0});
  return emit_steps(emit, ring.size() - 1, ring.unroll(), joined(sums, state), body, wanted);
}

Instruction* sum_in_order(Emitter& emit, const Ring& ring, bool everyone, const OwnChunk& own,
                          const State& state, Instruction* kept, const Combine& combine,
                          const Keep& keep) {
  // At step t the member of rank i has chunk (t - i) mod n. For 0 <= t - i < n it adds its own
  // part, for n <= t - i it hands on what is complete, for t < i there is nothing that counts. The
  // last to be served is member n - 2: at step 3 n - 3 with chunk n - 1, at 3 n - 4 with its own.
  // Step 0 is before the loop, whose counter is a step behind.
  const int64_t n = ring.size();
  State start = {own(emit, {{}, 1, 0, -1}, state), kept};
  const StepBody body = [&](Emitter& inner, const Step& step, const State& now) {
    const ChunkPlace place{step, 1, 1, -1};
    const State fixed = slice(now, 2);
    Instruction* received = ring.move(inner, now[0], Direction::kNext);
    Instruction* part = own(inner, place, fixed);
    Instruction* sum = combine(inner, received, part);
    Instruction* is_first =
        ring.by_rank(inner, ElementType::PRED, [](int64_t rank) { return rank == 0; });
    Instruction* adds = nullptr;
    if (step.counter) {
      Instruction* limit =
          ring.by_rank(inner, ElementType::S32, [&](int64_t rank) { return n - 1 + rank; });
      adds = inner.compare(ComparisonDirection::kLt, step.counter, limit);
    } else {
      adds = ring.by_rank(inner, ElementType::PRED,
                          [&](int64_t rank) { return step.number < n - 1 + rank; });
    }
    Instruction* chunk = select_by(inner, adds, select_by(inner, is_first, part, sum), received);
    return joined({chunk, keep(inner, chunk, place, now[1])}, fixed);
  };
  const int64_t trips = everyone ? 3 * n - 3 : 3 * n - 4;
  return emit_steps(emit, trips, ring.unroll(), joined(start, state), body, {{1}})[0];
}

}  // namespace minihlo

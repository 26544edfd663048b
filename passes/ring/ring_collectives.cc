#include "passes/ring/ring_collectives.h"

#include <algorithm>
#include <optional>

#include "ir/semantics/reducers.h"
#include "passes/computations.h"

namespace minihlo {
namespace {

std::vector<int64_t> dims_of(const Instruction* array) {
  return {array->shape()->dims().begin(), array->shape()->dims().end()};
}

// Chunks of an array along an axis; lane 0 of 1 is all of it.
struct Chunks {
  int64_t axis = 0;
  int64_t extent = 1;
};

OwnChunk slices(const Ring& ring, const Chunks& chunks, size_t operand) {
  return [&ring, chunks, operand](Emitter& emit, const ChunkPlace& place, const State& state) {
    Instruction* start = ring.offset(emit, place, chunks.extent);
    return emit.dynamic_slice_along(state[operand], chunks.axis, start, chunks.extent);
  };
}

// The dimension of a chunk along which two lanes share it; -1: its elements are one.
int64_t lane_axis(const std::vector<int64_t>& dims, int64_t chunk_axis) {
  int64_t best = -1;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const auto number = static_cast<int64_t>(axis);
    if (number == chunk_axis || dims[axis] < 2) continue;
    if (best < 0 || dims[axis] > dims[static_cast<size_t>(best)]) best = number;
  }
  return best;
}

// The device's chunk of an array whose axis has one element a member.
Instruction* scatter_both_ways(Emitter& emit, const Ring& ring, Instruction* array, int64_t axis,
                               const Combine& combine) {
  const Chunks chunks{axis, 1};
  const int64_t shared = lane_axis(dims_of(array), axis);
  if (shared < 0) {
    const Lane lane{Direction::kNext, slices(ring, chunks, 0)};
    return sum_chunks(emit, ring, std::span(&lane, 1), {array}, combine)[0];
  }
  const int64_t size = array->shape()->dim(shared);
  const int64_t half = (size + 1) / 2;
  const Lane lanes[] = {{Direction::kNext, slices(ring, chunks, 0)},
                        {Direction::kPrevious, slices(ring, chunks, 1)}};
  const State halves = {emit.slice_along(array, shared, 0, half),
                        emit.slice_along(array, shared, half, size)};
  return emit.concatenate(sum_chunks(emit, ring, lanes, halves, combine), shared);
}

// With chunks as an axis of its own, in front of what is in a chunk along `axis`.
Instruction* split_chunks(Emitter& emit, Instruction* array, int64_t axis, int64_t count) {
  std::vector<int64_t> dims = dims_of(array);
  dims[static_cast<size_t>(axis)] /= count;
  dims.insert(dims.begin() + axis, count);
  return emit.reshape(array, dims);
}

Instruction* join_chunks(Emitter& emit, Instruction* array, int64_t axis) {
  std::vector<int64_t> dims = dims_of(array);
  dims[static_cast<size_t>(axis) + 1] *= dims[static_cast<size_t>(axis)];
  dims.erase(dims.begin() + axis);
  return emit.reshape(array, dims);
}

// Every member's chunk, in the order of the group, into the place that it has in the array.
Instruction* all_reduce_in_order(Emitter& emit, const Ring& ring, Instruction* array,
                                 const Chunks& chunks, const Combine& combine) {
  const Keep keep = [&](Emitter& inner, Instruction* chunk, const ChunkPlace& place,
                        Instruction* kept) {
    return inner.dynamic_update_along(kept, chunk, chunks.axis,
                                      ring.offset(inner, place, chunks.extent));
  };
  return sum_in_order(emit, ring, true, slices(ring, chunks, 0), {array}, array, combine, keep);
}

}  // namespace

tl::expected<int64_t, std::string> collective_axis(const Instruction& collective,
                                                   std::span<const Shape* const> results) {
  std::span<const int64_t> dimensions = collective.get(attr::dimensions);
  bool fits =
      dimensions.size() == 1 && dimensions[0] >= 0 && results.size() == collective.operand_count();
  for (size_t i = 0; fits && i < results.size(); ++i) {
    const int64_t rank = collective.operand(i)->shape()->rank();
    fits = rank == results[i]->rank() && dimensions[0] < rank;
  }
  if (!fits) return tl::make_unexpected("its operands, results and dimension do not fit");
  return dimensions[0];
}

tl::expected<Combine, std::string> combine_by(Computation& reducer, ElementType type,
                                              bool in_group_order) {
  const auto has_type = [&](const Instruction* value) {
    return value->shape()->is_scalar() && value->shape()->element_type() == type;
  };
  const Instruction* root = reducer.root();
  if (reducer.parameters().size() != 2 || !std::ranges::all_of(reducer.parameters(), has_type) ||
      !has_type(root)) {
    return tl::make_unexpected("its reducer is not one of two values of its operand's type");
  }
  // Those opcodes that commute associate, too, up to rounding, but for the upper half of a product.
  if (!in_group_order) {
    const std::optional<Opcode> opcode = reducer_opcode(reducer);
    if (!opcode || *opcode == Opcode::kMulhi) {
      return tl::make_unexpected(
          "its reducer is not one opcode that may combine in any order up to rounding");
    }
  }
  // One opcode of both, in whatever order.
  const OpcodeInfo& opcode = info(root->opcode());
  if (reducer.size() == 3 && opcode.family == Family::kElementwise && opcode.attributes.empty() &&
      root->operand_count() == 2 && root->operand(0) != root->operand(1)) {
    const bool swaps = root->operand(0) != reducer.parameters()[0];
    return
        [combiner = root->opcode(), swaps](Emitter& emit, Instruction* received, Instruction* own) {
          return swaps ? emit.make(combiner, {own, received}, {}, own->shape())
                       : emit.make(combiner, {received, own}, {}, own->shape());
        };
  }
  return [&reducer](Emitter& emit, Instruction* received, Instruction* own) {
    std::vector<int64_t> all;
    for (int64_t axis = 0; axis < own->shape()->rank(); ++axis) all.push_back(axis);
    return emit.make(Opcode::kMap, {received, own},
                     {make_attribute(attr::dimensions, keep_ints(emit.module(), all)),
                      make_attribute(attr::to_apply, &reducer)},
                     own->shape());
  };
}

ElementType ring_sum_type(const Computation& reducer, ElementType type, const Ring& ring,
                          const RingSum& how) {
  const std::optional<Opcode> opcode = reducer_opcode(reducer);
  return how.in_group_order && ring.size() > 2 && opcode ? accumulator_type(*opcode, type) : type;
}

Instruction* as_type(Emitter& emit, Instruction* array, ElementType type) {
  return array->shape()->element_type() == type ? array : emit.convert(array, type);
}

Instruction* ring_all_gather(Emitter& emit, const Ring& ring, Instruction* shard, int64_t axis,
                             bool both_directions) {
  const int64_t extent = shard->shape()->dim(axis);
  std::vector<int64_t> dims = dims_of(shard);
  dims[static_cast<size_t>(axis)] *= ring.size();
  Instruction* nothing = emit.zeros(emit.shapes().with_dims(shard->shape(), dims));
  const Visit visit = [&](Emitter& inner, Instruction* seen, const ChunkPlace& place,
                          const State& state) {
    Instruction* start = ring.offset(inner, place, extent);
    return State{inner.dynamic_update_along(state[0], seen, axis, start)};
  };
  return visit_shards(emit, ring, both_directions, shard, {nothing}, visit)[0];
}

Instruction* ring_reduce_scatter(Emitter& emit, const Ring& ring, Instruction* array, int64_t axis,
                                 const Combine& combine, const RingSum& how) {
  const Chunks chunks{axis, array->shape()->dim(axis) / ring.size()};
  const OwnChunk own = slices(ring, chunks, 0);
  if (how.in_group_order) {
    // Anything of the shape of a chunk: what is complete comes last.
    Instruction* nothing = emit.slice_along(array, axis, 0, chunks.extent);
    const Keep keep = [&](Emitter& inner, Instruction* chunk, const ChunkPlace& place,
                          Instruction* kept) {
      return select_by(inner, ring.is_own(inner, place), chunk, kept);
    };
    return sum_in_order(emit, ring, false, own, {array}, nothing, combine, keep);
  }
  if (!how.both_directions) {
    const Lane lane{Direction::kNext, own};
    return sum_chunks(emit, ring, std::span(&lane, 1), {array}, combine)[0];
  }
  Instruction* split = split_chunks(emit, array, axis, ring.size());
  return join_chunks(emit, scatter_both_ways(emit, ring, split, axis, combine), axis);
}

Instruction* ring_all_reduce(Emitter& emit, const Ring& ring, Instruction* array,
                             const Combine& combine, const RingSum& how) {
  const Shape* shape = array->shape();
  const int64_t members = ring.size();
  // Chunks lie along a dimension that the members divide, else along all elements in a row, with
  // zeros behind them.
  auto divided = std::ranges::find_if(
      shape->dims(), [&](int64_t size) { return size > 0 && size % members == 0; });
  const bool is_divided = divided != shape->dims().end();
  const int64_t axis = is_divided ? divided - shape->dims().begin() : 0;
  Instruction* whole = array;
  const int64_t count = shape->element_count();
  const int64_t missing = (members - count % members) % members;
  if (!is_divided) {
    whole = emit.reshape(array, std::span(&count, 1));
    if (missing > 0) {
      const Shape* more = emit.shapes().array(shape->element_type(), std::span(&missing, 1));
      Instruction* parts[] = {whole, emit.zeros(more)};
      whole = emit.concatenate(parts, 0);
    }
  }
  Instruction* sum = nullptr;
  if (how.in_group_order) {
    const Chunks chunks{axis, whole->shape()->dim(axis) / members};
    sum = all_reduce_in_order(emit, ring, whole, chunks, combine);
  } else {
    Instruction* own = ring_reduce_scatter(emit, ring, whole, axis, combine, how);
    sum = ring_all_gather(emit, ring, own, axis, how.both_directions);
  }
  if (is_divided) return sum;
  if (missing > 0) sum = emit.slice_along(sum, 0, 0, count);
  return emit.reshape(sum, shape->dims());
}

}  // namespace minihlo

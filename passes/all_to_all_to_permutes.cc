// all-to-all-to-permutes: exchanges chunks pair by pair.
//
// For each distance d from 1 to members - 1 every member sends the chunk for the member d places on
// straight to it, and writes what comes from d places back. Its own chunk stays.
//
//   %a = f32[4] all-to-all(%x), channel_id=1, replica_groups={{0,1}}, dimensions={0}
//
// becomes, for two members,
//
//   %send = f32[2] dynamic-slice(%x, (rank + 1) mod 2 * 2)
//   %got = f32[2] collective-permute(%send), channel_id=2, source_target_pairs={{1,0},{0,1}}
//   %a = f32[4] dynamic-update-slice(%x, %got, (rank - 1) mod 2 * 2)
//
// The form without dimensions, an operand and a result for each member, is done on the operands
// laid one behind the other.
//
// Keeps all bits, metadata, sharding, frontend attributes, statistics and origin; control
// predecessors go to what reads the operands. backend_config goes.
#include "passes/ring/decomposition.h"
#include "passes/ring/ring.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "all-to-all-to-permutes";

class AllToAlls : public Decomposition {
 public:
  AllToAlls(const Module& module, const Mesh& mesh) : links_(module, mesh) {}

  bool wants(const Instruction& instruction) const override {
    return instruction.opcode() == Opcode::kAllToAll;
  }

  tl::expected<std::vector<Instruction*>, std::string> begin(
      Emitter& emit, const Instruction& exchange, std::span<const Shape* const> results) override {
    auto ring = Ring::make(exchange, links_, true);
    if (!ring) return tl::make_unexpected(std::move(ring.error()));
    if (results[0]->element_count() == 0) {
      return tl::make_unexpected("it has no elements, so there is nothing to move");
    }
    std::span<const int64_t> dimensions = exchange.get(attr::dimensions);
    const bool is_array = exchange.has(attr::dimensions);
    const auto members = static_cast<size_t>(ring->size());
    if (is_array
            ? exchange.operand_count() != 1 || results[0]->dim(dimensions[0]) % ring->size() != 0
            : exchange.operand_count() != members) {
      return tl::make_unexpected("it does not have one chunk a member");
    }
    auto moves = plan_moves(exchange, *ring);
    if (!moves) return tl::make_unexpected(std::move(moves.error()));
    if (is_array) {
      return std::vector{swap_chunks(emit, *ring, *moves, exchange.operand(0), dimensions[0])};
    }
    return swap_operands(emit, *ring, *moves, exchange.operands(), results);
  }

 private:
  // By distance - 1.
  using Moves = std::vector<DeviceMove>;

  tl::expected<Moves, std::string> plan_moves(const Instruction& exchange, const Ring& ring) {
    const Mesh& mesh = links_.mesh();
    auto groups = collective_groups(exchange, mesh);
    if (!groups) return tl::make_unexpected(std::move(groups.error()));
    if (!links_.take_numbers(3 * ring.size() * mesh.device_count())) {
      return tl::make_unexpected(MeshLinks::numbers_used_up());
    }
    Moves moves;
    for (int64_t distance = 1; distance < ring.size(); ++distance) {
      std::vector<int64_t> source_of(groups->group_of.size());
      for (size_t device = 0; device < source_of.size(); ++device) {
        std::span<const int64_t> members = groups->group(groups->group_of[device]);
        const int64_t rank = groups->rank_of[device] + ring.size() - distance;
        source_of[device] = members[static_cast<size_t>(rank % ring.size())];
      }
      auto move = DeviceMove::plan(*exchange.parent()->module(), mesh, std::move(source_of));
      if (!move) return tl::make_unexpected(std::move(move.error()));
      if (!links_.runs_on_all(exchange) && !move->stays_within(mesh, ring.size())) {
        return tl::make_unexpected(DeviceMove::waits_for_others());
      }
      moves.push_back(*std::move(move));
    }
    return moves;
  }

  Instruction* swap_chunks(Emitter& emit, const Ring& ring, const Moves& moves, Instruction* array,
                           int64_t axis) {
    const int64_t extent = array->shape()->dim(axis) / ring.size();
    Instruction* result = array;
    for (int64_t distance = 1; distance < ring.size(); ++distance) {
      Instruction* to = ring.offset(emit, {{}, 1, distance}, extent);
      Instruction* chunk = emit.dynamic_slice_along(array, axis, to, extent);
      Instruction* got = moves[static_cast<size_t>(distance - 1)].emit(emit, links_, chunk);
      Instruction* from = ring.offset(emit, {{}, 1, -distance}, extent);
      result = emit.dynamic_update_along(result, got, axis, from);
    }
    return result;
  }

  std::vector<Instruction*> swap_operands(Emitter& emit, const Ring& ring, const Moves& moves,
                                          std::span<Instruction* const> operands,
                                          std::span<const Shape* const> results) {
    std::vector<int64_t> dims(results[0]->dims().begin(), results[0]->dims().end());
    dims.insert(dims.begin(), 1);
    std::vector<Instruction*> rows;
    for (Instruction* operand : operands) rows.push_back(emit.reshape(operand, dims));
    Instruction* swapped = swap_chunks(emit, ring, moves, emit.concatenate(rows, 0), 0);
    std::vector<Instruction*> values;
    for (int64_t i = 0; i < ring.size(); ++i) {
      values.push_back(emit.reshape(emit.slice_along(swapped, 0, i, i + 1), results[0]->dims()));
    }
    return values;
  }

  MeshLinks links_;
};

class AllToAllToPermutes : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    auto mesh = make_mesh(context.replica_count(module), context.num_partitions(module));
    if (!mesh) return tl::make_unexpected(std::move(mesh.error()));
    AllToAlls exchanges(module, *mesh);
    decompose_collectives(module, context, kName, exchanges);
    return {};
  }
};

}  // namespace

const PassInfo kAllToAllToPermutes = {
    .name = kName,
    .summary = "exchange chunks by a permute for each distance between members",
    .keeps = Keeps::kBits,
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> {
      return std::make_unique<AllToAllToPermutes>();
    },
};

}  // namespace minihlo

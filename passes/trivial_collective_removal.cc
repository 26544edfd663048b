// trivial-collective-removal: a collective whose groups have one member each gives that member its
// operand.
//
//   %sum = f32[8] all-reduce(%x), replica_groups={{0},{1}}, to_apply=%add      ->  %x
//
// All-gather, all-reduce, reduce-scatter, all-to-all, collective-broadcast and collective-reduce,
// and the start forms. Each device of the mesh has to be in a group. Permutes have no groups: see
// identity-permute-removal. Keeps bits. Of a start and its done both go. Metadata and the other
// attributes go where the operand itself takes the collective's place; what waited for the
// collective waits for what the collective waited for.
#include <fmt/format.h>

#include "ir/semantics/groups.h"
#include "passes/shards/stand_in.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "trivial-collective-removal";

bool is_wanted(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllReduce:
    case Opcode::kReduceScatter:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectiveReduce:
      return true;
    default:
      return false;
  }
}

// Why a collective has something to do; empty where it has nothing.
std::string work(const Instruction& collective, const Mesh& mesh) {
  auto groups = collective_groups(collective, mesh);
  if (!groups) return std::move(groups.error());
  if (!groups->covers_mesh()) return "some devices are in none of its groups";
  for (int64_t i = 0; i < groups->size(); ++i) {
    if (groups->group_size(i) > 1) {
      return fmt::format("it has a group of {} members", groups->group_size(i));
    }
  }
  return "";
}

class TrivialCollectiveRemoval : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    auto mesh = make_mesh(context.replica_count(module), context.num_partitions(module));
    if (!mesh) return tl::make_unexpected(std::move(mesh.error()));
    stand_in_for_collectives(module, context, kName, is_wanted, [&](const Instruction& collective) {
      return work(collective, *mesh);
    });
    return {};
  }
};

}  // namespace

const PassInfo kTrivialCollectiveRemoval = {
    .name = kName,
    .summary = "remove collectives whose groups have one member each",
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> {
      return std::make_unique<TrivialCollectiveRemoval>();
    },
};

}  // namespace minihlo

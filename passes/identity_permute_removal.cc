// identity-permute-removal: a permute by which each device gets its own operand is the operand.
//
//   %p = f32[8] collective-permute(%x), source_target_pairs={{0,0},{1,1}}      ->  %x
//
// Every device of the mesh has to be the source of its own pair: a device that is no target would
// get zeros. Keeps bits. Of a start and its done both go. Metadata and the other attributes go
// where the operand itself takes the permute's place; what waited for the permute waits for what
// the permute waited for.
#include <fmt/format.h>

#include "ir/semantics/groups.h"
#include "passes/shards/stand_in.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "identity-permute-removal";

// Why a permute is not the identity; empty where it is.
std::string difference(const Instruction& permute, const Mesh& mesh) {
  if (permute.has(attr::permute_slice_sizes)) return "it permutes slices of buffers in place";
  auto map = permute_sources(permute, mesh);
  if (!map) return std::move(map.error());
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    const int64_t source = map->source_of[static_cast<size_t>(device)];
    if (source == device) continue;
    return source < 0 ? fmt::format("device {} gets zeros", device)
                      : fmt::format("device {} gets what device {} sends", device, source);
  }
  return "";
}

class IdentityPermuteRemoval : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    auto mesh = make_mesh(context.replica_count(module), context.num_partitions(module));
    if (!mesh) return tl::make_unexpected(std::move(mesh.error()));
    stand_in_for_collectives(
        module, context, kName, [](Opcode opcode) { return opcode == Opcode::kCollectivePermute; },
        [&](const Instruction& permute) { return difference(permute, *mesh); });
    return {};
  }
};

}  // namespace

const PassInfo kIdentityPermuteRemoval = {
    .name = kName,
    .summary = "remove permutes by which each device gets its own operand",
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> {
      return std::make_unique<IdentityPermuteRemoval>();
    },
};

}  // namespace minihlo

// custom-calls-to-collectives: what collectives-to-custom-calls wraps, or the Neuron compiler's
// users wrote so, as collectives again (ir/semantics/wrapped_collectives.h).
//
//   %ar = f32[8] custom-call(%x), custom_call_target="AwsNeuronAllReduceAdd_f32",
//         called_computations={%add}, backend_config="channel_id=1, replica_groups={{0,1}}"
//
//   %ar = f32[8] all-reduce(%x), channel_id=1, replica_groups={{0,1}}, to_apply=%add
//
// A custom-call whose attributes can't be read ends the pass, and the module stays as it was.
#include <fmt/format.h>

#include "ir/semantics/wrapped_collectives.h"
#include "passes/pass.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "custom-calls-to-collectives";

class CustomCallsToCollectives : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    auto count = unwrap_collectives(module);
    if (!count) return tl::unexpected(std::move(count.error()));
    if (context.log) context.log(fmt::format("{}: {} unwrapped", kName, *count));
    return {};
  }
};

}  // namespace

const PassInfo kCustomCallsToCollectives = {
    .name = kName,
    .summary = "unwrap collectives that are AwsNeuron custom-calls",
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> {
      return std::make_unique<CustomCallsToCollectives>();
    },
};

}  // namespace minihlo

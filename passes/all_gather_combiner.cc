// all-gather-combiner: merges all-gathers into one of several operands; see
// passes/combiner/combiner.h.
#include "passes/combiner/combiner.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "all-gather-combiner";

class AllGatherCombiner : public Pass {
 public:
  explicit AllGatherCombiner(const PassOptions& options)
      : options_(read_combiner_options(kName, Opcode::kAllGather, options)) {}

  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    return combine_collectives(module, context, options_);
  }

 private:
  CombinerOptions options_;
};

}  // namespace

const PassInfo kAllGatherCombiner = {
    .name = kName,
    .summary = "merge independent all-gathers of the same groups into one of several operands",
    .options = kCombinerOptions,
    .make = [](const PassOptions& options) -> std::unique_ptr<Pass> {
      return std::make_unique<AllGatherCombiner>(options);
    },
};

}  // namespace minihlo

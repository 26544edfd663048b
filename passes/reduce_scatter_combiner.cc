// reduce-scatter-combiner: merges reduce-scatters into one of several operands; see
// passes/combiner/combiner.h.
#include "passes/combiner/combiner.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "reduce-scatter-combiner";

class ReduceScatterCombiner : public Pass {
 public:
  explicit ReduceScatterCombiner(const PassOptions& options)
      : options_(read_combiner_options(kName, Opcode::kReduceScatter, options)) {}

  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    return combine_collectives(module, context, options_);
  }

 private:
  CombinerOptions options_;
};

}  // namespace

const PassInfo kReduceScatterCombiner = {
    .name = kName,
    .summary = "merge independent reduce-scatters of the same groups into one of several operands",
    .options = kCombinerOptions,
    .make = [](const PassOptions& options) -> std::unique_ptr<Pass> {
      return std::make_unique<ReduceScatterCombiner>(options);
    },
};

}  // namespace minihlo

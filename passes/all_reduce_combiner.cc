// all-reduce-combiner: merges all-reduces into one of several operands; see
// passes/combiner/combiner.h.
#include "passes/combiner/combiner.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "all-reduce-combiner";

class AllReduceCombiner : public Pass {
 public:
  explicit AllReduceCombiner(const PassOptions& options)
      : options_(read_combiner_options(kName, Opcode::kAllReduce, options)) {}

  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    return combine_collectives(module, context, options_);
  }

 private:
  CombinerOptions options_;
};

}  // namespace

const PassInfo kAllReduceCombiner = {
    .name = kName,
    .summary = "merge independent all-reduces of the same groups into one of several operands",
    .options = kCombinerOptions,
    .make = [](const PassOptions& options) -> std::unique_ptr<Pass> {
      return std::make_unique<AllReduceCombiner>(options);
    },
};

}  // namespace minihlo

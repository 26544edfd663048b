// collectives-to-custom-calls: all-gathers, all-reduces and reduce-scatters in the form in which
// they reach the Neuron compiler (ir/semantics/wrapped_collectives.h).
//
//   %ar = f32[8] all-reduce(%x), channel_id=1, replica_groups={{0,1}}, to_apply=%add
//
//   %ar = f32[8] custom-call(%x), custom_call_target="AwsNeuronAllReduceAdd_f32",
//         called_computations={%add}, backend_config="channel_id=1, replica_groups={{0,1}}"
//
// Names and all that any instruction may say stay; a backend_config of the collective's own goes
// into that of the custom-call. custom-calls-to-collectives gives back the module. Simulator and
// prover see through the wrapped form. What is asynchronous is left alone.
#include <algorithm>

#include "ir/opcode.h"
#include "ir/rewriter.h"
#include "ir/semantics/wrapped_collectives.h"
#include "passes/pass.h"
#include "passes/report.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "collectives-to-custom-calls";

class CollectivesToCustomCalls : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    for (Computation* computation : module.computations()) {
      Rewriter rewriter(computation);
      while (Instruction* at = rewriter.next()) {
        if (is_start(at->opcode())) {
          Reporter(context, kName).left_alone(*at, "it is the start of asynchronous work");
          continue;
        }
        if (auto wrapped = wrapped_collective(*at)) wrap(rewriter, *at, *wrapped, context);
      }
      rewriter.finish();
    }
    return {};
  }

 private:
  static bool is_start(Opcode opcode) {
    return opcode == Opcode::kAllGatherStart || opcode == Opcode::kAllReduceStart;
  }

  static void wrap(Rewriter& rewriter, Instruction& at, const WrappedCollective& wrapped,
                   PassContext& context) {
    Arena& arena = rewriter.arena();
    std::vector<Attribute> attributes = {
        make_attribute(attr::custom_call_target, arena.copy_string(wrapped.target))};
    const std::vector<Computation*> called = at.called_computations();
    if (!called.empty()) {
      attributes.push_back(make_attribute(attr::called_computations, arena.copy(called)));
    }
    for (const AttributeUse& use : common_attributes()) {
      const Attribute* kept = find_attribute(at.attributes(), use.id);
      if (kept && use.id != AttributeId::backend_config) attributes.push_back(*kept);
    }
    JsonText* config = arena.make<JsonText>();
    *config = {arena.copy_string(wrapped.backend_config), false};
    attributes.push_back(make_attribute(attr::backend_config, config));
    Instruction* by =
        rewriter.emit(Opcode::kCustomCall, at.name(), at.shape(), at.operands(), attributes);
    rewriter.replace(&at, by);
    by->set_name(at.name());
    Reporter(context, kName).rewritten(at, *by);
  }
};

}  // namespace

const PassInfo kCollectivesToCustomCalls = {
    .name = kName,
    .summary = "wrap all-gathers, all-reduces and reduce-scatters into AwsNeuron custom-calls",
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> {
      return std::make_unique<CollectivesToCustomCalls>();
    },
};

}  // namespace minihlo

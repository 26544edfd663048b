#include "passes/permute_to_gather/options.h"

namespace minihlo {

PermuteToGatherOptions read_permute_to_gather_options(const PassOptions& options) {
  using Result = PermuteToGatherOptions;
  Result result;
  result.preset = options.text("preset") == kNeuronPreset;
  if (result.preset) {
    result.gate = Result::Gate::kFallback;
    result.fill = Result::Fill::kIdentity;
    result.id = Result::Id::kReplica;
    result.literal_axis = true;
  }
  auto decides = [&](std::string_view name) { return !result.preset || options.given(name); };
  if (decides("gate")) {
    std::string_view gate = options.text("gate");
    result.gate = gate == "always"     ? Result::Gate::kAlways
                  : gate == "fallback" ? Result::Gate::kFallback
                                       : Result::Gate::kConvertible;
  }
  if (decides("fill")) {
    result.fill = options.text("fill") == "zero" ? Result::Fill::kZero : Result::Fill::kIdentity;
  }
  if (decides("id")) {
    std::string_view id = options.text("id");
    result.id = id == "auto"      ? Result::Id::kAuto
                : id == "replica" ? Result::Id::kReplica
                                  : Result::Id::kFlattened;
  }
  if (decides("axis")) {
    std::optional<int64_t> axis = options.number("axis");
    result.literal_axis = !axis;
    result.axis = axis.value_or(0);
  }
  result.orbits = options.text("groups") == "orbits";
  result.mesh = *options.number("mesh");
  result.platform_version = options.text("platform_version");
  result.nc_divisor = *options.number("nc_divisor");
  result.override_core_count = *options.number("override_core_count");
  return result;
}

}  // namespace minihlo

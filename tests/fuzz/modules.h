// Valid modules of the inputs of fuzzing.
#pragma once

#include <memory>
#include <string_view>

#include "ir/module.h"
#include "ir/semantics/mesh.h"
#include "sim/stop.h"

namespace minihlo::fuzz {

struct ValidModule {
  std::unique_ptr<Module> module;
  Mesh mesh;
};

/// The module of an input, and the mesh that it is valid on: HLO text, where the input begins as
/// that does, else what the generator makes by these decisions. Null where there is none, or an
/// invalid one. Its shapes are of `pool`, where one is given.
std::unique_ptr<ValidModule> valid_module(std::string_view input,
                                          std::shared_ptr<ShapePool> pool = nullptr);

/// Whether a run ended because of a limit, which it need not reach when it is run another way.
inline bool is_of_limits(const Stop& stop) {
  return stop.is_limit() || stop.kind == Stop::Kind::kMemory;
}

}  // namespace minihlo::fuzz

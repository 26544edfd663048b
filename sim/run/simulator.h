// Running a module on all devices of a mesh.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <tl/expected.hpp>

#include "ir/module.h"
#include "ir/semantics/mesh.h"
#include "sim/run/inputs.h"
#include "sim/run/kernel.h"
#include "sim/run/progress.h"
#include "sim/stop.h"

namespace minihlo {

struct RunOptions {
  /// Bytes that values may take together; 0: four fifths of the machine's memory.
  int64_t max_memory = 0;
  int64_t max_steps = std::numeric_limits<int64_t>::max();
  std::optional<std::chrono::steady_clock::time_point> deadline;
  /// 0: as many as the machine has. Results do not depend on it.
  int threads = 0;
  /// Kept up to date during the run.
  RunProgress* progress = nullptr;
  ElidedConstants elided = ElidedConstants::kRefuse;
  uint64_t seed = 0;  // of elided constants and rng
  /// What infeeds take: for each device, or for all alike, arrays one after the other.
  Inputs infeed;
  /// Refuses what is more than outputs that follow from the inputs: rng, infeed, outfeed; and
  /// dynamic shapes, whose outputs have no sizes before the run.
  bool pure = false;
  /// Elementwise instructions on at least so many elements run together, block by block: with fewer
  /// it is not worth it. Results do not depend on it.
  int64_t cluster_elements = 4096;
  /// For custom-calls whose meaning is not known; the last that fits counts, a name before `*`.
  std::vector<CustomCallRule> custom_calls;
  /// Sees what instructions make, one by one; null: nobody.
  Observer* observer = nullptr;
};

struct RunStats {
  int64_t peak_memory = 0;  // bytes of values at work at the same time, inputs included
  int64_t steps = 0;        // instructions, each once a strand
  double seconds = 0;
};

struct RunResult {
  /// Per device the leaves of the entry's result, tokens left out. What devices share is shared.
  std::vector<std::vector<HostTensor>> outputs;
  /// Per device the arrays that outfeeds gave, one after the other.
  std::vector<std::vector<HostTensor>> outfeed;
  RunStats stats;
};

/// Runs the entry computation of a verified module. `inputs` has an entry a device, or one for all.
tl::expected<RunResult, Stop> simulate(const Module& module, const Mesh& mesh, const Inputs& inputs,
                                       const RunOptions& options = {});

/// The default of RunOptions::max_memory on this machine.
int64_t default_max_memory();

}  // namespace minihlo

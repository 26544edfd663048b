// Comparing the outputs of a run with those that are expected.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/semantics/mesh.h"
#include "sim/run/tensor.h"
#include "tools/json_out.h"
#include "tools/tensors/tensor_names.h"

namespace minihlo {

/// What differs between outputs, or nothing.
struct OutputDifference {
  std::string text;  // all of it in a sentence; empty where all count as the same
  // Where there is a first element that differs:
  int64_t device = -1;
  std::string output;  // "o1"
  std::vector<int64_t> index;
  std::string expected, actual;
  int64_t count = 0, elements = 0;  // of that output on that device
  std::vector<int64_t> worst;       // the index of the element that differs most
  std::string worst_expected, worst_actual;
  double distance = 0, ulps = 0;
  int64_t outputs = 0;  // how many outputs differ, those of all devices counted
};

/// Compares what `devices` give: their expected outputs, in their order, with the outputs of all
/// devices of the mesh. `leaves` are those of the module's result.
OutputDifference compare_outputs(const Mesh& mesh, std::span<const LeafName> leaves,
                                 std::span<const int> devices,
                                 const std::vector<std::vector<HostTensor>>& expected,
                                 const std::vector<std::vector<HostTensor>>& actual,
                                 const CompareRule& rule);

/// The parts of a difference as the document of `run --json` holds them.
Json difference_json(const OutputDifference& difference);

/// Reads "rel=1e-3,abs=1e-6", where either may be missing, into a rule. Says what is wrong, or
/// nothing.
std::string parse_tolerance(std::string_view text, CompareRule& rule);

}  // namespace minihlo

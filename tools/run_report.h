// What a run says of itself: outputs as text and JSON, and why it ended early.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/semantics/mesh.h"
#include "sim/run/simulator.h"
#include "tools/command.h"
#include "tools/json_out.h"

namespace minihlo {

ExitCode exit_code(Stop::Kind kind);
/// A word for `status` in JSON.
std::string_view kind_text(Stop::Kind kind);

/// The outputs of these devices, rows of long tensors cut. Devices with the same
/// ones stand together.
std::string outputs_text(const Mesh& mesh, const RunResult& result, std::span<const int> devices);
/// The same with all elements, as text, up to a limit a tensor.
Json outputs_json(const RunResult& result, std::span<const int> devices);

Json stats_json(const RunStats& stats);

}  // namespace minihlo

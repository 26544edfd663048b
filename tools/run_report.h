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

/// The outputs of these devices, long ones with gaps unless `in_full`. Devices with the same ones
/// stand together.
std::string outputs_text(const Mesh& mesh, const RunResult& result, std::span<const int> devices,
                         bool in_full);
/// The same with elements as text in row-major order; unless `in_full` up to a limit a tensor, and
/// how many are left out.
Json outputs_json(const RunResult& result, std::span<const int> devices, bool in_full);

/// An array of `outputs`.
Json tensor_json(const HostTensor& tensor, bool in_full);

Json stats_json(const RunStats& stats);

}  // namespace minihlo

// Running files of cases and reporting what came of them: minihlo run --case.
#pragma once

#include <string>
#include <vector>

#include "sim/run/simulator.h"
#include "tools/command.h"

namespace minihlo {

/// Runs all cases of the files and prints those that do not pass and a summary, or with `json` one
/// document. Of the exit codes that single cases would have it is that of bad input, else of a
/// difference, else of a limit, else of what is not supported.
ExitCode run_case_files(const std::vector<std::string>& files, const RunOptions& options, bool json,
                        bool stats);

}  // namespace minihlo

// Running cases and telling what came of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/diagnostics.h"
#include "ir/module.h"
#include "sim/run/simulator.h"
#include "tools/case_file.h"

namespace minihlo {

struct CaseOutcome {
  enum class Kind : uint8_t {
    kPassed,
    kFailed,   // outputs differ, or devices do not come together
    kInvalid,  // the case or its module is none
    kStopped,  // a limit cut it short
    kUnsupported,
  };
  Kind kind = Kind::kPassed;
  std::string what;     // kUnsupported: the opcode or feature
  std::string message;  // why it did not pass
  RunStats stats;
};

/// Runs a case and compares what comes out with what it expects. `beside` is the source of the
/// module where the case holds none.
CaseOutcome run_case(const Case& item, const std::shared_ptr<const Source>& beside,
                     const RunOptions& options);

std::vector<int> all_devices(const Mesh& mesh);
/// The devices that the outputs of a case are of, all where it does not say; an error where there
/// are not so many.
tl::expected<std::vector<int>, std::string> devices_of_outputs(const Case& item, const Mesh& mesh);

/// The mesh of a run: what the flags say, else the case, else the module's header. 0: not said.
tl::expected<Mesh, std::string> run_mesh(const Module& module, const Case* item, int64_t replicas,
                                         int64_t partitions);

}  // namespace minihlo

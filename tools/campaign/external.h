// Somebody else's compiler, run on a module.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "tools/campaign/outcome.h"
#include "tools/module_file.h"

namespace minihlo::campaign {

struct ExternalLimits {
  double seconds = 60;
  int64_t memory = 0;  // bytes of address space of each of its processes; 0: any
  /// Set from outside: the command is ended at once.
  const std::atomic<bool>* stop = nullptr;
};

struct ExternalResult {
  /// kProved: it did its work, and `file` is what it wrote; else kTimedOut, kCrashed or kInvalid.
  OutcomeKind kind = OutcomeKind::kProved;
  std::string reason;
  ModuleFile file;
  bool changed = false;  // whether it wrote another text than it was given
};

/// The first error of a module that can't be read or is not valid, with its line where it has one.
std::string first_error(const Diagnostics& diagnostics);

/// Runs `command` in a shell, with {in} replaced by a file that holds `text` and {out} by one that
/// it has to write, both in a folder that goes afterwards. Its processes form a group, which is
/// killed when the command ends or its time is over. What it prints is read for its last line
/// alone.
ExternalResult run_external(const std::string& command, const std::string& text,
                            std::shared_ptr<ShapePool> shapes, const ExternalLimits& limits);

}  // namespace minihlo::campaign

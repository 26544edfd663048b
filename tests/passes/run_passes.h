// Running passes over text, for tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "passes/pass.h"

namespace minihlo::testing {

/// A module from text. Fails the test where that does not parse.
std::unique_ptr<Module> parse_module(std::string_view text);

/// What the verifier says against a module; empty when it is valid.
std::string verifier_errors(const Module& module, int64_t replicas = 0, int64_t partitions = 0);

struct PassRun {
  std::unique_ptr<Module> before;  // as it was; both share their shapes
  std::unique_ptr<Module> module;
  std::vector<PassEntry> entries;
  std::vector<std::string> log;
  std::string error;  // of the pipeline, or empty

  /// The module's text.
  std::string text() const;
  /// The instruction of that name. Fails the test where there is none.
  Instruction* find(std::string_view name) const;
  /// All instructions of an opcode.
  std::vector<Instruction*> all(Opcode opcode) const;
};

/// Runs a pipeline over a module from text, verified before and after each pass unless `verify` is
/// false.
PassRun run_passes(std::string_view pipeline, std::string_view text, bool verify = true,
                   int64_t replicas = 0, int64_t partitions = 0);

}  // namespace minihlo::testing

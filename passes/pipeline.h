// Passes in a row, as users write them:
//
//   collective-permute-to-all-gather{gate=always fill=zero},dce
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "ir/diagnostics.h"
#include "passes/pass.h"

namespace minihlo {

/// A pass with its options.
struct PassCall {
  const PassInfo* info;
  PassOptions options;
  Location location;  // in the pipeline's text

  /// "dce", "collective-permute-to-all-gather{fill=identity}".
  std::string to_string() const { return std::string(info->name) + options.to_string(); }
};

using Pipeline = std::vector<PassCall>;

/// Reads a pipeline. Nothing, with the errors in `diagnostics`, when it is none. Blanks may stand
/// between all parts; an option may be given once.
std::optional<Pipeline> parse_pipeline(const std::shared_ptr<const Source>& source,
                                       Diagnostics& diagnostics);

/// Runs one pass. Errors: the pass's own, its name before them; the module is as it was.
tl::expected<void, std::string> run_pass(Module& module, const PassCall& call,
                                         PassContext& context);

/// Takes the module and the number of passes that have run: 0 at first, then after each.
using PipelineObserver = std::function<void(const Module& module, size_t done)>;

/// Runs all passes. With `verify_each` the module is verified first and after each pass; what a
/// pass breaks is reported as its fault, with the verifier's words. Without, it is verified once,
/// before the first pass that does not take invalid modules.
tl::expected<void, std::string> run_pipeline(Module& module, const Pipeline& pipeline,
                                             PassContext& context, bool verify_each,
                                             const PipelineObserver& observer = {});

/// What the verifier says against a module on the context's mesh, one line each, or nothing.
std::string verification_errors(const Module& module, const PassContext& context);

}  // namespace minihlo

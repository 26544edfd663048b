// Passes in a row, as users write them:
//
//   collective-permute-to-all-gather{gate=always fill=zero},dce
//   repeat{limit=8}(constant-fold,algebraic-simplify,dce),channel-ids
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

/// A pass with its options; or `repeat` with the passes in its parentheses.
struct PassCall {
  const PassInfo* info;
  PassOptions options;
  Location location;  // in the pipeline's text
  /// What repeat runs again and again, until a round changes nothing. Empty: it is a pass.
  std::vector<PassCall> inner = {};

  /// "dce", "collective-permute-to-all-gather{fill=identity}", "repeat(dce,cse)".
  std::string to_string() const;
};

using Pipeline = std::vector<PassCall>;

/// Reads a pipeline. Nothing, with the errors in `diagnostics`, when it is none. Blanks may stand
/// between all parts; an option may be given once.
std::optional<Pipeline> parse_pipeline(const std::shared_ptr<const Source>& source,
                                       Diagnostics& diagnostics);

/// Runs one pass. Errors: the pass's own, its name before them; the module is as it was.
tl::expected<void, std::string> run_pass(Module& module, const PassCall& call,
                                         PassContext& context);

/// Takes the module before the first pass and after each: the pass that has run and the one that
/// comes next; null at the ends.
using PipelineObserver =
    std::function<void(const Module& module, const PassCall* done, const PassCall* next)>;

/// Runs all passes. With `verify_each` the module is verified first and after each pass; what a
/// pass breaks is reported as its fault, with the verifier's words. Without, it is verified once,
/// before the first pass that does not take invalid modules.
tl::expected<void, std::string> run_pipeline(Module& module, const Pipeline& pipeline,
                                             PassContext& context, bool verify_each,
                                             const PipelineObserver& observer = {});

/// What the verifier says against a module on the context's mesh, one line each, or nothing.
std::string verification_errors(const Module& module, const PassContext& context);

}  // namespace minihlo

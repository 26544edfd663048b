// Whether a module that parses is a module that means something (xla/service/hlo_verifier.cc).
#pragma once

#include <cstdint>

#include "ir/diagnostics.h"
#include "ir/module.h"

namespace minihlo {

struct VerifyOptions {
  /// The mesh; 0 takes the header's counts. Ids beyond a count that is absent or 1 are a warning
  /// (XLA takes 1 for unknown), beyond a count above 1 an error.
  int64_t replicas = 0;
  int64_t partitions = 0;
  /// What XLA's parser and the verifier of its tests take, but no backend compiles, is an error
  /// where this is set, else a warning: floats of different types that meet, a bitcast to another
  /// number of bytes, elements for which an opcode means nothing, a reduction of collectives that
  /// combines no two scalars, groups of a collective-broadcast that do not fit the mesh.
  bool strict = true;
};

/// Reports every broken rule, each with the instruction and the rule's name. The shape of a
/// custom-call is taken as it is written.
void verify(const Module& module, const VerifyOptions& options, Diagnostics& diagnostics);

}  // namespace minihlo

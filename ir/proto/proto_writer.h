// IR to the wire format of protobuf.
#pragma once

#include <string>

#include "ir/diagnostics.h"
#include "ir/module.h"

namespace minihlo {

/// The module as HloProto, with its configuration where HloModuleProtoWithConfig has it, so that
/// readers of either take it (xla/service/hlo.proto). The same module always gives the same bytes.
/// Warns of what some version of XLA will not read as it is meant.
std::string print_proto(const Module& module, Diagnostics& diagnostics);

/// The module alone, as HloModuleProto: without its mesh and the rest of its configuration.
std::string print_module_proto(const Module& module, Diagnostics& diagnostics);

}  // namespace minihlo

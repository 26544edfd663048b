// The wire format of protobuf to IR: HloModuleProto, and the messages that hold one (HloProto,
// HloModuleProtoWithConfig, HloSnapshot, HloUnoptimizedSnapshot), of XLA from 2024 to 2026
// (xla/service/hlo.proto).
#pragma once

#include <memory>

#include "ir/diagnostics.h"
#include "ir/module.h"
#include "ir/text/parser.h"

namespace minihlo {

/// Reads a module. Everything is checked that the IR needs; errors say where in the message they
/// are, and at which offset. Null when there were any. Fields that are not taken over are noted,
/// unknown ones warned of, once each. The module keeps `source` alive.
std::unique_ptr<Module> parse_proto(std::shared_ptr<const Source> source, Diagnostics& diagnostics,
                                    const ParseOptions& options = {});

}  // namespace minihlo

// HLO text to IR: the union of what XLA has written from 2024 to 2026
// (xla/hlo/parser/hlo_parser.cc).
#pragma once

#include <memory>

#include "ir/diagnostics.h"
#include "ir/module.h"

namespace minihlo {

struct ParseOptions {
  /// Share the shapes of another module, so that the two can be compared.
  std::shared_ptr<ShapePool> shapes;
};

/// Reads a module, or a bare instruction. Goes on after an error to report the next ones; returns
/// null when there were any. The module keeps `source` alive: names and strings point into it.
std::unique_ptr<Module> parse_text(std::shared_ptr<const Source> source, Diagnostics& diagnostics,
                                   const ParseOptions& options = {});

}  // namespace minihlo

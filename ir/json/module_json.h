// The JSON form of a module, for scripts: docs/module-json.md, docs/module.schema.json.
#pragma once

#include <memory>
#include <string>

#include "ir/diagnostics.h"
#include "ir/module.h"
#include "ir/text/parser.h"

namespace minihlo {

/// All of the module, an instruction a line. Strings that are not UTF-8 are written as Python's
/// surrogateescape has them: \udcXX for a byte XX.
std::string print_json(const Module& module);

/// Reads what print_json() writes, or a script. Errors are located; null where there are any. The
/// module keeps `source` alive.
std::unique_ptr<Module> parse_json(std::shared_ptr<const Source> source, Diagnostics& diagnostics,
                                   const ParseOptions& options = {});

}  // namespace minihlo

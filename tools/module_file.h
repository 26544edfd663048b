// Reading modules from files, for all commands.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ir/diagnostics.h"
#include "ir/module.h"
#include "ir/text/parser.h"

namespace minihlo {

/// A file that was read as a module, or the reasons why it could not be.
struct ModuleFile {
  std::string path;                // as given; `-` is standard input
  std::string unreadable;          // why the file itself could not be read, or empty
  Diagnostics diagnostics;         // of the parser
  std::unique_ptr<Module> module;  // null where either holds an error
};

/// Of the errors in it at most `max_errors` are kept, the rest is counted; 0 keeps all.
ModuleFile read_module(const std::string& path, const ParseOptions& options = {},
                       size_t max_errors = 100);

/// Reports why a file could not be read, or what was found in it.
void print_findings(const ModuleFile& file);

/// The same for commands that have no use for the reasons: reports them. Null when there is no
/// module.
std::unique_ptr<Module> load_module(const std::string& path, const ParseOptions& options = {});

/// Whether memory holds the text of a module, as far as its shapes tell: at most 1 GiB of them.
/// Reports and returns false where it does not.
bool can_be_written(const Module& module);

/// Writes `text` to a file, or to standard output for `-`. Reports what goes wrong and returns
/// false.
bool write_output(const std::string& path, std::string_view text);

}  // namespace minihlo

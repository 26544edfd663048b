// Where errors go: to standard error as they come, or with --json into one document.
#pragma once

#include <string_view>

#include "ir/diagnostics.h"
#include "tools/json_out.h"

namespace minihlo {

/// Writes to standard error. Where that can't be written there is nobody to tell.
void print_stderr(std::string_view text);

/// Whether a person sees standard error on a terminal that can be written over.
bool stderr_is_terminal();

/// Writes to standard output. finish_output() reports what goes wrong there.
void print_stdout(std::string_view text);
/// Hands on what was written so far. False when that, or a write before, went wrong.
bool flush_stdout();

/// From now on, errors are kept for the document that finish_output prints.
void gather_errors();
/// Reports an error that has no place in a module: "minihlo: error: MESSAGE". `rule` is its stable
/// name, `file` the file that it is about, if there is one (the message names it too).
void print_error(std::string_view message, std::string_view rule = "invalid",
                 std::string_view file = "");
/// Reports a warning in the same way.
void print_warning(std::string_view message, std::string_view rule = "unused",
                   std::string_view file = "");
/// Reports all that was found in a file, in colours where a person sees them on a terminal.
void print_diagnostics(const Diagnostics& diagnostics, std::string_view file);
/// Prints the document of a command with --json.
void print_document(const Json& document);
/// Ends the command: prints {"ok": false, "diagnostics": [...]} where errors were gathered and no
/// document was printed. Beside a document, and where standard output can't be written, errors go
/// to standard error. False, with an error there, in the latter case.
bool finish_output();

/// A diagnostic as check --json prints it.
Json diagnostic_json(const Diagnostic& diagnostic, const Source* source, std::string_view file);
/// An error without a place, in the same form.
Json error_json(std::string_view message, std::string_view rule, std::string_view file,
                Severity severity = Severity::kError);

}  // namespace minihlo

#include "tools/error_output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fmt/format.h>

namespace minihlo {
namespace {

// What the process has reported: there is one standard output, and one document for it.
struct Reported {
  bool gather = false;
  bool document_printed = false;
  int write_error = 0;  // the errno of the first write to standard output that failed
  size_t errors = 0;
  Json list = Json::array();
  std::string text;  // the same, for standard error, where the document can't be written
};

Reported& reported() {
  static Reported it;
  return it;
}

void keep_write_error() {
  if (reported().write_error == 0) reported().write_error = errno != 0 ? errno : EIO;
}

// https://no-color.org
bool colours_on_stderr() {
  const char* no_colour = std::getenv("NO_COLOR");
  return stderr_is_terminal() && !(no_colour && *no_colour);
}

void report(std::string_view text) {
  if (reported().gather) {
    reported().text += text;
  } else {
    print_stderr(text);
  }
}

void set_location(Json& object, const Source* source, Location location) {
  if (!source || location.length == 0) return;
  if (source->is_binary()) {
    object.set("offset", location.offset);
    return;
  }
  Source::Position position = source->position(location.offset);
  object.set("line", position.line);
  object.set("column", position.column);
}

}  // namespace

bool stderr_is_terminal() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) && !(terminal && std::string_view(terminal) == "dumb");
}

void print_stderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void print_stdout(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) keep_write_error();
}

bool flush_stdout() {
  errno = 0;
  if (std::fflush(stdout) != 0) keep_write_error();
  return reported().write_error == 0;
}

void gather_errors() { reported().gather = true; }

void print_error(std::string_view message, std::string_view rule, std::string_view file) {
  report(fmt::format("minihlo: error: {}\n", for_terminal(message)));
  if (!reported().gather) return;
  ++reported().errors;
  reported().list.push(error_json(message, rule, file));
}

void print_warning(std::string_view message, std::string_view rule, std::string_view file) {
  report(fmt::format("minihlo: warning: {}\n", for_terminal(message)));
  if (reported().gather) {
    reported().list.push(error_json(message, rule, file, Severity::kWarning));
  }
}

void print_diagnostics(const Diagnostics& diagnostics, std::string_view file) {
  report(diagnostics.to_string(!reported().gather && colours_on_stderr()));
  if (!reported().gather) return;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.severity == Severity::kError) ++reported().errors;
    reported().list.push(diagnostic_json(diagnostic, diagnostics.source(), file));
  }
}

void print_document(const Json& document) {
  print_stdout(document.text());
  reported().document_printed = true;
}

bool finish_output() {
  Reported& all = reported();
  const bool in_document = all.gather && all.errors > 0 && !all.document_printed;
  if (in_document) {
    Json document = Json::object();
    document.set("ok", false);
    document.set("diagnostics", std::move(all.list));
    print_document(document);
  }
  const bool written = flush_stdout();
  if (!written || !in_document) print_stderr(all.text);
  if (!written) {
    print_stderr(fmt::format("minihlo: error: cannot write standard output: {}\n",
                             std::strerror(all.write_error)));
  }
  return written;
}

Json diagnostic_json(const Diagnostic& diagnostic, const Source* source, std::string_view file) {
  Json object = Json::object();
  object.set("file", file);
  set_location(object, source, diagnostic.location);
  object.set("severity", to_string(diagnostic.severity));
  object.set("rule", diagnostic.rule);
  object.set("message", diagnostic.message);
  if (!diagnostic.instruction.empty()) object.set("instruction", diagnostic.instruction);
  if (diagnostic.notes.empty()) return object;
  Json notes = Json::array();
  for (const Diagnostic::Note& note : diagnostic.notes) {
    Json entry = Json::object();
    set_location(entry, source, note.location);
    entry.set("message", note.message);
    notes.push(std::move(entry));
  }
  object.set("notes", std::move(notes));
  return object;
}

Json error_json(std::string_view message, std::string_view rule, std::string_view file,
                Severity severity) {
  Json object = Json::object();
  if (!file.empty()) object.set("file", file);
  object.set("severity", to_string(severity));
  object.set("rule", rule);
  object.set("message", message);
  return object;
}

}  // namespace minihlo

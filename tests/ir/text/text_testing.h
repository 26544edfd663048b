// Helpers of the tests of the text layer.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

#include "ir/text/parser.h"
#include "ir/text/printer.h"

namespace minihlo {

/// "rule line:col message (notes)" of each error and warning, a line each.
inline std::string complaints(const Diagnostics& diagnostics, const Source& source) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    Source::Position position = source.position(diagnostic.location.offset);
    out += fmt::format("{} {}:{} {}", diagnostic.rule, position.line, position.column,
                       diagnostic.message);
    for (const Diagnostic::Note& note : diagnostic.notes) {
      out += fmt::format(" ({})", note.message);
    }
    out += '\n';
  }
  return out;
}

struct Parsed {
  std::unique_ptr<Module> module;
  Diagnostics diagnostics;

  explicit Parsed(std::string text) : diagnostics(Source::from_string("t.hlo", text)) {
    module = parse_text(Source::from_string("t.hlo", std::move(text)), diagnostics);
  }
  std::string complaints(const std::string& text) const {
    return minihlo::complaints(diagnostics, *Source::from_string("t.hlo", text));
  }
};

inline std::string complaints(const std::string& text) { return Parsed(text).complaints(text); }

/// The text as we print it, or what is wrong with it.
inline std::string reprinted(const std::string& text, const PrintOptions& options = {}) {
  Parsed parsed(text);
  return parsed.module ? print_text(*parsed.module, options) : parsed.complaints(text);
}

/// A module whose entry has these lines, as we print it.
inline std::string module_with(std::string_view instructions, std::string_view header = "") {
  return fmt::format("HloModule m{}\n\nENTRY %e {{\n{}\n}}\n\n", header, instructions);
}

/// The root of a module, as it is printed.
inline std::string root_line(const std::string& text) {
  Parsed parsed(text);
  if (!parsed.module) return parsed.complaints(text);
  return print_text(*parsed.module->entry()->root());
}

}  // namespace minihlo

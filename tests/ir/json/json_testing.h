// Helpers of the tests of the JSON form.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#include "ir/json/module_json.h"
#include "tests/ir/text/text_testing.h"

namespace minihlo {

struct ReadJson {
  std::shared_ptr<const Source> source;
  Diagnostics diagnostics;
  std::unique_ptr<Module> module;

  explicit ReadJson(std::string json)
      : source(Source::from_string("t.json", std::move(json))), diagnostics(source) {
    module = parse_json(source, diagnostics);
  }
  /// "rule line:col message (notes)" of each error, a line each.
  std::string complaints() const {
    std::string out;
    for (const Diagnostic& diagnostic : diagnostics.all()) {
      Source::Position position = source->position(diagnostic.location.offset);
      out += fmt::format("{} {}:{} {}", diagnostic.rule, position.line, position.column,
                         diagnostic.message);
      for (const Diagnostic::Note& note : diagnostic.notes) {
        out += fmt::format(" ({})", note.message);
      }
      out += '\n';
    }
    return out;
  }
};

/// The HLO text of a module that was turned into JSON and back, or what is wrong with it.
inline std::string through_json(const Module& module) {
  ReadJson read(print_json(module));
  return read.module ? print_text(*read.module) : read.complaints();
}

}  // namespace minihlo

// Helpers of the tests of the JSON form.
#pragma once

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
  std::string complaints() const { return minihlo::complaints(diagnostics, *source); }
};

/// The HLO text of a module that was turned into JSON and back, or what is wrong with it.
inline std::string through_json(const Module& module) {
  ReadJson read(print_json(module));
  return read.module ? print_text(*read.module) : read.complaints();
}

}  // namespace minihlo

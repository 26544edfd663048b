#include "ir/json/module_json.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "tests/fuzz/targets.h"

namespace minihlo::fuzz {

std::string json(std::string_view input) {
  auto source = Source::from_string("input.json", std::string(input));
  Diagnostics diagnostics(source);
  const std::unique_ptr<Module> module = parse_json(source, diagnostics);
  if (module) verify(*module, {}, diagnostics);
  const std::string complaints = diagnostics.to_string();
  if (!module) return complaints.empty() ? "refused without a message" : "";
  // A module that is not valid need not have a text, but it must not matter.
  print_text(*module);

  const std::string printed = print_json(*module);
  auto again = Source::from_string("printed.json", printed);
  Diagnostics of_printed(again);
  const std::unique_ptr<Module> reparsed = parse_json(again, of_printed);
  if (!reparsed) return "what was written is not read: " + of_printed.to_string();
  const std::string reprinted = print_json(*reparsed);
  if (reprinted != printed) return "written first:\n" + printed + "\nthen:\n" + reprinted;
  return "";
}

}  // namespace minihlo::fuzz

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "tests/fuzz/targets.h"

namespace minihlo::fuzz {

std::string text(std::string_view input) {
  auto source = Source::from_string("input.hlo", std::string(input));
  Diagnostics diagnostics(source);
  std::unique_ptr<Module> module = parse_text(source, diagnostics);
  if (module) verify(*module, {}, diagnostics);
  const std::string complaints = diagnostics.to_string();
  if (!module) return complaints.empty() ? "refused without a message" : "";

  const std::string printed = print_text(*module);
  auto again = Source::from_string("printed.hlo", printed);
  Diagnostics of_printed(again);
  std::unique_ptr<Module> reparsed = parse_text(again, of_printed);
  if (!reparsed) return "what was printed does not parse: " + of_printed.to_string();
  const std::string reprinted = print_text(*reparsed);
  if (reprinted != printed) return "printed first:\n" + printed + "\nthen:\n" + reprinted;
  return "";
}

}  // namespace minihlo::fuzz

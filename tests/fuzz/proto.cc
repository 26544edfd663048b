#include "ir/proto/proto_reader.h"
#include "ir/proto/proto_writer.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "tests/fuzz/targets.h"

namespace minihlo::fuzz {

std::string proto(std::string_view input) {
  auto source = Source::from_string("input.pb", std::string(input));
  Diagnostics diagnostics(source);
  const std::unique_ptr<Module> module = parse_proto(source, diagnostics);
  if (module) verify(*module, {}, diagnostics);
  const std::string complaints = diagnostics.to_string();
  if (!module) return complaints.empty() ? "refused without a message" : "";
  // What is not valid must do no harm, but need not be kept.
  print_text(*module);
  Diagnostics of_writing;
  print_proto(*module, of_writing);
  return "";
}

}  // namespace minihlo::fuzz

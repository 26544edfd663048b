#include "tests/passes/prove_pass.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "ir/diagnostics.h"
#include "ir/text/printer.h"
#include "passes/pipeline.h"
#include "sim/prove/equivalence.h"
#include "tests/passes/run_passes.h"

namespace minihlo::testing {

int64_t ProvedRun::rewritten() const {
  return std::ranges::count_if(entries, [](const PassEntry& one) { return one.rewritten; });
}

ProvedRun prove_pass(std::string_view pipeline, const std::string& text) {
  std::unique_ptr<Module> original = parse_module(text);
  INFO(text);
  REQUIRE(verifier_errors(*original) == "");
  auto source = Source::from_string("passes", std::string(pipeline));
  Diagnostics diagnostics(source);
  std::optional<Pipeline> parsed = parse_pipeline(source, diagnostics);
  INFO(diagnostics.to_string());
  REQUIRE(parsed);
  std::unique_ptr<Module> changed = original->clone();
  PassContext context;
  auto done = run_pipeline(*changed, *parsed, context, true);
  REQUIRE_MESSAGE(done, (done ? "" : done.error()));
  prove::EquivalenceOptions options;
  options.mesh = {original->replica_count(), original->num_partitions()};
  prove::EquivalenceResult result = prove::check_equivalence(*original, *changed, options);
  return {std::move(context.entries), std::string(to_string(result.verdict)), result.reason,
          print_text(*changed)};
}

}  // namespace minihlo::testing

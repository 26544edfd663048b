#include "tests/sim/run/run_testing.h"

#include <doctest/doctest.h>

#include "ir/text/parser.h"
#include "ir/verifier.h"

namespace minihlo::testing {

std::unique_ptr<Module> parsed(std::string_view text) {
  auto source = Source::from_string("test", std::string(text));
  Diagnostics diagnostics(source);
  std::unique_ptr<Module> module = parse_text(source, diagnostics);
  if (module) verify(*module, {}, diagnostics);
  INFO(diagnostics.to_string());
  REQUIRE(module);
  REQUIRE(diagnostics.ok());
  return module;
}

tl::expected<RunResult, Stop> run_text(std::string_view text, int64_t replicas, int64_t partitions,
                                       const RunOptions& options) {
  std::unique_ptr<Module> module = parsed(text);
  Mesh mesh{replicas, partitions};
  auto inputs = make_inputs(*module, mesh, 1, int64_t{1} << 30);
  if (!inputs) return tl::unexpected(inputs.error());
  return simulate(*module, mesh, *inputs, options);
}

}  // namespace minihlo::testing

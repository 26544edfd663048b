#include "tests/passes/same_outputs.h"

#include <algorithm>
#include <cstring>

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "ir/diagnostics.h"
#include "ir/text/printer.h"
#include "passes/pipeline.h"
#include "sim/run/simulator.h"
#include "tests/passes/run_passes.h"

namespace minihlo::testing {

bool Outcome::all_rewritten() const {
  return !entries.empty() &&
         std::ranges::all_of(entries, [](const PassEntry& entry) { return entry.rewritten; });
}

Outcome compare_outputs(std::string_view pipeline, std::string_view text, bool prove,
                        uint64_t seed) {
  INFO(pipeline << " on\n" << text);
  std::unique_ptr<Module> original = parse_module(text);
  REQUIRE(verifier_errors(*original) == "");
  std::unique_ptr<Module> rewritten = original->clone();
  auto source = Source::from_string("passes", std::string(pipeline));
  Diagnostics diagnostics(source);
  std::optional<Pipeline> passes = parse_pipeline(source, diagnostics);
  REQUIRE_MESSAGE(passes, diagnostics.to_string());
  PassContext context;
  auto done = run_pipeline(*rewritten, *passes, context, true);
  REQUIRE_MESSAGE(done, done.error());
  Outcome outcome;
  outcome.entries = std::move(context.entries);
  outcome.text = print_text(*rewritten);
  const auto mesh = make_mesh(original->replica_count(), original->num_partitions());
  REQUIRE(mesh);
  auto inputs = make_inputs(*original, *mesh, seed, int64_t{1} << 24);
  REQUIRE(inputs);
  RunOptions options;
  options.threads = 1;
  auto expected = simulate(*original, *mesh, *inputs, options);
  auto actual = simulate(*rewritten, *mesh, *inputs, options);
  INFO(outcome.text);
  REQUIRE(expected);
  REQUIRE_MESSAGE(actual, actual.error().message);
  for (size_t device = 0; device < expected->outputs.size(); ++device) {
    for (size_t leaf = 0; leaf < expected->outputs[device].size(); ++leaf) {
      const HostTensor& a = expected->outputs[device][leaf];
      const HostTensor& b = actual->outputs[device][leaf];
      const bool same = a.bytes == b.bytes &&
                        std::memcmp(a.data.get(), b.data.get(), static_cast<size_t>(a.bytes)) == 0;
      if (!same && outcome.difference.empty()) {
        outcome.difference = fmt::format("output {} of device {}", leaf, device);
      }
    }
  }
  if (!prove) return outcome;
  prove::EquivalenceOptions prover_options;
  prover_options.mesh = *mesh;
  prover_options.tests = 4;
  outcome.proof = prove::check_equivalence(*original, *rewritten, prover_options);
  return outcome;
}

}  // namespace minihlo::testing

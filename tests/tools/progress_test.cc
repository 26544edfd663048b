#include "tools/progress.h"

#include <doctest/doctest.h>

#include "ir/text/parser.h"
#include "sim/run/simulator.h"

namespace minihlo {
namespace {

TEST_CASE("progress: steps and memory of a run") {
  auto source = Source::from_string("a.hlo", R"(HloModule a
ENTRY e {
  x = f32[100] iota(), iota_dimension=0
  ROOT y = f32[100] negate(x)
})");
  Diagnostics diagnostics(source);
  auto module = parse_text(source, diagnostics);
  REQUIRE(module);
  RunProgress progress;
  CHECK(progress.memory() == 0);
  RunOptions options;
  options.progress = &progress;
  auto result = simulate(*module, {1, 1}, Inputs{{}}, options);
  REQUIRE(result);
  CHECK(progress.steps() == result->stats.steps);
  // The result is in use as long as it lives.
  CHECK(progress.memory() >= 400);
  result->outputs.clear();
  CHECK(progress.memory() == 0);
  CHECK(progress_text(1200, 3.456, 3 << 20) == "1200 steps, 3.5 s, 3.0 MiB");
}

}  // namespace
}  // namespace minihlo

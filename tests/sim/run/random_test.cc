// Random modules run the same whatever is put together, and on any number of threads.
#include <doctest/doctest.h>

#include "tests/generator/generator.h"
#include "tests/sim/run/run_testing.h"

namespace minihlo {
namespace {

TEST_CASE("simulator: random modules give the same on any number of threads, put together or not") {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    generator::Choices choices(seed);
    generator::GenerateOptions choice;
    choice.use = generator::Use::kRunnable;
    choice.size = 16;
    generator::Generated made = generator::generate(choices, choice);
    REQUIRE(made.module);
    auto inputs = make_inputs(*made.module, made.mesh, seed, int64_t{1} << 28);
    if (!inputs) continue;
    auto run = [&](int threads, int64_t cluster_elements) {
      RunOptions options;
      options.threads = threads;
      options.cluster_elements = cluster_elements;
      options.max_steps = 100000;
      options.elided = ElidedConstants::kSeed;
      return simulate(*made.module, made.mesh, *inputs, options);
    };
    auto apart = run(1, std::numeric_limits<int64_t>::max());
    auto together = run(3, 1);
    REQUIRE(apart.has_value() == together.has_value());
    if (!apart) {
      CHECK(apart.error().kind == together.error().kind);
      continue;
    }
    ++compared;
    CompareRule bits;
    bits.nan_payload = true;
    for (size_t device = 0; device < apart->outputs.size(); ++device) {
      for (size_t leaf = 0; leaf < apart->outputs[device].size(); ++leaf) {
        CAPTURE(device);
        CAPTURE(leaf);
        Difference difference =
            compare(apart->outputs[device][leaf], together->outputs[device][leaf], bits);
        CHECK(difference.what == "");
        CHECK(difference.count == 0);
      }
    }
  }
  CHECK(compared > 200);
}

}  // namespace
}  // namespace minihlo

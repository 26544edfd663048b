// Random modules run the same whatever is put together, and on any number of threads.
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

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

// Elementwise instructions in any order: arrays, rows, columns and scalars, the same on all devices
// or not, and readers outside that want some of what is in between.
std::string elementwise_text(std::mt19937& random) {
  auto pick = [&](size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random);
  };
  std::string text = R"(HloModule m
ENTRY e {
  a = f32[70,80] parameter(0)
  row = f32[80] parameter(1)
  column = f32[70] parameter(2)
  one = f32[] parameter(3)
  id = u32[] partition-id()
  number = f32[] convert(id)
  constant = f32[70,80] broadcast(f32[] one), dimensions={}
  two = f32[] constant(2)
  twos = f32[70,80] broadcast(two), dimensions={}
  rows = f32[70,80] broadcast(row), dimensions={1}
  columns = f32[70,80] broadcast(column), dimensions={0}
  numbers = f32[70,80] broadcast(number), dimensions={}
  v0 = f32[70,80] add(a, rows)
)";
  std::vector<std::string> values{"a", "constant", "twos", "rows", "columns", "numbers", "v0"};
  const char* opcodes[] = {"add", "subtract", "multiply", "maximum", "minimum"};
  std::string results, types;
  for (int i = 1; i <= 40; ++i) {
    // Mostly what was made lately.
    auto operand = [&] {
      return pick(3) ? values[values.size() - 1 - pick(std::min<size_t>(values.size(), 5))]
                     : values[pick(values.size())];
    };
    const std::string name = fmt::format("v{}", i);
    if (pick(8) == 0) {
      text += fmt::format(
          "  p{0} = pred[70,80] compare({1}, {2}), direction=LT\n"
          "  {3} = f32[70,80] select(p{0}, {4}, {5})\n",
          i, operand(), operand(), name, operand(), operand());
    } else if (pick(8) == 0) {
      text += fmt::format("  {} = f32[70,80] negate({})\n", name, operand());
    } else {
      text += fmt::format("  {} = f32[70,80] {}({}, {})\n", name, opcodes[pick(5)], operand(),
                          operand());
    }
    values.push_back(name);
    if (i != 40 && pick(6) != 0) continue;
    results += fmt::format("{}{}", results.empty() ? "" : ", ", name);
    types += fmt::format("{}f32[70,80]", types.empty() ? "" : ", ");
  }
  return text + fmt::format("  ROOT all = ({}) tuple({})\n}}\n", types, results);
}

TEST_CASE("simulator: elementwise instructions that run together give what each gives alone") {
  int64_t memory_together = 0, memory_apart = 0;
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::string text = elementwise_text(random);
    std::unique_ptr<Module> module = testing::parsed(text);
    const Mesh mesh{1, 3};
    auto inputs = make_inputs(*module, mesh, seed, int64_t{1} << 28);
    REQUIRE(inputs);
    if (seed % 2) inputs->resize(1);  // the same on all devices
    RunOptions options;
    auto together = simulate(*module, mesh, *inputs, options);
    options.cluster_elements = std::numeric_limits<int64_t>::max();
    auto apart = simulate(*module, mesh, *inputs, options);
    REQUIRE(together);
    REQUIRE(apart);
    memory_together += together->stats.peak_memory;
    memory_apart += apart->stats.peak_memory;
    for (size_t device = 0; device < 3; ++device) {
      for (size_t leaf = 0; leaf < apart->outputs[device].size(); ++leaf) {
        Difference difference =
            compare(apart->outputs[device][leaf], together->outputs[device][leaf], {});
        CHECK(difference.count == 0);
      }
    }
  }
  CHECK(memory_together < memory_apart);
}

}  // namespace
}  // namespace minihlo

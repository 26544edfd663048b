// Those who look at values while a module runs.
#include <cmath>

#include <doctest/doctest.h>

#include "sim/run/observer.h"
#include "tests/sim/run/run_testing.h"

namespace minihlo {
namespace {

using testing::tensor;

// Writes down what it sees: "name@devices" with the first element of each leaf on each device.
class Recorder : public Observer {
 public:
  bool watches(const Instruction&) const override { return true; }
  std::optional<Stop> observe(const Observation& observation) override {
    std::string line = std::string(observation.instruction.name());
    for (size_t i = 0; i < observation.devices.size(); ++i) {
      line += i ? "," : " ";
      line += std::to_string(observation.devices[i]) + "=";
      for (size_t leaf = 0; leaf < observation.leaves.size(); ++leaf) {
        if (leaf) line += '/';
        if (!observation.leaves[leaf].empty()) line += element_text(observation.at(leaf, i), 0);
      }
    }
    lines.push_back(line);
    return std::nullopt;
  }
  std::vector<std::string> lines;
};

TEST_CASE("observer: sees each instruction on each device, in loops and branches too") {
  Recorder recorder;
  RunOptions options;
  options.observer = &recorder;
  auto result = testing::run_text(R"(HloModule m
double { x = u32[] parameter(0)
  ROOT d = u32[] add(x, x) }
keep { y = u32[] parameter(0)
  ROOT k = u32[] copy(y) }
ENTRY e {
  id = u32[] partition-id()
  one = u32[] constant(1)
  unused = u32[] add(id, one)
  test = pred[] compare(id, one), direction=EQ
  ROOT c = u32[] conditional(test, id, id), true_computation=double, false_computation=keep
})",
                                  1, 2, options);
  REQUIRE(result);
  CHECK(recorder.lines == std::vector<std::string>{"id 0=0,1=1", "one 0=1,1=1", "unused 0=1,1=2",
                                                   "test 0=false,1=true", "x 1=1", "d 1=2", "y 0=0",
                                                   "k 0=0", "c 0=0,1=2"});
}

TEST_CASE("observer: values are the same whether somebody looks or not") {
  const char* text = R"(HloModule m
ENTRY e {
  a = f32[100,100] parameter(0)
  b = f32[100,100] add(a, a)
  c = f32[100,100] multiply(b, a)
  d = f32[100,100] negate(c)
  ROOT u = f32[100,100] subtract(d, b)
})";
  Recorder recorder;
  RunOptions options;
  auto alone = testing::run_text(text, 1, 1, options);
  options.observer = &recorder;
  auto seen = testing::run_text(text, 1, 1, options);
  REQUIRE(alone);
  REQUIRE(seen);
  CHECK(testing::values<float>(*alone, 0) == testing::values<float>(*seen, 0));
  CHECK(recorder.lines.size() == 5);
}

TEST_CASE("NanCheck: names who makes the first NaN, and where") {
  auto check = [](const char* text, std::vector<float> input) {
    std::unique_ptr<Module> module = testing::parsed(text);
    NanCheck nans({1, 2});
    RunOptions options;
    options.observer = &nans;
    std::vector<float> other(input.size(), 1);
    const auto count = static_cast<int64_t>(input.size());
    return simulate(*module, {1, 2},
                    {{tensor(ElementType::F32, {1, count}, other)},
                     {tensor(ElementType::F32, {1, count}, input)}},
                    options);
  };
  const char* text = R"(HloModule m
ENTRY e {
  x = f32[1,3] parameter(0)
  quiet = f32[] constant(nan)
  l = f32[1,3] log(x), metadata={source_file="model.py" source_line=7}
  ROOT r = f32[1,3] add(l, l)
})";
  auto bad = check(text, {1, 2, -1});
  REQUIRE(!bad);
  CHECK(bad.error().kind == Stop::Kind::kNan);
  CHECK(bad.error().message ==
        "%l = log at model.py:7 makes a NaN of operands without any, on device 1 (replica 0, "
        "partition 1): element [0,2] of f32[1,3]");
  CHECK(check(text, {1, 2, 3}));
  // A NaN that comes from outside is nobody's fault.
  CHECK(check(text, {1, NAN, 3}));
  auto through = check(R"(HloModule m
body { s = f32[1,3] parameter(0)
  ROOT q = f32[1,3] divide(s, s) }
ENTRY e {
  x = f32[1,3] parameter(0)
  c = f32[1,3] call(x), to_apply=body
  ROOT r = f32[1,3] add(c, c)
})",
                       {1, 0, 0});
  REQUIRE(!through);
  CHECK(through.error().message.find("%q = divide") == 0);
  CHECK(through.error().message.find("element [0,1] of f32[1,3], the first of 2") !=
        std::string::npos);
}

}  // namespace
}  // namespace minihlo

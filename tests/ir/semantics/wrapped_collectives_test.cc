// Collectives as custom-calls, and back.
#include "ir/semantics/wrapped_collectives.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"

namespace minihlo {
namespace {

std::unique_ptr<Module> parsed(std::string_view text) {
  auto source = Source::from_string("test", std::string(text));
  Diagnostics diagnostics(source);
  std::unique_ptr<Module> module = parse_text(source, diagnostics);
  INFO(diagnostics.to_string());
  REQUIRE(module);
  return module;
}

constexpr std::string_view kReducers = R"(HloModule m, num_partitions=4

add {
  a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT s = bf16[] add(a, b)
}

mul {
  c = s32[] parameter(0)
  d = s32[] parameter(1)
  ROOT p = s32[] multiply(c, d)
}

)";

TEST_CASE("wrapped collectives: back to what they were") {
  struct {
    std::string_view shape, opcode, operands, attributes, reducer, rest, target;
  } constexpr kCases[] = {
      {"bf16[8]", "all-reduce", "x",
       "channel_id=1, replica_groups=[2,2]<=[4], use_global_device_ids=true", "add", "",
       "AwsNeuronAllReduceAdd_bf16"},
      {"(bf16[8], bf16[8])", "all-reduce", "x, x", "replica_groups={}", "add", "",
       "AwsNeuronAllReduceAdd_bf16"},
      {"s32[2]", "reduce-scatter", "y",
       "channel_id=7, replica_groups={{3,2,1,0}}, constrain_layout=true, "
       "use_global_device_ids=true, dimensions={0}",
       "mul", ", sharding={replicated}", "AwsNeuronReduceScatterUNKNOWNOP_s32"},
      {"s32[8,4]", "all-gather", "z",
       "channel_id=2, replica_groups={{0,1,2,3}}, dimensions={1}, use_global_device_ids=true", "",
       ", metadata={op_name=\"here\"}", "AwsNeuronAllGather_s32"},
  };
  for (const auto& item : kCases) {
    CAPTURE(item.attributes);
    auto module = [&](std::string_view instruction) {
      return parsed(
          fmt::format("{}ENTRY e {{\n  x = bf16[8] parameter(0)\n  y = s32[8] parameter(1)\n"
                      "  z = s32[8,1] reshape(y)\n  ROOT r = {} {}{}\n}}\n",
                      kReducers, item.shape, instruction, item.rest));
    };
    const std::string_view reducer = item.reducer;
    std::unique_ptr<Module> plain =
        module(fmt::format("{}({}), {}{}", item.opcode, item.operands, item.attributes,
                           reducer.empty() ? "" : fmt::format(", to_apply={}", reducer)));
    std::optional<WrappedCollective> wrapped = wrapped_collective(*plain->entry()->root());
    REQUIRE(wrapped);
    CHECK(wrapped->target == item.target);
    std::unique_ptr<Module> calls = module(
        fmt::format("custom-call({}), custom_call_target=\"{}\"{}, backend_config=\"{}\"",
                    item.operands, wrapped->target,
                    reducer.empty() ? "" : fmt::format(", called_computations={{{}}}", reducer),
                    wrapped->backend_config));
    auto again = unwrapped_collectives(*calls);
    INFO((again ? "" : again.error()));
    REQUIRE(again);
    REQUIRE(*again);
    CHECK((print_text(**again) == print_text(*plain)));
  }
}

TEST_CASE("wrapped collectives: modules without them are left alone") {
  auto none = unwrapped_collectives(*parsed(
      fmt::format("{}ENTRY e {{\n  x = bf16[8] parameter(0)\n"
                  "  ROOT r = bf16[8] custom-call(x), custom_call_target=\"AwsNeuronGelu\"\n}}\n",
                  kReducers)));
  REQUIRE(none);
  CHECK(!*none);
  CHECK(!wrapped_collective(
      *parsed("HloModule m\nENTRY e { ROOT x = s32[] parameter(0) }")->entry()->root()));
}

TEST_CASE("wrapped collectives: what can't be read") {
  auto error = [](std::string_view call) {
    auto result = unwrapped_collectives(*parsed(fmt::format(
        "{}ENTRY e {{\n  x = bf16[8] parameter(0)\n  ROOT r = {}\n}}\n", kReducers, call)));
    REQUIRE(!result);
    return result.error();
  };
  CHECK(error(R"(bf16[8] custom-call(x), custom_call_target="AwsNeuronAllGather_bf16")")
            .starts_with("%r: backend_config is not the attributes of all-gather"));
  CHECK(error(R"(bf16[8] custom-call(x), custom_call_target="AwsNeuronAllReduceAdd_bf16", )"
              R"(backend_config="}\n")")
            .starts_with("%r: backend_config is not the attributes of all-reduce"));
  CHECK(error(R"(bf16[8] custom-call(x), custom_call_target="AwsNeuronAllReduceUNKNOWNOP_bf16")") ==
        "%r: it has no reducer");
}

}  // namespace
}  // namespace minihlo

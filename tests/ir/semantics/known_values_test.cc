// What is known of values without running anything, and evaluate() below it.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <string>
#include "ir/semantics/known_values.h"

#include "tests/passes/run_passes.h"

namespace minihlo {
namespace {

using Ints = std::vector<int64_t>;

const Instruction* find(const Module& module, std::string_view name) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->name() == name) return instruction;
    }
  }
  return nullptr;
}

// The elements of an integer array on a device; empty where they are not known.
Ints elements(KnownValues& known, const Instruction* array, int64_t device) {
  Ints result;
  for (int64_t i = 0; i < array->shape()->element_count(); ++i) {
    auto value = known.integer(*array, device, i);
    if (!value) return {};
    result.push_back(*value);
  }
  return result;
}

// A scalar on each device, of which there are `count`; empty where it is not known.
Ints integers(KnownValues& known, const Instruction* scalar, int64_t count) {
  Ints result;
  for (int64_t device = 0; device < count; ++device) {
    auto value = known.integer(*scalar, device);
    if (!value) return {};
    result.push_back(*value);
  }
  return result;
}

TEST_CASE("known values: ids, arithmetic on them, entries of tables, clamped starts") {
  auto module = testing::parse_module(R"(HloModule m, replica_count=2, num_partitions=3
ENTRY e {
  r = u32[] replica-id()
  p = u32[] partition-id()
  three = u32[] constant(3)
  start = u32[] multiply(r, three)
  flat = u32[] add(start, p)
  table = s32[6] constant({5, 4, 3, 2, 1, 0})
  one = s32[1] dynamic-slice(table, flat), dynamic_slice_sizes={1}
  entry = s32[] reshape(one)
  minus = s32[] negate(entry)
  two = s32[2] dynamic-slice(table, flat), dynamic_slice_sizes={2}
  truth = pred[] compare(entry, minus), direction=GT
  four = s8[4] iota(), iota_dimension=0
  both = s8[2,2] reshape(four)
  turned = s8[2,2] transpose(both), dimensions={1,0}
  wide = s64[2,2] convert(turned)
  x = s32[] parameter(0)
  sum = s32[] add(x, entry)
  ROOT t = (s32[], s32[2], pred[], s64[2,2], s32[]) tuple(sum, two, truth, wide, minus)
})");
  KnownValues known(*module, *make_mesh(2, 3));
  CHECK(integers(known, find(*module, "flat"), 6) == Ints{0, 1, 2, 3, 4, 5});
  CHECK(integers(known, find(*module, "entry"), 6) == Ints{5, 4, 3, 2, 1, 0});
  CHECK(integers(known, find(*module, "minus"), 6) == Ints{-5, -4, -3, -2, -1, 0});
  CHECK(integers(known, find(*module, "truth"), 6) == Ints{1, 1, 1, 1, 1, 0});
  CHECK(elements(known, find(*module, "two"), 2) == Ints{3, 2});
  CHECK(elements(known, find(*module, "two"), 5) == Ints{1, 0});
  CHECK(elements(known, find(*module, "wide"), 4) == Ints{0, 2, 1, 3});
  CHECK(known.is_uniform(*find(*module, "wide")));
  CHECK_FALSE(known.is_uniform(*find(*module, "flat")));
  CHECK_FALSE(known.bytes(*find(*module, "sum"), 0));
  CHECK_FALSE(known.bytes(*find(*module, "t"), 0));
}

TEST_CASE("known values: through fusions, calls and tuples that stand once") {
  auto module = testing::parse_module(R"(HloModule m, num_partitions=4
f {
  i = u32[] parameter(0)
  s = s32[] convert(i)
  ROOT d = s32[] add(s, s)
}
g {
  i = u32[] parameter(0)
  ROOT s = s32[] convert(i)
}
h {
  i = u32[] parameter(0)
  c = u32[] constant(7)
  ROOT both = (u32[], u32[]) tuple(i, c)
}
ENTRY e {
  p = u32[] partition-id()
  c = u32[] constant(1)
  fused = s32[] fusion(p), kind=kLoop, calls=f
  once = s32[] call(p), to_apply=g
  twice = s32[] call(c), to_apply=g
  pair = (u32[], u32[]) call(p), to_apply=h
  second = u32[] get-tuple-element(pair), index=1
  first = u32[] get-tuple-element(pair), index=0
  ROOT t = (s32[], s32[], s32[], u32[], u32[]) tuple(fused, once, twice, first, second)
})");
  KnownValues known(*module, *make_mesh(1, 4));
  CHECK(integers(known, find(*module, "fused"), 4) == Ints{0, 2, 4, 6});
  CHECK(integers(known, find(*module, "first"), 4) == Ints{0, 1, 2, 3});
  CHECK(integers(known, find(*module, "second"), 4) == Ints{7, 7, 7, 7});
  // What two call is one computation with two meanings.
  CHECK_FALSE(known.bytes(*find(*module, "once"), 0));
  CHECK_FALSE(known.bytes(*find(*module, "twice"), 0));
}

TEST_CASE("known values: what has no value, or too many elements, is not known") {
  auto module = testing::parse_module(R"(HloModule m
ENTRY e {
  gone = s32[8] constant({...})
  huge = s32[1073741824] iota(), iota_dimension=0
  big = u64[] constant(18446744073709551615)
  none = s32[0] constant({})
  ROOT t = (s32[8], s32[1073741824], u64[], s32[0]) tuple(gone, huge, big, none)
})");
  KnownValues known(*module, *make_mesh(1, 1));
  CHECK_FALSE(known.bytes(*find(*module, "gone"), 0));
  CHECK_FALSE(known.bytes(*find(*module, "huge"), 0));
  CHECK(known.bytes(*find(*module, "big"), 0));
  CHECK_FALSE(known.integer(*find(*module, "big"), 0));
  CHECK(known.bytes(*find(*module, "none"), 0));
  CHECK(known.bytes(*find(*module, "none"), 0)->empty());
}

TEST_CASE("known values: a long chain takes no stack") {
  std::string text = "HloModule m\nENTRY e {\n  a0 = s32[] constant(1)\n";
  for (int i = 1; i <= 50000; ++i) {
    text += fmt::format("  a{} = s32[] add(a{}, a0)\n", i, i - 1);
  }
  text += "  ROOT r = s32[] copy(a50000)\n}";
  auto module = testing::parse_module(text);
  KnownValues known(*module, *make_mesh(1, 1));
  CHECK(known.integer(*find(*module, "r"), 0) == 50001);
}

}  // namespace
}  // namespace minihlo

// Modules made to take long: each check would take minutes here, or all memory, if its time grew
// with the square of what it looks at.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <functional>

#include "tests/ir/verify/findings.h"

namespace minihlo {
namespace {

std::string repeat(int count, const std::function<std::string(int)>& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line(i);
  return text;
}

// %t0 to %t16: a tuple of 65536 arrays.
std::string tree(std::string_view leaf, int parameter) {
  return fmt::format("  t0 = {} parameter({})\n", leaf, parameter) +
         repeat(16, [](int i) { return fmt::format("  t{} = tuple(t{}, t{})\n", i + 1, i, i); });
}

// The text of a shape like it.
std::string tree_shape(std::string leaf) {
  for (int i = 0; i < 16; ++i) leaf = fmt::format("({0},{0})", leaf);
  return leaf;
}

size_t count(const Findings& findings, std::string_view part) {
  size_t found = 0;
  for (const std::string& one : findings) found += one.find(part) != one.npos;
  return found;
}

TEST_CASE("verifier, large: many links of one asynchronous chain, and ends of each") {
  constexpr int kLinks = 200000;
  const Findings found = findings_of_body(
      "  u_0 = ((f32[4]), f32[4], s32[]) async-start(p), calls=double\n" +
      repeat(kLinks, [](int i) {
        return fmt::format(
            "  u_{} = ((f32[4]), f32[4], s32[]) async-update(u_{})\n  d{} = f32[4] "
            "async-done(u_{})\n",
            i + 1, i, i, i + 1);
      }));
  REQUIRE_FALSE(found.empty());
  CHECK(found[0] == "error async-pair: %u_1 has 2 users that end it, and must have one [u_1]");
}

TEST_CASE("verifier, large: ends of work that takes many operands") {
  constexpr int kMany = 50000;
  const std::string parameters =
      repeat(kMany, [](int i) { return fmt::format("  a{} = f32[] parameter({})\n", i, i); });
  std::string shapes, operands;
  for (int i = 0; i < kMany; ++i) {
    shapes += i > 0 ? ",f32[]" : "f32[]";
    operands += i > 0 ? ",a0" : "a0";
  }
  const std::string state = fmt::format("(({}), f32[], s32[])", shapes);
  const Findings found = findings_of(
      "HloModule m\nmany {\n" + parameters + "  ROOT r = f32[] negate(a0)\n}\nENTRY e {\n" +
      "  a0 = f32[] parameter(0)\n  s = " + state + " async-start(" + operands + "), calls=many\n" +
      repeat(kMany, [](int i) { return fmt::format("  d{} = f32[] async-done(s)\n", i); }) +
      "  ROOT root = f32[] negate(a0)\n}\n");
  CHECK(found ==
        Findings{"error async-pair: %s has 50000 users that end it, and must have one [s]"});
}

TEST_CASE("verifier, large: many starts and fusions of one large computation") {
  constexpr int kMany = 50000;
  const Findings found = findings_of(
      "HloModule m\nlarge {\n  a = f32[4] parameter(0)\n" +
      repeat(kMany, [](int i) { return fmt::format("  n{} = f32[4] negate(a)\n", i); }) +
      "  opt = f32[4] opt-barrier(a)\n}\nENTRY e {\n  p = f32[4] parameter(0)\n" +
      repeat(kMany,
             [](int i) {
               return fmt::format(
                   "  s_{} = ((f32[4]), f32[4], s32[]) async-start(p), calls=large\n"
                   "  d{} = f32[4] async-done(s_{})\n",
                   i, i, i);
             }) +
      "}\n");
  CHECK(found == Findings{});
}

TEST_CASE("verifier, large: calls that give static tuples for dynamic ones") {
  CHECK(findings_of(
            "HloModule m\nf {\n  x = " + tree_shape("f32[<=4]") +
            " parameter(0)\n  ROOT r = f32[] constant(0)\n}\nENTRY e {\n" + tree("f32[4]", 0) +
            repeat(100000,
                   [](int i) { return fmt::format("  c_{} = f32[] call(t16), to_apply=f\n", i); }) +
            "}\n") == Findings{});
}

TEST_CASE("verifier, large: messages about large tuples") {
  const Findings found = findings_of_body(tree("f32[4]", 1) + repeat(100000, [](int i) {
                                            return fmt::format("  c_{} = f32[4] negate(t16)\n", i);
                                          }));
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].starts_with("error shape: operand 0 (%t16, (((((((((((((((("));
  CHECK(found[0].size() < 1000);
}

TEST_CASE("verifier, large: numbers that are multiples of large powers of two") {
  const auto pairs = [](int64_t factor) {
    std::string text;
    for (int64_t i = 0; i < 100000; ++i) {
      text += fmt::format("{}{{{},{}}}", i > 0 ? "," : "", i * factor, i * factor);
    }
    return text;
  };
  const Findings found = findings_of(
      "HloModule m, replica_count=2\nENTRY e {\n  p = f32[4] parameter(0)\n  ROOT c = f32[4] "
      "collective-permute(p), source_target_pairs={" +
      pairs(int64_t{1} << 32) + "}\n}\n");
  CHECK(count(found, "beyond the mesh of 2 replicas and 1 partition") > 0);
  CHECK(findings_of_body(
            "  t = token[] after-all()\n" + repeat(50000, [](int i) {
              return fmt::format(
                  "  s_{0} = (f32[4], u32[], token[]) send(p, t), channel_id={1}, "
                  "is_host_transfer=true\n"
                  "  d{0} = token[] send-done(s_{0}), channel_id={1}, is_host_transfer=true\n",
                  i, int64_t{i} << 32);
            })) == Findings{});
}

TEST_CASE("verifier, large: few pairs of many devices") {
  CHECK(findings_of("HloModule m, num_partitions=1048576\nENTRY e {\n  p = f32[4] parameter(0)\n" +
                    repeat(100000,
                           [](int i) {
                             return fmt::format(
                                 "  c_{} = f32[4] collective-permute(p), channel_id=1, "
                                 "source_target_pairs={{{{0,1}}}}\n",
                                 i);
                           }) +
                    "}\n") == Findings{});
}

TEST_CASE("verifier, large: loops that share long shardings") {
  constexpr int kLeaves = 20000;
  std::string shape = "(f32[4]", sharding = "{{devices=[2]0,1}";
  for (int i = 1; i < kLeaves; ++i) {
    shape += ",f32[4]";
    sharding += ",{devices=[2]0,1}";
  }
  shape += ")";
  sharding += "}";
  CHECK(findings_of(
            "HloModule m, num_partitions=2\nbody {\n  b = " + shape +
            " parameter(0), sharding=" + sharding +
            "\n  ROOT r = opt-barrier(b), sharding=" + sharding + "\n}\ncond {\n  k = " + shape +
            " parameter(0)\n  ROOT c = pred[] constant(false)\n}\nENTRY e {\n  p = " + shape +
            " parameter(0)\n" +
            repeat(20000,
                   [](int i) {
                     return fmt::format("  w{} = while(p), condition=cond, body=body\n", i);
                   }) +
            "}\n") == Findings{});
}

TEST_CASE("verifier, large: meshes of many axes") {
  std::string axes = "'b'=2", names = "'b'";
  for (int i = 0; i < 100000; ++i) {
    axes += fmt::format(",'a{}'=1", i);
    names += fmt::format(",'a{}'", i);
  }
  CHECK(
      findings_of("HloModule m, replica_count=2\nENTRY e {\n  p = f32[4] parameter(0)\n  ROOT c = "
                  "f32[4] collective-broadcast(p), replica_groups=mesh[" +
                  axes + "] {" + names + "}\n}\n") == Findings{});
}

TEST_CASE("verifier, large: many aliases and attributes of one call") {
  std::string aliases = "{}: (0, {})", attributes = "x=\"\"";
  for (int i = 0; i < 100000; ++i) {
    aliases += ", {}: (0, {})";
    attributes += fmt::format(",x{}=\"\"", i);
  }
  CHECK(findings_of_body("  c = f32[4] custom-call(p), custom_call_target=\"x\", "
                         "output_to_operand_aliasing={" +
                         aliases + "}, frontend_attributes={" + attributes + "}\n") == Findings{});
}

TEST_CASE("verifier, large: buffers in a wide tuple") {
  constexpr int kMany = 20000;
  std::string made = repeat(kMany, [](int i) {
    return fmt::format("  c_{} = b(f32[4]) custom-call(), custom_call_target=\"CreateBuffer\"\n",
                       i);
  });
  std::string all;
  for (int i = 0; i < kMany; ++i) all += fmt::format("{}c_{}", i > 0 ? "," : "", i);
  CHECK(findings_of_body(made + "  t = tuple(" + all + ")\n" + repeat(kMany, [](int i) {
                           return fmt::format("  g{} = get-tuple-element(t), index={}\n", i, i);
                         })) == Findings{});
}

TEST_CASE("verifier, large: a buffer handed on in more ways than can be followed") {
  std::string text = "  t0 = b(f32[4]) custom-call(), custom_call_target=\"CreateBuffer\"\n";
  for (int i = 0; i < 16; ++i) text += fmt::format("  t{} = tuple(t{}, t{})\n", i + 1, i, i);
  text += repeat(1000, [](int i) {
    return fmt::format("  c_{} = f32[4] custom-call(t16), custom_call_target=\"x\"\n", i);
  });
  CHECK(count(findings_of_body(text), "there are too many ways that they are handed on") == 1);
}

}  // namespace
}  // namespace minihlo

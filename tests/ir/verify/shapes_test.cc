#include <doctest/doctest.h>

#include "tests/ir/verify/findings.h"

namespace minihlo {
namespace {

TEST_CASE("verifier, shapes: a written shape that differs") {
  CHECK(findings_of_body(R"(
    q = f32[5] add(p, p)
)") == Findings{
           "error shape-mismatch: the shape of %q is written as f32[5], but add gives f32[4] [q]"});
}

TEST_CASE("verifier, shapes: float types that must not mix, and one that may") {
  CHECK(findings_of_body(R"(
    h = bf16[4] convert(p)
    m = f32[4] multiply(p, h)
    d = f32[] dot(p, h), lhs_contracting_dims={0}, rhs_contracting_dims={0}
)") == Findings{"error mixed-precision: multiply of floats of different types: %p is f32, %h is "
                "bf16 [m]"});
}

TEST_CASE("verifier, shapes: elements for which an opcode has no meaning") {
  struct Row {
    std::string text, finding;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"x = f32[4] shift-left(p, p)",
            "shift-left takes only integers, but %p is made of f32 [x]"},
           {"x = f32[4] mulhi(p, p)", "mulhi takes only integers, but %p is made of f32 [x]"},
       }) {
    CAPTURE(row.text);
    CHECK(findings_of_body(row.text) == Findings{"error element-type: " + row.finding});
    CHECK(findings_of_body(row.text, {.strict = false}) ==
          Findings{"warning element-type: " + row.finding});
  }
}

TEST_CASE("verifier, shapes: generators without a state, and bits of no number") {
  for (const char* shape :
       {"u32[3]", "(u64[2], pred[3])", "(u64[2], c64[3])", "(u64[2], token[])"}) {
    const std::string text = "s = u64[2] constant({1, 2})\nx = " + std::string(shape) +
                             " rng-bit-generator(s), algorithm=rng_default";
    const std::string finding =
        "element-type: rng-bit-generator makes an array of state and one of integers or floats, "
        "not " +
        std::string(shape) + " [x]";
    CHECK(findings_of_body(text) == Findings{"error " + finding});
    CHECK(findings_of_body(text, {.strict = false}) == Findings{"warning " + finding});
  }
}

TEST_CASE("verifier, shapes: dynamic flags are no difference") {
  CHECK(findings_of_body(R"(
    s = s32[] constant(3)
    d = f32[4] set-dimension-size(p, s), dimensions={0}
)") == Findings{});
}

TEST_CASE("verifier, shapes: custom-calls are taken as written") {
  CHECK(findings_of_body(R"(
    c = f32[9] custom-call(p), custom_call_target="a"
    d = f32[7] custom-call(p), custom_call_target="b"
)") == Findings{});
}

TEST_CASE("verifier, shapes: a shape that can't be") {
  CHECK(findings_of_body(R"(
    r = f32[4] reverse(p), dimensions={3}
)") == Findings{"error shape: dimensions={3} names dimension 3, but there are 1 [r]"});
}

}  // namespace
}  // namespace minihlo

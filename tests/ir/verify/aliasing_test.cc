#include <doctest/doctest.h>

#include "tests/ir/verify/findings.h"

namespace minihlo {
namespace {

// An entry with parameters f32[4] and (f32[4], s32[]) and result (f32[4], s32[]).
Findings findings_of_header(const std::string& header) {
  return findings_of("HloModule m, " + header + R"(

ENTRY e {
  p = f32[4] parameter(0)
  q = (f32[4], s32[]) parameter(1)
  x = f32[4] get-tuple-element(q), index=0
  y = s32[] get-tuple-element(q), index=1
  s = f32[4] add(p, x)
  ROOT r = (f32[4], s32[]) tuple(s, y)
}
)");
}

TEST_CASE("verifier, aliasing: what is right") {
  CHECK(findings_of_header(
            "input_output_alias={ {0}: (0, {}, must-alias), {1}: (1, {1}, may-alias) }, "
            "buffer_donor={ (1, {0}) }, "
            "entry_computation_layout={(f32[4]{0}, (f32[4]{0}, s32[]))->(f32[4]{0}, s32[])}") ==
        Findings{});
}

TEST_CASE("verifier, aliasing: places that are not there") {
  CHECK(findings_of_header("input_output_alias={ {2}: (0, {}), {0}: (2, {}), {1}: (1, {2}), "
                           "{0,0}: (-1, {}) }") ==
        Findings{"error input-output-alias: input_output_alias names {2} of the result, which is "
                 "(f32[4], s32[])",
                 "error input-output-alias: input_output_alias names parameter 2, but the entry "
                 "has 2",
                 "error input-output-alias: input_output_alias names {2} of parameter 1, which is "
                 "(f32[4], s32[])",
                 "error input-output-alias: input_output_alias names parameter -1, but the entry "
                 "has 2",
                 "error input-output-alias: input_output_alias names {0,0} of the result, which is "
                 "(f32[4], s32[])"});
}

TEST_CASE("verifier, aliasing: one alias each") {
  CHECK(findings_of_header("input_output_alias={ {0}: (0, {}), {1}: (0, {}), {0}: (1, {0}) }") ==
        Findings{"error input-output-alias: {} of parameter 0 has two aliases",
                 "warning input-output-alias: {0} of the result has two aliases"});
}

TEST_CASE("verifier, aliasing: what must alias has one shape") {
  CHECK(findings_of_header("input_output_alias={ {1}: (0, {}, must-alias) }") ==
        Findings{"error input-output-alias: {1} of the result must alias {} of parameter 0, but "
                 "one is s32[], the other f32[4]"});
}

TEST_CASE("verifier, aliasing: donors") {
  CHECK(findings_of_header("input_output_alias={ {0}: (0, {}) }, "
                           "buffer_donor={ (0, {}), (1, {0}), (1, {0}), (1, {5}), (7, {}) }") ==
        Findings{"error buffer-donor: buffer_donor gives {} of parameter 0, which has an alias",
                 "warning buffer-donor: buffer_donor gives {0} of parameter 1 twice",
                 "error buffer-donor: buffer_donor names {5} of parameter 1, which is (f32[4], "
                 "s32[])",
                 "error buffer-donor: buffer_donor names parameter 7, but the entry has 2"});
}

TEST_CASE("verifier, aliasing: entry_computation_layout") {
  CHECK(findings_of_header("entry_computation_layout={(f32[4])->(f32[4], s32[])}") ==
        Findings{"error entry-layout: entry_computation_layout has 1 parameters, but the entry %e "
                 "has 2"});
  CHECK(
      findings_of_header("entry_computation_layout={(f32[5], (f32[4], s32[]))->(f32[4], s64[])}") ==
      Findings{"error entry-layout: entry_computation_layout gives parameter 0 as f32[5], but %p "
               "is f32[4] [p]",
               "error entry-layout: entry_computation_layout gives the result as (f32[4], "
               "s64[]), but %r is (f32[4], s32[]) [r]"});
}

TEST_CASE("verifier, aliasing: parameter_replication has a value a leaf") {
  CHECK(findings_of(R"(HloModule m
ENTRY e {
  ROOT p = (f32[4], s32[]) parameter(0), parameter_replication={true}
}
)") == Findings{"error parameter-replication: parameter_replication has 1 values, but %p has 2 "
                "leaves [p]"});
}

}  // namespace
}  // namespace minihlo

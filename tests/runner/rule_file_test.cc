#include "tests/runner/rule_file.h"

#include <doctest/doctest.h>

namespace minihlo::testing {
namespace {

constexpr std::string_view kText =
    "# About.\n"
    "--- before\n"
    "HloModule m\n"
    "ENTRY e {\n"
    "  p = f32[2] parameter(0)\n"
    "--- after\n"
    "}\n"
    "--- case misspelt\n"
    "  q = f32[2] negate(p)\n"
    "  ROOT r = f32[2] ad(p, q)\n"
    "--- expect\n"
    "2:19: error: there is no opcode 'ad' [unknown-opcode]\n"
    "  note: did you mean 'add'?\n"
    "--- case good\n"
    "  ROOT r = f32[2] add(p, p)\n"
    "--- expect\n";

TEST_CASE("rule file: what was read is printed as it was written") {
  auto file = parse_rule_file(kText);
  REQUIRE(file);
  CHECK(print_rule_file(*file) == kText);
  REQUIRE(file->cases.size() == 2);
  CHECK(file->cases[0].name == "misspelt");
  CHECK(file->cases[0].after.text == "}\n");
  CHECK_FALSE(file->cases[1].before.there);
  const RuleCase& first = file->cases[0];
  for (const RuleCase& one : file->cases) {
    CHECK(check_rule_case(first.before.text, one.text, first.after.text) == one.expected);
  }
}

TEST_CASE("rule file: mistakes name their line") {
  auto error = [](std::string_view text) {
    auto file = parse_rule_file(text);
    return file ? "" : file.error();
  };
  CHECK(error("#\n--- case a\nx\n--- case b\n") == "line 4: an expect stands behind each case");
  CHECK(error("--- expect\n") == "line 1: an expect stands behind each case");
  CHECK(error("--- colour\n") == "line 1: no section is called 'colour'");
  CHECK(error("--- case a\n") == "the last case is not complete");
  CHECK(error("--- case a\n--- expect\n--- before\n") == "the last case is not complete");
  CHECK(error("") == "the last case is not complete");
}

}  // namespace
}  // namespace minihlo::testing

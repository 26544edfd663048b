#include "tests/runner/test_file.h"

#include <doctest/doctest.h>

namespace minihlo::testing {
namespace {

constexpr std::string_view kText =
    "# About.\n"
    "--- file a.hlo\n"
    "HloModule a\n"
    "\n"
    "$ minihlo check 'a b' --x=\"c d\" -\n"
    "--- stdin\n"
    "in\n"
    "--- exit 2\n"
    "--- stdout contains\n"
    "one\n"
    "two\n"
    "--- stderr\n"
    "wrong\n"
    "$ minihlo print a.hlo\n"
    "--- stdout full\n";

TEST_CASE("test file: files, steps and what they expect") {
  auto file = parse_test_file(kText);
  REQUIRE(file);
  CHECK(file->comment == "# About.\n");
  REQUIRE(file->steps.size() == 2);
  const Step& step = file->steps[0];
  REQUIRE(step.files.size() == 1);
  CHECK(step.files[0].name == "a.hlo");
  CHECK(step.files[0].body == "HloModule a\n\n");
  CHECK(step.words == std::vector<std::string>{"check", "a b", "--x=c d", "-"});
  CHECK(step.input == "in\n");
  CHECK(step.exit_code == 2);
  CHECK(step.output.contains);
  CHECK(step.output.text == "one\ntwo\n");
  CHECK_FALSE(step.error.contains);
  CHECK(step.error.text == "wrong\n");
  CHECK_FALSE(step.output_full);
  CHECK(file->steps[1].exit_code == 0);
  CHECK(file->steps[1].output_full);
}

TEST_CASE("test file: what was read is printed as it was written") {
  auto file = parse_test_file(kText);
  REQUIRE(file);
  CHECK(print_test_file(*file) == kText);
}

TEST_CASE("test file: mistakes name their line") {
  auto error = [](std::string_view text) {
    auto file = parse_test_file(text);
    return file ? "" : file.error();
  };
  CHECK(error("# nothing\n") == "the last step is missing");
  CHECK(error("# x\n$ rm a\n") == "line 2: only minihlo can be run");
  CHECK(error("$ minihlo 'a\n") == "line 1: a quote is not closed");
  CHECK(error("$ minihlo\n--- exit two\n") == "line 2: exit needs a number");
  CHECK(error("$ minihlo\n--- stdot\n") == "line 2: no section is called 'stdot'");
  CHECK(error("$ minihlo\nout\n") == "line 1: output stands behind '--- stdout'");
  CHECK(error("--- stdout\nx\n$ minihlo\n") == "line 1: a step must stand before this section");
}

TEST_CASE("test file: exact and partial expectations") {
  CHECK(compare({"a\nb\n", false}, "a\nb\n") == "");
  CHECK(compare({"a\nb\n", false}, "a\nc\n") == "line 2\n    expected: b\n    actual:   c\n");
  CHECK(compare({"a\n", false}, "a\nb\n") == "line 2\n    expected: (end)\n    actual:   b\n");
  CHECK(compare({"a\n", false}, "a") == "line 1\n    expected: a\n    actual:   a (no line end)\n");
  CHECK(compare({"a\nc\n", true}, "xa\nb\ncy\n") == "");
  CHECK(compare({"c\na\n", true}, "a\nb\nc\n") == "missing\n    a\n");
}

}  // namespace
}  // namespace minihlo::testing

// Forms at the edge of the grammar that XLA's parser takes, and some that it refuses.
#include <doctest/doctest.h>

#include "tests/ir/text/text_testing.h"

namespace minihlo {
namespace {

struct Form {
  std::string text;
  std::string root;  // as it is printed, or the complaints
};

// The root of the entry must be printed so, and XLA's form of the module must be a fixed point.
void check_forms(std::initializer_list<Form> forms) {
  for (const Form& form : forms) {
    CAPTURE(form.text);
    CHECK(root_line(form.text) == form.root);
    Parsed parsed(form.text);
    if (!parsed.module) continue;
    std::string once = print_text(*parsed.module);
    CHECK(reprinted(once) == once);
  }
}

void check_roots(std::initializer_list<Form> forms) {
  for (const Form& form : forms) check_forms({{module_with(form.text), form.root}});
}

TEST_CASE("names") {
  const std::string kConstant = "%c = f32[] constant(1)";
  check_forms({
      {"HloModule m:\nENTRY e { c = f32[] constant(1) }", kConstant},
      {"HloModule m:\ne: { c: = f32[] constant(1) }", kConstant},
      {"HloModule __m\nENTRY e { c = f32[] constant(1) }", kConstant},
      {"HloModule m\nENTRY e (x f32[2], %y s32[]) -> f32[] { c = f32[] constant(1) }", kConstant},
      {"HloModule m\n__f { c = f32[] constant(1) }\nENTRY e { r = f32[] call(), to_apply=__f }",
       "%r = f32[] call(), to_apply=%a_f"},
      {"HloModule m\n%f32 { c = f32[] constant(1) }\nENTRY e { r = f32[] call(), to_apply=%f32 }",
       "%r = f32[] call(), to_apply=%f32_"},
      {"HloModule m\nENTRY e { opaque_type = f32[] constant(1) }",
       "%opaque_type = f32[] constant(1)"},
      {"HloModule m\nENTRY e (%x: f32[2]) -> f32[] { c = f32[] constant(1) }",
       "expected-token 2:12 expected a shape, got ':'\n"},
      {"HloModule m\nENTRY f32 { c = f32[] constant(1) }",
       "invalid-name 2:7 expected the computation's name, and 'f32' can't be a name\n"},
  });
}

TEST_CASE("comments end where a line ends, be it with CR alone") {
  check_forms({{"HloModule m // x\rENTRY e {\r// y\r c = f32[] constant(1) // z\r}",
                "%c = f32[] constant(1)"}});
}

TEST_CASE("commas behind the last element, where XLA takes them") {
  const std::string kRest = "\nENTRY e { p = f32[] parameter(0) }";
  const std::string kRoot = "%p = f32[] parameter(0)";
  check_forms({
      {"HloModule m, input_output_alias={ {}: (0, {}), }" + kRest, kRoot},
      {"HloModule m, buffer_donor={ (0, {}), }" + kRest, kRoot},
      {"HloModule m, entry_computation_layout={(f32[],)->f32[]}" + kRest, kRoot},
      {"HloModule m, frontend_attributes={a=\"b\",}" + kRest,
       "expected-token 1:41 expected a name followed by '=', got '}'\n"},
  });
}

TEST_CASE("of frontend attributes with one name the last one counts") {
  check_roots({{"p = f32[] parameter(0), frontend_attributes={a=\"1\",b=\"2\",a=\"3\"}",
                "%p = f32[] parameter(0), frontend_attributes={a=\"3\",b=\"2\"}"}});
}

TEST_CASE("integers in literals wrap as in XLA") {
  check_roots({
      {"c = u64[2] constant({-1, 18446744073709551615})",
       "%c = u64[2]{0} constant({18446744073709551615, 18446744073709551615})"},
      {"c = s32[] constant(18446744073709551615)", "%c = s32[] constant(-1)"},
      {"c = f32[] constant(18446744073709551615)", "%c = f32[] constant(-1)"},
      {"c = u32[] constant(18446744073709551615)",
       "literal-range 4:20 the value is outside the range of u32\n"},
      {"c = f4e2m1fn[2] constant({nan, -nan})", "%c = f4e2m1fn[2]{0} constant({-0.0, 0})"},
  });
}

TEST_CASE("rows of stack-frame tables have their values in any order") {
  auto module = [](const std::string& location) {
    return "HloModule m\nFileNames\n1 \"a\"\nFunctionNames\n1 \"f\"\nFileLocations\n1 {" +
           location +
           "}\nStackFrames\n1 {parent_frame_id=1 file_location_id=1}\n"
           "ENTRY e { p = f32[] parameter(0) }";
  };
  const std::string kIds = "file_name_id=1, function_name_id=1 ";
  const std::string kRoot = "%p = f32[] parameter(0)";
  check_forms({
      {module(kIds + "end_column=1 column=2, end_line=3, line=4"), kRoot},
      {module(kIds + "end_column=1 column=2, end_line=3"),
       "missing-attribute 7:3 the row needs 'line'\n"},
      {module(kIds + "line=1 line=2"), "duplicate-attribute 7:46 'line' is given twice\n"},
      {module(kIds + "lime=1"),
       "unknown-attribute 7:39 the row has no 'lime' (did you mean 'line'?)\n"},
      {module(kIds + "line=2147483648"),
       "number-out-of-range 7:44 the integer does not fit 32 bits\n"},
  });
}

}  // namespace
}  // namespace minihlo

// After an error the parser goes on, and reports what is wrong later, but nothing that only follows
// from the first error.
#include <doctest/doctest.h>

#include "tests/ir/text/text_testing.h"

namespace minihlo {
namespace {

TEST_CASE("errors of several instructions and computations") {
  CHECK(
      complaints(R"(HloModule m, replica_cont=2

%c (x: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  ROOT %y = f32[] negat(%x), metadata={op_name="a"}
}

%d (x: f33[]) -> f32[] {
  %x.1 = f32[] parameter(0)
  ROOT %y.1 = f32[] negate(%z)
}

ENTRY %e (p: f32[4]) -> f32[] {
  %p = f32[4]{0} parameter(0
  %q = f32[4]{0} negate(%p)
  %r = f32[4]{0} map(%q), to_apply=%c
  %s = f32[4]{0} add(%q, %undefined)
  %t = f32[4]{0} constant({1, 2, 3,
    4, 5})
  ROOT %u = f32[4]{0} add(%t, %q), bogus={x = 1}
}
)") ==
      R"(unknown-attribute 1:14 a module has no attribute 'replica_cont' (did you mean 'replica_count'?)
unknown-opcode 5:19 there is no opcode 'negat' (did you mean 'negate'?)
unknown-type 8:8 there is no type 'f33' (did you mean 'f32'?)
undefined-operand 10:28 no instruction 'z' stands before this one
expected-token 15:3 expected ')' behind the value, got '%q'
literal-size 19:8 the literal does not fit f32[4]: dimension 0 has more than 4 elements
)");
}

TEST_CASE("a string without its end costs one line") {
  CHECK(
      complaints(R"(HloModule m
ENTRY e {
  a = f32[2] parameter(0), metadata={op_name="x}
  b = f32[2] negat(a)
  c = f32[2] negate(a), metadata={op_name="y"}
  ROOT d = f32[2] negate(c)
}
)") ==
      R"(expected-token 5:44 expected '}' or a name followed by '=', got 'y' (a string that starts here runs over several lines)
unknown-opcode 4:14 there is no opcode 'negat' (did you mean 'negate'?)
)");
}

TEST_CASE("lines with tabs are found again") {
  CHECK(
      complaints("HloModule m\nENTRY e {\n\ta\t=\tf32[2]\tparameter(0)\n\tb\t=\tf32[2]\tnegat(a)\n"
                 "\tc\t=\tf32[2]\tnegate(a)\n\tROOT\t%d\t= f32[2] negate(c)\n}\n") ==
      "unknown-opcode 4:13 there is no opcode 'negat' (did you mean 'negate'?)\n");
}

TEST_CASE("structure") {
  CHECK(complaints("") == "expected-token 1:1 the text holds no module\n");
  CHECK(complaints("HloModule") ==
        "expected-token 1:10 expected the module's name, got the end of the text\n");
  CHECK(complaints("HloModule m") ==
        "expected-token 1:12 expected a computation, got the end of the text\n");
  CHECK(complaints("HloModule m\nENTRY e { a = f32[] parameter(0) }\nENTRY f { b = f32[] "
                   "parameter(0) }") ==
        "duplicate-entry 3:1 the module has an ENTRY computation already (it is here)\n");
  CHECK(complaints("HloModule m\ne { a = f32[] parameter(0) }\ne { b = f32[] parameter(0) }") ==
        "duplicate-name 3:1 there is another computation 'e' (it is here)\n");
  CHECK(complaints("HloModule m\nENTRY e { }") ==
        "empty-computation 2:11 a computation needs an instruction\n");
  CHECK(complaints("HloModule m\nENTRY e {\n a = f32[] parameter(0)\n") ==
        "unfinished-computation 4:1 expected '}' before the text ends (to match this)\n");
  CHECK(complaints("HloModule m\nENTRY e (a: f32[]) -> f32[2] {\n a = f32[] parameter(0)\n}") ==
        "signature-mismatch 2:23 computation 'e' says its result is f32[2]{0}, but its root 'a' is "
        "f32[] (the root is here)\n");
}

TEST_CASE("only so many errors are kept") {
  std::string text = "HloModule m\nENTRY e {\n";
  for (int i = 0; i < 500; ++i) text += "  a = f32[] foo()\n";
  Parsed parsed(text + "}\n");
  CHECK(parsed.diagnostics.all().size() == 100);
  CHECK(parsed.diagnostics.error_count() > 500);
}

TEST_CASE("diagnostics are printed with the line and a caret") {
  Parsed parsed(
      "HloModule m\nENTRY e {\n  a = f32[2] parameter(0)\n  b = f32[2] negat(a)\n"
      "  a = f32[2] copy(a)\n}\n");
  CHECK(parsed.diagnostics.to_string() ==
        R"(t.hlo:4:14: error: there is no opcode 'negat' [unknown-opcode]
    b = f32[2] negat(a)
               ^~~~~
  note: did you mean 'negate'?
t.hlo:5:3: error: the computation has another instruction 'a' [duplicate-name]
    a = f32[2] copy(a)
    ^
t.hlo:3:3: note: it is here
    a = f32[2] parameter(0)
    ^
)");
}

TEST_CASE("closest") {
  CHECK(closest("ad", {"add", "and", "abs"}) == "add");
  CHECK(closest("dimensoins", {"dimensions", "index"}) == "dimensions");
  CHECK(closest("xyzzy", {"add", "index"}) == "");
}

}  // namespace
}  // namespace minihlo

// What the parser, the verifier and the printer take from an earlier instruction that is written
// alike, and what they must not.
#include <doctest/doctest.h>

#include "ir/verifier.h"
#include "tests/ir/text/text_testing.h"

namespace minihlo {
namespace {

std::string in_entry(const std::string& lines) {
  return "HloModule m\nENTRY %e {\n" + lines + "\n}\n";
}

TEST_CASE("lines that repeat") {
  const std::string text = R"(HloModule m, is_scheduled=true

ENTRY %e (p: (f32[2], s32[])) -> pred[2] {
  %p = (f32[2]{0}, s32[]) parameter(0)
  %a = f32[2]{0} get-tuple-element(%p), index=0, metadata={op_name="x"}
  %b = f32[2]{0} get-tuple-element(%p), index=0, metadata={op_name="x"}
  %c = f32[2]{0} add(%a, %b), metadata={op_name="x"}
  %d = f32[2]{0} add(%b, %c), metadata={op_name="x"}
  %e.1 = f32[2]{0} slice(%d), slice={[0:2]}, metadata={op_name="x"}
  %f = f32[2]{0} slice(%c), slice={[0:2]}, metadata={op_name="x"}
  %g = pred[2]{0} compare(%e.1, %f), direction=LT
  %h = pred[2]{0} compare(%e.1, %f), direction=LT
  %i = pred[2]{0} compare(%e.1, %f), direction=LT, type=TOTALORDER
  ROOT %j = pred[2]{0} compare(%e.1, %f), direction=LT, type=TOTALORDER
}

)";
  CHECK(reprinted(text) == text);
}

TEST_CASE("what is meant depends on where it stands") {
  const std::string text = R"(HloModule m
%first {
  %p = f32[] parameter(0)
  %x = f32[] negate(%p)
  ROOT %y = f32[] negate(%p), control-predecessors={%x}
}
ENTRY %second {
  %p = f32[] parameter(0)
  %x = f32[] negate(%p)
  ROOT %y = f32[] negate(%p), control-predecessors={%x}
}
)";
  Parsed parsed(text);
  REQUIRE(parsed.module);
  for (const Computation* computation : parsed.module->computations()) {
    const Instruction* root = computation->root();
    CHECK(root->operand(0) == computation->parameters()[0]);
    CHECK(root->get(attr::control_predecessors)[0] == computation->instructions()[1]);
  }
}

TEST_CASE("warnings and errors repeat") {
  CHECK(complaints(in_entry("%p = f32[2,2] parameter(0)\n"
                            "%a = f32[4,2] all-gather(%p), replica_groups={}, dimensions={0,1}\n"
                            "%b = f32[4,2] all-gather(%p), replica_groups={}, dimensions={0,1}")) ==
        "ignored-dimensions 4:15 'all-gather' takes one dimension: of dimensions={0,1} the first "
        "counts\n"
        "ignored-dimensions 5:15 'all-gather' takes one dimension: of dimensions={0,1} the first "
        "counts\n");
  CHECK(complaints(in_entry("%p = f32[2] parameter(0)\n%a = f32[2] add(%p, %p)\n"
                            "%b = f32[2] add(%p)\n%c = f32[2] add(%p, %q)")) ==
        "operand-count 5:13 'add' takes 2 operands, not 1\n"
        "undefined-operand 6:21 no instruction 'q' stands before this one\n");
  CHECK(complaints(in_entry("%true = f32[2] parameter(0)\n%a = f32[2] add(%true, true)")) ==
        "invalid-name 4:24 expected an operand, and 'true' can't be a name\n");
}

TEST_CASE("attributes that go on behind the line") {
  const std::string start =
      "%p = (f32[]) parameter(0)\n%a = f32[] get-tuple-element(%p), index=0\n";
  CHECK(complaints(in_entry(start + "%b = f32[] get-tuple-element(%p), index=0\n"
                                    "%c = f32[] get-tuple-element(%p), index=0\n, index=0")) ==
        "duplicate-attribute 7:3 the attribute 'index' is given twice\n");
  CHECK(complaints(in_entry(start + "%b = f32[] get-tuple-element(%p), index=0\nindex=0")) ==
        "expected-token 6:1 expected ',' before the attribute, got 'index='\n");
  // The first comment ends behind a line's end, the second another line later.
  Parsed parsed(
      in_entry("%p = (f32[]) parameter(0)\n"
               "%a = f32[] get-tuple-element(%p), index=0 /* \n // */ \n"
               "%b = f32[] get-tuple-element(%p), index=0 /* \n"
               "%c = f32[] get-tuple-element(%p), index=0 */"));
  REQUIRE(parsed.module);
  CHECK(parsed.module->instruction_count() == 3);
  // A string that runs over two lines.
  const std::string quoted = "f32[] get-tuple-element(%p), index=0, metadata={op_name=\"x\n";
  Parsed strings(
      in_entry("%p = (f32[]) parameter(0)\n%a = " + quoted + "y\"}\n%b = " + quoted + "z\"}"));
  REQUIRE(strings.module);
  auto name = [&](size_t i) {
    const Instruction* one = strings.module->entry()->instructions()[i];
    return get(one->get(attr::metadata), attr::op_name);
  };
  CHECK(name(1) == "x\ny");
  CHECK(name(2) == "x\nz");
}

TEST_CASE("the verifier looks at what differs") {
  auto verified = [](const std::string& lines) {
    const std::string text = in_entry("%p = f32[3] parameter(0)\n" + lines);
    Parsed parsed(text);
    if (!parsed.module) return parsed.complaints(text);
    verify(*parsed.module, {}, parsed.diagnostics);
    return parsed.complaints(text);
  };
  const std::string right = "%a = f32[2] slice(%p), slice={[0:2]}\n";
  CHECK(verified(right + "%b = f32[2] slice(%p), slice={[1:3]}") == "");
  CHECK(verified(right + "%b = f32[2] slice(%p), slice={[0:1]}\n"
                         "%c = f32[2] slice(%p), slice={[0:1]}\n"
                         "%d = f32[1] slice(%p), slice={[0:2]}") ==
        "shape-mismatch 5:1 the shape of %b is written as f32[2], but slice gives f32[1]\n"
        "shape-mismatch 6:1 the shape of %c is written as f32[2], but slice gives f32[1]\n"
        "shape-mismatch 7:1 the shape of %d is written as f32[1], but slice gives f32[2]\n");
  CHECK(verified("%a = f32[3] negate(%p), metadata={op_name=\"x\"}\n"
                 "%b = f32[3] negate(%p), metadata={op_name=\"y\"}\n"
                 "%c = f32[2] negate(%p), metadata={op_name=\"x\"}") ==
        "shape-mismatch 6:1 the shape of %c is written as f32[2], but negate gives f32[3]\n");
}

}  // namespace
}  // namespace minihlo

// Bad inputs, each with the rule it breaks, the place and the message.
#include <doctest/doctest.h>

#include "tests/ir/text/text_testing.h"

namespace minihlo {
namespace {

struct BadInput {
  std::string text;
  std::string complaints;
};

// The line `ENTRY e {` is the second.
std::string in_entry(const std::string& lines) {
  return "HloModule m\nENTRY e {\n" + lines + "\n}\n";
}

TEST_CASE("bad instructions") {
  const BadInput kInputs[] = {
      {"a = f32[2] parameter(0)\nb = f32[2] ad(a, a)",
       "unknown-opcode 4:12 there is no opcode 'ad' (did you mean 'add'?)\n"},
      {"a = f31[2] parameter(0)",
       "unknown-type 3:5 there is no type 'f31' (did you mean 'f32'?)\n"},
      {"a = f32[2] parameter(0), shardin={replicated}",
       "unknown-attribute 3:26 'parameter' takes no attribute 'shardin' (did you mean "
       "'sharding'?)\n"},
      {"a = f32[2] parameter(0),",
       "expected-token 4:1 expected an attribute such as 'metadata=', "
       "got '}'\n"},
      {"a = f32[2] parameter(0)\na = f32[2] parameter(1)",
       "duplicate-name 4:1 the computation has another instruction 'a' (it is here)\n"},
      {"a = f32[2] parameter(0)\nb = f32[2] parameter(0)",
       "duplicate-parameter 4:22 the computation has a parameter 0 already\n"},
      {"a = f32[2] parameter(-1)",
       "invalid-parameter 3:22 a parameter's number can't be negative\n"},
      {"alpha = f32[2] parameter(0)\nb = f32[2] negate(alpa)",
       "undefined-operand 4:19 no instruction 'alpa' stands before this one (did you mean "
       "'alpha'?)\n"},
      {"b = f32[2] negate(b)",
       "undefined-operand 3:19 no instruction 'b' stands before this one\n"},
      {"a = f32[2] parameter(0)\nb = f32[2] negate(f32[3] a)",
       "operand-shape-mismatch 4:26 'a' is f32[2]{0}, not f32[3]{0} (it is defined here)\n"},
      {"a = f32[2] parameter(0)\nb = f32[2] add(a)",
       "operand-count 4:12 'add' takes 2 operands, not 1\n"},
      {"a = f32[2] parameter(0)\nb = f32[2] concatenate(), dimensions={0}",
       "operand-count 4:12 'concatenate' takes at least 1 operand, not 0\n"},
      {"a = f32[2] parameter(0)\nb = f32[2] transpose(a)",
       "missing-attribute 4:12 'transpose' needs the attribute 'dimensions'\n"},
      {"a = f32[2] parameter(0)\nb = f32[2] transpose(a), dimensions={0}, dimensions={0}",
       "duplicate-attribute 4:42 the attribute 'dimensions' is given twice\n"},
      {"a = f32[2] parameter(0)\nb = reshape(a)",
       "missing-shape 4:5 the shape of 'reshape' must be written\n"},
      {"ROOT a = f32[2] parameter(0)\nROOT b = f32[2] negate(a)",
       "duplicate-root 4:1 the computation has a ROOT already (it is here)\n"},
      {"__a = f32[2] parameter(0)",
       "invalid-name 3:1 expected an instruction's name, and '__a' can't be a name\n"},
      {"%s32 = f32[2] parameter(0)",
       "invalid-name 3:1 expected an instruction's name, and 's32' can't be a name\n"},
      {"a f32[2] parameter(0)",
       "expected-token 3:3 expected '=' behind the instruction's name, got 'f32'\n"},
      {"a = f32[-2] parameter(0)", "negative-dimension 3:9 a dimension can't be negative\n"},
      {"a = f32[9223372036854775807,2] parameter(0)",
       "shape-too-large 3:8 an array of more than 1000 dimensions or 2^63 bytes\n"},
      {"a = f32[18446744073709551616] parameter(0)",
       "number-out-of-range 3:9 the integer does not fit 64 bits\n"},
      {"a = f32[2,3]{1,1} parameter(0)", "invalid-layout 3:13 {1,1} does not order 2 dimensions\n"},
      {"a = f32[2,3]{1,0:S(1)T(8)} parameter(0)",
       "invalid-layout 3:22 expected '}' or a later part of the layout, got 'T'\n"},
      {"a = f32[2] parameter(0), metadata={op_nam=\"x\"}",
       "unknown-attribute 3:36 'op_nam' is not known here (did you mean 'op_name'?)\n"},
      {"a = f32[2] parameter(0), metadata={op_name=\"x}",
       "unfinished-string 3:44 the string that starts here has no end\n"},
      {"a = f32[2] parameter(0), metadata={op_name=\"\\q\"}",
       "invalid-escape 3:44 the string has a malformed escape\n"},
      {"a = f32[2] parameter(0), backend_config={a{",
       "unbalanced-braces 3:41 nothing closes this brace\n"},
      {"a = f32[2] parameter(0) /* b",
       "unfinished-comment 3:25 the comment that starts here has no "
       "end\n"},
      {"a = f32[2] parameter(0), sharding={devices=[2]0,1,2}",
       "invalid-sharding 3:44 2 tiles are given 3 devices\n"},
      {"a = f32[2] parameter(0), sharding={replicatd}",
       "invalid-sharding 3:36 'replicatd' is no part of a sharding (did you mean 'replicated'?)\n"},
      {"a = f32[2] parameter(0)\nb = pred[2] compare(a, a), direction=LQ",
       "invalid-value 4:38 'direction' must be one of EQ, NE, GE, GT, LE, LT (did you mean "
       "'EQ'?)\n"},
      {"a = f32[2] parameter(0)\nb = f32[2] map(a), to_apply=g",
       "undefined-computation 4:29 no computation 'g' stands before this one\n"},
      {"a = f32[2] parameter(0)\nb = f32[4] all-gather(a), dimensions={0}, "
       "replica_groups=[2,2]<=[3]",
       "invalid-groups 4:58 replica_groups: its sizes do not multiply to those behind <=\n"},
      {"a = f32[2] parameter(0)\nb = f32[2] negate-done(a)",
       "async-chain 4:12 the operand of 'negate-done' must be an async-start or async-update, not "
       "'a'\n"},
      {"a = f32[2] parameter(0)\nb = (f32[2], f32[2]) negate-start(a)",
       "invalid-async-shape 4:22 the shape of 'negate-start' must be ((operands), result, ...), "
       "not "
       "(f32[2]{0}, f32[2]{0})\n"},
      {"a = f32[2] parameter(0)\nb = ((f32[2]), f32[2]) negate-start(a)\nc = f32[2] sign-done(b)",
       "async-chain 5:12 'sign-done' has another opcode than its start 'b' (the start is here)\n"},
      {"a = f32[2,2] parameter(0)\nb = f32[2,2] reduce-window(a, a), window={size=2x2 stride=1}, "
       "to_apply={ x = f32[] parameter(0) }",
       "invalid-window 4:42 the window's 'stride' is of rank 1, its size of rank 2\n"},
      {"a = (f32[2], s32[]) parameter(0)\nb = f32[2] negate(a#2)",
       "invalid-operand 4:20 'a' has no element 2: it is (f32[2]{0}, s32[])\n"},
      {"a = (f32[2], s32[]) parameter(0)\nb = f32[2] negate(f32[3] a#0)",
       "operand-shape-mismatch 4:26 'a_0' is f32[2]{0}, not f32[3]{0} (it is defined here)\n"},
      {"a = (f32[2], s32[]) parameter(0)\nb = f32[2] negate((f32[2], s32[]) a#0)",
       "operand-shape-mismatch 4:35 'a_0' is f32[2]{0}, not (f32[2]{0}, s32[]) (it is defined "
       "here)\n"},
      {"a = f32[2] parameter(0)\nb = f32[2] add(a, tuple(a)#0)",
       "expected-token 4:27 expected ')' behind the operands, got '#'\n"},
  };
  for (const BadInput& input : kInputs) {
    CAPTURE(input.text);
    std::string text = in_entry(input.text);
    CHECK(complaints(text) == input.complaints);
  }
}

TEST_CASE("bad literals") {
  const BadInput kInputs[] = {
      {"s8[2] constant({1, 128})", "literal-range 3:24 the value is outside the range of s8\n"},
      {"u4[1] constant({16})", "literal-range 3:21 the value is outside the range of u4\n"},
      {"u8[1] constant({-1})", "literal-range 3:21 the value is outside the range of u8\n"},
      {"s32[1] constant({1.5})", "invalid-literal 3:22 a value of type s32 must be an integer\n"},
      {"f32[] constant(1e39)", "literal-range 3:20 the value is outside the range of f32\n"},
      {"f64[] constant(1e999)", "literal-range 3:20 the value is outside the range of f64\n"},
      {"f16[] constant(65520)", "literal-range 3:20 the value is outside the range of f16\n"},
      {"f8e4m3fn[] constant(465)",
       "literal-range 3:25 the value is outside the range of f8e4m3fn\n"},
      {"f16[] constant(nan(0x400))", "literal-range 3:20 f16 has no NaN with this payload\n"},
      {"f8e4m3fn[] constant(nan(0x1))",
       "literal-range 3:25 f8e4m3fn has no NaN with this payload\n"},
      {"f32[2] constant({1, 2, 3})",
       "literal-size 3:28 the literal does not fit f32[2]: dimension 0 has more than 2 elements\n"},
      {"f32[2] constant({1})",
       "literal-size 3:23 the literal does not fit f32[2]: dimension 0 has 1 of 2 elements\n"},
      {"f32[2,2] constant({{1, 2}})",
       "literal-size 3:30 the literal does not fit f32[2,2]: dimension 0 has 1 of 2 elements\n"},
      {"f32[2] constant({{1, 2}})",
       "literal-size 3:22 the literal does not fit f32[2]: braces nest more than 1 deep\n"},
      {"f32[2,1] constant({1, 2})",
       "literal-size 3:24 the literal does not fit f32[2,1]: an element "
       "stands outside of the innermost braces\n"},
      {"f32[1000000000000] constant({1})",
       "literal-size 3:33 f32[1000000000000] needs 1000000000000 elements: the text is shorter\n"},
      {"f32[1000000000000] constant(1)",
       "literal-size 3:33 the literal does not fit f32[1000000000000]: a single value that is not "
       "0 "
       "for more than 67108864 elements\n"},
      {"f32[2] constant({1, x})", "invalid-literal 3:25 expected a value of type f32\n"},
      {"f32[2] constant({0x1, 2})", "invalid-literal 3:22 expected a value of type f32\n"},
      {"f32[] constant({1})", "invalid-literal 3:20 a scalar takes no braces\n"},
      {"f32[] constant()", "invalid-literal 3:20 expected a value of type f32\n"},
      {"c64[1] constant({1})",
       "invalid-literal 3:22 a value of type c64 must be (real, imaginary)\n"},
      {"token[] constant(1)", "invalid-literal 3:22 there are no constants of the shape token[]\n"},
      {"(f32[], s32[]) constant((1))", "literal-size 3:29 the tuple needs 2 elements, not 1\n"},
      {"(f32[]) constant((1, 2))", "literal-size 3:26 the tuple has only 1 elements\n"},
      {"f32[2] constant({1, 2}", "expected-token 4:1 expected ')' behind the value, got '}'\n"},
      {"f32[3] constant(7)",
       "partial-literal 3:21 one value for 3 elements: the others are 0, as XLA reads it\n"},
  };
  for (const BadInput& input : kInputs) {
    CAPTURE(input.text);
    std::string text = in_entry(std::string("c = ") + input.text);
    CHECK(complaints(text) == input.complaints);
  }
}

}  // namespace
}  // namespace minihlo

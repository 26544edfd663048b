#include "tests/ir/inference/rows.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "ir/shape_inference.h"
#include "ir/text/parser.h"

namespace minihlo {
namespace {

// Computations that instructions of the tables call.
constexpr std::string_view kComputations = R"(
add_f32 {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT
  r = f32[] add(a, b)
}
add_s32 {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT
  r = s32[] add(a, b)
}
less_f32 {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT
  r = pred[] compare(a, b), direction=LT
}
less_f32_s32 {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT
  r = pred[] compare(a, b), direction=LT
}
pair_f32 {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  s = f32[] add(a, c)
  t = f32[] add(b, d)
  ROOT
  r = (f32[], f32[]) tuple(s, t)
}
pair_2_f32 {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT
  r = (f32[], f32[]) tuple(a, b)
}
one_tuple_f32 {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  s = f32[] add(a, b)
  ROOT
  r = (f32[]) tuple(s)
}
vector_f32 {
  a = f32[2] parameter(0)
  b = f32[] parameter(1)
  ROOT
  r = f32[2] negate(a)
}
negate_f32 {
  a = f32[] parameter(0)
  ROOT
  r = f32[] negate(a)
}
positive {
  a = f32[] parameter(0)
  z = f32[] constant(0)
  ROOT
  r = pred[] compare(a, z), direction=GT
}
step {
  x = f32[3] parameter(0)
  c = f32[3] parameter(1)
  s = f32[3] add(x, c)
  ROOT
  r = (f32[3], f32[3]) tuple(x, s)
}
double {
  c = f32[3] parameter(0)
  ROOT
  r = (f32[3], f32[3]) tuple(c, c)
}
)";

// p0 = f32[2] parameter(0), ... for the blank-separated shapes; blanks inside tuples do not count.
std::string parameters(std::string_view shapes) {
  std::string text;
  int64_t number = 0;
  int depth = 0;
  std::string shape;
  auto finish = [&] {
    if (shape.empty()) return;
    const std::string n = std::to_string(number++);
    text += "  p" + n + " = " + shape + " parameter(" + n + ")\n";
    shape.clear();
  };
  for (char c : shapes) {
    depth += (c == '(') - (c == ')');
    if (c == ' ' && depth == 0) {
      finish();
    } else {
      shape += c;
    }
  }
  finish();
  return text;
}

}  // namespace

void check_rows(std::span<const InferenceRow> rows) {
  for (const InferenceRow& row : rows) {
    CAPTURE(row.operands);
    CAPTURE(row.instruction);
    const std::string_view written = row.written;
    // The parser wants a shape where the row has none; inference is not told of it.
    const std::string text = "HloModule m\n" + std::string(kComputations) + "ENTRY e {\n" +
                             parameters(row.operands) +
                             "  ROOT r = " + std::string(written.empty() ? "f32[]" : written) +
                             " " + row.instruction + "\n}\n";
    auto source = Source::from_string("row", text);
    Diagnostics diagnostics(source);
    auto module = parse_text(source, diagnostics);
    REQUIRE_MESSAGE(module, diagnostics.to_string());
    const Instruction* root = module->entry()->root();
    auto shape =
        infer_shape(module->shapes(), {root->opcode(), root->operands(), root->attributes(),
                                       written.empty() ? nullptr : root->shape()});
    CHECK((shape ? to_string(*shape) : "error: " + shape.error()) == row.expected);
  }
}

}  // namespace minihlo

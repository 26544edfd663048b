// Nothing that is put in makes the parser crash, hang or take much memory.
#include <doctest/doctest.h>

#include <chrono>
#include <random>

#include "ir/text/text_size.h"
#include "tests/ir/text/text_testing.h"

namespace minihlo {
namespace {

constexpr const char* kSample =
    R"(HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }, entry_computation_layout={(f32[2,2]{1,0}, (s32[], token[]))->f32[2,2]{1,0}}, frontend_attributes={a={"q":1},z="1"}

FileNames
1 "a.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=0 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y), metadata={op_name="a\"b" stack_frame_id=1}
}

ENTRY %e (p: f32[2,2], q: (s32[], token[])) -> f32[2,2] {
  %p = f32[2,2]{1,0:T(8,128)S(5)} parameter(0), sharding={devices=[2,1]<=[2]}
  %q = (s32[], token[]) parameter(1), sharding={{replicated}, {mesh['x'=2], [{'x', ?}], unreduced={}}}
  %c = f32[2,2]{1,0} constant({ { 1, -2.5 }, { nan(0x1), inf } })
  %z = c64[2]{0} constant({(1, 2), (-0.0, nan)})
  %s.1 = ((f32[2,2]), f32[1,2]) slice-start(%p), slice={[0:1], [0:2]}
  %d = f32[1,2] slice-done(%s.1)
  %g = f32[4,2] all-gather(f32[2,2] %p), channel_id=1, replica_groups=mesh['x'=2], device_ids=([2]) {'x'}, dimensions={0}
  %w = f32[2,2]{1,0} reduce-window(%p, f32[] constant(0)), window={size=1x2 pad=0_0x0_1}, to_apply={ a = f32[] parameter(0)
    b = f32[] parameter(1)
    ROOT r = f32[] add(a, b) }
  %k = f32[2,2] custom-call(%p, q#0), custom_call_target='x', backend_config={uplo = 76 : ui8}, literal=s32[1]{0} {1}, output_to_operand_aliasing={{}: (0, {})}
  ROOT %a = f32[2,2]{1,0} add(%p, /*index=1*/%c), control-predecessors={%w}  // done
}
)";

TEST_CASE("the sample itself is well") { CHECK(complaints(kSample) == ""); }

TEST_CASE("a text that ends early is an error, wherever that is") {
  const std::string sample = kSample;
  // The module is whole when its last brace is there, or after the first computation.
  const size_t last_brace = sample.rfind('}');
  const size_t first_end = sample.find("\n}\n") + 2;
  const size_t entry = sample.find("ENTRY");
  for (size_t length = 0; length < sample.size(); ++length) {
    Parsed parsed(sample.substr(0, length));
    CAPTURE(length);
    bool whole = length > last_brace || (length >= first_end && length <= entry);
    CHECK((parsed.module != nullptr) == whole);
    if (!parsed.module) CHECK_FALSE(parsed.diagnostics.to_string().empty());
  }
}

TEST_CASE("random changes of bytes") {
  const uint32_t seed =
      static_cast<uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string sample = kSample;
  const std::string pieces[] = {
      "{",   "}",  "(",        ")",   "[",   "]",  "\"",   "'",    "=",    ",",        ":",
      "...", "-",  "99999999", "<=",  "?",   "\n", "/*",   "*/",   "ROOT", "f32",      "%p",
      "nan", "#0", "1e5",      "3x3", "0_1", "\\", "\xff", "mesh", "->",   "constant", "ENTRY e {"};
  for (int round = 0; round < 3000; ++round) {
    std::string text = sample;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < changes; ++i) {
      size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 20);
          break;
        case 2:
          text.insert(at, pieces[random() % std::size(pieces)]);
          break;
        default: {
          size_t from = random() % text.size();
          text.insert(at, text.substr(from, random() % 60));
        }
      }
      if (text.empty()) text = "x";
    }
    CAPTURE(text);
    Parsed parsed(text);
    if (parsed.module) {
      std::string once = print_text(*parsed.module);
      REQUIRE(reprinted(once) == once);
    } else {
      REQUIRE_FALSE(parsed.diagnostics.to_string().empty());
    }
  }
}

TEST_CASE("what nests too deeply is refused") {
  auto repeat = [](const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  for (int depth : {400, 100000}) {
    CAPTURE(depth);
    const std::string texts[] = {
        module_with("a = " + repeat("(", depth) + repeat(")", depth) + " parameter(0)"),
        module_with("a = f32[] parameter(0)\nb = f32[] " + repeat("negate(", depth) + "a" +
                    repeat(")", depth)),
        module_with("a = " + repeat("(", depth) + repeat(")", depth) + " constant(" +
                    repeat("(", depth) + repeat(")", depth) + ")"),
    };
    for (const std::string& text : texts) {
      std::string said = complaints(text);
      if (depth < 500) {
        CHECK(said == "");
      } else {
        CHECK(said.find("nested-too-deeply") == 0);
      }
    }
  }
  std::string bodies = "a = f32[] parameter(0)\n";
  for (int i = 0; i < 100000; ++i)
    bodies += "b = f32[] map(a), to_apply={ a = f32[] parameter(0)\n";
  CHECK(complaints(module_with(bodies)).find("nested-too-deeply") != std::string::npos);
}

TEST_CASE("a long chain of calls or operands is no matter of depth") {
  std::string text = "HloModule m\ng0 { p0 = f32[] parameter(0) }\n";
  for (int i = 1; i < 20000; ++i) {
    text += fmt::format(
        "g{} {{ p{} = f32[] parameter(0)\n ROOT r{} = f32[] map(p{}), "
        "dimensions={{}}, to_apply=g{} }}\n",
        i, i, i, i, i - 1);
  }
  Parsed calls(text);
  REQUIRE(calls.module);
  CHECK(print_text(*calls.module).size() > text.size());
  std::string body = "a0 = f32[] parameter(0)\n";
  for (int i = 1; i < 20000; ++i) body += fmt::format("a{} = f32[] negate(a{})\n", i, i - 1);
  Parsed chain(module_with(body));
  REQUIRE(chain.module);
  CHECK(print_text(*chain.module).size() > body.size());
}

TEST_CASE("a few lines make no shape that has no end, and no long lists") {
  std::string body = "t0 = () tuple()\n";
  for (int i = 1; i < 60; ++i) body += fmt::format("t{0} = tuple(t{1}, t{1})\n", i, i - 1);
  CHECK(complaints(module_with(body)).find("a tuple of 2 elements, is too large") !=
        std::string::npos);
  Parsed far(module_with("a = f32[] parameter(0)\nb = f32[] parameter(60000)"));
  REQUIRE(far.module);
  CHECK(far.module->entry()->parameters().size() == 1);
}

TEST_CASE("how much shapes take in text is told without writing them") {
  std::string text = "ENTRY e {\n  t0 = f32[] parameter(0)\n";
  for (int i = 1; i <= 17; ++i) text += fmt::format("  t{0} = tuple(t{1}, t{1})\n", i, i - 1);
  for (int i = 0; i < 3; ++i) text += fmt::format("  v{} = tuple(t17)\n", i);
  Parsed parsed(text + "}\n");
  REQUIRE(parsed.module);
  // 2^n arrays and 2^n - 1 pairs; t0 to t17, and t17 three times more.
  int64_t expected = 0;
  for (int n = 0; n <= 17; ++n) expected += (5 << n) + 2 * ((1 << n) - 1);
  expected += 3 * (2 + (5 << 17) + 2 * ((1 << 17) - 1));
  CHECK(shape_characters(*parsed.module) == expected);
  PrintOptions options;
  options.layouts = false;
  CHECK(static_cast<int64_t>(print_text(*parsed.module, options).size()) > expected);
}

TEST_CASE("binary noise") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string text(random() % 400, ' ');
    for (char& c : text) c = static_cast<char>(random());
    CHECK_FALSE(Parsed(text).module);
    CHECK_FALSE(Parsed("HloModule m\nENTRY e {\n" + text + "\n}").module);
  }
  CHECK(complaints(std::string("HloModule m\0", 12)) ==
        "invalid-character 1:12 this character does not start a token\n");
}

TEST_CASE("what nests too deeply on one long line is given up at once") {
  constexpr int kDeep = 300000;
  std::string text = "HloModule m\nENTRY e {\np = f32[] parameter(0)\n";
  for (int i = 0; i < kDeep; ++i) text += "r = f32[] call(p), to_apply={ p = f32[] parameter(0) ";
  // Looking for its start at each of 500 levels takes some ten seconds.
  const auto begin = std::chrono::steady_clock::now();
  CHECK(complaints(text).find("nested-too-deeply") == 0);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(4));
}

TEST_CASE("bodies that nest deeply are not written out in each other without end") {
  constexpr int kDeep = 20000;
  std::string text = "HloModule m\n\ng0 {\n  ROOT p = f32[] parameter(0)\n}\n";
  for (int i = 1; i < kDeep; ++i) {
    text += fmt::format(
        "g{} {{\n  p = f32[] parameter(0)\n  ROOT r = f32[] call(p), to_apply=g{}\n}}\n", i, i - 1);
  }
  text += fmt::format(
      "ENTRY e {{\n  p = f32[] parameter(0)\n  ROOT r = f32[] call(p), to_apply=g{}\n}}\n",
      kDeep - 1);
  Diagnostics diagnostics;
  std::unique_ptr<Module> module = parse_text(Source::from_string("", text), diagnostics);
  REQUIRE(module);
  PrintOptions options;
  options.full_bodies = true;
  CHECK(print_text(*module, options).size() < 400'000'000);
}

}  // namespace
}  // namespace minihlo

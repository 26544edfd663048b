#include "tests/ir/verify/findings.h"

#include <doctest/doctest.h>

#include "ir/text/parser.h"

namespace minihlo {
namespace {

constexpr std::string_view kComputations = R"(
add {
  add_x = f32[] parameter(0)
  add_y = f32[] parameter(1)
  ROOT add_r = f32[] add(add_x, add_y)
}
double {
  double_x = f32[4] parameter(0)
  ROOT double_r = f32[4] add(double_x, double_x)
}
double_twice {
  twice_x = f32[4] parameter(0)
  twice_y = f32[4] add(twice_x, twice_x)
  ROOT twice_r = f32[4] add(twice_y, twice_y)
}
double_elsewhere {
  elsewhere_x = f32[4] parameter(0)
  elsewhere_y = f32[4] add(elsewhere_x, elsewhere_x)
  ROOT elsewhere_r = f32[4] add(elsewhere_y, elsewhere_y)
}, execution_thread="other"
idle {
  idle_x = f32[4] parameter(0)
  idle_y = f32[4] negate(idle_x)
  ROOT idle_r = f32[4] add(idle_x, idle_x)
}
)";

}  // namespace

Findings findings(const Module& module, const VerifyOptions& options) {
  Diagnostics diagnostics;
  verify(module, options, diagnostics);
  Findings result;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    std::string text = diagnostic.severity == Severity::kError ? "error " : "warning ";
    text += diagnostic.rule + ": " + diagnostic.message;
    if (!diagnostic.instruction.empty()) text += " [" + diagnostic.instruction + "]";
    result.push_back(text);
  }
  return result;
}

Findings findings_of(std::string_view text, const VerifyOptions& options) {
  auto source = Source::from_string("text", std::string(text));
  Diagnostics diagnostics(source);
  auto module = parse_text(source, diagnostics);
  REQUIRE_MESSAGE(module, diagnostics.to_string());
  return findings(*module, options);
}

Findings findings_of_body(std::string_view instructions, const VerifyOptions& options) {
  return findings_of("HloModule m\n" + std::string(kComputations) +
                         "ENTRY e {\n  p = f32[4] parameter(0)\n" + std::string(instructions) +
                         "  ROOT root = f32[4] negate(p)\n}\n",
                     options);
}

}  // namespace minihlo

// Modules with permutes, as text, for the tests of collective-permute-to-all-gather.
#pragma once

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "tests/passes/run_passes.h"

namespace minihlo::testing {

inline constexpr std::string_view kPass = "collective-permute-to-all-gather";

/// The pass with options, as a pipeline.
inline std::string pass(std::string_view options = "") {
  return fmt::format("{}{{{}}}", kPass, options);
}

/// A module with one permute %p of a parameter %x.
inline std::string module_text(std::string_view header, std::string_view shape,
                               std::string_view permute) {
  return fmt::format(
      "HloModule m{}\n\nENTRY e {{\n  x = {} parameter(0)\n  ROOT p = {} "
      "collective-permute(x){}\n}}\n",
      header, shape, shape, permute);
}

/// Why the only permute of a module was left alone; "" where it was rewritten.
inline std::string reason(const PassRun& run) {
  CHECK(run.error == "");
  REQUIRE(run.entries.size() == 1);
  CHECK(run.entries[0].rewritten == run.entries[0].reason.empty());
  return run.entries[0].reason;
}

/// A start and its done.
inline constexpr std::string_view kPair = R"(HloModule m, num_partitions=2

ENTRY e {
  x = f32[4] parameter(0)
  a = f32[4] negate(x)
  s = (f32[4], f32[4], u32[], u32[]) collective-permute-start(x), channel_id=1, source_target_pairs={{0,1},{1,0}}, control-predecessors={a}, metadata={op_name="start"}
  c = f32[4] cosine(x), control-predecessors={s}
  d = f32[4] collective-permute-done(s), control-predecessors={c}, metadata={op_name="done"}
  ROOT r = f32[4] add(c, d)
}
)";

}  // namespace minihlo::testing

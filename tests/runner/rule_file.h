// Rule files: many small modules that break one group of rules, each with the diagnostics that it
// gets.
//
//   # What the file is about.
//   --- before
//   HloModule m
//   ENTRY e {
//   --- after
//   }
//   --- case operands of different dimensions
//     p = f32[2] parameter(0)
//     q = f32[3] parameter(1)
//     ROOT a = f32[2] add(p, q)
//   --- expect
//   3:8: error: operand 0 (%p, f32[2]) and operand 1 (%q, f32[3]) differ ... [shape]
//
// The module of a case is what stands before, the case, and what stands after: sections `before`
// and `after` hold for the cases behind them. Lines count from the first of the case. Diagnostics
// are those of `minihlo check`, each with its notes, without the lines and carets. `expect` may be
// empty: nothing is wrong with that module.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace minihlo::testing {

struct RuleCase {
  /// Sections `before` and `after` that stand in front of this case; null where none does.
  struct Around {
    bool there = false;
    std::string text;
  };
  Around before, after;
  std::string name;
  std::string text;
  std::string expected;
};

struct RuleFile {
  std::string comment;
  std::vector<RuleCase> cases;
};

/// Reads a rule file. Errors: what is wrong, and in which line.
tl::expected<RuleFile, std::string> parse_rule_file(std::string_view text);
/// The text of a rule file; what parse_rule_file read comes out as it was.
std::string print_rule_file(const RuleFile& file);

/// What `minihlo check` says of a module that is made of these three parts.
std::string check_rule_case(std::string_view before, std::string_view text, std::string_view after);

}  // namespace minihlo::testing

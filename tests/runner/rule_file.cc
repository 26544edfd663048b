#include "tests/runner/rule_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/text/parser.h"
#include "ir/verifier.h"

namespace minihlo::testing {
namespace {

std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end == text.npos ? text.size() : end + 1);
  text.remove_prefix(line.size());
  return line;
}

}  // namespace

tl::expected<RuleFile, std::string> parse_rule_file(std::string_view text) {
  RuleFile file;
  RuleCase next;
  bool expects = false;  // whether the last case still lacks its `expect`
  int line_number = 0;
  auto take = [&] {
    ++line_number;
    return take_line(text);
  };
  while (!text.empty() && !text.starts_with("--- ")) file.comment += take();
  while (!text.empty()) {
    std::string_view head = take().substr(4);
    if (head.ends_with('\n')) head.remove_suffix(1);
    auto wrong = [&](std::string_view what) {
      return tl::unexpected(fmt::format("line {}: {}", line_number, what));
    };
    if (expects != (head == "expect")) return wrong("an expect stands behind each case");
    std::string body;
    const int head_line = line_number;
    while (!text.empty() && !text.starts_with("--- ")) body += take();
    if (head == "before") {
      next.before = {true, std::move(body)};
    } else if (head == "after") {
      next.after = {true, std::move(body)};
    } else if (head == "expect") {
      file.cases.back().expected = std::move(body);
      expects = false;
    } else if (head.starts_with("case ")) {
      next.name = head.substr(5);
      next.text = std::move(body);
      file.cases.push_back(std::move(next));
      next = {};
      expects = true;
    } else {
      return tl::unexpected(fmt::format("line {}: no section is called '{}'", head_line, head));
    }
  }
  if (expects || next.before.there || next.after.there || file.cases.empty()) {
    return tl::unexpected(std::string("the last case is not complete"));
  }
  return file;
}

std::string print_rule_file(const RuleFile& file) {
  std::string out = file.comment;
  for (const RuleCase& one : file.cases) {
    if (one.before.there) out += "--- before\n" + one.before.text;
    if (one.after.there) out += "--- after\n" + one.after.text;
    out += fmt::format("--- case {}\n{}--- expect\n{}", one.name, one.text, one.expected);
  }
  return out;
}

std::string check_rule_case(std::string_view before, std::string_view text,
                            std::string_view after) {
  const int64_t first_line = std::ranges::count(before, '\n');
  auto source = Source::from_string("case", fmt::format("{}{}{}", before, text, after));
  Diagnostics diagnostics(source);
  if (std::unique_ptr<Module> module = parse_text(source, diagnostics)) {
    verify(*module, {.strict = false}, diagnostics);
  }
  std::string out;
  auto place = [&](Location location) {
    if (location.length == 0 && location.offset == 0) return std::string("-");
    const Source::Position position = source->position(location.offset);
    return fmt::format("{}:{}", position.line - first_line, position.column);
  };
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    out += fmt::format("{}: {}: {} [{}]\n", place(diagnostic.location),
                       to_string(diagnostic.severity), diagnostic.message, diagnostic.rule);
    for (const Diagnostic::Note& note : diagnostic.notes) {
      out += note.location.length == 0
                 ? fmt::format("  note: {}\n", note.message)
                 : fmt::format("  {}: note: {}\n", place(note.location), note.message);
    }
  }
  return out;
}

}  // namespace minihlo::testing

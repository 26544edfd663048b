#include "tests/runner/test_file.h"

#include <charconv>

#include <fmt/format.h>

namespace minihlo::testing {
namespace {

// Takes the next line, with its end, off `text`.
std::string_view take_line(std::string_view& text) {
  size_t end = text.find('\n');
  std::string_view line = text.substr(0, end == text.npos ? text.size() : end + 1);
  text.remove_prefix(line.size());
  return line;
}

bool starts_section(std::string_view text) {
  return text.starts_with("--- ") || text.starts_with("$ ");
}

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  return line;
}

tl::expected<std::vector<std::string>, std::string> split_words(std::string_view command) {
  std::vector<std::string> words;
  size_t i = 0;
  while (true) {
    while (i < command.size() && command[i] == ' ') ++i;
    if (i == command.size()) return words;
    std::string word;
    for (; i < command.size() && command[i] != ' '; ++i) {
      char quote = command[i];
      if (quote != '\'' && quote != '"') {
        word += quote;
        continue;
      }
      size_t end = command.find(quote, i + 1);
      if (end == command.npos) return tl::unexpected(std::string("a quote is not closed"));
      word += command.substr(i + 1, end - i - 1);
      i = end;
    }
    words.push_back(std::move(word));
  }
}

// Reads the head and the body of a section behind a step into it; what is wrong, or nothing.
std::string read_step_section(Step& step, std::string_view head, std::string_view body) {
  if (head == "stdin") {
    step.input = body;
  } else if (head == "stdout full") {
    step.output_full = true;
  } else if (head == "stdout" || head == "stdout contains") {
    step.output = {std::string(body), head != "stdout"};
  } else if (head == "stderr" || head == "stderr contains") {
    step.error = {std::string(body), head != "stderr"};
  } else if (head.starts_with("exit ")) {
    head.remove_prefix(5);
    auto [end, error] = std::from_chars(head.data(), head.data() + head.size(), step.exit_code);
    if (error != std::errc() || end != head.data() + head.size()) return "exit needs a number";
    if (!body.empty()) return "nothing may stand behind exit";
  } else {
    return fmt::format("no section is called '{}'", head);
  }
  return "";
}

void print_section(std::string& out, std::string_view head, std::string_view body) {
  out += fmt::format("--- {}\n{}", head, body);
}

void print_expectation(std::string& out, std::string_view stream, const Expectation& expected) {
  if (expected.text.empty()) return;
  print_section(out, fmt::format("{}{}", stream, expected.contains ? " contains" : ""),
                expected.text);
}

std::string first_difference(std::string_view expected, std::string_view actual) {
  for (int line = 1;; ++line) {
    std::string_view a = take_line(expected);
    std::string_view b = take_line(actual);
    if (a == b && !a.empty()) continue;
    auto show = [](std::string_view text) -> std::string {
      if (text.empty()) return "(end)";
      return fmt::format("{}{}", without_end(text), text.ends_with('\n') ? "" : " (no line end)");
    };
    return fmt::format("line {}\n    expected: {}\n    actual:   {}\n", line, show(a), show(b));
  }
}

}  // namespace

tl::expected<TestFile, std::string> parse_test_file(std::string_view text) {
  TestFile file;
  std::vector<FileSection> files;
  int line_number = 0;
  auto next = [&] {
    ++line_number;
    return take_line(text);
  };
  while (!text.empty() && !starts_section(text)) file.comment += next();
  while (!text.empty()) {
    std::string_view head = without_end(next());
    int head_line = line_number;
    auto wrong = [&](std::string_view what) {
      return tl::unexpected(fmt::format("line {}: {}", head_line, what));
    };
    std::string body;
    while (!text.empty() && !starts_section(text)) body += next();
    if (head.starts_with("$ ")) {
      Step& step = file.steps.emplace_back();
      step.files = std::move(files);
      files.clear();
      step.command = head.substr(2);
      auto words = split_words(step.command);
      if (!words) return wrong(words.error());
      if (words->empty() || words->front() != "minihlo") return wrong("only minihlo can be run");
      if (!body.empty()) return wrong("output stands behind '--- stdout'");
      step.words.assign(words->begin() + 1, words->end());
      continue;
    }
    head.remove_prefix(4);
    if (head.starts_with("file ")) {
      files.push_back({std::string(head.substr(5)), std::move(body)});
      continue;
    }
    if (file.steps.empty() || !files.empty()) return wrong("a step must stand before this section");
    std::string what = read_step_section(file.steps.back(), head, body);
    if (!what.empty()) return wrong(what);
  }
  if (file.steps.empty() || !files.empty())
    return tl::unexpected(std::string("the last step is missing"));
  return file;
}

std::string print_test_file(const TestFile& file) {
  std::string out = file.comment;
  for (const Step& step : file.steps) {
    for (const FileSection& section : step.files) {
      print_section(out, "file " + section.name, section.body);
    }
    out += fmt::format("$ {}\n", step.command);
    if (!step.input.empty()) print_section(out, "stdin", step.input);
    if (step.exit_code != 0) print_section(out, fmt::format("exit {}", step.exit_code), "");
    if (step.output_full) print_section(out, "stdout full", "");
    print_expectation(out, "stdout", step.output);
    print_expectation(out, "stderr", step.error);
  }
  return out;
}

std::string compare(const Expectation& expected, std::string_view actual) {
  if (!expected.contains) {
    return expected.text == actual ? "" : first_difference(expected.text, actual);
  }
  std::string_view lines = expected.text;
  size_t place = 0;
  while (!lines.empty()) {
    std::string_view line = without_end(take_line(lines));
    size_t found = actual.find(line, place);
    if (found == actual.npos) return fmt::format("missing\n    {}\n", line);
    place = found + line.size();
  }
  return "";
}

}  // namespace minihlo::testing

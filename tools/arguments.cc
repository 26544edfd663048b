#include "tools/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "ir/diagnostics.h"

namespace minihlo {
namespace {

template <class Number>
bool parse_number(std::string_view text, Number& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// "-o,--output" gives "-o", "--output".
std::vector<std::string_view> split_names(std::string_view names) {
  std::vector<std::string_view> result;
  while (!names.empty()) {
    size_t comma = std::min(names.find(','), names.size());
    result.push_back(names.substr(0, comma));
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return result;
}

// `text` broken into lines that start at `column`, the first after what stands in `out` already.
void append_wrapped(std::string& out, std::string_view text, size_t column) {
  constexpr size_t kWidth = 96;
  size_t at = column;
  while (!text.empty()) {
    size_t blank = std::min(text.find(' '), text.size());
    if (at > column && at + 1 + blank > kWidth) {
      out += '\n';
      out.append(column, ' ');
      at = column;
    }
    if (at > column) {
      out += ' ';
      ++at;
    }
    out += text.substr(0, blank);
    at += blank;
    text.remove_prefix(std::min(blank + 1, text.size()));
  }
  out += '\n';
}

void append_row(std::string& out, std::string_view name, std::string_view help) {
  constexpr size_t kColumn = 26;
  std::string head = fmt::format("  {}", name);
  if (head.size() + 2 > kColumn) {
    out += head + '\n';
    head.clear();
  }
  head.resize(kColumn, ' ');
  out += head;
  append_wrapped(out, help, kColumn);
}

constexpr std::string_view kHelpNames = "-h,--help";

}  // namespace

int64_t parse_size(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  int64_t value = 0;
  if (digits == 0 || !parse_number(text.substr(0, digits), value)) return -1;
  std::string_view unit = text.substr(digits);
  if (unit.empty() || unit == "B") return value;
  size_t power = kUnits.find(unit[0] & ~0x20);
  std::string_view rest = unit.substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "iB")) return -1;
  int64_t factor = int64_t{1} << (10 * (power + 1));
  return __builtin_mul_overflow(value, factor, &value) ? -1 : value;
}

void Arguments::add_option(std::string_view names, std::string_view value_name,
                           std::string_view help,
                           std::function<std::string(const std::string&)> take) {
  arguments_.push_back({std::string(names), std::string(value_name), std::string(help), false,
                        false, std::move(take), condition_});
}

void Arguments::only_for(std::string_view option, const std::string& value, std::string_view word) {
  condition_ = {std::string(option), &value, std::string(word)};
}

void Arguments::flag(std::string_view names, bool& value, std::string_view help) {
  add_option(names, "", help, [&value](const std::string& text) {
    value = true;
    return text == "true" ? "" : "it takes no value";  // CLI11 says "true" where there is none
  });
}

void Arguments::option(std::string_view names, std::string_view value_name, std::string& value,
                       std::string_view help) {
  add_option(names, value_name, help, [&value](const std::string& text) {
    value = text;
    return "";
  });
}

void Arguments::option(std::string_view names, std::string_view value_name, int64_t& value,
                       std::string_view help, int64_t minimum) {
  add_option(names, value_name, help, [&value, minimum](const std::string& text) -> std::string {
    int64_t number;
    if (!parse_number(text, number)) return "expected an integer of at most 64 bits";
    if (number < minimum) return fmt::format("expected {} or more", minimum);
    value = number;
    return "";
  });
}

void Arguments::option(std::string_view names, std::string_view value_name, uint64_t& value,
                       std::string_view help) {
  add_option(names, value_name, help, [&value](const std::string& text) {
    return parse_number(text, value) ? "" : "expected a whole number of at most 64 bits";
  });
}

void Arguments::option(std::string_view names, std::string_view value_name, double& value,
                       std::string_view help) {
  add_option(names, value_name, help, [&value](const std::string& text) -> std::string {
    double number;
    if (!parse_number(text, number) || !std::isfinite(number) || number <= 0) {
      return "expected a number above 0";
    }
    value = number;
    return "";
  });
}

void Arguments::option(std::string_view names, std::string_view value_name,
                       std::vector<std::string>& values, std::string_view help) {
  add_option(names, value_name, help, [&values](const std::string& text) {
    values.push_back(text);
    return "";
  });
  arguments_.back().repeated = true;
}

void Arguments::size(std::string_view names, std::string_view value_name, int64_t& value,
                     std::string_view help) {
  add_option(names, value_name, help, [&value](const std::string& text) -> std::string {
    int64_t bytes = parse_size(text);
    if (bytes < 0) return "expected a number of bytes, such as 4096, 512M or 8GiB";
    value = bytes;
    return "";
  });
}

void Arguments::choice(std::string_view names, std::string& value, std::vector<std::string> words,
                       std::string_view help) {
  std::string value_name = fmt::to_string(fmt::join(words, "|"));
  add_option(names, value_name, help,
             [&value, words = std::move(words)](const std::string& text) -> std::string {
               if (std::find(words.begin(), words.end(), text) == words.end()) {
                 return fmt::format("expected one of {}", fmt::join(words, ", "));
               }
               value = text;
               return "";
             });
}

void Arguments::positional(std::string_view value_name, std::string& value, std::string_view help,
                           bool required) {
  option("", value_name, value, help);
  arguments_.back().required = required;
}

void Arguments::positionals(std::string_view value_name, std::vector<std::string>& values,
                            std::string_view help, bool required) {
  option("", value_name, values, help);
  arguments_.back().required = required;
}

std::string Arguments::unknown_option(std::string_view word) const {
  word = word.substr(0, word.find('='));
  std::vector<std::string_view> known = split_names(kHelpNames);
  for (const Argument& argument : arguments_) {
    for (std::string_view name : split_names(argument.names)) known.push_back(name);
  }
  return fmt::format("unknown option '{}'{}", word, suggestion(word, known));
}

std::string Arguments::take_values(const Argument& argument,
                                   const std::vector<std::string>& values) {
  std::string_view name = argument.value_name;
  if (!argument.names.empty()) name = split_names(argument.names).back();
  bool is_flag = argument.value_name.empty();
  if (values.size() > 1 && !argument.repeated && !is_flag) {
    return fmt::format("{} is given {} times", name, values.size());
  }
  for (const std::string& value : values) {
    std::string wrong = argument.take(value);
    if (!wrong.empty()) return fmt::format("{}: '{}': {}", name, value, wrong);
  }
  return "";
}

std::string Arguments::take_positionals(const std::vector<std::string>& words) const {
  size_t next = 0;
  for (const Argument& argument : arguments_) {
    if (!argument.names.empty()) continue;
    size_t end = argument.repeated ? words.size() : std::min(next + 1, words.size());
    if (next == end && argument.required) return fmt::format("{} is missing", argument.value_name);
    std::string wrong = take_values(argument, {words.begin() + static_cast<long>(next),
                                               words.begin() + static_cast<long>(end)});
    if (!wrong.empty()) return wrong;
    next = end;
  }
  return next == words.size() ? "" : fmt::format("unexpected argument '{}'", words[next]);
}

std::string Arguments::parse(const std::vector<std::string>& words, int& help) const {
  // CLI11 finds the options and their values; what is left are the positional arguments. It takes
  // an empty value for none, and would go on to the next word.
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word.starts_with("--") && word.ends_with('=')) return word + " has no value";
  }
  CLI::App app;
  app.allow_extras();
  app.set_help_flag();
  CLI::Option* short_help = app.add_flag("-h");
  CLI::Option* long_help = app.add_flag("--help");
  std::vector<std::pair<const Argument*, CLI::Option*>> options;
  for (const Argument& argument : arguments_) {
    if (argument.names.empty()) continue;
    CLI::callback_t accept = [](const CLI::results_t&) { return true; };
    CLI::Option* option = argument.value_name.empty() ? app.add_flag(argument.names)
                                                      : app.add_option(argument.names, accept);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
    options.push_back({&argument, option});
  }
  std::string wrong;
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ArgumentMismatch& error) {
    std::string message = error.what();
    wrong = message.substr(0, message.find(':')) + " has no value";
  } catch (const CLI::ParseError& error) {
    wrong = error.what();
  }
  help = long_help->count() ? 2 : short_help->count() ? 1 : 0;
  if (help || !wrong.empty()) return help ? "" : wrong;

  std::vector<std::string> positionals;
  bool only_positionals = false;
  for (const std::string& word : app.remaining()) {
    if (!only_positionals && word == "--") {
      only_positionals = true;
    } else if (!only_positionals && word.size() > 1 && word[0] == '-') {
      return unknown_option(word);
    } else {
      positionals.push_back(word);
    }
  }
  for (const auto& [argument, option] : options) {
    wrong = take_values(*argument, option->results());
    if (!wrong.empty()) return wrong;
  }
  for (const auto& [argument, option] : options) {
    const Condition& condition = argument->condition;
    if (option->count() > 0 && condition.value && *condition.value != condition.word) {
      return fmt::format("{} is for {}={} alone", split_names(argument->names).back(),
                         condition.option, condition.word);
    }
  }
  return take_positionals(positionals);
}

std::string Arguments::help(const CommandText& text, bool whole) const {
  std::string out = fmt::format("{}\n\nusage: minihlo {}", text.summary, text.name);
  for (const Argument& argument : arguments_) {
    if (!argument.names.empty()) continue;
    std::string word = argument.value_name + (argument.repeated ? "..." : "");
    out += argument.required ? " " + word : " [" + word + "]";
  }
  out += " [options]\n";
  if (whole && !text.description.empty()) out += fmt::format("\n{}\n", text.description);
  out += '\n';
  for (const Argument& argument : arguments_) {
    if (argument.names.empty()) append_row(out, argument.value_name, argument.help);
  }
  out += "\nOptions:\n";
  for (const Argument& argument : arguments_) {
    if (argument.names.empty()) continue;
    std::string name = fmt::to_string(fmt::join(split_names(argument.names), ", "));
    if (!argument.value_name.empty()) name += "=" + argument.value_name;
    append_row(out, name, argument.help);
  }
  append_row(out, "-h, --help", "help: -h is short, --help is whole");
  if (whole && !text.examples.empty()) out += fmt::format("\nExamples:\n{}\n", text.examples);
  return out;
}

}  // namespace minihlo

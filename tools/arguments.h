// The command line of one subcommand: what it takes, its help, and the values that were given.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace minihlo {

/// What help says about a command besides its arguments.
struct CommandText {
  std::string_view name;         // as typed: "check"
  std::string_view summary;      // one line, no full stop
  std::string_view description;  // paragraphs of --help
  std::string_view examples;     // one a line, "command    what it does"; of --help
};

/// Options and positional arguments, each bound to a variable that keeps its value when the user
/// gives none. Names are written as they are typed, all in one string: "-o,--output".
class Arguments {
 public:
  /// --name: true when given.
  void flag(std::string_view names, bool& value, std::string_view help);
  /// --name=VALUE.
  void option(std::string_view names, std::string_view value_name, std::string& value,
              std::string_view help);
  void option(std::string_view names, std::string_view value_name, int64_t& value,
              std::string_view help, int64_t minimum = std::numeric_limits<int64_t>::min());
  void option(std::string_view names, std::string_view value_name, uint64_t& value,
              std::string_view help);
  /// A number above 0.
  void option(std::string_view names, std::string_view value_name, double& value,
              std::string_view help);
  /// --name=VALUE, any number of times.
  void option(std::string_view names, std::string_view value_name, std::vector<std::string>& values,
              std::string_view help);
  /// --name=SIZE in bytes: a number with or without K, M, G, T (powers of 1024; KiB, KB as well).
  void size(std::string_view names, std::string_view value_name, int64_t& value,
            std::string_view help);
  /// --name=WORD, one of a list.
  void choice(std::string_view names, std::string& value, std::vector<std::string> words,
              std::string_view help);

  /// The options that are declared from here on may only be given where `value`, the variable of
  /// `option`, is `word`.
  void only_for(std::string_view option, const std::string& value, std::string_view word);

  /// One positional argument, in the order of these calls.
  void positional(std::string_view value_name, std::string& value, std::string_view help,
                  bool required = true);
  /// All positional arguments that are left.
  void positionals(std::string_view value_name, std::vector<std::string>& values,
                   std::string_view help, bool required = true);

  /// Sets the variables from `words` (without the command's name). Returns what is wrong, or
  /// nothing; sets `help` to 1 or 2 where -h or --help stands among them.
  std::string parse(const std::vector<std::string>& words, int& help) const;

  /// The help text: short for -h; with description and examples for --help.
  std::string help(const CommandText& text, bool whole) const;

 private:
  // What an option is given for.
  struct Condition {
    std::string option;
    const std::string* value = nullptr;
    std::string word;
  };
  struct Argument {
    std::string names;       // of an option; empty for a positional argument
    std::string value_name;  // empty for a flag
    std::string help;
    bool required = false;
    bool repeated = false;
    /// Takes one value over; returns what is wrong with it, or nothing.
    std::function<std::string(const std::string&)> take;
    Condition condition;  // without a value: none
  };
  void add_option(std::string_view names, std::string_view value_name, std::string_view help,
                  std::function<std::string(const std::string&)> take);
  // Each returns what is wrong, or nothing.
  static std::string take_values(const Argument& argument, const std::vector<std::string>& values);
  std::string take_positionals(const std::vector<std::string>& words) const;
  std::string unknown_option(std::string_view word) const;

  std::vector<Argument> arguments_;
  Condition condition_;  // of what is declared now
};

/// A number of bytes as typed ("512", "64K", "8GiB"); negative when it is none.
int64_t parse_size(std::string_view text);

}  // namespace minihlo

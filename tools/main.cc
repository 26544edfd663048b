// minihlo: the command-line tool. Finds the subcommand and runs it.
#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "ir/diagnostics.h"
#include "sim/run/simulator.h"
#include "tools/command.h"
#include "tools/error_output.h"

#ifndef __has_feature  // clang's word
#define __has_feature(name) 0
#endif

namespace minihlo {
namespace {

constexpr std::unique_ptr<Command> (*kCommands[])() = {
    make_check, make_print, make_opt, make_run, make_equiv, make_campaign, make_list};

std::string tool_help(bool whole) {
  std::string out =
      "A self-contained mini HLO, the IR of XLA: passes, a simulator of many devices and a prover\n"
      "\n"
      "usage: minihlo COMMAND [arguments]\n"
      "\n"
      "Commands:\n";
  for (auto make : kCommands) {
    CommandText text = make()->text();
    out += fmt::format("  {:<10}{}\n", text.name, text.summary);
  }
  out +=
      "\n"
      "Options:\n"
      "  --version     the version\n"
      "  -h, --help    help: -h is short, --help is whole\n"
      "\n"
      "minihlo COMMAND --help says what a command takes.\n";
  if (!whole) return out;
  out +=
      "\n"
      "A FILE is a module as HLO text, protobuf (.hlo.pb, .pbtxt) or JSON, packed by gzip or not;\n"
      "- is standard input. Results go to standard output, errors to standard error.\n"
      "\n"
      "Exit codes:\n"
      "  0  done, or proved\n"
      "  1  refuted, an expectation not met, a deadlock or mismatch of devices\n"
      "  2  bad input or usage\n"
      "  3  neither proved nor refuted\n"
      "  4  not supported\n"
      "\n"
      "Examples:\n";
  for (auto make : kCommands) {
    std::string_view examples = make()->text().examples;
    out += fmt::format("{}\n", examples.substr(0, examples.find('\n')));
  }
  return out;
}

int usage_error(std::string_view message, std::string_view command = "") {
  print_error(message);
  print_stderr(fmt::format("minihlo{}{} --help says what can be given\n",
                           command.empty() ? "" : " ", command));
  return static_cast<int>(ExitCode::kInvalid);
}

// Where a system promises more memory than it has, it ends the process that believes it. With a
// limit there is an error to report instead. Sanitizers promise themselves a multiple of what there
// is.
void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer)
  rlimit limit;
  const auto machine = static_cast<rlim_t>(default_max_memory() / 4 * 5);
  if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur <= machine) return;
  limit.rlim_cur = machine;
  setrlimit(RLIMIT_DATA, &limit);
#endif
}

int run_tool(const std::vector<std::string>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const bool is_format = i > 0 && words[i - 1] == "--format" && words[i] == "json";
    if (words[i] == "--json" || words[i] == "--format=json" || is_format) gather_errors();
  }
  if (words.empty()) {
    print_stderr(tool_help(false));
    return static_cast<int>(ExitCode::kInvalid);
  }
  const std::string& first = words[0];
  if (first == "-h" || first == "--help" || (first == "help" && words.size() == 1)) {
    print_stdout(tool_help(first != "-h"));
    return 0;
  }
  if (first == "--version") {
    print_stdout(fmt::format("minihlo {}\n", MINIHLO_VERSION));
    return 0;
  }
  // `minihlo help check` is `minihlo check --help`.
  bool asks_help = first == "help";
  const std::string& name = asks_help ? words[1] : first;
  std::vector<std::string_view> names;
  for (auto make : kCommands) {
    std::unique_ptr<Command> command = make();
    CommandText text = command->text();
    names.push_back(text.name);
    if (text.name != name) continue;
    Arguments arguments;
    command->declare(arguments);
    int help = asks_help ? 2 : 0;
    std::string wrong = asks_help ? "" : arguments.parse({words.begin() + 1, words.end()}, help);
    if (help) {
      print_stdout(arguments.help(text, help == 2));
      return 0;
    }
    if (!wrong.empty()) return usage_error(fmt::format("{}: {}", name, wrong), name);
    if (!command->starts_programs()) limit_memory();
    return static_cast<int>(command->run());
  }
  if (name.starts_with('-')) return usage_error(fmt::format("unknown option '{}'", name));
  return usage_error(fmt::format("unknown command '{}'{}", name, suggestion(name, names)));
}

}  // namespace

}  // namespace minihlo

int main(int argc, char** argv) {
  using minihlo::print_error;
  int code = static_cast<int>(minihlo::ExitCode::kInvalid);
  try {
    code = minihlo::run_tool({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
  } catch (const std::exception& error) {
    print_error(error.what());
  } catch (...) {
    print_error("unknown failure");
  }
  if (!minihlo::finish_output()) return static_cast<int>(minihlo::ExitCode::kInvalid);
  return code;
}

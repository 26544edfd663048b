// Test files: a command line of the tool, what goes in, what must come out. One file is one case.
//
//   # What this case shows. Lines up to the first section are for the reader.
//   --- file pair.hlo
//   HloModule pair
//   ...
//   $ minihlo check pair.hlo
//   --- exit 2
//   --- stderr
//   pair.hlo:4:3: error: ...
//
// `--- file NAME` makes a file in the folder, empty at first, where the command runs. `$ minihlo
// ARGUMENTS` is a step; words may be quoted as '...' or "...". A file may have several steps, which
// run one after another in the same folder. The sections behind a step belong to it:
//
//   --- stdin              what stands on its standard input (nothing without it)
//   --- exit N             its exit code (0 without it)
//   --- stdout             all of its standard output (nothing without it)
//   --- stdout full        it can't be written: it is a device that is full
//   --- stderr             all of its standard error (nothing without it)
//   --- stdout contains    lines that occur in its output, in this order; more may stand between,
//   --- stderr contains    before and behind them
//
// A section reaches to the next line that starts with `--- ` or `$ `. In the folder, `data` leads
// to the data folder of the project.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace minihlo::testing {

struct FileSection {
  std::string name;
  std::string body;
};

/// What a stream must hold.
struct Expectation {
  std::string text;
  bool contains = false;
};

struct Step {
  std::vector<FileSection> files;  // made before the step runs
  std::string command;             // as written, without `$ `
  std::vector<std::string> words;  // the arguments behind `minihlo`
  std::string input;
  bool output_full = false;
  int exit_code = 0;
  Expectation output;
  Expectation error;
};

struct TestFile {
  std::string comment;
  std::vector<Step> steps;
};

/// Reads a test file; what is wrong with it names the line.
tl::expected<TestFile, std::string> parse_test_file(std::string_view text);

/// The text of a test file; what parse_test_file reads is what was written.
std::string print_test_file(const TestFile& file);

/// What differs between a stream and what it must hold; empty when nothing does.
std::string compare(const Expectation& expected, std::string_view actual);

}  // namespace minihlo::testing

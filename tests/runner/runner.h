// Runs test files (see test_file.h) and rule files (see rule_file.h), several at a time.
#pragma once

#include <filesystem>
#include <vector>

namespace minihlo::testing {

struct RunnerOptions {
  std::filesystem::path tool;  // the program that `minihlo` stands for
  std::filesystem::path data;  // what `data` leads to
  bool update = false;         // write what comes out into the files instead of comparing
};

struct RunnerCounts {
  unsigned passed = 0;
  unsigned failed = 0;
};

/// The test and rule files among `paths` and below the folders among them, in order of their names.
std::vector<std::filesystem::path> find_test_files(const std::vector<std::filesystem::path>& paths);

/// Runs each file and prints those that fail, with what differs, on standard output. Each case of a
/// rule file counts.
RunnerCounts run_test_files(const std::vector<std::filesystem::path>& files,
                            const RunnerOptions& options);

}  // namespace minihlo::testing

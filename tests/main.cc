// Runs all tests: test cases of this program, then test files (tests/runner/test_file.h) against
// the tool. The last line of output is `N passed, N failed`.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <string_view>
#include <vector>

#include "tests/paths.h"
#include "tests/runner/runner.h"

namespace {

namespace fs = std::filesystem;
using minihlo::testing::RunnerCounts;
using minihlo::testing::RunnerOptions;
using minihlo::testing::source_folder;

constexpr const char* kUsage =
    "usage: minihlo-tests [--update] [PATH]... | [DOCTEST_OPTION]...\n"
    "\n"
    "Without arguments runs everything. With PATHs runs these test files, and those below these\n"
    "folders; --update writes what the tool prints into the files instead of comparing. With\n"
    "doctest's options runs the test cases that they select, and no test files:\n";

// Doctest's count of the run that has ended.
doctest::TestRunStats unit_stats;

struct StatsListener : doctest::IReporter {
  explicit StatsListener(const doctest::ContextOptions&) {}
  void test_run_end(const doctest::TestRunStats& stats) override { unit_stats = stats; }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("stats", 1, StatsListener);

RunnerCounts run_files(std::vector<fs::path> paths, bool update) {
  RunnerOptions options;
  options.tool = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "tools/minihlo";
  options.data = source_folder() / "data";
  options.update = update;
  if (paths.empty()) paths.push_back(source_folder() / "tests/files");
  return run_test_files(minihlo::testing::find_test_files(paths), options);
}

}  // namespace

int main(int argc, char** argv) {
  bool update = false;
  std::vector<fs::path> paths;
  std::vector<const char*> doctest_words{argv[0]};
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "-h" || word == "--help") std::fputs(kUsage, stdout);
    if (word == "--update") {
      update = true;
    } else if (word.starts_with('-')) {
      doctest_words.push_back(argv[i]);
    } else {
      paths.emplace_back(word);
    }
  }
  unsigned passed = 0, failed = 0;
  bool good = true;
  if (paths.empty() && !update) {
    doctest::Context context(static_cast<int>(doctest_words.size()), doctest_words.data());
    context.setOption("no-version", true);
    context.setOption("no-intro", true);
    int result = context.run();
    if (context.shouldExit()) return result;
    good = result == 0;
    failed = unit_stats.numTestCasesFailed;
    passed = unit_stats.numTestCasesPassingFilters - failed;
  }
  if (doctest_words.size() == 1) {
    RunnerCounts counts = run_files(paths, update);
    passed += counts.passed;
    failed += counts.failed;
  }
  std::printf("%u passed, %u failed\n", passed, failed);
  return good && failed == 0 ? 0 : 1;
}

// Runs all tests; the last line of output is `N passed, N failed`.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

namespace {

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

}  // namespace

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  context.setOption("no-version", true);
  context.setOption("no-intro", true);
  int result = context.run();
  if (context.shouldExit()) return result;
  unsigned failed = unit_stats.numTestCasesFailed;
  std::printf("%u passed, %u failed\n", unit_stats.numTestCasesPassingFilters - failed, failed);
  return failed == 0 && result == 0 ? 0 : 1;
}

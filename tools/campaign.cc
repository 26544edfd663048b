// minihlo campaign: many permutations, each rewritten and proved.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>

#include <fmt/format.h>

#include "ir/text/printer.h"
#include "tools/campaign/report.h"
#include "tools/campaign/runner.h"
#include "tools/command.h"
#include "tools/error_output.h"
#include "tools/module_file.h"
#include "tools/progress.h"

namespace minihlo {
namespace {

using campaign::CampaignCase;
using campaign::CampaignSpec;
using campaign::CaseSpace;
using campaign::FailingCase;
using campaign::Judge;
using campaign::Report;
using campaign::Results;
using std::chrono::steady_clock;

// Set by a signal that asks the process to end: what is done so far is reported.
std::atomic<bool> is_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

// "12345 of 1441729 cases, 23456 a second, 61 s left".
std::string progress_text(int64_t done, int64_t all, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string text = fmt::format("{} of {} cases, {:.0f} a second", done, all, rate);
  if (rate > 0) text += fmt::format(", {:.0f} s left", static_cast<double>(all - done) / rate);
  return text;
}

class Campaign : public Command {
 public:
  bool starts_programs() const override { return true; }
  CommandText text() const override {
    return {
        .name = "campaign",
        .summary = "rewrite and prove many permutations",
        .description =
            "Makes permutations, and of each a module with a collective-permute; rewrites it by "
            "the\n"
            "passes of --passes, or by somebody's own compiler; verifies what comes back, proves "
            "it\n"
            "equal to the permute, and runs a sample of it. docs/campaign.md says more.\n"
            "\n"
            "What is not as --expect says is a failure: it is listed with a command that runs it\n"
            "alone. The exit code is that of the worst failure:\n"
            "\n"
            "  0  none\n"
            "  1  refuted, contradicted or crashed; or proved where that was not expected\n"
            "  2  invalid: what came back is no valid module; or bad usage\n"
            "  3  tested or timed out; or the campaign was ended before its end\n"
            "  4  unsupported",
        .examples =
            "  minihlo campaign --exhaustive=1..5 --modes=replica,partition\n"
            "  minihlo campaign --exhaustive=4 --passes='collective-permute-to-all-gather{fill="
            "identity}'\n"
            "  minihlo campaign --random=10000 --devices=2..64 --types=all --shapes=scalar,4,2x3\n"
            "  minihlo campaign --random=1000 --kinds=ring,transpose --rewrite-with='my-opt {in} "
            "-o "
            "{out}'",
    };
  }

  void declare(Arguments& arguments) override {
    spec_.declare(arguments);
    arguments.flag("--fail-fast", fail_fast_, "end after the first failure");
    arguments.option("--threads", "N", threads_, "at once (default: one a processor)", 1);
    arguments.option("--timeout", "SECONDS", timeout_, "end the campaign after this time");
    arguments.option("--report", "F", reports_,
                     "write a report: .jsonl JSON lines, .xml JUnit, .md a table");
    arguments.flag("--list", list_, "print the commands that run each case alone, and run none");
    arguments.flag("--stats", stats_, "say how long it took, how fast it was, and the memory");
    arguments.flag("--json", json_, "print one JSON document and nothing else");
  }

  ExitCode run() override {
    if (fail_fast_) spec_.max_failures = 1;
    for (const std::string& path : reports_) {
      if (!campaign::report_form(path)) {
        return invalid(fmt::format("--report: '{}' ends in none of .jsonl, .xml, .md", path));
      }
    }
    auto space = CaseSpace::make(spec_);
    if (!space) return invalid(space.error());
    return list_ ? list_cases(*space) : run_cases(*space);
  }

 private:
  static ExitCode invalid(const std::string& what) {
    print_error("campaign: " + what);
    return ExitCode::kInvalid;
  }

  ExitCode list_cases(const CaseSpace& space) const {
    for (int64_t number = 0; number < space.size(); ++number) {
      print_stdout(command_of(space, space.at(number)) + '\n');
      if (!flush_stdout()) return ExitCode::kInvalid;
    }
    return ExitCode::kOk;
  }

  static std::string command_of(const CaseSpace& space, const CampaignCase& one) {
    return campaign::command_line(space.spec().only(one, space.rewrites()[one.rewrite].text));
  }

  ExitCode run_cases(const CaseSpace& space) {
    const auto start = steady_clock::now();
    const Judge judge(space, &is_interrupted);
    Results results(space, judge);
    std::atomic<int64_t> done = 0;
    campaign::RunSettings settings;
    settings.threads = static_cast<int>(std::min<int64_t>(threads_, 1024));
    settings.stop = &is_interrupted;
    settings.done = &done;
    if (timeout_ > 0) {
      settings.deadline =
          start + std::chrono::microseconds(static_cast<int64_t>(std::min(timeout_, 1e9) * 1e6));
    }
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      // The second one ends the process.
      std::signal(signal, [](int number) {
        is_interrupted = true;
        std::signal(number, SIG_DFL);
      });
    }
    std::string wrong;
    {
      const ProgressLine line([&](double seconds) {
        return progress_text(done.load(std::memory_order_relaxed), space.size(), seconds);
      });
      wrong = run_blocks(space, 0, settings, results);
    }
    if (!wrong.empty()) return invalid(wrong);
    return report(space, results, std::chrono::duration<double>(steady_clock::now() - start));
  }

  ExitCode report(const CaseSpace& space, const Results& results,
                  std::chrono::duration<double> time) {
    Report report;
    report.tally = results.tally();
    for (const campaign::Rewrite& rewrite : space.rewrites()) {
      report.rewrites.push_back(rewrite.text);
    }
    const int64_t missing = space.size() - report.tally.cases;
    if (results.is_cut()) {
      report.unfinished =
          missing > 0 ? fmt::format("ended by its failures, {} cases before the end", missing) : "";
    } else if (missing > 0) {
      report.unfinished = fmt::format("stopped {} cases before the end", missing);
    }
    for (const campaign::Failure& failure : report.tally.failures) {
      report.failures.push_back(
          {failure, failing_case(space, space.at(failure.number), failure), std::nullopt});
    }
    for (const std::string& path : reports_) {
      if (!write_output(path, campaign::report_form(path)(report))) return ExitCode::kInvalid;
    }
    print(report, time.count());
    ExitCode code = report.tally.exit_code();
    if (missing > 0 && !results.is_cut()) code = worse(code, ExitCode::kUndecided);
    return code;
  }

  static FailingCase failing_case(const CaseSpace& space, const CampaignCase& one,
                                  const campaign::Failure& failure) {
    return {command_of(space, one), failure.reason, print_text(*make_module(one))};
  }

  void print(const Report& report, double seconds) const {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const int64_t memory = int64_t{usage.ru_maxrss} * 1024;
    const double rate = seconds > 0 ? static_cast<double>(report.tally.cases) / seconds : 0;
    if (json_) {
      Json document = campaign::report_json(report);
      if (stats_) {
        Json stats = Json::object();
        stats.set("seconds", seconds);
        stats.set("cases_per_second", rate);
        stats.set("peak_memory", memory);
        document.set("stats", std::move(stats));
      }
      print_document(document);
      return;
    }
    print_stdout(campaign::report_text(report));
    if (!stats_) return;
    print_stdout(fmt::format("{:.1f} s, {:.0f} cases a second, peak memory {} bytes\n", seconds,
                             rate, memory));
  }

  CampaignSpec spec_;
  std::vector<std::string> reports_;
  int64_t threads_ = 0;
  double timeout_ = 0;
  bool fail_fast_ = false, list_ = false, stats_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_campaign() { return std::make_unique<Campaign>(); }

}  // namespace minihlo

// minihlo campaign: many permutations, each rewritten and proved.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>

#include <fmt/format.h>

#include "tools/campaign/merge.h"
#include "tools/campaign/report.h"
#include "tools/campaign/runner.h"
#include "tools/campaign/session.h"
#include "tools/campaign/shrink.h"
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
using campaign::OutcomeKind;
using campaign::Report;
using campaign::Results;
using campaign::Shard;
using std::chrono::steady_clock;

// Set by a signal that asks the process to end: what is done so far is reported.
std::atomic<bool> is_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

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
    arguments.option("--journal", "F", journal_, "keep what is done in F, to go on when killed");
    arguments.flag("--resume", resume_, "go on with the journal, if there is one");
    arguments.option("--shard", "I/N", shard_text_, "every N-th block of cases, from the I-th on");
    arguments.option("--merge", "F", merge_,
                     "run nothing, and report what is in the journals of all shards");
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
    if (!shard_text_.empty() && !read_shard()) {
      return invalid(fmt::format("--shard: '{}' is no part of a whole, such as 1/4", shard_text_));
    }
    if (resume_ && journal_.empty()) return invalid("--resume: --journal=F is missing");
    if (!merge_.empty()) return merge_journals();
    auto space = CaseSpace::make(spec_);
    if (!space) return invalid(space.error());
    if (list_) return list_cases(*space);
    const campaign::Ranks ranks;
    return run_cases(*space, ranks);
  }

 private:
  static ExitCode invalid(const std::string& what) {
    print_error("campaign: " + what);
    return ExitCode::kInvalid;
  }

  bool read_shard() {
    const std::vector<std::string_view> parts = campaign::split_list(shard_text_, '/');
    if (parts.size() != 2) return false;
    const auto place = campaign::parse_count(parts[0]), count = campaign::parse_count(parts[1]);
    if (!place || !count || *place < 1 || *place > *count) return false;
    shard_ = {*place - 1, *count};
    return true;
  }

  ExitCode list_cases(const CaseSpace& space) const {
    const campaign::Blocks blocks(space);
    for (int64_t place = 0; place < blocks.size(shard_); ++place) {
      const int64_t block = campaign::Blocks::block(shard_, place);
      for (int64_t number = blocks.first(block); number < blocks.end(block); ++number) {
        const CampaignCase one = space.at(number);
        print_stdout(command_of(space, one, OutcomeKind::kProved) + '\n');
      }
      if (!flush_stdout()) return ExitCode::kInvalid;
    }
    return ExitCode::kOk;
  }

  static std::string command_of(const CaseSpace& space, const CampaignCase& one, OutcomeKind kind) {
    CampaignSpec spec = space.spec().only(one, space.rewrites()[one.rewrite].text);
    // Only a run shows it.
    if (kind == OutcomeKind::kContradicted) spec.simulate = 1;
    return campaign::command_line(spec);
  }

  ExitCode merge_journals() {
    if (!spec_.words().empty() || !journal_.empty() || !shard_text_.empty()) {
      return invalid("--merge: the journals say what the campaign is; give no more of it");
    }
    const auto start = steady_clock::now();
    auto merge = campaign::Merge::open(merge_);
    if (!merge) return invalid(merge.error());
    auto space = CaseSpace::make(merge->spec());
    if (!space) return invalid(space.error());
    const Judge judge(*space);
    Results results(*space, judge);
    if (std::string wrong = merge->add_to(*space, results); !wrong.empty()) return invalid(wrong);
    return report(*space, judge, results, start);
  }

  ExitCode run_cases(const CaseSpace& space, const campaign::Ranks& ranks) {
    const auto start = steady_clock::now();
    const Judge judge(space, &is_interrupted);
    Results results(space, judge);
    campaign::SessionSettings settings;
    settings.shard = shard_;
    settings.threads = static_cast<int>(std::min<int64_t>(threads_, 1024));
    settings.journal = journal_;
    settings.resume = resume_;
    settings.stop = &is_interrupted;
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
    campaign::SessionProgress progress;
    std::string wrong;
    {
      const ProgressLine line([&](double seconds) { return progress.text(seconds); });
      wrong = run_session(space, judge, settings, ranks, progress, results);
    }
    if (!wrong.empty()) return invalid(wrong);
    if (ranks.rank() > 0) return ExitCode::kOk;
    return report(space, judge, results, start);
  }

  ExitCode report(const CaseSpace& space, const Judge& judge, const Results& results,
                  steady_clock::time_point start) {
    const std::chrono::duration<double> time = steady_clock::now() - start;
    Report report;
    report.tally = results.tally();
    for (const campaign::Rewrite& rewrite : space.rewrites()) {
      report.rewrites.push_back(rewrite.text);
    }
    const int64_t missing = campaign::Blocks(space).case_count(shard_) - report.tally.cases;
    if (missing > 0) {
      report.unfinished =
          fmt::format("{} {} cases before the end",
                      results.is_cut() ? "ended by its failures," : "stopped", missing);
    }
    for (const campaign::Failure& failure : report.tally.failures) {
      report.failures.push_back(listed_failure(space, judge, failure));
    }
    for (const std::string& path : reports_) {
      if (!write_output(path, campaign::report_form(path)(report))) return ExitCode::kInvalid;
    }
    print(report, time.count());
    ExitCode code = report.tally.exit_code();
    if (missing > 0 && !results.is_cut()) code = worse(code, ExitCode::kUndecided);
    return code;
  }

  static campaign::ListedFailure listed_failure(const CaseSpace& space, const Judge& judge,
                                                const campaign::Failure& failure) {
    auto alone = [&](const CampaignCase& one, const std::string& reason) {
      return FailingCase{command_of(space, one, failure.kind), reason, module_text(one)};
    };
    const CampaignCase one = space.at(failure.number);
    campaign::ListedFailure listed{failure, alone(one, failure.reason), std::nullopt};
    if (auto small = shrink(space, judge, one, failure.kind, &is_interrupted)) {
      listed.shrunk = alone(small->one, small->outcome.reason_or_summary());
    }
    return listed;
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
  std::vector<std::string> reports_, merge_;
  std::string journal_, shard_text_;
  Shard shard_;
  int64_t threads_ = 0;
  double timeout_ = 0;
  bool fail_fast_ = false, resume_ = false, list_ = false, stats_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_campaign() { return std::make_unique<Campaign>(); }

}  // namespace minihlo

#include "tools/run_cases.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "tools/case_file.h"
#include "tools/case_run.h"
#include "tools/error_output.h"
#include "tools/json_out.h"
#include "tools/run_report.h"

namespace minihlo {
namespace {

using Kind = CaseOutcome::Kind;

struct KindText {
  Kind kind;
  std::string_view word;
  bool is_always_counted;  // in the summary, also where there are none
};
constexpr KindText kKinds[] = {
    {Kind::kPassed, "passed", true},           {Kind::kFailed, "failed", true},
    {Kind::kUnsupported, "unsupported", true}, {Kind::kInvalid, "invalid", false},
    {Kind::kStopped, "stopped", false},
};

class CaseReport {
 public:
  CaseReport(bool json, bool stats) : is_json_(json), with_stats_(stats) {}

  void add(const std::string& file, const Case& item, const CaseOutcome& outcome) {
    stats_.steps += outcome.stats.steps;
    stats_.seconds += outcome.stats.seconds;
    stats_.peak_memory = std::max(stats_.peak_memory, outcome.stats.peak_memory);
    ++count(outcome.kind);
    if (outcome.kind == Kind::kPassed) return;
    const std::string_view word = text_of(outcome.kind).word;
    if (!outcome.what.empty()) ++missing_[outcome.what];
    if (!is_json_) {
      std::string_view message = outcome.message;
      while (message.ends_with('\n')) message.remove_suffix(1);
      print_stdout(fmt::format("{}: {}: {}: {}\n", file, item.name, word, message));
      return;
    }
    Json entry = Json::object();
    entry.set("file", file);
    entry.set("name", item.name);
    entry.set("status", word);
    if (!outcome.what.empty()) entry.set("what", outcome.what);
    entry.set("message", outcome.message);
    list_.push(std::move(entry));
  }

  void add_unreadable(const std::string& file, const std::string& message) {
    if (is_json_) diagnostics_.push(error_json(message, "invalid", file));
    print_error(message, "invalid", file);
    is_unreadable_ = true;
  }

  void print() {
    int64_t total = 0;
    for (const int64_t of_kind : counts_) total += of_kind;
    if (is_json_) {
      print_json(total);
      return;
    }
    std::string text = fmt::format("{} cases:", total);
    for (const KindText& kind : kKinds) {
      if (!kind.is_always_counted && count(kind.kind) == 0) continue;
      text += fmt::format("{} {} {}", text.ends_with(':') ? "" : ",", count(kind.kind), kind.word);
    }
    text += '\n';
    for (const auto& [what, of_what] : missing_) text += fmt::format("  {}: {}\n", what, of_what);
    if (with_stats_) {
      text += fmt::format("peak memory {} bytes, {} steps, {:.6f} s\n", stats_.peak_memory,
                          stats_.steps, stats_.seconds);
    }
    print_stdout(text);
  }

  ExitCode exit_code() {
    if (is_unreadable_) return ExitCode::kInvalid;
    if (count(Kind::kInvalid) > 0) return ExitCode::kInvalid;
    if (count(Kind::kFailed) > 0) return ExitCode::kDiffers;
    if (count(Kind::kStopped) > 0) return ExitCode::kUndecided;
    return count(Kind::kUnsupported) > 0 ? ExitCode::kUnsupported : ExitCode::kOk;
  }

 private:
  static const KindText& text_of(Kind kind) {
    return *std::ranges::find(kKinds, kind, &KindText::kind);
  }
  int64_t& count(Kind kind) { return counts_[static_cast<size_t>(kind)]; }

  void print_json(int64_t total) {
    Json object = Json::object();
    object.set("cases", total);
    for (const KindText& kind : kKinds) {
      if (kind.is_always_counted || count(kind.kind) > 0) object.set(kind.word, count(kind.kind));
    }
    Json missing = Json::object();
    for (const auto& [what, of_what] : missing_) missing.set(what, of_what);
    object.set("missing", std::move(missing));
    object.set("not_passed", std::move(list_));
    if (is_unreadable_) object.set("diagnostics", std::move(diagnostics_));
    if (with_stats_) object.set("stats", stats_json(stats_));
    print_document(object);
  }

  const bool is_json_, with_stats_;
  std::array<int64_t, std::size(kKinds)> counts_{};  // by kind
  std::map<std::string, int64_t> missing_;           // by what is not supported
  Json list_ = Json::array();
  Json diagnostics_ = Json::array();
  bool is_unreadable_ = false;
  RunStats stats_;
};

// The module of cases that hold none: `module.hlo` beside case.json, NAME.hlo beside
// NAME.case.json.
std::shared_ptr<const Source> module_beside(const std::string& file,
                                            const std::vector<Case>& cases) {
  if (std::ranges::all_of(cases, [](const Case& item) { return item.module.has_value(); })) {
    return nullptr;
  }
  std::filesystem::path path = file;
  std::string name = path.filename().string();
  constexpr std::string_view kSuffix = ".case.json";
  name = name.ends_with(kSuffix) ? name.substr(0, name.size() - kSuffix.size()) + ".hlo"
                                 : "module.hlo";
  std::string error;
  return Source::from_file(path.replace_filename(name).string(), error);
}

}  // namespace

ExitCode run_case_files(const std::vector<std::string>& files, const RunOptions& options, bool json,
                        bool stats) {
  CaseReport report(json, stats);
  for (const std::string& file : files) {
    auto cases = read_case_file(file);
    if (!cases) {
      report.add_unreadable(file, cases.error());
      continue;
    }
    std::shared_ptr<const Source> beside = module_beside(file, *cases);
    for (const Case& item : *cases) report.add(file, item, run_case(item, beside, options));
  }
  report.print();
  return report.exit_code();
}

}  // namespace minihlo

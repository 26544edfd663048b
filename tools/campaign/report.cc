#include "tools/campaign/report.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/diagnostics.h"

namespace minihlo::campaign {
namespace {

int64_t failure_count(const OutcomeCounts& counts) {
  int64_t sum = 0;
  for (const OutcomeCount& count : counts) sum += count.failures;
  return sum;
}

int64_t case_count(const OutcomeCounts& counts) {
  int64_t sum = 0;
  for (const OutcomeCount& count : counts) sum += count.cases;
  return sum;
}

// "5 proved, 2 refuted".
std::string counts_text(const OutcomeCounts& counts) {
  std::string text;
  for (const OutcomeInfo& outcome : outcomes()) {
    const int64_t cases = counts[static_cast<size_t>(outcome.kind)].cases;
    if (cases == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", cases, outcome.word);
  }
  return text.empty() ? "none" : text;
}

// One member a verdict and other outcome, whether it occurred or not.
void set_counts(Json& json, const OutcomeCounts& counts) {
  for (const OutcomeInfo& outcome : outcomes()) {
    json.set(outcome.word, counts[static_cast<size_t>(outcome.kind)].cases);
  }
}

std::string plural(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void set_failing(Json& json, const FailingCase& failing) {
  json.set("reason", failing.reason);
  json.set("command", failing.command);
  json.set("module", failing.module);
}

Json failure_json(const ListedFailure& listed) {
  Json json = Json::object();
  json.set("case", listed.failure.number);
  json.set("outcome", info(listed.failure.kind).word);
  set_failing(json, listed.found);
  if (listed.shrunk) {
    Json shrunk = Json::object();
    set_failing(shrunk, *listed.shrunk);
    json.set("shrunk", std::move(shrunk));
  }
  return json;
}

// All but the failures.
Json totals_json(const Report& report) {
  Json json = Json::object();
  json.set("cases", report.tally.cases);
  json.set("rewritten", report.tally.rewritten);
  json.set("simulated", report.tally.simulated);
  json.set("failures", report.tally.failure_count());
  json.set("finished", report.unfinished.empty());
  if (!report.unfinished.empty()) json.set("unfinished", report.unfinished);
  set_counts(json, report.tally.totals());
  Json rewrites = Json::array();
  for (size_t i = 0; i < report.rewrites.size(); ++i) {
    const OutcomeCounts& counts = report.tally.by_rewrite[i];
    Json own = Json::object();
    own.set("rewrite", report.rewrites[i]);
    own.set("cases", case_count(counts));
    own.set("failures", failure_count(counts));
    set_counts(own, counts);
    rewrites.push(std::move(own));
  }
  json.set("rewrites", std::move(rewrites));
  return json;
}

// For text and attributes of XML alike.
std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : for_terminal(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// A cell of a table, or a line of text, of Markdown.
std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : for_terminal(text)) {
    if (c == '|' || c == '*' || c == '_' || c == '`' || c == '<' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string details(const ListedFailure& listed) {
  std::string text = fmt::format("{}\n", listed.found.command);
  if (listed.shrunk) {
    text += fmt::format("shrunk: {}\n{}\n", listed.shrunk->command, listed.shrunk->reason);
  }
  return text + '\n' + (listed.shrunk ? listed.shrunk->module : listed.found.module);
}

// The listed failures of a pipeline.
template <class Visit>
void each_failure(const Report& report, size_t rewrite, const Visit& visit) {
  for (const ListedFailure& listed : report.failures) {
    if (listed.failure.rewrite == rewrite) visit(listed);
  }
}

}  // namespace

std::string summary_line(const Report& report) {
  const Tally& tally = report.tally;
  std::string line = fmt::format("{}, {} rewritten, {} simulated: {}", plural(tally.cases, "case"),
                                 tally.rewritten, tally.simulated, counts_text(tally.totals()));
  if (tally.failure_count() > 0) line += "; " + plural(tally.failure_count(), "failure");
  if (!report.unfinished.empty()) line += "; " + report.unfinished;
  return line + '\n';
}

std::string report_text(const Report& report) {
  std::string text;
  for (const ListedFailure& listed : report.failures) {
    text += fmt::format("case {}: {}: {}\n  {}\n", listed.failure.number,
                        info(listed.failure.kind).word, listed.found.reason, listed.found.command);
    if (!listed.shrunk) continue;
    text += fmt::format("  shrunk: {}\n  {}\n", listed.shrunk->reason, listed.shrunk->command);
  }
  return text + summary_line(report);
}

Json report_json(const Report& report) {
  Json json = totals_json(report);
  Json failed = Json::array();
  for (const ListedFailure& listed : report.failures) failed.push(failure_json(listed));
  json.set("failed", std::move(failed));
  return json;
}

std::string report_json_lines(const Report& report) {
  std::string text;
  for (const ListedFailure& listed : report.failures) text += failure_json(listed).line();
  return text + totals_json(report).line();
}

std::string report_junit(const Report& report) {
  std::string suites;
  int64_t all_tests = 0, all_failures = 0;
  for (size_t i = 0; i < report.rewrites.size(); ++i) {
    const OutcomeCounts& counts = report.tally.by_rewrite[i];
    const std::string name = xml_text(report.rewrites[i]);
    std::string cases;
    int64_t listed_failures = 0;
    each_failure(report, i, [&](const ListedFailure& listed) {
      ++listed_failures;
      cases += fmt::format(
          "    <testcase classname=\"{}\" name=\"case {}\">\n"
          "      <failure type=\"{}\" message=\"{}\">{}</failure>\n"
          "    </testcase>\n",
          name, listed.failure.number, info(listed.failure.kind).word,
          xml_text(listed.found.reason), xml_text(details(listed)));
    });
    const int64_t others = failure_count(counts) - listed_failures;
    cases += fmt::format("    <testcase classname=\"{}\" name=\"the other {}\">", name,
                         plural(case_count(counts) - listed_failures, "case"));
    if (others > 0) {
      cases +=
          fmt::format("<failure type=\"more\" message=\"{} more\"/>", plural(others, "failure"));
    }
    cases += "</testcase>\n";
    const int64_t tests = listed_failures + 1;
    const int64_t failures = listed_failures + (others > 0 ? 1 : 0);
    suites += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\">\n{}"
        "  </testsuite>\n",
        name, tests, failures, cases);
    all_tests += tests;
    all_failures += failures;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"minihlo campaign\" tests=\"{}\" failures=\"{}\">\n{}</testsuites>\n",
      all_tests, all_failures, suites);
}

std::string report_markdown(const Report& report) {
  const OutcomeCounts totals = report.tally.totals();
  std::vector<OutcomeKind> columns;
  for (const OutcomeInfo& outcome : outcomes()) {
    if (totals[static_cast<size_t>(outcome.kind)].cases > 0) columns.push_back(outcome.kind);
  }
  std::string text = "| pipeline | cases |";
  for (const OutcomeKind kind : columns) text += fmt::format(" {} |", info(kind).word);
  text += " failures |\n|---|---:|";
  for (size_t i = 0; i < columns.size() + 1; ++i) text += "---:|";
  text += '\n';
  for (size_t i = 0; i < report.rewrites.size(); ++i) {
    const OutcomeCounts& counts = report.tally.by_rewrite[i];
    text += fmt::format("| {} | {} |", markdown_text(report.rewrites[i]), case_count(counts));
    for (const OutcomeKind kind : columns) {
      text += fmt::format(" {} |", counts[static_cast<size_t>(kind)].cases);
    }
    text += fmt::format(" {} |\n", failure_count(counts));
  }
  text += '\n' + markdown_text(summary_line(report));
  for (const ListedFailure& listed : report.failures) {
    text += fmt::format("\n**case {}: {}**: {}\n\n```\n{}```\n", listed.failure.number,
                        info(listed.failure.kind).word, markdown_text(listed.found.reason),
                        for_terminal(details(listed)));
  }
  return text;
}

std::string (*report_form(std::string_view path))(const Report& report) {
  if (path.ends_with(".jsonl")) return report_json_lines;
  if (path.ends_with(".xml")) return report_junit;
  if (path.ends_with(".md")) return report_markdown;
  return nullptr;
}

}  // namespace minihlo::campaign

// What a campaign came to, as text and as files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/campaign/tally.h"
#include "tools/json_out.h"

namespace minihlo::campaign {

/// A case that fails, and how it is run alone.
struct FailingCase {
  std::string command;
  std::string reason;
  std::string module;  // as text
};

struct ListedFailure {
  Failure failure;
  FailingCase found;
  std::optional<FailingCase> shrunk;  // where it could be made smaller
};

struct Report {
  std::vector<std::string> rewrites;  // as typed
  Tally tally;
  std::vector<ListedFailure> failures;  // of the tally's the first ones
  std::string unfinished;               // why cases are missing, or empty
};

/// "7 cases, 7 rewritten, 1 simulated: 5 proved, 2 refuted; 2 failures", with a line end.
std::string summary_line(const Report& report);
/// The failures that are listed, and the summary.
std::string report_text(const Report& report);
/// The document of `campaign --json` (docs/json.md).
Json report_json(const Report& report);
/// A JSON object a line: of each failure that is listed, then of the whole.
std::string report_json_lines(const Report& report);
/// JUnit's XML: a suite a pipeline, with a test case for each failure that is listed and one for
/// all others together.
std::string report_junit(const Report& report);
/// A table of outcomes by pipelines, and the failures below it.
std::string report_markdown(const Report& report);

/// The form that the ending of a file's name stands for, or null: .jsonl, .xml, .md.
std::string (*report_form(std::string_view path))(const Report& report);

}  // namespace minihlo::campaign

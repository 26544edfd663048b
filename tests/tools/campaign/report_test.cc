#include "tools/campaign/report.h"

#include <doctest/doctest.h>

namespace minihlo::campaign {
namespace {

// Two pipelines: one that is right, one with a failure that is listed and one that is not.
Report example() {
  Report report;
  report.rewrites = {"dce", "sed 's/a|b/<&>/' {in}"};
  report.tally = Tally(2);
  CampaignCase one;
  for (one.number = 0; one.number < 3; ++one.number) {
    report.tally.add(one, {OutcomeKind::kProved, "", true, one.number == 0}, true, 1);
  }
  one.rewrite = 1;
  report.tally.add(one, {OutcomeKind::kRefuted, "0 < 1 & \"x\"", true, false}, false, 1);
  one.number = 4;
  report.tally.add(one, {OutcomeKind::kCrashed, "boom", false, false}, false, 1);
  report.failures.push_back({report.tally.failures[0],
                             {"minihlo campaign --pairs='{}'", "0 < 1 & \"x\"", "HloModule m\n"},
                             FailingCase{"minihlo campaign", "smaller", "HloModule s\n"}});
  report.unfinished = "stopped 7 cases before the end";
  return report;
}

TEST_CASE("campaign report: one line says all that was counted") {
  CHECK(summary_line(example()) ==
        "5 cases, 4 rewritten, 1 simulated: 3 proved, 1 crashed, 1 refuted; 2 failures; stopped 7 "
        "cases before the end\n");
  CHECK(report_text(example()) ==
        "case 3: refuted: 0 < 1 & \"x\"\n  minihlo campaign --pairs='{}'\n"
        "  shrunk: smaller\n  minihlo campaign\n" +
            summary_line(example()));
}

TEST_CASE("campaign report: JSON lines") {
  CHECK(
      report_json_lines(example()) ==
      R"({"case":3,"outcome":"refuted","reason":"0 < 1 & \"x\"","command":"minihlo campaign --pairs='{}'","module":"HloModule m\n","shrunk":{"reason":"smaller","command":"minihlo campaign","module":"HloModule s\n"}}
{"cases":5,"rewritten":4,"simulated":1,"failures":2,"finished":false,"unfinished":"stopped 7 cases before the end","proved":3,"tested":0,"unsupported":0,"timed-out":0,"invalid":0,"changed":0,"crashed":1,"refuted":1,"contradicted":0,"rewrites":[{"rewrite":"dce","cases":3,"failures":0,"proved":3,"tested":0,"unsupported":0,"timed-out":0,"invalid":0,"changed":0,"crashed":0,"refuted":0,"contradicted":0},{"rewrite":"sed 's/a|b/<&>/' {in}","cases":2,"failures":2,"proved":0,"tested":0,"unsupported":0,"timed-out":0,"invalid":0,"changed":0,"crashed":1,"refuted":1,"contradicted":0}]}
)");
}

TEST_CASE("campaign report: JUnit has a suite a pipeline, and as many cases as it says") {
  CHECK(report_junit(example()) ==
        R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="minihlo campaign" tests="3" failures="2">
  <testsuite name="dce" tests="1" failures="0" errors="0">
    <testcase classname="dce" name="the other 3 cases"></testcase>
  </testsuite>
  <testsuite name="sed 's/a|b/&lt;&amp;&gt;/' {in}" tests="2" failures="2" errors="0">
    <testcase classname="sed 's/a|b/&lt;&amp;&gt;/' {in}" name="case 3">
      <failure type="refuted" message="0 &lt; 1 &amp; &quot;x&quot;">minihlo campaign --pairs='{}'&#10;shrunk: minihlo campaign&#10;smaller&#10;&#10;HloModule s&#10;</failure>
    </testcase>
    <testcase classname="sed 's/a|b/&lt;&amp;&gt;/' {in}" name="the other 1 case"><failure type="more" message="1 failure more"/></testcase>
  </testsuite>
</testsuites>
)");
}

TEST_CASE("campaign report: Markdown") {
  CHECK(report_markdown(example()) ==
        R"(| pipeline | cases | proved | crashed | refuted | failures |
|---|---:|---:|---:|---:|---:|
| dce | 3 | 3 | 0 | 0 | 0 |
| sed 's/a\|b/\<&>/' {in} | 2 | 0 | 1 | 1 | 2 |

5 cases, 4 rewritten, 1 simulated: 3 proved, 1 crashed, 1 refuted; 2 failures; stopped 7 cases before the end

**case 3: refuted**: 0 \< 1 & "x"

```
minihlo campaign --pairs='{}'
shrunk: minihlo campaign
smaller

HloModule s
```
)");
}

TEST_CASE("campaign report: the ending of a name is its form") {
  CHECK((report_form("a.jsonl") == report_json_lines));
  CHECK((report_form("a.b/c.xml") == report_junit));
  CHECK((report_form("a.md") == report_markdown));
  CHECK((report_form("a.json") == nullptr));
  CHECK((report_form("xml") == nullptr));
}

}  // namespace
}  // namespace minihlo::campaign

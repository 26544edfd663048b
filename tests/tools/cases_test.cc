// Golden cases: everything in data/ that says what should come out.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "tests/paths.h"
#include "tools/case_file.h"
#include "tools/case_run.h"

namespace minihlo {
namespace {

namespace fs = std::filesystem;

void run_file(const fs::path& path, const RunOptions& options = {}) {
  auto cases = read_case_file(path.string());
  CAPTURE(path.string());
  INFO((cases ? "" : cases.error()));
  REQUIRE(cases);
  std::string error;
  std::shared_ptr<const Source> beside =
      Source::from_file((path.parent_path() / "module.hlo").string(), error);
  for (const Case& item : *cases) {
    CAPTURE(item.name);
    CaseOutcome outcome = run_case(item, beside, options);
    INFO(outcome.message);
    CHECK(outcome.kind == CaseOutcome::Kind::kPassed);
  }
}

TEST_CASE("cases: data/cases/ agrees") {
  for (const fs::directory_entry& entry : fs::directory_iterator(testing::data_file("cases"))) {
    if (entry.path().extension() == ".jsonl") run_file(entry.path());
  }
}

TEST_CASE("cases: elementwise instructions that run together give the same") {
  RunOptions options;
  options.cluster_elements = 1;
  for (const fs::directory_entry& entry : fs::directory_iterator(testing::data_file("cases"))) {
    if (entry.path().extension() == ".jsonl") run_file(entry.path(), options);
  }
  for (const auto& entry : fs::recursive_directory_iterator(testing::data_file("jax"))) {
    if (entry.path().filename() == "case.json") run_file(entry.path(), options);
  }
}

TEST_CASE("cases: programs of other frameworks agree") {
  for (const char* folder : {"jax", "neuron", "torch_xla", "tensorflow"}) {
    for (const auto& entry : fs::recursive_directory_iterator(testing::data_file(folder))) {
      if (entry.path().filename() == "case.json") run_file(entry.path());
    }
  }
}

TEST_CASE("cases: what is read is what was written") {
  auto cases = parse_cases(
      R"({"name":"a","replicas":1,"partitions":2,"inputs":[[{"dtype":"s4","dims":[3],"data":"/wcI"}],[{"dtype":"f32","dims":[],"data":"AACAPw=="}]],"outputs":[],"compare":{"rel":0.5,"abs":0.25},"nan":"payload"})");
  REQUIRE(cases);
  const Case& item = cases->front();
  // Narrow values are sign-extended, whatever the rest of the byte was.
  CHECK(element_text((*item.inputs)[0][0], 0) == "-1");
  CHECK(element_text((*item.inputs)[0][0], 2) == "-8");
  CHECK(element_text((*item.inputs)[1][0], 0) == "1");
  auto again = parse_cases(print_case(item));
  REQUIRE(again);
  CHECK(print_case(again->front()) == print_case(item));
  CHECK(again->front().rule.relative == 0.5);
}

TEST_CASE("cases: bad files are refused with a reason") {
  for (const char* text :
       {"",
        "{",
        "[1]",
        "{\"inputs\":3}",
        "{\"inputs\":[[{}]]}",
        "{\"compare\":\"nearly\"}",
        R"({"compare":{"rel":-0.5}})",
        R"({"compare":{"rel":0.5,"ulp":1}})",
        R"({"compare":{}})",
        R"({"compare":{"ulp":-1}})",
        R"({"compare":{"ulp":1e3}})",
        R"({"compare":{"abs":"1"}})",
        R"({"nan":"any"})",
        R"({"devices":[-1]})",
        R"({"devices":{}})",
        "{\"replicas\":0}",
        "{\"replicas\":1e30}",
        "{\"name\":5}",
        R"({"inputs":[[{"dtype":"f99","dims":[1],"data":""}]]})",
        R"({"inputs":[[{"dtype":"f32","dims":[-1],"data":""}]]})",
        R"({"inputs":[[{"dtype":"f32","dims":[2],"data":"AAAA"}]]})",
        R"({"inputs":[[{"dtype":"f32","dims":[1],"data":"A?AA/w"}]]})",
        R"({"inputs":[[{"dtype":"f32","dims":[4611686018427387904,4],"data":""}]]})"}) {
    CAPTURE(text);
    auto cases = parse_cases(text);
    CHECK(!(cases ? cases->front().wrong : cases.error()).empty());
  }
}

TEST_CASE("cases: rules of comparison") {
  auto f32 = [](float value) {
    auto data = allocate_host(4);
    std::memcpy(data.get(), &value, 4);
    return HostTensor{ElementType::F32, {}, data, 4};
  };
  CompareRule bits, near{CompareRule::Kind::kTolerance, 0.1, 0.0, 0, false},
      ulp{CompareRule::Kind::kUlp, 0, 0, 2, false}, payload;
  payload.nan_payload = true;
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(compare(f32(1), f32(1), bits).count == 0);
  CHECK(compare(f32(0.0F), f32(-0.0F), bits).count == 1);
  CHECK(compare(f32(0.0F), f32(-0.0F), near).count == 0);
  CHECK(compare(f32(10), f32(10.9F), near).count == 0);
  CHECK(compare(f32(10), f32(11.1F), near).count == 1);
  CHECK(compare(f32(inf), f32(inf), near).count == 0);
  CHECK(compare(f32(inf), f32(1), near).count == 1);
  CHECK(compare(f32(nan), f32(-nan), bits).count == 0);
  CHECK(compare(f32(nan), f32(-nan), payload).count == 1);
  CHECK(compare(f32(nan), f32(1), near).count == 1);
  CHECK(compare(f32(1), f32(std::nextafter(1.0F, 2.0F)), ulp).count == 0);
  CHECK(compare(f32(1), f32(1.000001F), ulp).count == 1);
  CHECK(compare(f32(0.0F), f32(-0.0F), ulp).count == 0);
}

}  // namespace
}  // namespace minihlo

#include "tools/campaign/judge.h"

#include <doctest/doctest.h>

namespace minihlo::campaign {
namespace {

// What a run says of the case `one`, where the module before the rewrite is that of `before`, and
// the one behind it that of `after`.
std::string difference(const CampaignCase& one, const CampaignCase& before,
                       const CampaignCase& after) {
  const std::unique_ptr<Module> first = make_module(before), second = make_module(after);
  RunOptions options;
  options.threads = 1;
  return difference_in_run(one, *first, *second, options);
}

CampaignCase of(Pairs pairs, std::string_view form = "plain") {
  CampaignCase one;
  one.ids = 4;
  one.other = 2;
  one.dims = {3};
  one.pairs = std::move(pairs);
  while (forms()[one.form].name != form) ++one.form;
  return one;
}

TEST_CASE("judge: a run shows what the prover would have to have missed") {
  const CampaignCase right = of({{0, 1}, {1, 3}, {3, 0}});
  CHECK(difference(right, right, right) == "");
  // What came back sends elsewhere, or does not fill with zeros.
  CHECK(difference(right, right, of({{0, 1}, {1, 3}, {2, 0}})) ==
        "run by the simulator, the modules differ on device 0 (replica 0, partition 0), element 0");
  CHECK(difference(right, right, of({{0, 1}, {1, 3}, {3, 0}, {2, 2}})) ==
        "run by the simulator, the modules differ on device 2 (replica 0, partition 2), element 0");
}

TEST_CASE("judge: a run shows a permute that is not what its pairs say") {
  const CampaignCase right = of({{0, 1}, {1, 3}, {3, 0}});
  const CampaignCase wrong = of({{0, 1}, {1, 3}, {2, 0}}),
                     more = of({{0, 1}, {1, 3}, {3, 0}, {2, 2}});
  CHECK(difference(right, wrong, wrong) ==
        "run by the simulator, the permute does not give device 0 (replica 0, partition 0) what "
        "the pairs send to it");
  CHECK(difference(right, more, more) ==
        "run by the simulator, the permute does not give device 2 (replica 0, partition 2) zeros");
}

TEST_CASE("judge: every form of module is what the pairs say, as often as it permutes") {
  for (const GroupMode mode : {GroupMode::kCrossReplica, GroupMode::kCrossPartition}) {
    for (const Form& form : forms()) {
      CAPTURE(std::string(form.name));
      CampaignCase right = of({{0, 1}, {1, 2}, {2, 3}, {3, 0}}, form.name);
      CampaignCase wrong = of({{0, 1}, {1, 0}, {2, 3}, {3, 2}}, form.name);
      right.mode = wrong.mode = mode;
      CHECK(difference(right, right, right) == "");
      CHECK(difference(right, wrong, wrong) != "");
      CHECK(difference(right, right, wrong) != "");
    }
  }
}

}  // namespace
}  // namespace minihlo::campaign

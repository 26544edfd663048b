#include "tools/campaign/shrink.h"

#include <doctest/doctest.h>

namespace minihlo::campaign {
namespace {

// What is left of a case that fails, as the options that run it alone.
std::vector<std::string> shrunk(CampaignSpec spec) {
  const auto space = CaseSpace::make(spec);
  REQUIRE_MESSAGE(space, space.error());
  const Judge judge(*space);
  const CampaignCase one = space->at(0);
  const Outcome outcome = judge.judge(one);
  REQUIRE(!space->expectation().meets(one, outcome.kind));
  const auto small = shrink(*space, judge, one, outcome.kind, nullptr);
  if (!small) return {};
  // It fails in the same way.
  CHECK(small->outcome.kind == outcome.kind);
  CHECK(judge.judge(small->one).kind == outcome.kind);
  CHECK(small->one.number == one.number);
  std::vector<std::string> words = spec.only(small->one, "").words();
  std::erase_if(words, [](const std::string& word) { return word.starts_with("--passes"); });
  return words;
}

using Words = std::vector<std::string>;

CampaignSpec with(std::string pairs, std::string passes) {
  CampaignSpec spec;
  spec.pairs = {std::move(pairs)};
  spec.devices = "9";
  spec.other = "3";
  spec.types = "c64";
  spec.shapes = "5x6x7";
  spec.passes = {std::move(passes)};
  return spec;
}

TEST_CASE("shrink: only what makes a case fail is left") {
  // Devices that nobody sends to keep what they have: one is enough to show it.
  CHECK(shrunk(
            with("{{0,1},{1,2},{2,3},{8,5}}", "collective-permute-to-all-gather{fill=identity}")) ==
        Words{"--pairs={}", "--devices=1", "--shapes=scalar"});
  // Filled with zeros the preset reads entry 0 of its table everywhere: it takes two devices.
  CampaignSpec full = with("{{0,1},{1,2},{2,3},{3,0}}",
                           "collective-permute-to-all-gather{preset=neuron-2.24 fill=zero}");
  full.devices = "4";
  full.other = "1";
  CHECK(shrunk(full) == Words{"--pairs={{1,0}}", "--devices=2", "--shapes=1"});
}

TEST_CASE("shrink: a case that is small stays as it is") {
  CampaignSpec spec;
  spec.pairs = {"{}"};
  spec.shapes = "scalar";
  spec.passes = {"collective-permute-to-all-gather{fill=identity}"};
  CHECK(shrunk(spec).empty());
}

TEST_CASE("shrink: of external commands, too, but for those that hang") {
  CampaignSpec spec = with("{{0,1},{1,2},{2,3},{8,5}}", "");
  spec.passes.clear();
  // Without that pair it fails, too, but otherwise.
  spec.rewrite_with = "grep -q 1,2 {in} && exit 7; echo {in} > {out}";
  Words words = shrunk(spec);
  std::erase(words, "--rewrite-with=" + spec.rewrite_with);
  CHECK(words == Words{"--pairs={{1,2}}", "--devices=3", "--shapes=scalar"});
  spec.rewrite_with = "cp {in} {out}; sleep 30";
  spec.case_timeout = 0.05;
  CHECK(shrunk(spec).empty());
}

TEST_CASE("shrink: what is proved where it was not expected shrinks as well") {
  CampaignSpec spec = with("{{0,1},{1,0}}", "collective-permute-to-all-gather");
  spec.devices = "2";
  spec.expect = "refuted";
  CHECK(shrunk(spec) == Words{"--pairs={}", "--devices=1", "--shapes=scalar", "--expect=refuted"});
}

}  // namespace
}  // namespace minihlo::campaign

// Cases by number, blocks on threads and shards, expectations, and whole campaigns.
#include <atomic>

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "tests/tools/campaign/tally_text.h"
#include "tools/campaign/runner.h"

namespace minihlo::campaign {
namespace {

constexpr const char* kPass = "collective-permute-to-all-gather";

CaseSpace space_of(const CampaignSpec& spec) {
  auto space = CaseSpace::make(spec);
  REQUIRE_MESSAGE(space, space.error());
  return *std::move(space);
}

Tally run(const CampaignSpec& spec, int threads = 1) {
  const CaseSpace space = space_of(spec);
  const Judge judge(space);
  Results results(space, judge);
  RunSettings settings;
  settings.threads = threads;
  CHECK(run_blocks(space, 0, settings, results) == "");
  return results.tally();
}

CampaignSpec exhaustive(std::string ids, std::vector<std::string> passes = {}) {
  CampaignSpec spec;
  spec.exhaustive = std::move(ids);
  spec.passes = std::move(passes);
  return spec;
}

CampaignSpec preset(std::string ids) {
  return exhaustive(std::move(ids), {fmt::format("{}{{preset=neuron-2.24}}", kPass)});
}

// Most of its cases are failures, which are quickly found: what is proved was not expected.
CampaignSpec failing(std::string ids) {
  CampaignSpec spec = exhaustive(std::move(ids));
  spec.modes = "partition,replica";
  spec.expect = "neuron-2.24";
  return spec;
}

TEST_CASE("campaign: lists are combined with every permutation, each case once") {
  CampaignSpec spec = exhaustive("2..3", {kPass, "dce"});
  spec.modes = "partition,replica";
  spec.types = "u8,bf16";
  spec.shapes = "scalar,2x3";
  spec.forms = "plain,loop";
  spec.other = "1..2";
  spec.pairs = {"{{0,4}}"};
  const CaseSpace space = space_of(spec);
  CHECK(space.size() == (7 + 34 + 1) * 64);
  std::vector<std::string> seen;
  for (int64_t number = 0; number < space.size(); ++number) {
    const CampaignCase one = space.at(number);
    CHECK(one.number == number);
    seen.push_back(fmt::format("{} {}", module_text(one), one.rewrite));
  }
  CHECK(seen[1].find("collective-permute(x), channel_id=1, source_target_pairs={}") !=
        std::string::npos);
  std::ranges::sort(seen);
  CHECK(std::ranges::adjacent_find(seen) == seen.end());
}

TEST_CASE("campaign: a case is run alone by the options that its command gives") {
  CampaignSpec spec;
  spec.random = 300;
  spec.gives_back = true;
  spec.devices = "1..9";
  spec.other = "1..3";
  spec.modes = "replica,partition";
  spec.types = "all";
  spec.shapes = "scalar,0,2x3";
  spec.forms = "plain,async,tuple,chain,call,loop";
  spec.passes = {"dce", std::string(kPass) + "{groups=orbits}"};
  const CaseSpace space = space_of(spec);
  for (int64_t number = 0; number < space.size(); ++number) {
    const CampaignCase one = space.at(number);
    const CampaignSpec alone = spec.only(one, space.rewrites()[one.rewrite].text);
    const CaseSpace small = space_of(alone);
    REQUIRE(small.size() == 1);
    CHECK(module_text(small.at(0)) == module_text(one));
    CHECK(small.rewrites()[0].text == space.rewrites()[one.rewrite].text);
    // The words read back as what they were made of.
    CampaignSpec again;
    Arguments arguments;
    again.declare(arguments);
    int help = 0;
    REQUIRE(arguments.parse(alone.words(), help) == "");
    REQUIRE(again.words() == alone.words());
  }
}

TEST_CASE("campaign: the same seed draws the same cases, another one others") {
  CampaignSpec spec;
  spec.random = 50;
  spec.devices = "2..40";
  auto all = [&] {
    std::string text;
    const CaseSpace space = space_of(spec);
    for (int64_t number = 0; number < space.size(); ++number) {
      text += to_string(space.at(number).pairs) + '\n';
    }
    return text;
  };
  const std::string first = all();
  CHECK(all() == first);
  spec.seed = 2;
  CHECK(all() != first);
}

TEST_CASE("campaign: results depend on neither threads nor shards") {
  CampaignSpec spec = failing("4..5");
  spec.simulate = 100;
  const std::string whole = text_of(run(spec));
  CHECK(whole.find("\n19 0 proved equal") != std::string::npos);
  CHECK(text_of(run(spec, 3)) == whole);

  const CaseSpace space = space_of(spec);
  const Judge judge(space);
  std::vector<std::optional<Tally>> parts(static_cast<size_t>(Blocks(space).size()));
  int64_t cases = 0;
  for (int64_t index = 0; index < 3; ++index) {
    Results results(space, judge);
    RunSettings settings;
    settings.shard = {index, 3};
    settings.threads = 2;
    settings.keep = [&](int64_t block, const Tally& tally) {
      CHECK(!parts[static_cast<size_t>(block)]);
      parts[static_cast<size_t>(block)] = tally;
      return "";
    };
    CHECK(run_blocks(space, 0, settings, results) == "");
    CHECK(results.tally().cases == Blocks(space).case_count(settings.shard));
    cases += results.tally().cases;
  }
  CHECK(cases == space.size());
  Results merged(space, judge);
  for (size_t block = 0; block < parts.size(); ++block) {
    REQUIRE(parts[block]);
    CHECK(merged.add(static_cast<int64_t>(block), *parts[block]));
  }
  CHECK(text_of(merged.tally()) == whole);
}

TEST_CASE("campaign: it ends with the last failure that it may have, on any number of threads") {
  CampaignSpec spec = failing("5");
  for (const int64_t most : {1, 2, 300, 2500}) {
    spec.max_failures = most;
    const Tally tally = run(spec, 1);
    CHECK(tally.failure_count() == most);
    CHECK(tally.failures.size() == std::min<size_t>(static_cast<size_t>(most), 20));
    CHECK(text_of(run(spec, 4)) == text_of(tally));
    // The last case is that failure.
    spec.max_failures = 0;
    spec.show_failures = most;
    CHECK(run(spec).failures.back().number == tally.cases - 1);
    spec.show_failures = 20;
  }
}

TEST_CASE("campaign: blocks that are cut short by a stop do not count") {
  const CaseSpace space = space_of(exhaustive("4"));
  const Judge judge(space);
  std::atomic<bool> stop = true;
  Results results(space, judge);
  RunSettings settings;
  settings.stop = &stop;
  CHECK(run_blocks(space, 0, settings, results) == "");
  CHECK(results.tally().cases == 0);
  CHECK(!results.run_block(0, 0, &stop));
}

TEST_CASE("campaign: what is not expected is a failure, and the worst one is the exit code") {
  CampaignSpec spec = preset("2");
  Tally tally = run(spec);
  CHECK(tally.failure_count() == 6);
  CHECK(tally.exit_code() == ExitCode::kDiffers);
  spec.expect = "proved,refuted";
  CHECK(run(spec).failure_count() == 0);
  CHECK(run(spec).exit_code() == ExitCode::kOk);
  spec.expect = "refuted";
  CHECK(run(spec).failure_count() == 1);
  CHECK(run(spec).exit_code() == ExitCode::kDiffers);
  spec.expect = "tested";
  CHECK(run(spec).failure_count() == 7);
}

// Each set of options that is right for every permute is proved on all of them.
TEST_CASE("campaign: the pass is right on all partial permutations of up to 5 ids") {
  CampaignSpec spec = exhaustive("1..5");
  spec.passes.clear();
  for (const char* options : {"", "{gate=fallback}", "{gate=convertible}", "{groups=orbits}",
                              "{axis=1}", "{axis=1 groups=orbits}"}) {
    spec.passes.push_back(kPass + std::string(options));
  }
  spec.modes = "replica,partition";
  spec.shapes = "2x3";
  spec.simulate = 100;
  const Tally tally = run(spec, 0);
  CHECK(tally.cases == 2 * 1798 * 6);
  CHECK(tally.totals()[static_cast<size_t>(OutcomeKind::kProved)].cases == tally.cases);
  CHECK(tally.rewritten > tally.cases / 2);
  CHECK(tally.simulated > 100);
}

TEST_CASE("campaign: random permutations of many ids, on meshes, of every type and rank") {
  CampaignSpec spec;
  spec.random = 600;
  spec.devices = "2..40";
  spec.other = "1..3";
  spec.modes = "replica,partition";
  spec.types = "all";
  spec.shapes = "scalar,3,2x3,1x2x2,0x2";
  spec.forms = "plain,async,tuple,chain,call,loop";
  spec.simulate = 10;
  spec.passes = {kPass, kPass + std::string("{groups=orbits}")};
  const Tally tally = run(spec, 0);
  CHECK(tally.totals()[static_cast<size_t>(OutcomeKind::kProved)].cases == 600);
  CHECK(tally.simulated > 20);
}

TEST_CASE("campaign: what is lowered and raised again is what it was") {
  CampaignSpec spec =
      exhaustive("1..4", {kPass + std::string(",all-gather-to-collective-permute")});
  spec.modes = "replica,partition";
  spec.other = "1..2";
  spec.shapes = "scalar,2x3";
  spec.gives_back = true;
  CHECK(run(spec, 0).failure_count() == 0);
  // One that does not raise.
  spec.passes = {kPass};
  const Tally tally = run(spec, 0);
  CHECK(tally.totals()[static_cast<size_t>(OutcomeKind::kChanged)].cases == tally.cases);
  CHECK(tally.exit_code() == ExitCode::kDiffers);
}

// docs/neuron-preset.md.
TEST_CASE("campaign: the neuron preset is right where its closed form says so") {
  CampaignSpec spec = preset("1..4");
  spec.modes = "replica,partition";
  spec.other = "1..2";
  spec.shapes = "scalar,3,2x2,0";
  spec.expect = "neuron-2.24";
  const Tally tally = run(spec, 0);
  CHECK(text_of(tally).find('\n') == std::string::npos);
  CHECK(tally.failure_count() == 0);
  CHECK(tally.totals()[static_cast<size_t>(OutcomeKind::kRefuted)].cases > 1000);
  CHECK(tally.totals()[static_cast<size_t>(OutcomeKind::kProved)].cases > 1000);
}

TEST_CASE("campaign: what is wrong with its options is said") {
  auto wrong = [](auto&& set) {
    CampaignSpec spec;
    spec.exhaustive = "2";
    set(spec);
    auto space = CaseSpace::make(spec);
    return space ? "" : space.error();
  };
  using Spec = CampaignSpec&;
  CHECK(wrong([](Spec) {}) == "");
  CHECK(wrong([](Spec spec) { spec.exhaustive = ""; }).starts_with("--exhaustive=N, --random"));
  CHECK(
      wrong([](Spec spec) { spec.exhaustive = "0"; }).starts_with("--exhaustive: '0' is no range"));
  CHECK(wrong([](Spec spec) { spec.exhaustive = "3..2"; }).starts_with("--exhaustive: '3..2'"));
  CHECK(wrong([](Spec spec) {
          spec.exhaustive = "18";
          spec.types = "all";
        }) == "there are more cases than 63 bits can count");
  CHECK(wrong([](Spec spec) { spec.modes = "replica,both"; }) ==
        "--modes: 'both' is neither partition nor replica");
  CHECK(wrong([](Spec spec) { spec.types = "f33"; }) == "--types: there is no element type 'f33'");
  CHECK(wrong([](Spec spec) { spec.shapes = "2x"; }).starts_with("--shapes: '2x' is no shape"));
  CHECK(wrong([](Spec spec) {
          spec.shapes = "9999999999x9999999999";
        }).ends_with("too many elements"));
  CHECK(wrong([](Spec spec) { spec.forms = "plane"; }) ==
        "--forms: there is no form 'plane'; did you mean 'plain'?");
  CHECK(wrong([](Spec spec) { spec.other = "0"; }).starts_with("--other: '0' is no range"));
  CHECK(wrong([](Spec spec) { spec.other = "2000000"; }).find("has more than") !=
        std::string::npos);
  CHECK(wrong([](Spec spec) { spec.passes = {"dcd"}; }) ==
        "--passes=dcd: unknown pass 'dcd'; did you mean 'dce'?");
  CHECK(wrong([](Spec spec) { spec.rewrite_with = "cp {in} out"; }) ==
        "--rewrite-with: {out} is missing in 'cp {in} out'");
  CHECK(wrong([](Spec spec) {
          spec.rewrite_with = "{in} {out}";
          spec.passes = {"dce"};
        }) == "--passes and --rewrite-with: give one of the two");
  CHECK(wrong([](Spec spec) { spec.expect = "prooved"; }) ==
        "--expect: there is no outcome 'prooved'; did you mean 'proved'?");
  CHECK(wrong([](Spec spec) { spec.expect = "proved,neuron-2.24"; }) ==
        "--expect: 'neuron-2.24' stands alone");
  CHECK(wrong([](Spec spec) { spec.kinds = "rings"; }) ==
        "--kinds: there is no kind 'rings'; did you mean 'ring'?");
  CHECK(wrong([](Spec spec) { spec.cycles = "2,0"; }) == "--cycles: '0' is no length of a cycle");
  CHECK(wrong([](Spec spec) { spec.cycles = "2,3"; }) ==
        "--cycles: 2 ids do not hold cycles of 5 ids together");
  CHECK(wrong([](Spec spec) { spec.devices = "x"; }).starts_with("--devices: 'x' is no range"));
  CHECK(
      wrong([](Spec spec) { spec.pairs = {"{{0,1}"}; }).starts_with("--pairs: pairs are written"));
  CHECK(wrong([](Spec spec) { spec.pairs = {"{{0,9999999}}"}; }) ==
        "--pairs: no mesh has an id 9999999");
  CHECK(wrong([](Spec spec) { spec.pairs = {"no-such-file"}; }).starts_with("cannot read"));
}

}  // namespace
}  // namespace minihlo::campaign

#include "passes/pipeline.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/passes/run_passes.h"

namespace minihlo {
namespace {

// The calls of a pipeline joined by " ; ", or "COLUMN: message" of the first error.
std::string parsed(const std::string& text) {
  std::shared_ptr<const Source> source = Source::from_string("passes", text);
  Diagnostics diagnostics(source);
  std::optional<Pipeline> pipeline = parse_pipeline(source, diagnostics);
  if (!pipeline) {
    REQUIRE(diagnostics.error_count() == 1);
    const Diagnostic& error = diagnostics.all().front();
    return std::to_string(error.location.offset + 1) + ": " + error.message;
  }
  CHECK(diagnostics.ok());
  std::string result;
  for (const PassCall& call : *pipeline) {
    result += (result.empty() ? "" : " ; ") + call.to_string();
  }
  return result;
}

TEST_CASE("pipeline: passes, options and blanks") {
  CHECK(parsed("dce") == "dce");
  CHECK(parsed(" dce , dce ") == "dce ; dce");
  CHECK(parsed("dce{}") == "dce");
  CHECK(parsed("collective-permute-to-all-gather{gate=always fill=zero},dce") ==
        "collective-permute-to-all-gather{gate=always fill=zero} ; dce");
  CHECK(parsed("collective-permute-to-all-gather { fill = zero\n\taxis=literal } , dce") ==
        "collective-permute-to-all-gather{fill=zero axis=literal} ; dce");
  CHECK(parsed("collective-permute-to-all-gather{axis=12 platform_version=3.0}") ==
        "collective-permute-to-all-gather{axis=12 platform_version=3.0}");
}

TEST_CASE("pipeline: errors are located and suggest") {
  CHECK(parsed("") == "1: expected the name of a pass");
  CHECK(parsed("dce,") == "5: expected the name of a pass");
  CHECK(parsed(",dce") == "1: expected the name of a pass");
  CHECK(parsed("dce dce") == "5: expected ',' or the end behind a pass");
  CHECK(parsed("dce}") == "4: expected ',' or the end behind a pass");
  CHECK(parsed("dce,dec") == "5: unknown pass 'dec'; did you mean 'dce'?");
  CHECK(parsed("nothing-like-it") == "1: unknown pass 'nothing-like-it'");
  CHECK(parsed("dce{a=b}") == "5: pass 'dce' has no options");
  CHECK(parsed("collective-permute-to-all-gather{gat=always}") ==
        "34: pass 'collective-permute-to-all-gather' has no option 'gat'; did you mean 'gate'?");
  CHECK(parsed("collective-permute-to-all-gather{gate always}") ==
        "39: expected '=' behind option 'gate'");
  CHECK(parsed("collective-permute-to-all-gather{=always}") ==
        "34: expected an option name=value, or '}'; a space separates options");
  CHECK(parsed("collective-permute-to-all-gather{gate=}") == "39: option 'gate' needs a value");
  CHECK(parsed("collective-permute-to-all-gather{gate=alway}") ==
        "39: option 'gate' takes one of always, fallback, convertible, not 'alway'; did you mean "
        "'always'?");
  CHECK(parsed("collective-permute-to-all-gather{gate=always gate=always}") ==
        "46: option 'gate' is given twice");
  CHECK(parsed("collective-permute-to-all-gather{axis=-1}") ==
        "39: option 'axis' takes literal or an integer from 0 on, not '-1'");
  CHECK(parsed("collective-permute-to-all-gather{axis=99999999999999999999}") ==
        "39: option 'axis' takes literal or an integer from 0 on, not '99999999999999999999'");
  CHECK(parsed("collective-permute-to-all-gather{nc_divisor=0}") ==
        "45: option 'nc_divisor' takes an integer from 1 on, not '0'");
  CHECK(parsed("collective-permute-to-all-gather{gate=always") ==
        "45: expected an option name=value, or '}'; a space separates options");
}

TEST_CASE("pipeline: repeats hold passes and other repeats") {
  CHECK(parsed("repeat(dce,cse)") == "repeat(dce,cse)");
  CHECK(parsed(" repeat {limit=2} ( cse , repeat(dce) ) , dce") ==
        "repeat{limit=2}(cse,repeat(dce)) ; dce");
  CHECK(parsed("repeat") == "7: expected '(' and the passes that repeat runs");
  CHECK(parsed("repeat()") == "8: expected the name of a pass");
  CHECK(parsed("repeat(dce") == "11: expected ',' or ')' behind a pass of repeat");
  CHECK(parsed("repeat(dce))") == "12: expected ',' or the end behind a pass");
  CHECK(parsed("dce(cse)") == "4: expected ',' or the end behind a pass");
  CHECK(parsed("repeat{limit=0}(dce)") == "14: option 'limit' takes an integer from 1 on, not '0'");
  CHECK(parsed("repeat{limit=1001}(dce)") == "1: repeat has at most 1000 rounds");
  CHECK(parsed("repeet(dce)") == "1: unknown pass 'repeet'; did you mean 'repeat'?");
  std::string deep = "dce";
  for (int i = 0; i < 8; ++i) deep = "repeat(" + deep + ")";
  CHECK(parsed(deep) == deep);
  CHECK(parsed("repeat(" + deep + ")") == "57: at most 8 repeats may stand in one another");
  CHECK(parsed("repeat(dce),repeat(dce)") == "repeat(dce) ; repeat(dce)");
}

constexpr std::string_view kModule = R"(HloModule m, num_partitions=2

ENTRY e {
  x = f32[2] parameter(0)
  ROOT a = f32[2] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,0}}
}
)";

TEST_CASE("pipeline: a repeat does not write what memory does not hold") {
  std::string text = "HloModule m\n\nENTRY e {\n  t0 = f32[] parameter(0)\n";
  for (int i = 1; i <= 17; ++i) text += fmt::format("  t{0} = tuple(t{1}, t{1})\n", i, i - 1);
  for (int i = 0; i < 1200; ++i) text += fmt::format("  v{} = tuple(t17)\n", i);
  auto module = testing::parse_module(text + "}\n");
  REQUIRE(module);
  auto source = Source::from_string("passes", "repeat(dce)");
  Diagnostics diagnostics(source);
  PassContext context;
  auto done = run_pipeline(*module, *parse_pipeline(source, diagnostics), context, false);
  REQUIRE(!done);
  CHECK(done.error().ends_with("take more than 1 GiB"));
}

// A pass that breaks what it touches.
class Breaker : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext&) const override {
    module.entry()->root()->set(attr::source_target_pairs, {});
    module.entry()->set_root(nullptr);
    return {};
  }
};

TEST_CASE("pipeline: what a pass breaks is its own fault") {
  const PassInfo breaker = {"breaker", "breaks", Keeps::kNothing, {}, [](const PassOptions&) {
                              return std::unique_ptr<Pass>(std::make_unique<Breaker>());
                            }};
  auto module = testing::parse_module(kModule);
  Pipeline pipeline = {{&breaker, PassOptions(breaker.options), {}}};
  PassContext context;
  auto done = run_pipeline(*module, pipeline, context, true);
  REQUIRE(!done);
  CHECK(done.error().starts_with("internal error: pass breaker left a module that is not valid:"));
}

// Negates the root of the entry so often, all in all.
class Negate : public Pass {
 public:
  explicit Negate(int& left) : left_(left) {}
  tl::expected<void, std::string> run(Module& module, PassContext&) const override {
    if (left_ == 0) return {};
    --left_;
    Instruction* root = module.entry()->root();
    module.entry()->set_root(module.entry()->append(Opcode::kNegate,
                                                    module.keep_name("n" + std::to_string(left_)),
                                                    root->shape(), std::span(&root, 1), {}));
    return {};
  }

 private:
  int& left_;
};
int negations_left = 0;

TEST_CASE("pipeline: a repeat ends when a round changes nothing, or at its limit") {
  const PassInfo negate = {"negate", "negates", Keeps::kNothing, {}, [](const PassOptions&) {
                             return std::unique_ptr<Pass>(std::make_unique<Negate>(negations_left));
                           }};
  // What the observer saw: the passes on both sides, and how many instructions there were.
  auto run = [&](const std::string& text, int times) {
    std::shared_ptr<const Source> source = Source::from_string("passes", text);
    Diagnostics diagnostics(source);
    std::optional<Pipeline> pipeline = parse_pipeline(source, diagnostics);
    REQUIRE(pipeline);
    // cse finds nothing here, and its place is taken.
    for (PassCall& call : *pipeline) {
      for (PassCall& inner : call.inner) {
        if (inner.info->name == "cse") inner.info = &negate;
      }
    }
    negations_left = times;
    auto module = testing::parse_module(kModule);
    PassContext context;
    std::string seen;
    auto done = run_pipeline(*module, *pipeline, context, true,
                             [&](const Module& now, const PassCall* last, const PassCall* next) {
                               seen += std::string(last ? last->info->name : "start") + " " +
                                       std::to_string(now.entry()->size()) + " " +
                                       std::string(next ? next->info->name : "end") + "; ";
                             });
    CHECK(done);
    return seen;
  };
  CHECK(run("repeat(cse),dce", 2) ==
        "start 2 negate; negate 3 negate; negate 4 negate; negate 4 dce; dce 4 end; ");
  CHECK(run("repeat{limit=2}(cse,dce)", 5) ==
        "start 2 negate; negate 3 dce; dce 3 negate; negate 4 dce; dce 4 end; ");
  CHECK(run("repeat(dce)", 0) == "start 2 dce; dce 2 end; ");
}

TEST_CASE("pipeline: with verification a bad module is refused first, without it is taken") {
  std::string text(kModule);
  text.replace(text.find("{1,0}"), 5, "{1,1}");
  CHECK(testing::run_passes("dce", text, true)
            .error.starts_with("the module is not valid before the first pass:"));
  CHECK(testing::run_passes("dce", text, false).error == "");
}

TEST_CASE("passes: names are unique, each is found, options have sound defaults") {
  for (const PassInfo* pass : passes()) {
    CAPTURE(std::string(pass->name));
    CHECK(find_pass(pass->name) == pass);
    CHECK(pass->summary != "");
    std::string given;
    for (const OptionInfo& option : pass->options) {
      CHECK(option.help != "");
      if (option.default_value.empty()) continue;
      given += std::string(option.name) + "=" + std::string(option.default_value) + " ";
    }
    std::string text = std::string(pass->name) + "{" + given + "}";
    CHECK(parsed(text).starts_with(pass->name));
  }
  CHECK(find_pass("no-such-pass") == nullptr);
}

}  // namespace
}  // namespace minihlo

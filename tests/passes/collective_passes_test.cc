// Passes on collectives that leave what is computed as it is, bit for bit: combiners, channels,
// streams, custom-calls. Random modules go through each, and the prover compares.
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "ir/text/printer.h"
#include "sim/prove/equivalence.h"
#include "tests/passes/run_passes.h"

namespace minihlo {
namespace {

using testing::PassRun;
using testing::run_passes;

class RandomModule {
 public:
  RandomModule(uint32_t seed, int64_t replicas, int64_t partitions)
      : random_(seed), replicas_(replicas), partitions_(partitions) {}

  std::string text() {
    std::string body;
    for (int i = 0; i < 2; ++i) body += fmt::format("  v{} = f32[4] parameter({})\n", i, i);
    count_ = 2;
    while (count_ < 14) body += instruction();
    return fmt::format(
        "HloModule m, replica_count={}, num_partitions={}\n"
        "add {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT s = f32[] add(a, b)\n}}\n"
        "max {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT s = f32[] maximum(a, b)\n}}\n"
        "ENTRY e {{\n{}  ROOT t = (f32[4], f32[4], f32[4]) tuple(v13, v12, v11)\n}}\n",
        replicas_, partitions_, body);
  }

 private:
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random_); }
  std::string value() { return fmt::format("v{}", below(count_)); }

  // Of one of two sizes of group, in one of the modes.
  std::string groups(int64_t& size) {
    const bool flat = below(2) == 0;
    const int64_t ids = flat ? replicas_ * partitions_ : replicas_;
    size = below(2) == 0 ? ids : 1;
    std::string list;
    for (int64_t start = 0; start < ids; start += size) {
      std::string group;
      for (int64_t i = 0; i < size; ++i) group += fmt::format("{}{}", i ? "," : "", start + i);
      list += fmt::format("{}{{{}}}", start ? "," : "", group);
    }
    return fmt::format(
        "replica_groups={{{}}}{}", list,
        flat ? fmt::format(", channel_id={}, use_global_device_ids=true", below(3) + 1) : "");
  }

  std::string instruction() {
    const int64_t at = count_;
    std::string text;
    int64_t size = 0;
    switch (below(7)) {
      case 0:
        text = fmt::format("  v{} = f32[4] add({}, {})\n", at, value(), value());
        break;
      case 1:
        text = fmt::format("  v{} = f32[4] negate({})\n", at, value());
        break;
      case 2:
        text =
            fmt::format("  v{} = f32[4] collective-permute({}), source_target_pairs={{{{0,0}}}}\n",
                        at, value());
        break;
      case 3: {
        std::string list = groups(size);
        text = fmt::format("  all{} = f32[{}] all-gather({}), {}, dimensions={{0}}\n", at, 4 * size,
                           value(), list);
        text += fmt::format("  v{} = f32[4] slice(all{}), slice={{[{}:{}]}}\n", at, at, size - 1,
                            size + 3);
        break;
      }
      case 4: {
        std::string list = groups(size);
        text = fmt::format("  wide{} = f32[{}] broadcast({}), dimensions={{1}}\n", at,
                           fmt::format("{},4", size), value());
        text += fmt::format(
            "  part{} = f32[1,4] reduce-scatter(wide{}), {}, dimensions={{0}}, to_apply={}\n", at,
            at, list, below(2) ? "add" : "max");
        text += fmt::format("  v{} = f32[4] reshape(part{})\n", at, at);
        break;
      }
      default:
        text = fmt::format("  v{} = f32[4] all-reduce({}), {}, to_apply={}\n", at, value(),
                           groups(size), below(2) ? "add" : "max");
    }
    ++count_;
    return text;
  }

  std::mt19937 random_;
  int64_t replicas_, partitions_;
  int64_t count_ = 0;
};

prove::EquivalenceResult compare(const Module& before, const Module& after, const Mesh& mesh) {
  prove::EquivalenceOptions options;
  options.mesh = mesh;
  options.bits = true;
  return prove::check_equivalence(before, after, options);
}

TEST_CASE("collective passes: random modules are proved to stay what they are") {
  const std::string passes[] = {
      "all-gather-combiner",
      "all-reduce-combiner",
      "reduce-scatter-combiner",
      "all-reduce-combiner{bytes=40},all-reduce-combiner{count=3}",
      "channel-ids",
      "stream-ids",
      "stream-ids{streams=5}",
      "collectives-to-custom-calls",
      "collectives-to-custom-calls,custom-calls-to-collectives",
      "channel-ids,all-gather-combiner,all-reduce-combiner,reduce-scatter-combiner,dce",
  };
  int64_t merged = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const Mesh mesh = *make_mesh(1 + seed % 3, 1 + seed / 3 % 3);
    const std::string text = RandomModule(seed, mesh.replicas, mesh.partitions).text();
    for (const std::string& pipeline : passes) {
      PassRun run = run_passes(pipeline, text);
      INFO("seed ", seed, " ", pipeline, "\n", text, run.text());
      REQUIRE(run.error == "");
      for (const PassEntry& entry : run.entries) {
        merged += entry.rewritten && entry.pass.find("combiner") != entry.pass.npos;
      }
      prove::EquivalenceResult result = compare(*run.before, *run.module, mesh);
      CAPTURE(result.reason);
      CHECK(result.verdict == prove::Verdict::kProved);
    }
  }
  MESSAGE(merged, " collectives were merged");
  CHECK(merged > 150);
}

}  // namespace
}  // namespace minihlo

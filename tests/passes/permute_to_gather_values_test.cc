// What the output of collective-permute-to-all-gather computes, on every device, for every partial
// permutation of a few ids and every set of options. What is expected is stated twice, each by
// itself: what a permute means, and what the chain does where options make it something else.
#include <cstring>
#include <functional>
#include <map>
#include <numeric>

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "ir/diagnostics.h"
#include "ir/rewriter.h"
#include "passes/permute_to_gather/orbits.h"
#include "passes/pipeline.h"
#include "sim/prove/equivalence.h"
#include "sim/run/simulator.h"
#include "tests/passes/partial_permutations.h"
#include "tests/passes/run_passes.h"

namespace minihlo {
namespace {

using Pairs = std::vector<SourceTarget>;

constexpr int64_t kZeros = -1;

// A permute, as the definitions below see it.
struct Case {
  Mesh mesh;
  bool partitions;  // pairs are of partitions, else of replicas
  Pairs pairs;
};

// An option set, as the definitions below see it.
struct Options {
  std::string gate = "always", fill = "zero", id = "auto", groups = "global", axis = "0";
  bool preset = false;

  std::string text() const {
    if (preset) return "{preset=neuron-2.24}";
    return fmt::format("{{gate={} fill={} id={} groups={} axis={}}}", gate, fill, id, groups, axis);
  }
};

Options neuron() { return {"fallback", "identity", "replica", "global", "literal", true}; }

// Operands of the permutes of a module, one each.
struct Operand {
  ElementType type;
  std::vector<int64_t> dims;
};
const std::vector<Operand> kOperands = {{ElementType::S32, {}},
                                        {ElementType::BF16, {3}},
                                        {ElementType::F32, {2, 3}},
                                        {ElementType::U8, {0}}};

// The device whose operand a permute gives `device`, or kZeros: each pair sends within the row or
// column of the mesh that its ids run along.
int64_t permuted(const Case& one, int64_t device) {
  for (const SourceTarget& pair : one.pairs) {
    for (int64_t other = 0; other < one.mesh.device_count(); ++other) {
      int64_t from = one.partitions ? one.mesh.partition(other) : one.mesh.replica(other);
      int64_t to = one.partitions ? one.mesh.partition(device) : one.mesh.replica(device);
      bool same_line = one.partitions ? one.mesh.replica(other) == one.mesh.replica(device)
                                      : one.mesh.partition(other) == one.mesh.partition(device);
      if (same_line && pair.source == from && pair.target == to) return other;
    }
  }
  return kZeros;
}

// Whether every id of the mesh is a target, each once, and pairs stay in groups of R.
bool is_native(const Case& one) {
  std::vector<int64_t> targets;
  for (const SourceTarget& pair : one.pairs) {
    targets.push_back(pair.target);
    if (pair.source / one.mesh.replicas != pair.target / one.mesh.replicas) return false;
  }
  std::sort(targets.begin(), targets.end());
  std::vector<int64_t> all(static_cast<size_t>(one.mesh.device_count()));
  std::iota(all.begin(), all.end(), 0);
  return targets == all;
}

// Whether the pass leaves the permute of an operand alone.
bool left_alone(const Case& one, const Options& options, const Operand& operand) {
  const int64_t ids = options.id != "auto" ? one.mesh.device_count()
                      : one.partitions     ? one.mesh.partitions
                                           : one.mesh.replicas;
  for (const SourceTarget& pair : one.pairs) {
    if (pair.source >= ids || pair.target >= ids) return true;
  }
  if (options.gate == "fallback" && is_native(one)) return true;
  if (options.gate == "convertible" && !is_native(one)) return true;
  if (options.preset) return operand.dims.empty();
  if (operand.dims == std::vector<int64_t>{0}) return true;
  if (options.axis == "literal") return operand.dims.empty();
  return options.axis != "0" && std::stoul(options.axis) >= operand.dims.size();
}

// The device whose operand the chain gives `device`, or kZeros, worked out on the chain itself.
int64_t sliced(const Case& one, const Options& options, const Operand& operand, int64_t device) {
  const Mesh& mesh = one.mesh;
  const bool by_mode = options.id == "auto";
  // Who gathers with the device, in order.
  std::vector<int64_t> line;
  for (int64_t other = 0; other < mesh.device_count(); ++other) {
    bool replica = mesh.replica(other) == mesh.replica(device);
    bool partition = mesh.partition(other) == mesh.partition(device);
    if (!by_mode || (one.partitions ? replica : partition)) line.push_back(other);
  }
  const auto ids = static_cast<int64_t>(line.size());
  const int64_t own = std::find(line.begin(), line.end(), device) - line.begin();
  std::vector<std::vector<int64_t>> groups = {std::vector<int64_t>(line.size())};
  std::iota(groups[0].begin(), groups[0].end(), 0);
  if (options.groups == "orbits") groups = pack_orbits(one.pairs, ids);
  auto group_of = [&](int64_t id) {
    for (const std::vector<int64_t>& group : groups) {
      if (std::find(group.begin(), group.end(), id) != group.end()) return group;
    }
    return std::vector<int64_t>();
  };
  // What it looks up: the source of the id, as a place in that id's group.
  const int64_t index = options.id == "replica" ? mesh.replica(device) : own;
  int64_t source = kZeros;
  for (const SourceTarget& pair : one.pairs) {
    if (pair.target == index) source = pair.source;
  }
  if (source == kZeros && options.fill == "zero") return kZeros;
  if (source == kZeros) source = index;
  std::vector<int64_t> group = group_of(index);
  auto place = static_cast<size_t>(std::find(group.begin(), group.end(), source) - group.begin());
  // Gathered along 1 and sliced along 0, the start is clamped to 0.
  if (options.axis == "literal" && operand.dims.size() > 1) place = 0;
  return line[static_cast<size_t>(group_of(own)[place])];
}

// Builds, rewrites, verifies and runs modules.
class Runner {
 public:
  int64_t runs = 0;
  int64_t rewritten = 0;
  std::map<prove::Verdict, int64_t> verdicts;

  // All option sets on one case.
  void run(const Case& one, const std::vector<Options>& sets) {
    std::unique_ptr<Module> module = build(one);
    for (const Options& options : sets) run(*module, one, options);
  }

 private:
  std::unique_ptr<Module> build(const Case& one) {
    auto module = std::make_unique<Module>("m", shapes_);
    if (one.mesh.replicas > 1) module->set(make_attribute(attr::replica_count, one.mesh.replicas));
    if (one.mesh.partitions > 1) {
      module->set(make_attribute(attr::num_partitions, one.mesh.partitions));
    }
    Computation* entry = module->add_computation("e");
    module->set_entry(entry);
    std::vector<Instruction*> permutes;
    std::vector<const Shape*> parts;
    for (size_t i = 0; i < kOperands.size(); ++i) {
      const Shape* shape = shapes_->array(kOperands[i].type, kOperands[i].dims);
      Attribute number = make_attribute(attr::parameter_number, static_cast<int64_t>(i));
      Instruction* parameter =
          entry->append(Opcode::kParameter, module->keep_name(fmt::format("x{}", i)), shape, {},
                        std::span(&number, 1));
      std::vector<Attribute> attributes = {
          make_attribute(attr::source_target_pairs, module->arena().copy(one.pairs))};
      if (one.partitions) attributes.push_back(make_attribute(attr::channel_id, 1));
      permutes.push_back(entry->append(Opcode::kCollectivePermute,
                                       module->keep_name(fmt::format("p{}", i)), shape,
                                       std::span(&parameter, 1), attributes));
      parts.push_back(shape);
    }
    entry->set_root(entry->append(Opcode::kTuple, "t", shapes_->tuple(parts), permutes));
    return module;
  }

  void run(const Module& original, const Case& one, const Options& options) {
    std::unique_ptr<Module> module = original.clone();
    PassContext context;
    auto done = run_pipeline(*module, pipeline(options), context, false);
    if (!done) fail(one, options, done.error());
    if (context.entries.size() != kOperands.size()) fail(one, options, "an entry is missing");
    for (size_t i = 0; i < kOperands.size(); ++i) {
      bool expected = !left_alone(one, options, kOperands[i]);
      if (context.entries[i].rewritten != expected) {
        fail(one, options, fmt::format("operand {}: {}", i, context.entries[i].reason));
      }
      rewritten += expected;
    }
    // What names ids beyond the mesh can't be run.
    const bool beyond = permuted_beyond(one);
    if (beyond) remove_permutes(module->entry());
    std::string errors = testing::verifier_errors(*module);
    if (!errors.empty()) fail(one, options, errors);
    ++runs;
    bool same = true;
    RunOptions run_options;
    run_options.threads = 1;
    auto result = simulate(*module, one.mesh, inputs(one.mesh), run_options);
    if (!result) fail(one, options, result.error().message);
    for (int64_t device = 0; device < one.mesh.device_count(); ++device) {
      for (size_t i = 0; i < kOperands.size(); ++i) {
        bool alone = !context.entries[i].rewritten;
        if (alone && beyond) continue;
        int64_t source = alone ? permuted(one, device) : sliced(one, options, kOperands[i], device);
        // Options that are right for every permute: both statements must agree.
        bool right = options.fill == "zero" && options.id == "auto" && options.axis != "literal";
        if (right && !alone && source != permuted(one, device))
          fail(one, options, "the statements differ");
        if (!std::ranges::equal(kOperands[i].dims, std::vector<int64_t>{0})) {
          same = same && source == permuted(one, device);
        }
        const HostTensor& actual = result->outputs[static_cast<size_t>(device)][i];
        std::vector<std::byte> expected(static_cast<size_t>(actual.bytes));
        if (source != kZeros) {
          const HostTensor& input = inputs(one.mesh)[static_cast<size_t>(source)][i];
          if (!expected.empty()) std::memcpy(expected.data(), input.data.get(), expected.size());
        }
        if (!expected.empty() &&
            std::memcmp(expected.data(), actual.data.get(), expected.size()) != 0) {
          fail(one, options,
               fmt::format("operand {} on device {}: not that of {}", i, device, source));
        }
      }
    }
    if (!beyond) prove(original, *module, one, options, same);
  }

  // The prover's verdict must be that of the definitions.
  void prove(const Module& original, const Module& rewritten_module, const Case& one,
             const Options& options, bool same) {
    prove::EquivalenceOptions prover_options;
    prover_options.mesh = one.mesh;
    prove::EquivalenceResult result =
        prove::check_equivalence(original, rewritten_module, prover_options);
    prove::Verdict expected = same ? prove::Verdict::kProved : prove::Verdict::kRefuted;
    ++verdicts[expected];
    if (result.verdict != expected) {
      fail(one, options,
           fmt::format("{} instead of {}: {}", to_string(result.verdict), to_string(expected),
                       result.reason));
    }
  }

  static void remove_permutes(Computation* computation) {
    Rewriter rewriter(computation);
    while (Instruction* at = rewriter.next()) {
      if (at->opcode() == Opcode::kCollectivePermute) rewriter.replace(at, at->operand(0));
    }
    rewriter.finish();
  }

  static bool permuted_beyond(const Case& one) {
    const int64_t ids = one.partitions ? one.mesh.partitions : one.mesh.replicas;
    return std::any_of(one.pairs.begin(), one.pairs.end(), [&](const SourceTarget& pair) {
      return pair.source >= ids || pair.target >= ids;
    });
  }

  // Bytes that no two devices or operands share, none of them zero.
  const Inputs& inputs(const Mesh& mesh) {
    Inputs& made = inputs_[mesh.device_count()];
    if (!made.empty()) return made;
    uint8_t next = 1;
    for (int64_t device = 0; device < mesh.device_count(); ++device) {
      std::vector<HostTensor>& leaves = made.emplace_back();
      for (const Operand& operand : kOperands) {
        HostTensor& tensor = leaves.emplace_back();
        tensor.type = operand.type;
        tensor.dims = operand.dims;
        tensor.bytes = shapes_->array(operand.type, operand.dims)->byte_count();
        std::shared_ptr<std::byte> data = allocate_host(std::max<int64_t>(tensor.bytes, 1));
        for (int64_t i = 0; i < tensor.bytes; ++i) data.get()[i] = std::byte{next++};
        tensor.data = data;
      }
    }
    return made;
  }

  const Pipeline& pipeline(const Options& options) {
    Pipeline& made = pipelines_[options.text()];
    if (!made.empty()) return made;
    auto source =
        Source::from_string("passes", "collective-permute-to-all-gather" + options.text());
    Diagnostics diagnostics(source);
    std::optional<Pipeline> parsed = parse_pipeline(source, diagnostics);
    INFO(diagnostics.to_string());
    REQUIRE(parsed);
    return made = *std::move(parsed);
  }

  static void fail(const Case& one, const Options& options, const std::string& what) {
    std::string pairs;
    for (const SourceTarget& pair : one.pairs) {
      pairs += fmt::format("{{{},{}}}", pair.source, pair.target);
    }
    FAIL(fmt::format("{}x{} {} {} {}: {}", one.mesh.replicas, one.mesh.partitions,
                     one.partitions ? "partitions" : "replicas", pairs, options.text(), what));
  }

  std::shared_ptr<ShapePool> shapes_ = std::make_shared<ShapePool>();
  std::unordered_map<int64_t, Inputs> inputs_;
  std::unordered_map<std::string, Pipeline> pipelines_;
};

std::vector<Options> every_set() {
  std::vector<Options> sets = {neuron()};
  for (const char* fill : {"zero", "identity"}) {
    for (const char* id : {"auto", "replica", "flattened"}) {
      for (const char* groups : {"global", "orbits"}) {
        for (const char* axis : {"0", "1", "literal"}) {
          sets.push_back({"always", fill, id, groups, axis});
        }
      }
    }
  }
  sets.push_back({"fallback"});
  sets.push_back({"convertible"});
  return sets;
}

// The meshes R x 1 and 1 x P of `ids` devices, in the mode that uses them.
void each_line(int64_t ids, const std::function<void(const Case&)>& visit) {
  testing::each_partial_permutation(ids, [&](const Pairs& pairs) {
    visit({{ids, 1}, false, pairs});
    visit({{1, ids}, true, pairs});
  });
}

TEST_CASE("permute to gather: every partial permutation of up to 4 devices, every option") {
  Runner runner;
  const std::vector<Options> sets = every_set();
  for (int64_t ids = 1; ids <= 4; ++ids) {
    each_line(ids, [&](const Case& one) { runner.run(one, sets); });
  }
  CHECK(runner.runs == 2 * (2 + 7 + 34 + 209) * static_cast<int64_t>(sets.size()));
  CHECK(runner.verdicts[prove::Verdict::kProved] > 1000);
  CHECK(runner.verdicts[prove::Verdict::kRefuted] > 1000);
  MESSAGE(runner.runs << " runs, " << runner.rewritten << " permutes rewritten, "
                      << runner.verdicts[prove::Verdict::kProved] << " proved, "
                      << runner.verdicts[prove::Verdict::kRefuted] << " refuted");
}

TEST_CASE("permute to gather: every partial permutation of 5 devices, defaults and preset") {
  Runner runner;
  each_line(5, [&](const Case& one) { runner.run(one, {Options(), neuron()}); });
  CHECK(runner.runs == 2 * 1546 * 2);
}

TEST_CASE("permute to gather: replicas and partitions together, every option") {
  Runner runner;
  const std::vector<Options> sets = every_set();
  // Four flattened ids, of which the first two are also replicas or partitions.
  testing::each_partial_permutation(4, [&](const Pairs& pairs) {
    for (bool partitions : {false, true}) runner.run({{2, 2}, partitions, pairs}, sets);
  });
  testing::each_partial_permutation(3, [&](const Pairs& pairs) {
    for (bool partitions : {false, true}) {
      runner.run({{2, 3}, partitions, pairs}, sets);
      runner.run({{3, 2}, partitions, pairs}, sets);
    }
  });
  CHECK(runner.runs == (2 * 209 + 4 * 34) * static_cast<int64_t>(sets.size()));
}

// Every element type survives being gathered, sliced, selected and reshaped, with all its bits.
TEST_CASE("permute to gather: every element type keeps its bits") {
  for (int t = 0; t < kElementTypeCount; ++t) {
    auto type = static_cast<ElementType>(t);
    CAPTURE(std::string(to_string(type)));
    std::string text = fmt::format(R"(HloModule m, num_partitions=3

ENTRY e {{
  x = {0}[5] parameter(0)
  s = {0}[] parameter(1)
  p = {0}[5] collective-permute(x), channel_id=1, source_target_pairs={{{{0,1}},{{1,2}}}}
  q = {0}[] collective-permute(s), channel_id=1, source_target_pairs={{{{2,1}},{{1,2}}}}
  both = ({0}[5], {0}[]) collective-permute(x, s), channel_id=1, source_target_pairs={{{{2,0}}}}
  a = {0}[5] get-tuple-element(both), index=0
  b = {0}[] get-tuple-element(both), index=1
  start = ({0}[5], {0}[5]) collective-permute-start(p), channel_id=1, source_target_pairs={{{{2,0}}}}
  done = {0}[5] collective-permute-done(start)
  ROOT t = ({0}[5], {0}[], {0}[5], {0}[], {0}[5]) tuple(p, q, a, b, done)
}}
)",
                                   to_string(type));
    testing::PassRun run = testing::run_passes("collective-permute-to-all-gather", text);
    REQUIRE(run.error == "");
    for (const PassEntry& entry : run.entries) CHECK(entry.rewritten);
    std::unique_ptr<Module> original = testing::parse_module(text);
    const Mesh mesh{1, 3};
    auto inputs = make_inputs(*original, mesh, 1, int64_t{1} << 20);
    REQUIRE(inputs);
    // Bit patterns that arithmetic would change.
    for (size_t device = 0; device < inputs->size(); ++device) {
      if (type == ElementType::PRED || info(type).bits < 8) break;
      for (HostTensor& tensor : (*inputs)[device]) {
        std::shared_ptr<std::byte> data = allocate_host(tensor.bytes);
        for (int64_t i = 0; i < tensor.bytes; ++i) {
          data.get()[i] = std::byte(static_cast<uint8_t>(0xff - 7 * i - 61 * device));
        }
        tensor.data = data;
      }
    }
    auto expected = simulate(*original, mesh, *inputs);
    auto actual = simulate(*run.module, mesh, *inputs);
    REQUIRE(expected);
    REQUIRE(actual);
    for (size_t device = 0; device < 3; ++device) {
      for (size_t leaf = 0; leaf < 5; ++leaf) {
        const HostTensor& a = expected->outputs[device][leaf];
        const HostTensor& b = actual->outputs[device][leaf];
        REQUIRE(a.bytes == b.bytes);
        CHECK(std::memcmp(a.data.get(), b.data.get(), static_cast<size_t>(a.bytes)) == 0);
      }
    }
  }
}

}  // namespace
}  // namespace minihlo

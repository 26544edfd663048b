// Generated modules are valid and cover HLO, and the library treats them well.
#include "tests/generator/generator.h"

#include <doctest/doctest.h>

#include <set>

#include <fmt/format.h>

#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "passes/pipeline.h"
#include "sim/prove/equivalence.h"
#include "sim/run/simulator.h"
#include "tests/fuzz/targets.h"

namespace minihlo::generator {
namespace {

constexpr Use kUses[] = {Use::kAny, Use::kXla, Use::kRunnable, Use::kOracle};

Generated from_seed(uint64_t seed, Use use, int64_t size = 12) {
  Choices choices(seed);
  return generate(choices, {.use = use, .size = size, .mesh = {}, .opcodes = {}});
}

std::string verified(const Module& module) {
  Diagnostics diagnostics;
  verify(module, {}, diagnostics);
  return diagnostics.ok() ? "" : diagnostics.to_string();
}

TEST_CASE("generator: the same decisions on every platform") {
  Choices choices(7);
  std::vector<int64_t> drawn;
  for (int i = 0; i < 4; ++i) drawn.push_back(choices.below(1000));
  CHECK(drawn == std::vector<int64_t>{15, 250, 878, 46});
  Choices bytes(std::string_view("\x05\x01\x02\xff", 4));
  CHECK(bytes.below(10) == 5);
  CHECK(bytes.below(1000) == 258);
  CHECK(bytes.chance(50));
  CHECK(bytes.below(10) == 0);
  CHECK(print_text(*from_seed(3, Use::kAny).module) == print_text(*from_seed(3, Use::kAny).module));
}

TEST_CASE("generator: modules of any seed are valid, and all forms keep them") {
  for (Use use : kUses) {
    for (uint64_t seed = 0; seed < 700; ++seed) {
      CAPTURE(static_cast<int>(use));
      CAPTURE(seed);
      const Generated made = from_seed(seed, use, static_cast<int64_t>(seed % 20));
      REQUIRE(fmt::to_string(fmt::join(made.mistakes, "\n")) == "");
      REQUIRE(verified(*made.module) == "");
      REQUIRE(fuzz::kept_by_all_forms(*made.module) == "");
    }
  }
}

TEST_CASE("generator: any bytes make a valid module") {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Choices random(seed);
    std::string bytes;
    for (int64_t i = random.below(400); i > 0; --i) {
      bytes += static_cast<char>(random.below(256));
    }
    CAPTURE(seed);
    REQUIRE(fuzz::structure(bytes) == "");
  }
}

void note(std::span<const Attribute> attributes, std::set<std::string>& seen);

void note(const Sharding* sharding, std::set<std::string>& seen) {
  seen.insert(fmt::format("sharding {}", static_cast<int>(sharding->form)));
  for (const Sharding* element : sharding->elements) note(element, seen);
  for (std::span<const Attribute> entry : sharding->metadata) note(entry, seen);
}

void note(std::span<const Attribute> attributes, std::set<std::string>& seen) {
  for (const Attribute& attribute : attributes) {
    seen.insert(fmt::format("attribute {}", static_cast<int>(attribute.id)));
    if (attribute.id == AttributeId::metadata) {
      note(attribute_value<std::span<const Attribute>>(attribute), seen);
    } else if (attribute.id == AttributeId::sharding) {
      note(attribute_value<const Sharding*>(attribute), seen);
    } else if (attribute.id == AttributeId::replica_groups) {
      const auto* groups = attribute_value<const DeviceGroups*>(attribute);
      seen.insert(fmt::format("groups {}", static_cast<int>(groups->form)));
    } else if (info(attribute.id).kind == AttributeKind::kEnum) {
      seen.insert(
          fmt::format("{}={}", info(attribute.id).text, word(attribute.id, attribute.integer)));
    }
  }
}

TEST_CASE("generator: every opcode, attribute, type, form of groups and of shardings occurs") {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 2500; ++seed) {
    const Generated made = from_seed(seed, Use::kAny, 20);
    note(made.module->attributes(), seen);
    for (const Computation* computation : made.module->computations()) {
      for (const Instruction* one : computation->instructions()) {
        seen.insert(fmt::format("opcode {}", static_cast<int>(one->opcode())));
        note(one->attributes(), seen);
        for (const AttributeUse& use : info(one->opcode()).attributes) {
          if (!find_attribute(one->attributes(), use.id)) continue;
          seen.insert(fmt::format("{} takes {}", to_string(one->opcode()), info(use.id).text));
        }
        if (!one->shape()->is_array()) continue;
        seen.insert(fmt::format("type {}", static_cast<int>(one->shape()->element_type())));
        seen.insert(fmt::format("rank {}", one->shape()->rank()));
      }
    }
  }
  std::string missing;
  auto need = [&](std::string what, std::string_view name) {
    if (!seen.contains(what)) missing += fmt::format("{}: {}\n", what, name);
  };
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    need(fmt::format("opcode {}", i), to_string(opcode));
    // Said at the start, and read there alone.
    if (opcode == Opcode::kAsyncUpdate || opcode == Opcode::kAsyncDone) continue;
    for (const AttributeUse& use : info(opcode).attributes) {
      // Read as called_computations.
      if (opcode == Opcode::kCustomCall && use.id == AttributeId::to_apply) continue;
      need(fmt::format("{} takes {}", to_string(opcode), info(use.id).text), "");
    }
  }
  for (int i = 0; i < kElementTypeCount; ++i)
    need(fmt::format("type {}", i), kElementTypes[i].text);
  for (int i = 0; i <= 5; ++i) need(fmt::format("rank {}", i), "");
  for (int i = 0; i <= static_cast<int>(DeviceGroups::Form::kMesh); ++i) {
    need(fmt::format("groups {}", i), "");
  }
  for (int i = 0; i <= static_cast<int>(Sharding::Form::kNamed); ++i) {
    need(fmt::format("sharding {}", i), "");
  }
#define ATTRIBUTE(id, text, kind) \
  need(fmt::format("attribute {}", static_cast<int>(AttributeId::id)), #id);
#define WORD_ATTRIBUTE(id, text, type, words) ATTRIBUTE(id, text, kEnum)
#include "ir/attributes.def"
#undef ATTRIBUTE
#undef WORD_ATTRIBUTE
  CHECK(missing == "");
}

TEST_CASE("generator: passes leave valid modules") {
  const std::string text = "collective-permute-to-all-gather{gate=always},dce";
  Diagnostics diagnostics;
  const auto pipeline = parse_pipeline(Source::from_string("passes", text), diagnostics);
  REQUIRE(pipeline);
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const Generated made = from_seed(seed, seed % 2 == 0 ? Use::kAny : Use::kRunnable);
    PassContext context;
    auto done = run_pipeline(*made.module, *pipeline, context, true);
    CAPTURE(seed);
    REQUIRE((done ? "" : done.error()) == "");
    REQUIRE(fuzz::kept_by_all_forms(*made.module) == "");
  }
}

TEST_CASE("generator: what is runnable runs, and the prover proves it equal to itself") {
  // The prover has no terms for ragged-all-to-all and for the state of the random numbers.
  int not_understood = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const Generated made = from_seed(seed, Use::kRunnable);
    CAPTURE(seed);
    const auto inputs = make_inputs(*made.module, made.mesh, seed, int64_t{1} << 28);
    REQUIRE(inputs);
    const auto ran = simulate(*made.module, made.mesh, *inputs);
    REQUIRE((ran ? "" : ran.error().message) == "");
    const std::unique_ptr<Module> copy = made.module->clone();
    prove::EquivalenceOptions options;
    options.mesh = made.mesh;
    const prove::EquivalenceResult result = prove::check_equivalence(*made.module, *copy, options);
    CHECK(to_string(result.verdict) == (result.unsupported.empty() ? "proved" : "tested"));
    not_understood += !result.unsupported.empty();
  }
  CHECK(not_understood < 40);
}

}  // namespace
}  // namespace minihlo::generator

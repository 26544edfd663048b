// Random modules that are valid: parser, printer, verifier, simulator and prover are tried on them.
//
//   Choices choices(seed);
//   Generated made = generate(choices, {.use = Use::kRunnable, .mesh = {2, 4}});
//   made.module, verified, with made.mistakes empty
//
// rules.cc has a row for each opcode: the function that makes one, and what it is fit for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "ir/semantics/mesh.h"
#include "tests/generator/choices.h"

namespace minihlo::generator {

/// What a module is made for. Each use allows less than the one before.
enum class Use : uint8_t {
  kAny,       // all of the syntax, also what XLA's parser of jaxlib 0.10.2 does not know
  kXla,       // what that parser takes
  kRunnable,  // what the simulator runs: loops end, indices are mostly in range, shapes are static
  kOracle,    // what XLA's CPU backend runs, too
};

struct GenerateOptions {
  Use use = Use::kAny;
  /// Instructions of the entry computation that rules make, not counting what they need.
  int64_t size = 12;
  /// The mesh; nothing lets the choices decide.
  std::optional<Mesh> mesh;
  /// Only these, and what they need; empty: all that the use allows.
  std::vector<Opcode> opcodes;
};

struct Generated {
  std::unique_ptr<Module> module;
  Mesh mesh;
  /// Instructions that a rule proposed and shape inference refused: either of them is wrong.
  std::vector<std::string> mistakes;
};

Generated generate(Choices& choices, const GenerateOptions& options = {});

}  // namespace minihlo::generator

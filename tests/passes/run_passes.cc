#include "tests/passes/run_passes.h"

#include <doctest/doctest.h>

#include "ir/diagnostics.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "passes/pipeline.h"

namespace minihlo::testing {

std::unique_ptr<Module> parse_module(std::string_view text) {
  std::shared_ptr<const Source> source = Source::from_string("text", std::string(text));
  Diagnostics diagnostics(source);
  std::unique_ptr<Module> module = parse_text(source, diagnostics);
  INFO(diagnostics.to_string());
  REQUIRE(module);
  return module;
}

std::string verifier_errors(const Module& module, int64_t replicas, int64_t partitions) {
  Diagnostics diagnostics;
  verify(module, {.replicas = replicas, .partitions = partitions}, diagnostics);
  std::string errors;
  for (const Diagnostic& one : diagnostics.all()) {
    if (one.severity == Severity::kError) errors += one.instruction + ": " + one.message + "\n";
  }
  return errors;
}

std::string PassRun::text() const { return print_text(*module); }

Instruction* PassRun::find(std::string_view name) const {
  for (const Computation* computation : module->computations()) {
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->name() == name) return instruction;
    }
  }
  INFO("no instruction " << std::string(name) << " in\n" << text());
  REQUIRE(false);
  return nullptr;
}

std::vector<Instruction*> PassRun::all(Opcode opcode) const {
  std::vector<Instruction*> found;
  for (const Computation* computation : module->computations()) {
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == opcode) found.push_back(instruction);
    }
  }
  return found;
}

PassRun run_passes(std::string_view pipeline, std::string_view text, bool verify, int64_t replicas,
                   int64_t partitions) {
  PassRun run;
  run.module = parse_module(text);
  run.before = run.module->clone();
  std::shared_ptr<const Source> source = Source::from_string("passes", std::string(pipeline));
  Diagnostics diagnostics(source);
  std::optional<Pipeline> parsed = parse_pipeline(source, diagnostics);
  INFO(diagnostics.to_string());
  REQUIRE(parsed);
  PassContext context;
  context.replicas = replicas;
  context.partitions = partitions;
  context.log = [&](std::string_view line) { run.log.emplace_back(line); };
  auto done = run_pipeline(*run.module, *parsed, context, verify);
  if (!done) run.error = done.error();
  run.entries = std::move(context.entries);
  return run;
}

}  // namespace minihlo::testing

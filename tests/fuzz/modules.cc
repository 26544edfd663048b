#include "tests/fuzz/modules.h"

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "tests/generator/generator.h"

namespace minihlo::fuzz {

std::unique_ptr<ValidModule> valid_module(std::string_view input, std::shared_ptr<ShapePool> pool) {
  auto result = std::make_unique<ValidModule>();
  Diagnostics diagnostics;
  if (input.starts_with("HloModule")) {
    const auto source = Source::from_string("input.hlo", std::string(input));
    result->module = parse_text(source, diagnostics, {pool});
    if (!result->module) return nullptr;
    const auto mesh = make_mesh(result->module->replica_count(), result->module->num_partitions());
    if (!mesh) return nullptr;
    result->mesh = *mesh;
  } else {
    generator::Choices choices(input);
    generator::GenerateOptions options;
    options.use =
        choices.pick({generator::Use::kRunnable, generator::Use::kOracle, generator::Use::kAny});
    options.size = choices.below(30);
    generator::Generated made = generator::generate(choices, options);
    result->module = std::move(made.module);
    result->mesh = made.mesh;
    if (pool) {
      const auto source = Source::from_string("made.hlo", print_text(*result->module));
      result->module = parse_text(source, diagnostics, {pool});
      if (!result->module) return nullptr;
    }
  }
  verify(*result->module, {result->mesh.replicas, result->mesh.partitions}, diagnostics);
  return diagnostics.ok() ? std::move(result) : nullptr;
}

}  // namespace minihlo::fuzz

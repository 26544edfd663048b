#include "tests/generator/generator.h"

#include <algorithm>

#include <fmt/format.h>

#include "tests/generator/builder.h"
#include "tests/generator/header.h"

namespace minihlo::generator {
namespace {

Mesh random_mesh(Choices& choices) {
  return choices.pick({Mesh{2, 1}, Mesh{1, 2}, Mesh{1, 1}, Mesh{2, 2}, Mesh{4, 1}, Mesh{1, 4},
                       Mesh{2, 3}, Mesh{3, 2}, Mesh{1, 8}, Mesh{2, 4}});
}

bool is_result(const Builder& b, const Instruction* value) {
  return !b.oracle() || !value->shape()->is_token();
}

Instruction* entry_body(Builder& b) {
  for (int64_t i = b.choices.between(1, 3); i > 0; --i) b.parameter(b.array_shape(b.types()));
  for (int64_t i = 0; i < b.options.size; ++i) b.emit_any();
  while (!b.scope->open.empty()) b.finish_one();
  std::vector<Instruction*> results;
  for (int64_t i = b.choices.between(1, 5); i > 0; --i) {
    Instruction* one = b.choices.pick(b.scope->values);
    if (is_result(b, one)) results.push_back(one);
  }
  if (results.size() == 1 && b.choices.chance(40)) return results[0];
  return b.emit(Opcode::kTuple, results);
}

}  // namespace

Generated generate(Choices& choices, const GenerateOptions& options) {
  Generated made;
  made.mesh = options.mesh ? *options.mesh : random_mesh(choices);
  made.module = std::make_unique<Module>("module");
  Module& module = *made.module;
  Builder b(choices, options, module, made.mesh);
  b.constrain_layout = !b.runnable() && choices.chance(15);
  start_header(b);
  Scope place;
  place.takes_parameters = true;
  module.set_entry(b.computation("entry", {}, place, [&] { return entry_body(b); }));
  module.order_computations(b.finished);
  finish_header(b);
  made.mistakes = std::move(b.mistakes);
  return made;
}

}  // namespace minihlo::generator

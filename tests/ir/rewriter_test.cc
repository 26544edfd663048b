#include "ir/rewriter.h"

#include <doctest/doctest.h>

#include "ir/text/printer.h"
#include "tests/passes/run_passes.h"

namespace minihlo {
namespace {

using testing::parse_module;
using testing::verifier_errors;

constexpr std::string_view kChain = R"(HloModule m

ENTRY e {
  x = f32[2] parameter(0)
  a = f32[2] negate(x)
  b = f32[2] add(a, a)
  c = f32[2] negate(b), control-predecessors={a}
  ROOT d = f32[2] multiply(c, a), control-predecessors={a,b}
}
)";

std::vector<std::string> names(const Computation& computation) {
  std::vector<std::string> result;
  for (const Instruction* one : computation.instructions()) result.emplace_back(one->name());
  return result;
}

// Puts a sine in the place of every negate.
void negate_to_sine(Computation* computation) {
  Rewriter rewriter(computation);
  while (Instruction* at = rewriter.next()) {
    if (at->opcode() != Opcode::kNegate) continue;
    rewriter.replace(at, rewriter.emit(Opcode::kSin, "sine", at->shape(), at->operands()));
  }
  rewriter.finish();
}

TEST_CASE("rewriter: what is emitted stands before the instruction at hand") {
  auto module = parse_module(kChain);
  negate_to_sine(module->entry());
  CHECK(names(*module->entry()) == std::vector<std::string>{"x", "sine", "b", "sine.1", "d"});
  CHECK(verifier_errors(*module) == "");
}

TEST_CASE("rewriter: operands and control predecessors follow to what took the place") {
  auto module = parse_module(kChain);
  negate_to_sine(module->entry());
  auto list = module->entry()->instructions();
  CHECK(list[2]->operand(0) == list[1]);
  CHECK(list[2]->operand(1) == list[1]);
  CHECK(list[3]->operand(0) == list[2]);
  CHECK(list[4]->operand(0) == list[3]);
  CHECK(list[4]->operand(1) == list[1]);
  auto before = list[4]->get(attr::control_predecessors);
  CHECK(std::vector<Instruction*>(before.begin(), before.end()) ==
        std::vector<Instruction*>{list[1], list[2]});
}

TEST_CASE("rewriter: what took a place may be replaced itself, and be the root") {
  auto module = parse_module(kChain);
  Rewriter rewriter(module->entry());
  while (Instruction* at = rewriter.next()) {
    if (at->name() == "x") continue;
    rewriter.replace(at, at->operand(0));
  }
  rewriter.finish();
  CHECK(names(*module->entry()) == std::vector<std::string>{"x"});
  CHECK(module->entry()->root() == module->entry()->parameters()[0]);
}

TEST_CASE("module: new names clash with none as XLA's parser sees it") {
  auto module =
      parse_module("ENTRY e {\n  a = f32[] parameter(0)\n  ROOT b.0 = f32[] sine(a)\n}\n");
  CHECK(module->unique_instruction_name("a.0") == "a.1");
  CHECK(module->unique_instruction_name("b") == "b.1");
  CHECK(module->unique_instruction_name("b.7") == "b.7");
  CHECK(module->unique_instruction_name("b.07") == "b.2");
  CHECK(module->unique_instruction_name("c") == "c");
}

TEST_CASE("rewriter: two predecessors that one replaced are named once") {
  auto module = parse_module(kChain);
  Rewriter rewriter(module->entry());
  while (Instruction* at = rewriter.next()) {
    if (at->name() == "b") rewriter.replace(at, at->operand(0));
  }
  rewriter.finish();
  CHECK(module->entry()->root()->get(attr::control_predecessors).size() == 1);
}

TEST_CASE("rewriter: who waits for a removed one waits for its heirs, or no longer") {
  for (bool heirs : {false, true}) {
    auto module = parse_module(R"(HloModule m

ENTRY e {
  x = f32[2] parameter(0)
  a = f32[2] negate(x)
  ROOT c = f32[2] negate(x), control-predecessors={a}
}
)");
    Rewriter rewriter(module->entry());
    while (Instruction* at = rewriter.next()) {
      if (at->name() != "a") continue;
      std::vector<Instruction*> two;
      for (int i = 0; i < 2; ++i) {
        two.push_back(rewriter.emit(Opcode::kAbs, "abs", at->shape(), at->operands()));
      }
      rewriter.remove(at, heirs ? std::span<Instruction* const>(two) : std::span<Instruction*>());
    }
    rewriter.finish();
    CHECK(module->entry()->root()->get(attr::control_predecessors).size() == (heirs ? 2 : 0));
    CHECK(module->entry()->root()->has(attr::control_predecessors) == heirs);
    CHECK(names(*module->entry()) == std::vector<std::string>{"x", "abs", "abs.1", "c"});
  }
}

TEST_CASE("rewriter: constants hold their numbers, cut to the type") {
  auto module = parse_module(kChain);
  Rewriter rewriter(module->entry());
  while (rewriter.next()) continue;
  auto text = [](const Instruction* one) {
    return to_string(one->shape()) + print_text(*one->get(attr::literal_value));
  };
  CHECK(text(rewriter.constant(ElementType::S32, std::vector<int64_t>{1, -2, 1LL << 32})) ==
        "s32[3]{0}{1, -2, 0}");
  CHECK(text(rewriter.constant(ElementType::PRED, std::vector<int64_t>{1, 0})) ==
        "pred[2]{0}{1, 0}");
  CHECK(text(rewriter.constant(ElementType::U32, 7)) == "u32[]7");
  CHECK(text(rewriter.constant(ElementType::S64, 1LL << 40)) == "s64[]1099511627776");
  CHECK(text(rewriter.zero(ElementType::C64)) == "c64[](0, 0)");
  rewriter.finish();
  CHECK(verifier_errors(*module) == "");
}

TEST_CASE("rewriter: nothing done, nothing changed") {
  auto module = parse_module(kChain);
  std::string before = print_text(*module);
  Rewriter rewriter(module->entry());
  rewriter.finish();
  CHECK(!rewriter.changed());
  CHECK(print_text(*module) == before);
}

TEST_CASE("rewriter: a long row of replacements takes linear time") {
  auto module = std::make_unique<Module>("m");
  Computation* entry = module->add_computation("e");
  module->set_entry(entry);
  const Shape* shape = module->shapes().scalar(ElementType::F32);
  Attribute number = make_attribute(attr::parameter_number, 0);
  Instruction* last = entry->append(Opcode::kParameter, "x", shape, {}, std::span(&number, 1));
  for (int i = 0; i < 100000; ++i) {
    last = entry->append(Opcode::kNegate, module->keep_name("n" + std::to_string(i)), shape,
                         std::span(&last, 1));
  }
  entry->set_root(last);
  Rewriter rewriter(entry);
  while (Instruction* at = rewriter.next()) {
    if (at->opcode() == Opcode::kNegate) rewriter.replace(at, at->operand(0));
  }
  rewriter.finish();
  CHECK(entry->size() == 1);
}

TEST_CASE("rewriter: elements of constants are aligned") {
  Module module("m");
  Computation* entry = module.add_computation("e");
  module.set_entry(entry);
  Rewriter rewriter(entry);
  for (int i = 0; i < 8; ++i) {
    module.arena().allocate(static_cast<size_t>(i), 1);
    const Instruction* one = rewriter.constant(ElementType::S64, int64_t{7});
    const auto* bytes = one->get(attr::literal_value)->bytes.data();
    CHECK(reinterpret_cast<uintptr_t>(bytes) % sizeof(int64_t) == 0);
  }
}

}  // namespace
}  // namespace minihlo

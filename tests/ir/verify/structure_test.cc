// Modules that no text gives, since the parser refuses them: made by hand.
#include <doctest/doctest.h>

#include "tests/ir/verify/findings.h"

namespace minihlo {
namespace {

class Builder {
 public:
  Module& module() { return module_; }
  const Shape* vector() {
    return module_.shapes().array(ElementType::F32, std::vector<int64_t>{4});
  }
  const Shape* scalar() { return module_.shapes().scalar(ElementType::F32); }

  Instruction* add(Computation* computation, Opcode opcode, std::string_view name,
                   std::vector<Instruction*> operands, std::vector<Attribute> attributes = {}) {
    Instruction* made = computation->append(opcode, name, vector(), operands, attributes);
    computation->set_root(made);
    return made;
  }
  Instruction* parameter(Computation* computation, std::string_view name, int64_t number) {
    return add(computation, Opcode::kParameter, name, {},
               {make_attribute(attr::parameter_number, number)});
  }
  Computation* entry() {
    if (!module_.entry()) module_.set_entry(module_.add_computation("e"));
    return module_.entry();
  }

 private:
  Module module_{"m"};
};

TEST_CASE("verifier, structure: a module that is right") {
  Builder b;
  Instruction* p = b.parameter(b.entry(), "p", 0);
  b.add(b.entry(), Opcode::kAdd, "s", {p, p});
  CHECK(findings(b.module()) == Findings{});
}

TEST_CASE("verifier, structure: no name, no entry") {
  Module module("");
  CHECK(findings(module) == Findings{"error module-name: the module has no name",
                                     "error no-entry: the module has no entry computation"});
}

TEST_CASE("verifier, structure: no root, no instructions") {
  Builder b;
  b.parameter(b.entry(), "p", 0);
  b.entry()->set_root(nullptr);
  b.module().add_computation("f");
  CHECK(findings(b.module()) == Findings{"error no-root: computation %e has no root",
                                         "error no-root: computation %f has no instructions"});
}

TEST_CASE("verifier, structure: names that are there twice") {
  Builder b;
  b.parameter(b.entry(), "p", 0);
  Computation* other = b.module().add_computation("e");
  b.parameter(other, "p", 0);
  CHECK(findings(b.module()) ==
        Findings{"error duplicate-name: a computation named %e is there already",
                 "error duplicate-name: an instruction named %p is there already [p]"});
}

TEST_CASE("verifier, structure: parameter numbers") {
  Builder b;
  b.parameter(b.entry(), "p", 0);
  b.parameter(b.entry(), "q", 0);
  b.parameter(b.entry(), "r", 3);
  b.parameter(b.entry(), "s", -1);
  b.parameter(b.entry(), "t", INT64_MAX);
  CHECK(findings(b.module()) ==
        Findings{"error parameter-number: %q has parameter number 0, which another one has already "
                 "[q]",
                 "error parameter-number: %s has the negative parameter number -1 [s]",
                 "error parameter-number: %t has parameter number 9223372036854775807, far beyond "
                 "the others [t]",
                 "error parameter-number: computation %e has a parameter 3, but 2 of the numbers "
                 "below it are missing, 1 first"});
}

TEST_CASE("verifier, structure: operand counts and attributes by the opcode's row") {
  Builder b;
  Instruction* p = b.parameter(b.entry(), "p", 0);
  b.add(b.entry(), Opcode::kAdd, "a", {p});
  b.add(b.entry(), Opcode::kConcatenate, "c", {});
  b.add(b.entry(), Opcode::kReverse, "r", {p});
  b.add(b.entry(), Opcode::kReduce, "s", {p, p});
  b.add(b.entry(), Opcode::kConstant, "k", {});
  CHECK(findings(b.module()) ==
        Findings{"error operand-count: 'add' takes 2 operands, not 1 [a]",
                 "error operand-count: 'concatenate' takes at least 1 operand, not 0 [c]",
                 "error missing-attribute: 'reverse' needs the attribute 'dimensions' [r]",
                 "error missing-attribute: 'reduce' needs the attribute 'dimensions' [s]",
                 "error missing-attribute: 'constant' needs a value in its parentheses [k]"});
}

TEST_CASE("verifier, structure: operands stand before their users, in the same computation") {
  Builder b;
  Computation* other = b.module().add_computation("f");
  Instruction* x = b.parameter(other, "x", 0);
  Instruction* p = b.parameter(b.entry(), "p", 0);
  Instruction* s = b.add(b.entry(), Opcode::kAdd, "s", {p, p});
  Instruction* t = b.add(b.entry(), Opcode::kNegate, "t", {s});
  s->set_operand(0, t);
  s->set_operand(1, x);
  Instruction* u = b.add(b.entry(), Opcode::kNegate, "u", {t});
  u->set_operand(0, u);
  b.add(b.entry(), Opcode::kNegate, "v", {nullptr});
  Instruction* w = b.add(b.entry(), Opcode::kNegate, "w", {p});
  w->set(attr::control_predecessors, b.module().arena().copy(std::vector<Instruction*>{w}));
  CHECK(findings(b.module()) ==
        Findings{"error operand: operand 0 of %s, %t, does not stand before it [s]",
                 "error operand: operand 1 of %s, %x, is of another computation [s]",
                 "error operand: operand 0 of %u, %u, does not stand before it [u]",
                 "error operand: operand 0 of %v is missing [v]",
                 "error control-predecessor: control predecessor w of %w does not stand before it "
                 "in its computation [w]"});
}

TEST_CASE("verifier, structure: no computation calls itself, and none the entry") {
  Builder b;
  Computation* f = b.module().add_computation("f");
  Computation* g = b.module().add_computation("g");
  Instruction* x = b.parameter(f, "x", 0);
  Instruction* y = b.parameter(g, "y", 0);
  Instruction* p = b.parameter(b.entry(), "p", 0);
  b.add(f, Opcode::kCall, "to_g", {x}, {make_attribute(attr::to_apply, g)});
  b.add(g, Opcode::kCall, "to_f", {y}, {make_attribute(attr::to_apply, f)});
  b.add(b.entry(), Opcode::kCall, "to_e", {p}, {make_attribute(attr::to_apply, b.entry())});
  CHECK(findings(b.module()) ==
        Findings{"warning called-entry: %to_e calls the entry computation %e [to_e]",
                 "error call-cycle: %to_f calls %f, from which it is called itself [to_f]",
                 "error call-cycle: %to_e calls %e, from which it is called itself [to_e]"});
}

TEST_CASE("verifier, structure: a long chain of calls is no recursion of ours") {
  Builder b;
  Computation* next = nullptr;
  for (int i = 0; i < 20000; ++i) {
    Computation* computation =
        b.module().add_computation(b.module().keep_name("f" + std::to_string(i)));
    const std::string n = std::to_string(i);
    Instruction* x = b.parameter(computation, b.module().keep_name("x" + n), 0);
    if (next) {
      b.add(computation, Opcode::kCall, b.module().keep_name("c" + n), {x},
            {make_attribute(attr::to_apply, next)});
    }
    next = computation;
  }
  b.module().set_entry(next);
  CHECK(findings(b.module()) == Findings{});
}

TEST_CASE("verifier, structure: called computations are the module's own") {
  Builder b, other;
  Instruction* p = b.parameter(b.entry(), "p", 0);
  other.parameter(other.entry(), "q", 0);
  b.add(b.entry(), Opcode::kCall, "c", {p}, {make_attribute(attr::to_apply, other.entry())});
  b.add(b.entry(), Opcode::kCall, "d", {p},
        {make_attribute(attr::to_apply, static_cast<Computation*>(nullptr))});
  CHECK(findings(b.module()) ==
        Findings{"error called-computation: %c calls a computation that the module lacks [c]",
                 "error called-computation: %d calls a computation that the module lacks [d]"});
}

TEST_CASE("verifier, structure: layouts order the dimensions") {
  Builder b;
  Layout layout;
  const std::vector<int64_t> dims = {2, 3}, order = {0, 0};
  layout.minor_to_major = order;
  const Shape* shape = b.module().shapes().try_array(ElementType::F32, dims, {}, &layout);
  b.entry()->set_root(
      b.entry()->append(Opcode::kParameter, "p", shape, {},
                        std::vector<Attribute>{make_attribute(attr::parameter_number, 0)}));
  CHECK(findings(b.module()) ==
        Findings{"error layout: the layout of f32[2,3]{0,0} does not order its 2 dimensions [p]"});
}

}  // namespace
}  // namespace minihlo

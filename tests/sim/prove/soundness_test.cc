// Random expressions over all values of small types, and over special values of large ones: what
// is one term is one value, bit for bit.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <numeric>
#include <random>

#include "ir/semantics/elementwise.h"
#include "ir/text/parser.h"
#include "sim/prove/equivalence.h"
#include "sim/prove/module_pair.h"
#include "sim/prove/module_terms.h"
#include "sim/prove/samples.h"
#include "sim/run/simulator.h"
#include "tests/passes/run_passes.h"

namespace minihlo::prove {
namespace {

std::unique_ptr<Module> parse(const std::string& text,
                              std::shared_ptr<ShapePool> shapes = nullptr) {
  auto source = Source::from_string("test", text);
  Diagnostics diagnostics(source);
  return parse_text(source, diagnostics, {std::move(shapes)});
}

Verdict verdict(const std::string& before, const std::string& after, int tests) {
  const std::unique_ptr<Module> first = parse(before);
  const std::unique_ptr<Module> second = parse(after, first->shape_pool());
  EquivalenceOptions options;
  options.tests = tests;
  return check_equivalence(*first, *second, options).verdict;
}

bool is_valid(const std::string& text) {
  const std::unique_ptr<Module> module = parse(text);
  return module && testing::verifier_errors(*module, 1, 1).empty();
}

constexpr ElementType kOtherTypes[] = {
    ElementType::PRED,   ElementType::S2,       ElementType::U2,        ElementType::S4,
    ElementType::U4,     ElementType::S8,       ElementType::U8,        ElementType::S16,
    ElementType::S32,    ElementType::U32,      ElementType::S64,       ElementType::BF16,
    ElementType::F16,    ElementType::F32,      ElementType::F64,       ElementType::F8E4M3FN,
    ElementType::F8E5M2, ElementType::F4E2M1FN, ElementType::F8E8M0FNU, ElementType::F8E4M3FNUZ};
constexpr const char* kDirections[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
constexpr const char* kUnary[] = {"negate", "abs", "not", "sign", "floor", "is-finite", "sqrt"};
constexpr const char* kBinary[] = {"add",        "subtract",
                                   "multiply",   "divide",
                                   "remainder",  "minimum",
                                   "maximum",    "and",
                                   "or",         "xor",
                                   "shift-left", "shift-right-logical",
                                   "power",      "shift-right-arithmetic"};
constexpr const char* kReducers[] = {"add", "multiply", "minimum", "maximum", "and", "or", "xor"};

struct Expression {
  ElementType type;
  std::string name;
};

// The text of an entry computation that makes random expressions of x, y and z, arrays of `count`
// elements of one type.
class Expressions {
 public:
  Expressions(ElementType type, int64_t count, uint64_t seed)
      : type_(type), count_(count), looks_at_bits_(seed % 3 == 0), random_(seed) {
    for (const char* opcode : kReducers) {
      const std::string reducer = fmt::format(
          "{0}_ {{\n  a = {1}[] parameter(0)\n  b = {1}[] parameter(1)\n  ROOT c = {1}[] {0}(a, "
          "b)\n}}\n\n",
          opcode, to_string(type));
      if (!is_valid("HloModule m\n\n" + reducer + "ENTRY e {\n  ROOT p = u8[] parameter(0)\n}\n")) {
        continue;
      }
      text_of_reducers_ += reducer;
      reducers_.push_back(opcode);
    }
    for (int i = 0; i < 3; ++i) add(type, fmt::format("parameter({})", i));
    for (const char* value : {"0", "1", "-1", "2", "-0.0", "nan", "inf", "-inf", "3"}) {
      const std::string scalar = fmt::format("{}[] constant({})", to_string(type), value);
      if (!parse(fmt::format("HloModule m\n\nENTRY e {{\n  ROOT c = {}\n}}\n", scalar))) continue;
      const std::string name = fmt::format("k{}", made_.size());
      text_ += fmt::format("  {} = {}\n", name, scalar);
      constants_.push_back(name);
      add(type, fmt::format("broadcast({}), dimensions={{}}", name));
    }
    simple_ = made_.size();
  }

  // One operation on inputs and constants, all that there are.
  void grow() {
    for (size_t i = 0; i < simple_; ++i) {
      const Expression one = made_[i];
      for (const char* opcode : kUnary) unary(opcode, one);
      for (ElementType to : kOtherTypes) attempt(to, "convert", {one});
      for (size_t j = 0; j < simple_; ++j) {
        if (i > 0 && j > 0) continue;
        const Expression other = made_[j];
        for (const char* opcode : kBinary) attempt(one.type, opcode, {one, other});
        for (const char* direction : kDirections) compare(direction, false, one, other);
      }
    }
  }

  // Random operations on what there is.
  void grow(size_t count) {
    const size_t size = made_.size() + count;
    for (size_t tries = 0; made_.size() < size && tries < 20 * count; ++tries) step();
  }

  // A module that gives these.
  std::string module(const std::vector<size_t>& outputs) const {
    std::vector<std::string> shapes, names;
    for (size_t i : outputs) {
      shapes.push_back(shape(made_[i].type));
      names.push_back(made_[i].name);
    }
    return fmt::format("HloModule m\n\n{}ENTRY e {{\n{}  ROOT r = ({}) tuple({})\n}}\n",
                       text_of_reducers_, text_, fmt::join(shapes, ", "), fmt::join(names, ", "));
  }

  size_t size() const { return made_.size(); }

 private:
  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  template <size_t n>
  const char* one_of(const char* const (&words)[n]) {
    return words[below(n)];
  }
  std::string shape(ElementType type) const {
    return fmt::format("{}[{}]", to_string(type), count_);
  }
  // Inputs and constants, and early ones, more often, so that expressions meet again.
  const Expression& any() {
    return made_[below(3) == 0 ? below(simple_) : below(1 + below(made_.size()))];
  }
  const Expression& some(ElementType type) {
    for (int i = 0; i < 50; ++i) {
      const Expression& one = any();
      if (one.type == type) return one;
    }
    return made_[0];
  }

  void step() {
    const Expression one = any(), other = some(one.type), third = some(one.type);
    switch (below(10)) {
      case 0:
        return attempt(one.type, "select", {some(ElementType::PRED), one, other});
      case 1:
        return attempt(one.type, "clamp", {one, other, third});
      case 2: {
        const bool is_total = looks_at_bits_ && is_float(one.type) && below(3) == 0;
        return compare(one_of(kDirections), is_total, one, other);
      }
      case 3: {
        const bool is_back = below(2) == 0;
        return attempt(is_back ? type_ : kOtherTypes[below(std::size(kOtherTypes))], "convert",
                       {one});
      }
      case 4:
        if (!looks_at_bits_) return;
        return attempt(kOtherTypes[below(std::size(kOtherTypes))], "bitcast-convert", {one});
      case 5:
      case 6:
        return unary(one_of(kUnary), one);
      case 7:
        return fold();
      default:
        return attempt(one.type, one_of(kBinary), {one, other});
    }
  }

  void unary(std::string_view opcode, const Expression& one) {
    attempt(opcode == "is-finite" ? ElementType::PRED : one.type, opcode, {one});
  }

  void compare(std::string_view direction, bool is_total, const Expression& one,
               const Expression& other) {
    attempt(ElementType::PRED, "compare", {one, other},
            fmt::format(", direction={}{}", direction, is_total ? ", type=TOTALORDER" : ""));
  }

  // A reduction or a dot of rows of three.
  void fold() {
    const bool is_dot = constants_.empty() || below(3) == 0;
    const std::string_view opcode = reducers_[below(reducers_.size())];
    const size_t number = made_.size();
    for (int side = 0; side < 2; ++side) {
      for (int i = 0; i < 3; ++i) {
        text_ += fmt::format("  p{}.{}.{} = {}[{},1] reshape({})\n", number, side, i,
                             to_string(type_), count_, some(type_).name);
      }
      text_ += fmt::format(
          "  q{0}.{1} = {2}[{3},3] concatenate(p{0}.{1}.0, p{0}.{1}.1, p{0}.{1}.2), "
          "dimensions={{1}}\n",
          number, side, to_string(type_), count_);
    }
    if (is_dot) {
      add(type_, fmt::format("dot(q{0}.0, q{0}.1), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, "
                             "lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}",
                             number));
    } else {
      add(type_, fmt::format("reduce(q{}.0, {}), dimensions={{1}}, to_apply={}_", number,
                             constants_[below(constants_.size())], opcode));
    }
  }

  void add(ElementType type, const std::string& operation) {
    const std::string name = fmt::format("e{}", made_.size());
    text_ += fmt::format("  {} = {} {}\n", name, shape(type), operation);
    made_.push_back({type, name});
  }

  // Adds the operation if it is one.
  void attempt(ElementType type, std::string_view opcode, const std::vector<Expression>& operands,
               std::string_view attributes = "") {
    std::string parameters;
    std::vector<std::string> names, test_names;
    for (const Expression& operand : operands) {
      const size_t i = names.size();
      names.push_back(operand.name);
      test_names.push_back(fmt::format("p{}", i));
      parameters += fmt::format("  p{0} = {1}[] parameter({0})\n", i, to_string(operand.type));
    }
    const std::string test =
        fmt::format("HloModule m\n\nENTRY e {{\n{}  ROOT r = {}[] {}({}){}\n}}\n", parameters,
                    to_string(type), opcode, fmt::join(test_names, ", "), attributes);
    auto [known, is_new] = supported_.try_emplace(test, false);
    if (is_new) known->second = is_supported(test);
    if (known->second)
      add(type, fmt::format("{}({}){}", opcode, fmt::join(names, ", "), attributes));
  }

  // Whether the simulator and the prover take it.
  static bool is_supported(const std::string& text) {
    if (!is_valid(text)) return false;
    const std::unique_ptr<Module> module = parse(text);
    const Instruction& root = *module->entry()->root();
    if (root.opcode() != Opcode::kBitcastConvert) return elementwise_op(root).has_value();
    return root.shape()->element_type() != ElementType::PRED &&
           root.operand(0)->shape()->element_type() != ElementType::PRED;
  }

  const ElementType type_;
  const int64_t count_;
  const bool looks_at_bits_;
  std::mt19937_64 random_;
  std::string text_of_reducers_, text_;
  std::vector<std::string> reducers_, constants_;
  std::vector<Expression> made_;
  size_t simple_ = 0;  // inputs and constants, which come first
  std::map<std::string, bool> supported_;
};

// x, y and z: all pairs of the values of a type of up to 6 bits, else of special and random ones.
std::vector<HostTensor> inputs_of(ElementType type, uint64_t seed) {
  std::mt19937_64 random(seed);
  const int bits = type == ElementType::PRED ? 1 : info(type).bits;
  const auto width = static_cast<size_t>(info(type).bytes);
  std::vector<ElementBytes> values;
  if (bits <= 6) {
    for (int i = 0; i < 1 << bits; ++i) {
      ElementBytes value{};
      value[0] = static_cast<std::byte>(i);
      normalize(type, std::span(value).first(1));
      values.push_back(value);
    }
  } else {
    for (int i = 0; i < 28; ++i) {
      values.push_back(sample(type, i < 20 ? SampleKind::kSpecial : SampleKind::kBits, random));
    }
  }
  const size_t n = values.size();
  const auto bytes = static_cast<int64_t>(n * n * width);
  std::vector<HostTensor> made;
  for (int k = 0; k < 3; ++k) {
    std::shared_ptr<std::byte> data = allocate_host(bytes);
    for (size_t i = 0; i < n * n; ++i) {
      const size_t at = k == 0   ? i % n
                        : k == 1 ? i / n
                                 : std::uniform_int_distribution<size_t>(0, n - 1)(random);
      std::memcpy(data.get() + i * width, values[at].data(), width);
    }
    made.push_back({type, {static_cast<int64_t>(n * n)}, data, bytes});
  }
  return made;
}

void try_type(ElementType type, uint64_t seed) {
  CAPTURE(to_string(type));
  CAPTURE(seed);
  constexpr size_t kExpressions = 300;
  constexpr int kPairs = 3;
  const std::vector<HostTensor> inputs = inputs_of(type, seed);
  Expressions expressions(type, inputs[0].dims[0], seed);
  expressions.grow();
  expressions.grow(kExpressions);
  std::vector<size_t> all(expressions.size());
  std::iota(all.begin(), all.end(), size_t{0});
  std::unique_ptr<Module> module = parse(expressions.module(all));
  REQUIRE(module);
  const tl::expected<RunResult, Stop> run = simulate(*module, {}, {inputs}, {});
  REQUIRE(run);
  Terms terms;
  Evaluator evaluator;
  Rules rules(terms, {observes_nan_bits(*module), true});
  const auto made = module_terms(*module, {}, {}, terms, evaluator, rules, LoopMode::kTerms, {});
  REQUIRE(made);
  auto values = [&](size_t i) -> const HostTensor& { return run->outputs[0][i]; };
  auto term = [&](size_t i) { return made->outputs[i][0]; };

  std::map<std::pair<uint32_t, int32_t>, size_t> first;
  size_t same = 0;
  for (size_t i : all) {
    const size_t other = first.try_emplace({term(i).node, term(i).device}, i).first->second;
    if (other == i) continue;
    ++same;
    CAPTURE(expressions.module({other, i}));
    REQUIRE(values(other).type == values(i).type);
    REQUIRE(compare(values(other), values(i), {}).count == 0);
  }
  CHECK(same > kExpressions / 20);

  // Those that differ in few elements, one beside the other.
  int pairs = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < i && pairs < kPairs; ++j) {
      if (values(i).type != values(j).type) continue;
      const int64_t count = compare(values(i), values(j), {}).count;
      if (count == 0 || count > values(i).element_count() / 16) continue;
      ++pairs;
      const std::string left = expressions.module({i}), right = expressions.module({j});
      CAPTURE(left);
      CAPTURE(right);
      CHECK(verdict(left, right, 0) != Verdict::kProved);
    }
  }
}

TEST_CASE("expressions that are one term are one value") {
  for (uint64_t seed : {1, 3}) {  // of which 3 looks at the bits of floats
    for (int i = 0; i < kElementTypeCount; ++i) try_type(static_cast<ElementType>(i), seed);
  }
}

// A sum of products of x, y and z with random signs, in a random tree. With a `flaw` one sign or
// factor is another.
std::string sum_of_products(std::string_view type, uint64_t terms_seed, uint64_t order_seed,
                            bool flaw) {
  std::mt19937_64 terms(terms_seed), order(order_seed);
  auto below = [](std::mt19937_64& random, size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  constexpr const char* kNames[] = {"x", "y", "z"};
  std::string text;
  std::vector<std::string> summands;
  int number = 0;
  auto make = [&](const std::string& operation) {
    text += fmt::format("  t{} = {}[8] {}\n", number, type, operation);
    return fmt::format("t{}", number++);
  };
  const size_t count = 3 + below(terms, 4);
  const size_t wrong = below(order, count);
  for (size_t i = 0; i < count; ++i) {
    size_t left = below(terms, 3);
    const size_t right = below(terms, 4);
    bool is_negative = below(terms, 3) == 0;
    if (flaw && i == wrong) {
      if (below(order, 2) == 0) {
        is_negative = !is_negative;
      } else {
        left = (left + 1) % 3;
      }
    }
    std::string term = kNames[left];
    if (right < 3) {
      term =
          make(below(order, 2) == 0 ? fmt::format("multiply({}, {})", kNames[left], kNames[right])
                                    : fmt::format("multiply({}, {})", kNames[right], kNames[left]));
    }
    if (is_negative) term = make(fmt::format("negate({})", term));
    summands.push_back(term);
  }
  while (summands.size() > 1) {
    std::swap(summands[below(order, summands.size())], summands.back());
    const std::string last = summands.back();
    summands.pop_back();
    std::string& other = summands[below(order, summands.size())];
    other = make(fmt::format("add({}, {})", other, last));
  }
  return fmt::format(
      "HloModule m\n\nENTRY e {{\n  x = {0}[8] parameter(0)\n  y = {0}[8] parameter(1)\n"
      "  z = {0}[8] parameter(2)\n{1}  ROOT r = {0}[8] copy({2})\n}}\n",
      type, text, summands[0]);
}

TEST_CASE("sums in another order are proved up to rounding, other sums are not") {
  std::mt19937_64 random(1);
  std::vector<HostTensor> inputs;
  for (int k = 0; k < 3; ++k) {
    std::shared_ptr<std::byte> data = allocate_host(8 * 8);
    for (int i = 0; i < 8; ++i) {
      const double value = std::uniform_real_distribution<double>(1, 2)(random);
      std::memcpy(data.get() + 8 * i, &value, 8);
    }
    inputs.push_back({ElementType::F64, {8}, data, 8 * 8});
  }
  int up_to_rounding = 0, flawed = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    const bool flaw = seed % 2 == 1;
    auto text = [&](std::string_view type, bool second) {
      return sum_of_products(type, seed, 2 * seed + (second ? 1 : 0), second && flaw);
    };
    const auto a = simulate(*parse(text("f64", false)), {}, {inputs}, {});
    const auto b = simulate(*parse(text("f64", true)), {}, {inputs}, {});
    REQUIRE(a);
    REQUIRE(b);
    const CompareRule close{CompareRule::Kind::kTolerance, 1e-12, 1e-12};
    const bool differ = compare(a->outputs[0][0], b->outputs[0][0], close).count > 0;
    flawed += differ;
    for (const char* type : {"f64", "f32", "bf16", "f8e5m2"}) {
      CAPTURE(type);
      const Verdict own = verdict(text(type, false), text(type, true), 20);
      up_to_rounding += own == Verdict::kProvedUpToRounding;
      if (differ) {
        CHECK(own != Verdict::kProved);
        CHECK(own != Verdict::kProvedUpToRounding);
      } else {
        CHECK(own != Verdict::kRefuted);
      }
    }
  }
  CHECK(up_to_rounding > 1000);
  CHECK(flawed > 300);
}

}  // namespace
}  // namespace minihlo::prove

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

std::unique_ptr<Module> parse(const std::string& text) {
  auto source = Source::from_string("test", text);
  Diagnostics diagnostics(source);
  return parse_text(source, diagnostics, {});
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
      if (is_valid("HloModule m\n\n" + reducer + "ENTRY e {\n  ROOT p = u8[] parameter(0)\n}\n")) {
        reducers_ += reducer;
      }
    }
    for (int i = 0; i < 3; ++i) add(type, fmt::format("parameter({})", i), "");
    for (const char* value : {"0", "1", "-1", "2", "-0.0", "nan", "inf", "-inf", "3"}) {
      const std::string scalar = fmt::format("{}[] constant({})", to_string(type), value);
      if (!parse(fmt::format("HloModule m\n\nENTRY e {{\n  ROOT c = {}\n}}\n", scalar))) continue;
      add(type, fmt::format("broadcast(k{}), dimensions={{}}", made_.size()),
          fmt::format("  k{} = {}\n", made_.size(), scalar));
      constants_.push_back(fmt::format("k{}", made_.size() - 1));
    }
  }

  void grow(size_t size) {
    for (int tries = 0; made_.size() < size && tries < 20 * static_cast<int>(size); ++tries) step();
  }

  // A module that gives these.
  std::string module(const std::vector<size_t>& outputs) const {
    std::vector<std::string> shapes, names;
    for (size_t i : outputs) {
      shapes.push_back(shape(made_[i].type));
      names.push_back(made_[i].name);
    }
    return fmt::format("HloModule m\n\n{}ENTRY e {{\n{}  ROOT r = ({}) tuple({})\n}}\n", reducers_,
                       text_, fmt::join(shapes, ", "), fmt::join(names, ", "));
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
  // Early ones more often, so that expressions meet again.
  const Expression& any() { return made_[below(1 + below(made_.size()))]; }
  std::optional<std::string> some(ElementType type) {
    for (int i = 0; i < 50; ++i) {
      const Expression& one = any();
      if (one.type == type) return one.name;
    }
    return std::nullopt;
  }

  void step() {
    const Expression one = any();
    const std::optional<std::string> other = some(one.type), third = some(one.type);
    if (!other || !third) return;
    const std::string pair = fmt::format("{}, {}", one.name, *other);
    switch (below(10)) {
      case 0: {
        const std::optional<std::string> truth = some(ElementType::PRED);
        if (!truth) return;
        return attempt(one.type, fmt::format("select({}, {})", *truth, pair));
      }
      case 1:
        return attempt(one.type, fmt::format("clamp({}, {})", pair, *third));
      case 2: {
        const bool is_total = is_float(one.type) && below(3) == 0;
        return attempt(ElementType::PRED,
                       fmt::format("compare({}), direction={}{}", pair, one_of(kDirections),
                                   is_total ? ", type=TOTALORDER" : ""));
      }
      case 3: {
        const bool is_back = below(2) == 0;
        return attempt(is_back ? type_ : kOtherTypes[below(std::size(kOtherTypes))],
                       fmt::format("convert({})", one.name));
      }
      case 4: {
        const ElementType to = kOtherTypes[below(std::size(kOtherTypes))];
        if (!looks_at_bits_ || info(to).bits != info(one.type).bits) return;
        return attempt(to, fmt::format("bitcast-convert({})", one.name));
      }
      case 5:
      case 6: {
        const char* opcode = one_of(kUnary);
        return attempt(std::string_view(opcode) == "is-finite" ? ElementType::PRED : one.type,
                       fmt::format("{}({})", opcode, one.name));
      }
      case 7:
        return fold();
      default:
        return attempt(one.type, fmt::format("{}({})", one_of(kBinary), pair));
    }
  }

  // A reduction or a dot of rows of three.
  void fold() {
    std::string prelude;
    const size_t number = made_.size();
    for (int side = 0; side < 2; ++side) {
      for (int i = 0; i < 3; ++i) {
        prelude += fmt::format("  p{}.{}.{} = {}[{},1] reshape({})\n", number, side, i,
                               to_string(type_), count_, some(type_).value_or("e0"));
      }
      prelude += fmt::format(
          "  q{0}.{1} = {2}[{3},3] concatenate(p{0}.{1}.0, p{0}.{1}.1, p{0}.{1}.2), "
          "dimensions={{1}}\n",
          number, side, to_string(type_), count_);
    }
    if (constants_.empty() || below(3) == 0) {
      return attempt(type_,
                     fmt::format("dot(q{0}.0, q{0}.1), lhs_batch_dims={{0}}, "
                                 "rhs_batch_dims={{0}}, lhs_contracting_dims={{1}}, "
                                 "rhs_contracting_dims={{1}}",
                                 number),
                     prelude);
    }
    attempt(type_,
            fmt::format("reduce(q{}.0, {}), dimensions={{1}}, to_apply={}_", number,
                        constants_[below(constants_.size())], one_of(kReducers)),
            prelude);
  }

  void add(ElementType type, const std::string& operation, const std::string& prelude) {
    const std::string name = fmt::format("e{}", made_.size());
    text_ += fmt::format("{}  {} = {} {}\n", prelude, name, shape(type), operation);
    made_.push_back({type, name});
  }

  // Adds the operation if it is one.
  void attempt(ElementType type, const std::string& operation, const std::string& prelude = "") {
    const std::string test = fmt::format("HloModule m\n\n{}ENTRY e {{\n{}{}  ROOT r = {} {}\n}}\n",
                                         reducers_, text_, prelude, shape(type), operation);
    std::unique_ptr<Module> module = parse(test);
    if (!module || !testing::verifier_errors(*module, 1, 1).empty()) return;
    if (!is_supported(*module->entry()->root())) return;
    add(type, operation, prelude);
  }

  // Whether the simulator and the prover take it.
  static bool is_supported(const Instruction& instruction) {
    switch (instruction.opcode()) {
      case Opcode::kReduce:
      case Opcode::kDot:
        return true;
      case Opcode::kBitcastConvert:
        return instruction.shape()->element_type() != ElementType::PRED &&
               instruction.operand(0)->shape()->element_type() != ElementType::PRED;
      default:
        return elementwise_op(instruction).has_value();
    }
  }

  const ElementType type_;
  const int64_t count_;
  const bool looks_at_bits_;
  std::mt19937_64 random_;
  std::string reducers_, text_;
  std::vector<std::string> constants_;
  std::vector<Expression> made_;
};

// x, y and z: all pairs of the values of a type of up to 8 bits, else of special and random ones.
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
    for (int i = 0; i < 40; ++i) {
      values.push_back(sample(type, i < 24 ? SampleKind::kSpecial : SampleKind::kBits, random));
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
  constexpr size_t kExpressions = 200;
  constexpr int kPairs = 20;
  const std::vector<HostTensor> inputs = inputs_of(type, seed);
  Expressions expressions(type, inputs[0].dims[0], seed);
  expressions.grow(kExpressions);
  std::vector<size_t> all(expressions.size());
  std::iota(all.begin(), all.end(), size_t{0});
  std::unique_ptr<Module> module = parse(expressions.module(all));
  REQUIRE(module);
  const tl::expected<RunResult, Stop> run = simulate(*module, {}, {inputs}, {});
  REQUIRE(run);
  Terms terms;
  Evaluator evaluator;
  Rules rules(terms, observes_nan_bits(*module));
  const auto made = module_terms(*module, {}, terms, evaluator, rules, LoopMode::kTerms, {});
  REQUIRE(made);
  auto values = [&](size_t i) -> const HostTensor& { return run->outputs[0][i]; };
  auto term = [&](size_t i) { return made->outputs[i][0]; };

  std::map<std::pair<uint32_t, int32_t>, size_t> first;
  size_t same = 0;
  for (size_t i : all) {
    const auto [at, is_new] = first.try_emplace({term(i).node, term(i).device}, i);
    if (is_new) continue;
    ++same;
    CAPTURE(expressions.module({at->second, i}));
    REQUIRE(values(at->second).type == values(i).type);
    REQUIRE(compare(values(at->second), values(i), {}).count == 0);
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
      EquivalenceOptions options;
      options.tests = 0;
      CHECK(check_equivalence(*parse(left), *parse(right), options).verdict != Verdict::kProved);
    }
  }
}

TEST_CASE("expressions that are one term are one value") {
  for (uint64_t seed : {1, 3}) {  // of which 3 looks at the bits of floats
    for (int i = 0; i < kElementTypeCount; ++i) try_type(static_cast<ElementType>(i), seed);
  }
}

}  // namespace
}  // namespace minihlo::prove

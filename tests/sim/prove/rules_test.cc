// The rules on single elements, tried on random and special values of every type that they are for.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "ir/semantics/elementwise.h"
#include "sim/prove/constants.h"
#include "sim/prove/rules.h"
#include "sim/prove/samples.h"

namespace minihlo::prove {
namespace {

constexpr int kSamples = 300;

std::vector<Opcode> binary_opcodes() {
  std::vector<Opcode> result;
  for (int i = 0; i < kOpcodeCount; ++i) {
    auto opcode = static_cast<Opcode>(i);
    if (info(opcode).family == Family::kElementwise && info(opcode).min_operands == 2 &&
        opcode != Opcode::kCompare) {
      result.push_back(opcode);
    }
  }
  return result;
}

tl::expected<ElementwiseOp, std::string> op_of(Opcode opcode, ElementType type) {
  const ElementType operands[] = {type, type};
  return elementwise_op({opcode, operands, type, {}});
}

ElementBytes apply(const ElementwiseOp& op, const ElementBytes& a, const ElementBytes& b) {
  ElementBytes result{};
  const std::byte* operands[] = {a.data(), b.data()};
  const int64_t steps[] = {1, 1};
  op(1, operands, steps, result.data());
  return result;
}

// Bit for bit, any NaN being any NaN.
bool same(ElementType type, const ElementBytes& a, const ElementBytes& b) {
  auto tensor = [&](const ElementBytes& bytes) {
    std::shared_ptr<std::byte> data = allocate_host(info(type).bytes);
    std::memcpy(data.get(), bytes.data(), static_cast<size_t>(info(type).bytes));
    return HostTensor{type, {}, data, info(type).bytes};
  };
  return compare(tensor(a), tensor(b), {}).count == 0;
}

ElementBytes any(ElementType type, int number, std::mt19937_64& random) {
  const SampleKind kinds[] = {SampleKind::kSmall, SampleKind::kNear, SampleKind::kBits,
                              SampleKind::kSpecial};
  return sample(type, kinds[number % 4], random);
}

TEST_CASE("rule commute: holds for every opcode and type that it is used for") {
  std::mt19937_64 random(1);
  int tried = 0;
  for (Opcode opcode : binary_opcodes()) {
    if (!is_commutative(opcode)) continue;
    for (int t = 0; t < kElementTypeCount; ++t) {
      auto type = static_cast<ElementType>(t);
      auto op = op_of(opcode, type);
      if (!op || is_complex(type)) continue;
      CAPTURE(std::string(to_string(opcode)));
      CAPTURE(std::string(to_string(type)));
      ++tried;
      for (int i = 0; i < kSamples; ++i) {
        ElementBytes a = any(type, i, random), b = any(type, i / 4, random);
        REQUIRE(same(type, apply(*op, a, b), apply(*op, b, a)));
      }
    }
  }
  CHECK(tried > 100);
}

// Terms with what they are on a number of assignments of values to variables: what rules make must
// have the values of what it is made of.
class Checked : public TermStore {
 public:
  Checked(Functions& functions, int count) : functions_(functions), count_(count) {}

  struct Made {
    ElementType type;
    std::optional<uint32_t> function;
    std::vector<Ref> arguments;
    std::vector<std::byte> values;
    bool is_constant = false;
  };

  Ref variable(ElementType type, std::mt19937_64& random) {
    Made made{type, {}, {}, {}};
    const int bits = info(type).bits;
    for (int i = 0; i < count_; ++i) {
      ElementBytes value{};
      if (bits <= 4 && is_integer(type)) {
        // All of them, in the digits of i by the number of the variable.
        const int digit = (i >> (bits * static_cast<int>(variables_ % 3))) & ((1 << bits) - 1);
        const Constant constant = integer_constant(type, static_cast<uint64_t>(digit));
        std::ranges::copy(constant.bytes, value.begin());
      } else {
        value = any(type, i, random);
      }
      made.values.insert(made.values.end(), value.begin(), value.begin() + info(type).bytes);
    }
    ++variables_;
    return add(std::move(made));
  }

  Ref constant(ElementType type, std::span<const std::byte> value) override {
    Made made{type, {}, {}, {}, true};
    for (int i = 0; i < count_; ++i) {
      made.values.insert(made.values.end(), value.begin(), value.end());
    }
    for (size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].is_constant && all_[i].type == type && all_[i].values == made.values) return i;
    }
    return add(std::move(made));
  }
  Ref make(uint32_t function, std::span<const Ref> arguments) override {
    const std::vector<Ref> own(arguments.begin(), arguments.end());
    if (auto found = made_.find({function, own}); found != made_.end()) return found->second;
    const Ref ref =
        add({functions_[function].result_type, function, own, values_of(function, own)});
    made_.emplace(std::pair(function, own), ref);
    return ref;
  }
  std::optional<std::span<const std::byte>> literal(Ref ref, ElementType type) const override {
    const Made& made = all_[ref];
    if (!made.is_constant) return std::nullopt;
    CHECK(made.type == type);
    return std::span(made.values).first(static_cast<size_t>(info(type).bytes));
  }
  std::optional<uint32_t> function(Ref ref) const override { return all_[ref].function; }
  std::vector<Ref> arguments(Ref ref) const override { return all_[ref].arguments; }

  bool splits_rounding() const override { return true; }

  const Made& operator[](Ref ref) const { return all_[ref]; }

  /// What the function gives, computed as it stands.
  std::vector<std::byte> values_of(uint32_t function, const std::vector<Ref>& arguments) const {
    const Signature& what = functions_[function];
    if (what.opcode == Opcode::kBitcastConvert) return all_[arguments[0]].values;
    std::vector<std::byte> result(static_cast<size_t>(count_ * info(what.result_type).bytes));
    const int64_t steps[] = {1, 1, 1};
    if (what.kind == Signature::Kind::kPointwise) {
      std::vector<const std::byte*> data;
      for (Ref argument : arguments) data.push_back(all_[argument].values.data());
      (*what.op)(count_, data.data(), steps, result.data());
      return result;
    }
    result = all_[arguments[0]].values;
    for (size_t i = 1; i < arguments.size(); ++i) {
      const std::byte* data[] = {result.data(), all_[arguments[i]].values.data()};
      std::vector<std::byte> next = result;
      (*what.op)(count_, data, steps, next.data());
      result = std::move(next);
    }
    return result;
  }

 private:
  Ref add(Made made) {
    all_.push_back(std::move(made));
    return all_.size() - 1;
  }

  Functions& functions_;
  const int count_;
  size_t variables_ = 0;
  std::deque<Made> all_;
  std::map<std::pair<uint32_t, std::vector<Ref>>, Ref> made_;
};

// Random functions of random terms, in normal form.
class RandomTerms {
 public:
  RandomTerms(uint64_t seed, int count, bool keep_nan_bits)
      : random_(seed),
        keep_nan_bits_(keep_nan_bits),
        rules_(terms_, {keep_nan_bits, true}),
        store_(rules_.functions(), count),
        pools_(kElementTypeCount) {
    for (int i = 0; i < kOpcodeCount; ++i) {
      const auto opcode = static_cast<Opcode>(i);
      if (info(opcode).family == Family::kElementwise) opcodes_.push_back(opcode);
    }
    opcodes_.push_back(Opcode::kBitcastConvert);
  }

  const RuleNames& used() const { return rules_.used(); }

  /// Makes a term of `type`, or gives up.
  void step(ElementType type) {
    const Opcode opcode = opcodes_[random_() % opcodes_.size()];
    std::vector<ElementType> operands(static_cast<size_t>(info(opcode).min_operands), type);
    ElementType result = type;
    std::vector<Attribute> attributes;
    switch (opcode) {
      case Opcode::kSelect:
        operands[0] = ElementType::PRED;
        break;
      case Opcode::kCompare:
        result = ElementType::PRED;
        attributes.push_back(
            make_attribute(attr::direction, static_cast<ComparisonDirection>(random_() % 6)));
        if (keep_nan_bits_ && is_float(type) && random_() % 2 == 0) {
          attributes.push_back(make_attribute(attr::comparison_type, ComparisonType::kTotalOrder));
        }
        break;
      case Opcode::kConvert:
      case Opcode::kBitcastConvert:
        do {
          result = static_cast<ElementType>(random_() % kElementTypeCount);
        } while (opcode == Opcode::kBitcastConvert && info(type).bits != info(result).bits);
        if (opcode == Opcode::kBitcastConvert &&
            (info(type).bits < 8 || type == ElementType::PRED || result == ElementType::PRED ||
             (!keep_nan_bits_ && !is_integer(type)))) {
          return;
        }
        break;
      case Opcode::kIsFinite:
        result = ElementType::PRED;
        break;
      case Opcode::kReal:
      case Opcode::kImag:
      case Opcode::kAbs:
        if (type == ElementType::C64) result = ElementType::F32;
        if (type == ElementType::C128) result = ElementType::F64;
        break;
      case Opcode::kComplex:
        result = type == ElementType::F32 ? ElementType::C64 : ElementType::C128;
        break;
      default:
        break;
    }
    const uint32_t function =
        rules_.functions().elementwise({opcode, operands, result, attributes});
    const Signature& what = rules_.functions()[function];
    if (!what.op && opcode != Opcode::kBitcastConvert) return;
    std::vector<TermStore::Ref> arguments;
    for (ElementType operand : operands) arguments.push_back(pick(operand));
    CAPTURE(what.key);
    for (TermStore::Ref argument : arguments) CAPTURE(argument);
    const std::vector<std::byte> expected = store_.values_of(function, arguments);
    const TermStore::Ref made = rules_.normal(function, arguments, store_);
    REQUIRE(store_[made].type == result);
    check(result, store_[made].values, expected);
    std::vector<TermStore::Ref>& pool = pools_[static_cast<size_t>(result)];
    if (pool.size() < 12) {
      pool.push_back(made);
    } else {
      pool[3 + random_() % 9] = made;
    }
  }

 private:
  TermStore::Ref pick(ElementType type) {
    std::vector<TermStore::Ref>& pool = pools_[static_cast<size_t>(type)];
    while (pool.size() < 3) pool.push_back(store_.variable(type, random_));
    if (random_() % 4 != 0) return pool[random_() % pool.size()];
    if (is_float(type)) {
      const double values[] = {-0.0, 0, 1, -1, 2, 0.5, 0.125, 3, INFINITY, -INFINITY};
      return store_.constant(type, float_constant(type, values[random_() % 10]).span());
    }
    if (is_complex(type)) return pool[0];
    const uint64_t top = uint64_t{1} << (value_bits(type) - 1);
    const uint64_t values[] = {
        0, 1, 2, 3, 4, 8, top, ~top, ~uint64_t{0}, uint64_t(value_bits(type))};
    return store_.constant(type, integer_constant(type, values[random_() % 10]).span());
  }

  void check(ElementType type, const std::vector<std::byte>& made,
             const std::vector<std::byte>& expected) const {
    if (made == expected) return;
    REQUIRE_FALSE(keep_nan_bits_);
    const auto width = static_cast<size_t>(info(type).bytes);
    for (size_t at = 0; at < made.size(); at += width) {
      ElementBytes a{}, b{};
      std::memcpy(a.data(), made.data() + at, width);
      std::memcpy(b.data(), expected.data() + at, width);
      REQUIRE(same(type, a, b));
    }
  }

  std::mt19937_64 random_;
  const bool keep_nan_bits_;
  Terms terms_;
  Rules rules_;
  Checked store_;
  std::vector<Opcode> opcodes_;
  std::vector<std::vector<TermStore::Ref>> pools_;  // by type
};

TEST_CASE("rules: a function in normal form has the values of what it is made of, bit for bit") {
  RuleNames used;
  for (const bool keep_nan_bits : {false, true}) {
    CAPTURE(keep_nan_bits);
    for (uint64_t seed = 1; seed <= 12; ++seed) {
      CAPTURE(seed);
      RandomTerms terms(seed, 64, keep_nan_bits);
      for (int step = 0; step < 6000; ++step) {
        terms.step(static_cast<ElementType>(step % kElementTypeCount));
      }
      used.insert(terms.used().begin(), terms.used().end());
    }
  }
  for (const std::string_view rule :
       {"associate", "bit-casts", "commute", "comparisons", "complex-parts", "conversions",
        "lattice", "linear-form", "narrow-floats", "neutral-element", "powers", "powers-of-two",
        "select-known", "selects", "signs"}) {
    CAPTURE(std::string(rule));
    CHECK(used.contains(rule));
  }
}

TEST_CASE("rules: of few bits all values of three variables are tried") {
  for (const ElementType type : {ElementType::S1, ElementType::U1, ElementType::S2, ElementType::U2,
                                 ElementType::S4, ElementType::U4, ElementType::PRED}) {
    CAPTURE(std::string(to_string(type)));
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      RandomTerms terms(seed, 4096, true);
      for (int step = 0; step < 1500; ++step) {
        terms.step(step % 5 == 0 ? ElementType::PRED : type);
      }
    }
  }
}

TEST_CASE("rule commute of reductions: sums of integers and minima of all types associate") {
  std::mt19937_64 random(3);
  int tried = 0;
  for (Opcode opcode : {Opcode::kAdd, Opcode::kMultiply, Opcode::kAnd, Opcode::kOr, Opcode::kXor,
                        Opcode::kMinimum, Opcode::kMaximum}) {
    bool total = opcode == Opcode::kMinimum || opcode == Opcode::kMaximum;
    for (int t = 0; t < kElementTypeCount; ++t) {
      auto type = static_cast<ElementType>(t);
      auto op = op_of(opcode, type);
      if (!op || is_complex(type) || (is_float(type) && !total)) continue;
      CAPTURE(std::string(to_string(opcode)));
      CAPTURE(std::string(to_string(type)));
      ++tried;
      for (int i = 0; i < kSamples; ++i) {
        ElementBytes a = any(type, i, random), b = any(type, i / 4, random),
                     c = any(type, i / 16, random);
        REQUIRE(same(type, apply(*op, apply(*op, a, b), c), apply(*op, a, apply(*op, b, c))));
      }
    }
  }
  CHECK(tried > 70);
}

}  // namespace
}  // namespace minihlo::prove

// The rules of algebraic-simplify, tried on every element type that they are used for: random bits,
// NaN with payloads, infinities, zeros of both signs, extremes. What comes out must be the same bit
// for bit, payloads too.
#include <cstring>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "ir/diagnostics.h"
#include "ir/semantics/convert_chains.h"
#include "ir/semantics/elementwise.h"
#include "ir/text/parser.h"
#include "passes/pipeline.h"
#include "passes/simplify/rules.h"
#include "sim/prove/samples.h"
#include "sim/run/simulator.h"
#include "tests/passes/run_passes.h"

namespace minihlo {
namespace {

// A row: instructions that make %r from %x and %y of type T and a pred %p; how many types it must
// apply to at least.
struct Rule {
  std::string_view text;
  int types;
};

constexpr Rule kRules[] = {
    {"z = T[] constant(0)\n zs = T[64] broadcast(z), dimensions={}\n ROOT r = T[64] add(x, zs)", 8},
    {"z = T[64] broadcast(T[] constant(0)), dimensions={}\n ROOT r = T[64] add(z, x)", 0},
    {"z = T[] constant(0)\n zs = T[64] broadcast(z), dimensions={}\n ROOT r = T[64] add(zs, x)", 8},
    {"z = T[] constant(0)\n zs = T[64] broadcast(z), dimensions={}\n ROOT r = T[64] subtract(x, "
     "zs)",
     8},
    {"ROOT r = T[64] subtract(x, x)", 8},
    {"o = T[] constant(1)\n os = T[64] broadcast(o), dimensions={}\n ROOT r = T[64] multiply(x, "
     "os)",
     8},
    {"o = T[] constant(1)\n os = T[64] broadcast(o), dimensions={}\n ROOT r = T[64] multiply(os, "
     "x)",
     8},
    {"z = T[] constant(0)\n zs = T[64] broadcast(z), dimensions={}\n ROOT r = T[64] multiply(x, "
     "zs)",
     8},
    {"o = T[] constant(1)\n os = T[64] broadcast(o), dimensions={}\n ROOT r = T[64] divide(x, os)",
     8},
    {"o = T[] constant(1)\n os = T[64] broadcast(o), dimensions={}\n ROOT r = T[64] remainder(x, "
     "os)",
     8},
    {"ROOT r = T[64] and(x, x)", 8},
    {"ROOT r = T[64] or(x, x)", 8},
    {"ROOT r = T[64] xor(x, x)", 8},
    {"z = T[] constant(0)\n o = T[] not(z)\n os = T[64] broadcast(o), dimensions={}\n"
     " ROOT r = T[64] and(x, os)",
     0},
    {"z = T[] constant(0)\n zs = T[64] broadcast(z), dimensions={}\n ROOT r = T[64] and(x, zs)", 8},
    {"z = T[] constant(0)\n zs = T[64] broadcast(z), dimensions={}\n ROOT r = T[64] or(zs, x)", 8},
    {"z = T[] constant(0)\n zs = T[64] broadcast(z), dimensions={}\n ROOT r = T[64] xor(x, zs)", 8},
    {"z = T[] constant(-1)\n zs = T[64] broadcast(z), dimensions={}\n ROOT r = T[64] and(x, zs)",
     4},
    {"z = T[] constant(-1)\n zs = T[64] broadcast(z), dimensions={}\n ROOT r = T[64] or(x, zs)", 4},
    {"z = T[] constant(15)\n zs = T[64] broadcast(z), dimensions={}\n ROOT r = T[64] and(x, zs)",
     1},
    {"z = T[] constant(255)\n zs = T[64] broadcast(z), dimensions={}\n ROOT r = T[64] or(zs, x)",
     1},
    {"z = T[] constant(0)\n zs = T[64] broadcast(z), dimensions={}\n"
     " ROOT r = T[64] shift-left(x, zs)",
     8},
    {"z = T[] constant(0)\n zs = T[64] broadcast(z), dimensions={}\n"
     " ROOT r = T[64] shift-right-logical(x, zs)",
     8},
    {"z = T[] constant(0)\n zs = T[64] broadcast(z), dimensions={}\n"
     " ROOT r = T[64] shift-right-arithmetic(x, zs)",
     8},
    {"ROOT r = T[64] maximum(x, x)", 8},
    {"ROOT r = T[64] minimum(x, x)", 8},
    {"n = T[64] negate(x)\n ROOT r = T[64] negate(n)", 20},
    {"n = T[64] abs(x)\n ROOT r = T[64] abs(n)", 20},
    {"n = T[64] negate(x)\n ROOT r = T[64] abs(n)", 20},
    {"n = T[64] not(x)\n ROOT r = T[64] not(n)", 8},
    {"c = T[] constant(1)\n cs = T[64] broadcast(c), dimensions={}\n a = T[64] add(x, cs)\n"
     " ROOT r = T[64] add(a, cs)",
     8},
    {"c = T[] constant(1)\n cs = T[64] broadcast(c), dimensions={}\n a = T[64] xor(x, cs)\n"
     " ROOT r = T[64] xor(a, cs)",
     8},
    {"c = T[] constant(3)\n cs = T[64] broadcast(c), dimensions={}\n a = T[64] multiply(x, cs)\n"
     " ROOT r = T[64] multiply(a, cs)",
     7},
    {"l = pred[64] compare(x, x), direction=LT\n ROOT r = pred[64] and(l, p)", 20},
    {"l = pred[64] compare(x, x), direction=GT\n ROOT r = pred[64] or(l, p)", 20},
    {"ROOT r = pred[64] compare(x, x), direction=EQ", 8},
    {"ROOT r = pred[64] compare(x, x), direction=NE", 8},
    {"ROOT r = pred[64] compare(x, x), direction=LE", 8},
    {"l = pred[64] compare(x, y), direction=EQ\n ROOT r = pred[64] not(l)", 20},
    {"l = pred[64] compare(x, y), direction=NE\n ROOT r = pred[64] not(l)", 20},
    {"l = pred[64] compare(x, y), direction=LT\n ROOT r = pred[64] not(l)", 8},
    {"l = pred[64] compare(x, y), direction=GE\n ROOT r = pred[64] not(l)", 8},
    {"l = pred[64] compare(x, y), direction=GT, type=TOTALORDER\n ROOT r = pred[64] not(l)", 5},
    {"z = T[] constant(0)\n zs = T[64] broadcast(z), dimensions={}\n"
     " ROOT r = pred[64] compare(x, zs), direction=LT",
     4},
    {"z = T[] constant(0)\n zs = T[64] broadcast(z), dimensions={}\n"
     " ROOT r = pred[64] compare(zs, x), direction=LE",
     4},
    {"ROOT r = T[64] select(p, x, x)", 25},
    {"n = pred[64] not(p)\n ROOT r = T[64] select(n, x, y)", 25},
    {"t = pred[] constant(true)\n ts = pred[64] broadcast(t), dimensions={}\n"
     " ROOT r = T[64] select(ts, x, y)",
     25},
    {"ROOT r = T[64] convert(x)", 25},
    {"a = C[64] complex(x, y)\n ROOT r = T[64] real(a)", 2},
    {"a = C[64] complex(x, y)\n ROOT r = T[64] imag(a)", 2},
    {"a = T[64] add(x, x)\n re = f32[64] real(a)\n im = f32[64] imag(a)\n"
     " ROOT r = T[64] complex(re, im)",
     1},
    {"b = u8[64] bitcast-convert(x)\n ROOT r = T[64] bitcast-convert(b)", 6},
    {"b = u32[64] bitcast-convert(x)\n ROOT r = T[64] bitcast-convert(b)", 2},
    {"l = pred[64] compare(x, y), direction=LT\n m = pred[64] not(l)\n k = pred[64] not(m)\n"
     " ROOT r = pred[64] or(k, k)",
     20},
};

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::optional<std::string> module_text(const Rule& rule, ElementType type) {
  std::string body(rule.text);
  if (body.find("C[") != std::string::npos) {
    if (type != ElementType::F32 && type != ElementType::F64) return std::nullopt;
    body = replaced(body, "C[", type == ElementType::F32 ? "c64[" : "c128[");
  }
  if (body.find("real(a)") != std::string::npos && body.find("add(x, x)") != std::string::npos &&
      type != ElementType::C64) {
    return std::nullopt;
  }
  std::string text =
      " x = T[64] parameter(0)\n y = T[64] parameter(1)\n p = pred[64] parameter(2)\n " + body;
  // Of what is broadcast the constants stand for themselves.
  text = replaced(text, "T[", fmt::format("{}[", to_string(type)));
  return "HloModule m\nENTRY e {\n" + text + "\n}\n";
}

std::unique_ptr<Module> valid_module(const std::string& text) {
  std::shared_ptr<const Source> source = Source::from_string("text", text);
  Diagnostics diagnostics(source);
  std::unique_ptr<Module> module = parse_text(source, diagnostics);
  if (!module || !testing::verifier_errors(*module).empty()) return nullptr;
  return module;
}

// Random values of all kinds, in one array.
HostTensor mixed(const Shape* shape, std::mt19937_64& random) {
  const int64_t width = info(shape->element_type()).bytes;
  const int64_t bytes = shape->element_count() * width;
  std::shared_ptr<std::byte> data = allocate_host(bytes);
  for (int64_t i = 0; i < shape->element_count(); ++i) {
    const prove::SampleKind kinds[] = {prove::SampleKind::kBits, prove::SampleKind::kSpecial,
                                       prove::SampleKind::kSmall};
    prove::ElementBytes value = prove::sample(shape->element_type(), kinds[i % 3], random);
    // NaN of any payload and sign: all bits of the exponent, others at random.
    if (is_float(shape->element_type()) && i % 4 == 3) {
      for (std::byte& byte : value) byte = static_cast<std::byte>(random());
      const int bits = info(shape->element_type()).bits;
      if (bits == 16 || bits == 32 || bits == 64) {
        value[static_cast<size_t>(width - 1)] |= std::byte{0x7f};
        value[static_cast<size_t>(width - 2)] |= std::byte{0xf0};
      } else if (bits < 8) {
        value[0] &= static_cast<std::byte>((1 << bits) - 1);
      }
    }
    std::memcpy(data.get() + i * width, value.data(), static_cast<size_t>(width));
  }
  return {shape->element_type(), {shape->dims().begin(), shape->dims().end()}, data, bytes};
}

TEST_CASE("algebraic-simplify: every rule holds bit for bit on all types that it is used for") {
  std::mt19937_64 random(7);
  for (const Rule& rule : kRules) {
    CAPTURE(std::string(rule.text));
    int applied = 0;
    for (int t = 0; t < kElementTypeCount; ++t) {
      const auto type = static_cast<ElementType>(t);
      CAPTURE(std::string(to_string(type)));
      std::optional<std::string> text = module_text(rule, type);
      if (!text) continue;
      std::unique_ptr<Module> before = valid_module(*text);
      if (!before) continue;
      std::unique_ptr<Module> after = before->clone();
      PassContext context;
      REQUIRE(find_pass("algebraic-simplify"));
      auto pass = find_pass("algebraic-simplify")->make(PassOptions({}));
      REQUIRE(pass->run(*after, context));
      REQUIRE(testing::verifier_errors(*after) == "");
      auto body = [](const Module& module) {
        std::string all;
        for (const Instruction* one : module.entry()->instructions()) all += one->name();
        return all + std::string(module.entry()->root()->name());
      };
      if (body(*before) == body(*after)) continue;
      ++applied;
      std::vector<HostTensor> inputs;
      for (const Instruction* one : before->entry()->parameters()) {
        inputs.push_back(mixed(one->shape(), random));
      }
      RunOptions options;
      options.threads = 1;
      auto a = simulate(*before, {}, {inputs}, options);
      auto b = simulate(*after, {}, {inputs}, options);
      if (!a) continue;
      REQUIRE(b);
      CompareRule bits;
      bits.nan_payload = true;
      Difference difference = compare(a->outputs[0][0], b->outputs[0][0], bits);
      CHECK(difference.what == "");
      CHECK(difference.count == 0);
    }
    CHECK(applied >= rule.types);
  }
}

// All values of a type of at most 16 bits, or many of a wider one.
std::vector<std::byte> values_of(ElementType type, std::mt19937_64& random, int64_t& count) {
  const auto width = static_cast<size_t>(info(type).bytes);
  const int bits = type == ElementType::PRED ? 1 : info(type).bits;
  count = bits <= 16 ? int64_t{1} << bits : 4096;
  std::vector<std::byte> bytes(static_cast<size_t>(count) * width);
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = i;
    if (bits > 16) {
      prove::ElementBytes some = prove::sample(
          type, i % 3 ? prove::SampleKind::kBits : prove::SampleKind::kSpecial, random);
      std::memcpy(&bytes[static_cast<size_t>(i) * width], some.data(), width);
      continue;
    }
    if (is_signed(type))
      value = static_cast<int64_t>(static_cast<uint64_t>(i) << (64 - bits)) >> (64 - bits);
    std::memcpy(&bytes[static_cast<size_t>(i) * width], &value, width);
  }
  return bytes;
}

TEST_CASE("algebraic-simplify: a conversion is left out only where all values come through") {
  std::mt19937_64 random(8);
  int tried = 0;
  auto convert = [](ElementType from, ElementType to) {
    return elementwise_op(ElementwiseSignature{Opcode::kConvert, std::span(&from, 1), to, {}});
  };
  auto run = [](const ElementwiseOp& op, const std::vector<std::byte>& in, int64_t count) {
    std::vector<std::byte> out(static_cast<size_t>(count * info(op.result_type()).bytes));
    const std::byte* data = in.data();
    const int64_t step = 1;
    op(count, &data, &step, out.data());
    return out;
  };
  for (int a = 0; a < kElementTypeCount; ++a) {
    const auto from = static_cast<ElementType>(a);
    int64_t count = 0;
    const std::vector<std::byte> values = values_of(from, random, count);
    for (int b = 0; b < kElementTypeCount; ++b) {
      const auto to = static_cast<ElementType>(b);
      std::optional<std::vector<std::byte>> through;
      for (int c = 0; c < kElementTypeCount; ++c) {
        const auto result = static_cast<ElementType>(c);
        if (from == to || to == result || !converts_through(from, to, result)) continue;
        CAPTURE(std::string(to_string(from)));
        CAPTURE(std::string(to_string(to)));
        CAPTURE(std::string(to_string(result)));
        auto first = convert(from, to), second = convert(to, result), both = convert(from, result);
        if (!first || !second || !both) continue;
        ++tried;
        if (!through) through = run(*first, values, count);
        const std::vector<std::byte> at_length = run(*second, *through, count);
        // Where the types are the same in the end, nothing is converted at all.
        CHECK(at_length == (from == result ? values : run(*both, values, count)));
      }
    }
  }
  CHECK(tried > 2000);
}

}  // namespace
}  // namespace minihlo

#include <doctest/doctest.h>

#include <cstring>

#include "tests/ir/text/text_testing.h"

namespace minihlo {
namespace {

struct Constant {
  Parsed parsed;
  const Literal* literal = nullptr;

  explicit Constant(std::string_view text) : parsed(module_with(fmt::format("c = {}", text))) {
    REQUIRE_MESSAGE(parsed.module, parsed.diagnostics.to_string());
    literal = parsed.module->entry()->root()->get(attr::literal_value);
  }
  template <class T>
  T element(int64_t i) const {
    T value;
    std::memcpy(&value, literal->element_bytes(i).data(), sizeof(T));
    return value;
  }
  std::string print() const { return print_text(*literal); }
};

std::string printed(std::string_view text) { return Constant(text).print(); }

TEST_CASE("braces are printed as XLA prints them") {
  CHECK(printed("f32[3] constant({1,2,3})") == "{1, 2, 3}");
  CHECK(printed("f32[2,3] constant({{1,2,3},{4,5,6}})") == "{ { 1, 2, 3 }, { 4, 5, 6 } }");
  CHECK(printed("f32[2,1] constant({{1},{4}})") == "{ {1}, {4} }");
  CHECK(
      printed("s32[2,1,2,2] constant({{{{1,2},{3,4}}},{{{5,6},{7,8}}}})") ==
      "{ { /*i0=0*/ { /*i1=0*/ { 1, 2 }, { 3, 4 } } }, { /*i0=1*/ { /*i1=0*/ { 5, 6 }, { 7, 8 } } "
      "} }");
  CHECK(printed("f32[0] constant({})") == "{}");
  CHECK(printed("f32[2,0] constant({{},{}})") == "{ {}, {} }");
  CHECK(printed("f32[0,2] constant({})") == "{  }");
  CHECK(printed("(f32[2], (s32[], pred[])) constant(({1,2}, (3, true)))") ==
        "( {1, 2}, ( 3, true ) )");
}

TEST_CASE("elements of each kind") {
  CHECK(printed("pred[3] constant({true, 0, 5})") == "{1, 0, 1}");
  CHECK(printed("pred[] constant(1)") == "true");
  CHECK(printed("s4[3] constant({-8, 7, 0})") == "{-8, 7, 0}");
  CHECK(Constant("s4[1] constant({-8})").element<int8_t>(0) == -8);
  CHECK(printed("u64[2] constant({18446744073709551615, 0})") == "{18446744073709551615, 0}");
  CHECK(printed("s64[2] constant({-9223372036854775808, 1})") == "{-9223372036854775808, 1}");
  CHECK(printed("f32[5] constant({1e10, 123456.7, 1e-5, 0.1, 16777217})") ==
        "{1e+10, 123456.703, 1e-05, 0.1, 16777216}");
  CHECK(printed("f64[4] constant({1e10, 123456.7, 0.1, 1e300})") ==
        "{10000000000, 123456.7, 0.1, 1e+300}");
  CHECK(printed("f16[3] constant({0.1, 65504, 1e-8})") == "{0.099976, 65504, 0}");
  CHECK(printed("bf16[2] constant({0.1, 3e38})") == "{0.1001, 3.004e+38}");
  CHECK(printed("f8e4m3fn[3] constant({448, 449, 0.3})") == "{448, 448, 0.312}");
  CHECK(printed("f8e5m2[3] constant({inf, 0.1, 57344})") == "{inf, 0.094, 5.7e+04}");
  CHECK(printed("f8e8m0fnu[2] constant({1, 0.5})") == "{1, 0.5}");
  CHECK(printed("f4e2m1fn[4] constant({6, 0.4, 100, -inf})") == "{6, 0.5, 6, -6}");
  CHECK(printed("c64[2] constant({(1, 2), (-0.5, inf)})") == "{(1, 2), (-0.5, inf)}");
}

TEST_CASE("NaNs keep sign and payload") {
  CHECK(printed("f32[4] constant({nan, -nan, nan(0x1), -nan(0x400001)})") ==
        "{nan, -nan, nan(0x1), -nan(0x400001)}");
  CHECK(Constant("f32[] constant(nan)").element<uint32_t>(0) == 0x7FC00000);
  CHECK(Constant("f32[] constant(-nan(0x1))").element<uint32_t>(0) == 0xFF800001);
  CHECK(printed("bf16[2] constant({-nan, nan(0x41)})") == "{-nan, nan(0x41)}");
  CHECK(printed("f8e4m3fn[2] constant({nan, -nan})") == "{nan, -nan}");
  CHECK(printed("f8e4m3fn[2] constant({inf, -inf})") == "{nan, -nan}");
  CHECK(printed("f8e4m3fnuz[2] constant({nan, 240})") == "{-nan, 240}");
  CHECK(printed("c64[] constant((nan, 3))") == "(nan, 3)");
}

TEST_CASE("as in XLA, the payload of nan as a double is that of nan of any type") {
  CHECK(printed("f32[] constant(nan(0x8000000000000))") == "nan");
  CHECK(printed("bf16[2] constant({-nan(0x8000000000000), 1})") == "{-nan, 1}");
  CHECK(printed("f8e4m3fn[] constant(nan(0x8000000000000))") == "nan");
  CHECK(Constant("f64[] constant(nan(0x8000000000000))").element<uint64_t>(0) ==
        0x7FF8000000000000u);
}

TEST_CASE("as in XLA, f16 and bf16 are rounded twice, through f32, and others once") {
  // Half way between two values as an f32, and nearer to the other one as a double.
  CHECK(printed("f16[2] constant({1708.5000000000016, 1709.4999999999984})") == "{1708, 1710}");
  CHECK(printed("bf16[] constant(105215.99999999991)") == "1.055e+05");
  CHECK(printed("f8e5m2[2] constant({1.125000000001, 1.125})") == "{1.2, 1}");
  CHECK(complaints(module_with("c = f16[] constant(65519.9999999)")) ==
        "literal-range 4:20 the value is outside the range of f16\n");
}

TEST_CASE("what is positive is never too small for a type without zero") {
  CHECK(printed("f8e8m0fnu[3] constant({1e-40, 1e-46, 5e-157})") == "{5.9e-39, 5.9e-39, 5.9e-39}");
  CHECK(complaints(module_with("c = f8e8m0fnu[] constant(-5e-157)")) ==
        "literal-range 4:26 the value is outside the range of f8e8m0fnu\n");
}

TEST_CASE("as in XLA, -0 is an integer, and a negative zero is -0.0") {
  CHECK(printed("f32[2] constant({-0.0, -0})") == "{-0.0, 0}");
  CHECK(Constant("bf16[] constant(-0.0)").element<uint16_t>(0) == 0x8000);
}

TEST_CASE("one value everywhere stays one value") {
  Constant zeros("f32[10000,10000] constant(0)");
  CHECK(zeros.literal->form == Literal::Form::kSplat);
  CHECK(zeros.literal->bytes.size() == 4);
  CHECK(zeros.print() == "0");
  CHECK(Constant("f32[1000000,1000000] constant(0)").print() == "0");
  Constant ones("s32[2,2] constant({{1,1},{1,1}})");
  CHECK(ones.literal->form == Literal::Form::kSplat);
  CHECK(ones.print() == "{ { 1, 1 }, { 1, 1 } }");
  CHECK(Constant("f32[2] constant({0.0, -0.0})").literal->form == Literal::Form::kDense);
  CHECK(printed("f32[3] constant(0)") == "{0, 0, 0}");
}

TEST_CASE("as in XLA, one value that is not zero is the first of an array") {
  Constant constant("f32[2,2] constant(3)");
  CHECK(constant.print() == "{ { 3, 0 }, { 0, 0 } }");
  CHECK(constant.parsed.diagnostics.all().size() == 1);
}

TEST_CASE("a constant without values stays one") {
  Constant constant("f32[2,2] constant({...})");
  CHECK(constant.literal->form == Literal::Form::kElided);
  CHECK_FALSE(constant.literal->is_known());
  CHECK(constant.print() == "{...}");
  // XLA takes dots beside elements, and pays no regard to those.
  for (std::string_view values : {"{ ... }", "{ {1, 2}, ... }", "{..., ...}",
                                  "{/*a*/ {1, 2}, {3, 4}, ...,}", "{{1,2} ...}"}) {
    CHECK(printed(fmt::format("f32[2,2] constant({})", values)) == "{...}");
  }
  CHECK(printed("f32[1000000000000] constant({1, 2, ...})") == "{...}");
  CHECK(printed("(f32[2], f32[]) constant(({1, ...}, 3))") == "( {...}, 3 )");
}

TEST_CASE("every bit pattern of the narrow floats survives printing and reading") {
  for (ElementType type :
       {ElementType::F4E2M1FN, ElementType::F6E2M3FN, ElementType::F6E3M2FN, ElementType::F8E3M4,
        ElementType::F8E4M3, ElementType::F8E4M3FN, ElementType::F8E4M3B11FNUZ,
        ElementType::F8E4M3FNUZ, ElementType::F8E5M2, ElementType::F8E5M2FNUZ,
        ElementType::F8E8M0FNU, ElementType::F16, ElementType::BF16}) {
    const int64_t count = int64_t{1} << info(type).bits;
    std::vector<uint8_t> one;
    std::vector<uint16_t> two;
    for (int64_t i = 0; i < count; ++i) {
      one.push_back(static_cast<uint8_t>(i));
      two.push_back(static_cast<uint16_t>(i));
    }
    ShapePool shapes;
    Literal literal;
    literal.shape = shapes.array(type, std::array{count});
    literal.bytes =
        info(type).bytes == 1 ? std::as_bytes(std::span(one)) : std::as_bytes(std::span(two));
    Constant again(fmt::format("{}[{}] constant({})", to_string(type), count, print_text(literal)));
    CAPTURE(to_string(type));
    REQUIRE(again.literal->bytes.size() == literal.bytes.size());
    CHECK(std::memcmp(again.literal->bytes.data(), literal.bytes.data(), literal.bytes.size()) ==
          0);
  }
}

TEST_CASE("random f32 and f64 survive printing and reading") {
  uint64_t state = 12345;
  auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ (state >> 29);
  };
  std::vector<uint32_t> singles(20000);
  std::vector<uint64_t> doubles(20000);
  for (uint32_t& bits : singles) bits = static_cast<uint32_t>(next());
  for (uint64_t& bits : doubles) bits = next();
  ShapePool shapes;
  for (ElementType type : {ElementType::F32, ElementType::F64}) {
    Literal literal;
    literal.shape = shapes.array(type, std::array<int64_t, 1>{20000});
    literal.bytes = type == ElementType::F32 ? std::as_bytes(std::span(singles))
                                             : std::as_bytes(std::span(doubles));
    Constant again(fmt::format("{}[20000] constant({})", to_string(type), print_text(literal)));
    CHECK(std::memcmp(again.literal->bytes.data(), literal.bytes.data(), literal.bytes.size()) ==
          0);
  }
}

}  // namespace
}  // namespace minihlo

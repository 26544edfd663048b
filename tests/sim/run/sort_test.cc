// Sort by keys gives what the comparator gives when it is asked, bit for bit.
#include <algorithm>
#include <cstring>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "ir/numbers.h"
#include "sim/run/kernels/sort_keys.h"
#include "tests/sim/run/run_testing.h"

namespace minihlo {
namespace {

// A comparator whose root is %before; asked as a stranger it can't be seen through.
std::string comparator(std::string_view name, std::string_view parameters, std::string_view body,
                       bool is_strange) {
  std::string text = fmt::format("{} {{\n{}{}", name, parameters, body);
  text += is_strange ? "  yes = pred[] constant(true)\n  ROOT root = pred[] and(before, yes)\n"
                     : "  ROOT root = pred[] copy(before)\n";
  return text + "}\n\n";
}

std::string parameters_of(std::span<const ElementType> types) {
  std::string text;
  for (size_t k = 0; k < types.size(); ++k) {
    for (size_t side = 0; side < 2; ++side) {
      text += fmt::format("  {}{} = {}[] parameter({})\n", side == 0 ? "a" : "b", k,
                          to_string(types[k]), 2 * k + side);
    }
  }
  return text;
}

// sort of arrays [3, size, 2] along dimension 1, the last of them an iota along it.
std::string sort_module(std::vector<ElementType> types, std::string_view before, int64_t size,
                        bool is_strange, std::string_view others = "") {
  types.push_back(ElementType::S32);
  std::string text = fmt::format("HloModule m\n\n{}", others);
  text += comparator("order", parameters_of(types), before, is_strange);
  text += "ENTRY main {\n";
  std::string operands, shapes;
  for (size_t k = 0; k < types.size(); ++k) {
    const std::string shape = fmt::format("{}[3,{},2]", to_string(types[k]), size);
    text += k + 1 < types.size() ? fmt::format("  x{} = {} parameter({})\n", k, shape, k)
                                 : fmt::format("  x{} = {} iota(), iota_dimension=1\n", k, shape);
    operands += fmt::format("{}x{}", k ? ", " : "", k);
    shapes += fmt::format("{}{}", k ? ", " : "", shape);
  }
  return text + fmt::format(
                    "  ROOT s = ({}) sort({}), dimensions={{1}}, is_stable=true, "
                    "to_apply=order\n}}\n",
                    shapes, operands);
}

// Few different values, among them the first and the last ones, zeros of both signs and NaNs.
HostTensor random_tensor(ElementType type, int64_t size, std::mt19937& random) {
  return dispatch(type, [&]<class T>(std::type_identity<T>) {
    std::vector<T> elements;
    for (int64_t i = 0; i < 3 * size * 2; ++i) {
      const auto draw = static_cast<int>(random() % 16);
      T value{};
      if constexpr (std::is_same_v<T, Pred>) {
        value = Pred(draw % 2 == 0);
      } else if constexpr (std::is_floating_point_v<T> || IsMiniFloat<T>::value) {
        const auto any = static_cast<uint64_t>(random()) << 32 | random();
        constexpr int kBits = info(element_type_of<T>).bits;
        const uint64_t bits = kBits < 64 ? any & ((uint64_t{1} << kBits) - 1) : any;
        const float small = draw == 0 ? -0.0F : static_cast<float>(draw - 4);
        value = T(small);
        if (draw > 8) std::memcpy(&value, &bits, sizeof(T));
        if (draw == 15) value = T(std::numeric_limits<float>::quiet_NaN());
        if (draw == 14) value = T(-std::numeric_limits<float>::infinity());
      } else if constexpr (!is_complex(element_type_of<T>)) {
        const auto any = static_cast<int64_t>(static_cast<uint64_t>(random()) << 32 | random());
        value = T(draw > 8 ? any : draw - 4);
      }
      elements.push_back(value);
    }
    return testing::tensor(type, {3, size, 2}, elements);
  });
}

bool has_keys(const std::string& text, size_t count, bool is_strict) {
  const std::unique_ptr<Module> module = testing::parsed(text);
  const Instruction* sort = module->entry()->root();
  const auto keys = sort_keys(*sort->get(attr::to_apply));
  return keys ? keys->keys.size() == count && keys->is_strict == is_strict : count == 0;
}

// Runs the comparator by its keys and as a stranger.
void check_same(const std::vector<ElementType>& types, std::string_view before, int64_t size,
                size_t keys, bool is_strict, uint32_t seed, std::string_view others = "") {
  const std::string seen = sort_module(types, before, size, false, others);
  const std::string strange = sort_module(types, before, size, true, others);
  CAPTURE(seen);
  REQUIRE(has_keys(seen, keys, is_strict));
  REQUIRE(has_keys(strange, 0, true));
  std::mt19937 random(seed);
  Inputs inputs(1);
  for (ElementType type : types) inputs[0].push_back(random_tensor(type, size, random));
  const Mesh mesh{1, 1};
  const auto fast = simulate(*testing::parsed(seen), mesh, inputs);
  const auto slow = simulate(*testing::parsed(strange), mesh, inputs);
  REQUIRE(fast.has_value());
  REQUIRE(slow.has_value());
  for (size_t leaf = 0; leaf <= types.size(); ++leaf) {
    CAPTURE(leaf);
    const HostTensor &a = fast->outputs[0][leaf], &b = slow->outputs[0][leaf];
    REQUIRE(a.bytes == b.bytes);
    CHECK(std::memcmp(a.data.get(), b.data.get(), static_cast<size_t>(a.bytes)) == 0);
  }
}

// Steps that make `to` of the float `from`: zeros positive, NaNs all the same.
std::string canonical(std::string_view type, std::string_view from, std::string_view to) {
  return fmt::format(
      "  {1}.zero = {0}[] constant(0)\n"
      "  {1}.nan = {0}[] constant(nan)\n"
      "  {1}.is_zero = pred[] compare({1}, {1}.zero), direction=EQ\n"
      "  {1}.is_nan = pred[] compare({1}, {1}), direction=NE\n"
      "  {1}.no_zero = {0}[] select({1}.is_zero, {1}.zero, {1})\n"
      "  {2} = {0}[] select({1}.is_nan, {1}.nan, {1}.no_zero)\n",
      type, from, to);
}

TEST_CASE("sort: comparisons of all types and directions are sorted by keys") {
  uint32_t seed = 1;
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (is_complex(type)) continue;
    for (std::string_view direction : {"LT", "GT", "LE", "GE"}) {
      for (std::string_view order : {"", ", type=TOTALORDER"}) {
        if (!order.empty() && !is_float(type)) continue;
        for (int64_t size : {1, 2, 7, 8, 13, 30, 64, 257, 301}) {
          check_same(
              {type},
              fmt::format("  before = pred[] compare(a0, b0), direction={}{}\n", direction, order),
              size, 1, direction[1] == 'T', seed++);
        }
      }
    }
  }
}

TEST_CASE("sort: keys are made of elements by any function that both sides go through") {
  using enum ElementType;
  for (int64_t size : {1, 9, 100, 301}) {
    for (ElementType type : {F32, BF16, F64}) {
      const std::string_view name = to_string(type);
      check_same({S16, type},
                 canonical(name, "a1", "a") + canonical(name, "b1", "b") +
                     "  before = pred[] compare(a, b), direction=LT, type=TOTALORDER\n",
                 size, 1, true, 7);
    }
    // The integer that orders as a float does, the sides the other way round, in calls.
    constexpr std::string_view kOthers =
        "rank {\n  f = f32[] parameter(0)\n  i = s32[] bitcast-convert(f)\n"
        "  zero = s32[] constant(0)\n  spread = s32[] broadcast(zero), dimensions={}\n"
        "  ones = s32[] constant(2147483647)\n"
        "  is_negative = pred[] compare(i, spread), direction=LT\n  turned = s32[] xor(ones, i)\n"
        "  ROOT r = s32[] select(is_negative, turned, i)\n}\n\n";
    check_same({F32},
               "  a = s32[] call(a0), to_apply=rank\n"
               "  b = s32[] fusion(b0), kind=kLoop, calls=rank\n"
               "  before = pred[] compare(b, a), direction=GE\n",
               size, 1, false, 8, kOthers);
    check_same({S32, S32},
               "  a = s32[] add(a0, a1)\n  b = s32[] add(b0, b1)\n"
               "  before = pred[] compare(a, b), direction=GT\n",
               size, 1, true, 9);
    check_same({C64},
               "  a = f32[] imag(a0)\n  b = f32[] imag(b0)\n"
               "  before = pred[] compare(a, b), direction=GT\n",
               size, 1, true, 10);
  }
}

TEST_CASE("sort: several keys, the first that differs decides") {
  using enum ElementType;
  const std::string keys = canonical("f32", "a0", "fa") + canonical("f32", "b0", "fb") +
                           "  lt2 = pred[] compare(a2, b2), direction=GT\n"
                           "  lt1 = pred[] compare(a1, b1), direction=LT\n"
                           "  eq1 = pred[] compare(a1, b1), direction=EQ\n"
                           "  lt0 = pred[] compare(fa, fb), direction=LT, type=TOTALORDER\n"
                           "  eq0 = pred[] compare(fa, fb), direction=EQ, type=TOTALORDER\n";
  for (int64_t size : {1, 2, 9, 100, 255, 256, 301}) {
    for (ElementType type : {S8, U64}) {
      check_same({F32, type, PRED},
                 keys +
                     "  rest = pred[] and(eq1, lt2)\n  tail = pred[] or(lt1, rest)\n"
                     "  if0 = pred[] and(eq0, tail)\n  before = pred[] or(lt0, if0)\n",
                 size, 3, true, 11);
      check_same({F32, type, PRED}, keys + "  before = pred[] select(eq0, lt1, lt0)\n", size, 2,
                 true, 12);
    }
    check_same({F32, S8, PRED},
               keys +
                   "  le1 = pred[] compare(b1, a1), direction=LE\n"
                   "  if0 = pred[] and(le1, eq0)\n  before = pred[] or(if0, lt0)\n",
               size, 2, false, 13);
  }
}

TEST_CASE("sort: what asks for no order of keys is not taken for it") {
  using enum ElementType;
  auto check = [](std::string_view before) {
    CAPTURE(before);
    CHECK(has_keys(sort_module({F32, F32}, before, 4, false), 0, true));
  };
  check("  before = pred[] compare(a0, b1), direction=LT\n");
  check("  before = pred[] compare(a0, a1), direction=LT\n");
  check("  before = pred[] compare(a0, b0), direction=EQ\n");
  check("  a = f32[] negate(a0)\n  before = pred[] compare(a, b0), direction=LT\n");
  check(
      "  a = f32[] add(a0, b1)\n  b = f32[] add(b0, a1)\n"
      "  before = pred[] compare(a, b), direction=LT\n");
  // The key that is the same is not the one that was before, or in another sense.
  const std::string_view rest = "  lt1 = pred[] compare(a1, b1), direction=LT, type=TOTALORDER\n";
  auto check_chain = [&](std::string_view lt, std::string_view eq) {
    check(std::string(rest) + "  lt = pred[] compare(" + std::string(lt) +
          "\n  eq = pred[] compare(" + std::string(eq) +
          "\n  if = pred[] and(eq, lt1)\n  before = pred[] or(lt, if)\n");
  };
  check_chain("a0, b0), direction=LT, type=TOTALORDER", "a1, b1), direction=EQ, type=TOTALORDER");
  check_chain("a0, b0), direction=LT, type=TOTALORDER", "a0, b0), direction=EQ");
  check_chain("a0, b0), direction=LE, type=TOTALORDER", "a0, b0), direction=EQ, type=TOTALORDER");
  // NaN among several keys.
  check_chain("a0, b0), direction=LT", "a0, b0), direction=EQ");
  check("  eq = pred[] compare(a0, b0), direction=EQ\n  before = pred[] not(eq)\n");
}

TEST_CASE("sort: long rows in parts, on any number of threads") {
  // Two rows in each of two columns.
  const int64_t size = (int64_t{1} << 18) + 77, count = 4 * size;
  std::mt19937 random(1);
  std::vector<float> floats;
  std::vector<int32_t> integers;
  for (int64_t i = 0; i < count; ++i) {
    floats.push_back(static_cast<float>(static_cast<int32_t>(random() % 200'000) - 100'000) / 8);
    integers.push_back(static_cast<int32_t>(random() % 7) - 3);
  }
  // `before` as text and as a function of the numbers of two elements.
  auto check = [&](std::string_view before, auto is_before) {
    CAPTURE(before);
    const auto module = testing::parsed(fmt::format(
        "HloModule m\n\norder {{\n  a0 = f32[] parameter(0)\n  b0 = f32[] parameter(1)\n"
        "  a1 = s32[] parameter(2)\n  b1 = s32[] parameter(3)\n{0}}}\n\nENTRY e {{\n"
        "  x = f32[2,{1},2] parameter(0)\n  y = s32[2,{1},2] parameter(1)\n"
        "  ROOT s = (f32[2,{1},2], s32[2,{1},2]) sort(x, y), dimensions={{1}}, "
        "to_apply=order\n}}\n",
        before, size));
    std::vector<float> expected_floats(floats.size());
    std::vector<int32_t> expected_integers(floats.size());
    for (int64_t row = 0; row < 4; ++row) {
      auto place = [&](int64_t i) {
        return static_cast<size_t>(row / 2 * 2 * size + row % 2 + 2 * i);
      };
      std::vector<size_t> order;
      for (int64_t i = 0; i < size; ++i) order.push_back(place(i));
      std::stable_sort(order.begin(), order.end(), is_before);
      for (int64_t i = 0; i < size; ++i) {
        expected_floats[place(i)] = floats[order[static_cast<size_t>(i)]];
        expected_integers[place(i)] = integers[order[static_cast<size_t>(i)]];
      }
    }
    for (int threads : {1, 3}) {
      RunOptions options;
      options.threads = threads;
      const auto result = simulate(*module, {1, 1},
                                   {{testing::tensor(ElementType::F32, {2, size, 2}, floats),
                                     testing::tensor(ElementType::S32, {2, size, 2}, integers)}},
                                   options);
      REQUIRE(result.has_value());
      CHECK(std::memcmp(result->outputs[0][0].data.get(), expected_floats.data(),
                        expected_floats.size() * sizeof(float)) == 0);
      CHECK(testing::values<int32_t>(*result, 0, 1) == expected_integers);
    }
  };
  check("  ROOT c = pred[] compare(a0, b0), direction=LT\n",
        [&](size_t a, size_t b) { return floats[a] < floats[b]; });
  check("  ROOT c = pred[] compare(a1, b1), direction=GT\n",
        [&](size_t a, size_t b) { return integers[a] > integers[b]; });
  check(
      "  lt = pred[] compare(a0, b0), direction=LT, type=TOTALORDER\n"
      "  lt1 = pred[] compare(a1, b1), direction=LT\n"
      "  eq1 = pred[] compare(a1, b1), direction=EQ\n"
      "  ROOT c = pred[] select(eq1, lt, lt1)\n",
      [&](size_t a, size_t b) {
        return integers[a] != integers[b] ? integers[a] < integers[b] : floats[a] < floats[b];
      });
  // Where either of two equal elements is before the other the later one goes first.
  check("  ROOT c = pred[] compare(a1, b1), direction=LE\n", [&](size_t a, size_t b) {
    return integers[a] != integers[b] ? integers[a] < integers[b] : a > b;
  });
  for (size_t i = 0; i < floats.size(); i += 1 + random() % 5000) {
    floats[i] = std::numeric_limits<float>::quiet_NaN();
  }
  check("  ROOT c = pred[] compare(a0, b0), direction=LT\n",
        [&](size_t a, size_t b) { return floats[a] < floats[b]; });
}

TEST_CASE("topk: a few of many are the first of all") {
  uint32_t seed = 1;
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (is_complex(type)) continue;
    CAPTURE(to_string(type));
    for (bool largest : {false, true}) {
      auto module = [&](int64_t k) {
        return testing::parsed(
            fmt::format("HloModule m\n\nENTRY main {{\n  x = {0}[3,300,2] parameter(0)\n"
                        "  y = {0}[6,300] reshape(x)\n"
                        "  ROOT t = ({0}[6,{1}], s32[6,{1}]) topk(y), k={1}, largest={2}\n}}\n",
                        to_string(type), k, largest));
      };
      std::mt19937 random(seed++);
      const Inputs inputs = {{random_tensor(type, 300, random)}};
      const auto all = simulate(*module(300), {1, 1}, inputs);
      REQUIRE(all.has_value());
      const int64_t width = info(type).bytes;
      for (int64_t k : {1, 17, 18, 19, 150}) {
        const auto few = simulate(*module(k), {1, 1}, inputs);
        REQUIRE(few.has_value());
        for (int64_t row = 0; row < 6; ++row) {
          for (size_t leaf = 0; leaf < 2; ++leaf) {
            const int64_t bytes = leaf == 0 ? width : 4;
            CHECK(std::memcmp(few->outputs[0][leaf].data.get() + row * k * bytes,
                              all->outputs[0][leaf].data.get() + row * 300 * bytes,
                              static_cast<size_t>(k * bytes)) == 0);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace minihlo

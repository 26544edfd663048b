// Custom-calls whose meaning is known (ir/semantics/custom_calls.def).
#include "ir/semantics/custom_calls.h"

#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/paths.h"
#include "tests/sim/run/run_testing.h"

namespace minihlo {
namespace {

using testing::run_text;
using testing::values;

using F32 = std::vector<float>;
using S32 = std::vector<int32_t>;

RunResult run(std::string_view body) {
  auto result = run_text(fmt::format("HloModule m\nENTRY e {{\n{}\n}}", body), 1, 1);
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  return *std::move(result);
}

std::string stop_of(std::string_view body) {
  auto result = run_text(fmt::format("HloModule m\nENTRY e {{\n{}\n}}", body), 1, 1);
  REQUIRE(!result);
  return result.error().message;
}

void check_close(const F32& actual, const F32& expected) {
  REQUIRE(actual.size() == expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    CHECK(actual[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  }
}

TEST_CASE("custom-call: targets of the table are found in all their spellings") {
  auto meaning = [](std::string_view target) {
    const CustomCallTarget* row = find_custom_call(target);
    return row ? row->target : "";
  };
  CHECK(meaning("Sharding") == "Sharding");
  CHECK(meaning("lapack_spotrf") == "lapack_potrf");
  CHECK(meaning("lapack_zheevd_ffi") == "lapack_heevd");
  CHECK(meaning("AwsNeuronGelu_bf16") == "AwsNeuronGelu");
  CHECK(meaning("lapack_xpotrf") == "");
  CHECK(meaning("lapack_") == "");
  CHECK(meaning("lapack_potrf") == "");
  CHECK(meaning("AwsNeuronGelu_other") == "");
  CHECK(meaning("") == "");
}

TEST_CASE("custom-call: docs/simulator.md lists the table") {
  std::ifstream file(testing::source_folder() / "docs" / "simulator.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const CustomCallTarget& row : custom_call_targets()) {
    CAPTURE(row.target);
    CHECK(text.find(fmt::format("`{}`", row.target)) != text.npos);
    CHECK(text.find(row.about) != text.npos);
  }
}

TEST_CASE("custom-call: one that gives no array does nothing, whatever its target") {
  CHECK(values<float>(run(R"(x = f32[2] constant({1, 7})
print = () custom-call(x), custom_call_target="xla_ffi_python_cpu_callback", custom_call_has_side_effect=true
order = token[] after-all()
more = token[] custom-call(order, x), custom_call_target="print"
ROOT r = f32[2] add(x, x))"),
                      0) == F32{2, 14});
  CHECK(stop_of(R"(x = f32[2] constant({1, 7})
ROOT r = f32[2] custom-call(x), custom_call_target="xla_ffi_python_cpu_callback")")
            .find("what it does is not known") != std::string::npos);
}

TEST_CASE("custom-call: activations of the Neuron compiler") {
  auto of = [](std::string_view target) {
    return values<float>(run(fmt::format(R"(x = f32[4] constant({{-1.5, 0, 0.75, 20}})
ROOT y = f32[4] custom-call(x), custom_call_target="{}")",
                                         target)),
                         0);
  };
  check_close(of("AwsNeuronErf"), {-0.96610514F, 0, 0.71115563F, 1});
  check_close(of("AwsNeuronGelu"), {-0.10021080F, 0, 0.58002949F, 20});
  check_close(of("AwsNeuronGeluApprxTanh"), {-0.10042843F, 0, 0.57996056F, 20});
  check_close(of("AwsNeuronGeluBackward"), {-0.12746919F, 0.5F, 0.99922572F, 1});
  check_close(of("AwsNeuronSilu"), {-0.27363829F, 0, 0.50938402F, 20});
  check_close(of("AwsNeuronSiluBackward"), {-0.04129415F, 0.5F, 0.84259994F, 1});
  check_close(of("AwsNeuronSoftplus"), {0.20141327F, 0.69314718F, 1.13687101F, 20});
  check_close(values<float>(run(R"(x = f32[2] constant({0, 20})
n = s32[] constant(2)
ROOT y = f32[2] custom-call(x, n), custom_call_target="AwsNeuronSilu_f32")"),
                            0),
              {0, 20});
}

TEST_CASE("custom-call: softmax and its gradient, and the root of mean squares") {
  check_close(values<float>(run(R"(x = f32[2,2] constant({{0, 1}, {0.69314718, 1}})
ROOT y = f32[2,2] custom-call(x), custom_call_target="AwsNeuronSoftmax", backend_config="0")"),
                            0),
              {1.0F / 3, 0.5F, 2.0F / 3, 0.5F});
  check_close(values<float>(run(R"(g = f32[2] constant({1, 3})
y = f32[2] constant({0.25, 0.75})
ROOT r = f32[2] custom-call(g, y), custom_call_target="AwsNeuronSoftmaxBackward", backend_config="0")"),
                            0),
              {-0.375F, 0.375F});
  check_close(values<float>(run(R"(x = f32[1,2] constant({{1, 7}})
w = f32[2] constant({1, 2})
eps = f32[] constant(0)
ROOT r = f32[1,2] custom-call(x, w, eps), custom_call_target="AwsNeuronRmsNorm", backend_config="1")"),
                            0),
              {0.2F, 2.8F});
  CHECK(stop_of(R"(x = f32[2] constant({1, 7})
ROOT r = f32[2] custom-call(x), custom_call_target="AwsNeuronSoftmax", backend_config="1")")
            .find("backend_config is no dimension") != std::string::npos);
}

TEST_CASE("custom-call: places of extremes, and words of integers") {
  CHECK((values<int32_t>(run(R"(x = f32[3,2] constant({{1, nan}, {4, 9}, {4, 2}})
ROOT r = s32[2] custom-call(x), custom_call_target="AwsNeuronArgMax", backend_config="0")"),
                         0) == S32{1, 0}));
  CHECK((values<int64_t>(run(R"(x = f32[2,3] constant({{1, 0, 0}, {4, 9, -1}})
ROOT r = s64[2] custom-call(x), custom_call_target="AwsNeuronArgMin", backend_config="1")"),
                         0) == std::vector<int64_t>{1, 2}));
  RunResult words = run(R"(x = u64[2] constant({4294967298, 3})
low = u32[2] custom-call(x), custom_call_target="X64SplitLow"
high = u32[2] custom-call(x), custom_call_target="X64SplitHigh"
both = u64[2] custom-call(low, high), custom_call_target="X64Combine"
ROOT r = (u32[2], u32[2], u64[2]) tuple(low, high, both))");
  CHECK((values<uint32_t>(words, 0, 0) == std::vector<uint32_t>{2, 3}));
  CHECK((values<uint32_t>(words, 0, 1) == std::vector<uint32_t>{1, 0}));
  CHECK((values<uint64_t>(words, 0, 2) == std::vector<uint64_t>{4294967298, 3}));
}

TEST_CASE("custom-call: LAPACK sees matrices as they lie in memory") {
  // Lower triangle by columns: of the row-major matrix that is the upper one.
  auto factor = [](std::string_view layout) {
    return values<float>(run(fmt::format(R"(x = f32[2,2] constant({{{{4, 7}}, {{2, 5}}}})
f = (f32[2,2]{{{0}}}, s32[]) custom-call(x), custom_call_target="lapack_spotrf_ffi", operand_layout_constraints={{f32[2,2]{{{0}}}}}, api_version=API_VERSION_TYPED_FFI, backend_config={{uplo = 76 : ui8}}
ROOT r = f32[2,2] get-tuple-element(f), index=0)",
                                         layout)),
                         0);
  };
  CHECK((factor("0,1") == F32{2, 7, 1, 2}));
  const F32 rows = factor("1,0");
  CHECK(rows[0] == 2);
  CHECK(rows[1] == 3.5F);
  CHECK(rows[2] == 2);
}

TEST_CASE("custom-call: the older form of LAPACK calls takes sizes and options in front") {
  RunResult result = run(R"(lower = s32[] constant(1)
one = s32[] constant(1)
two = s32[] constant(2)
x = f32[2,2] constant({{4, 7}, {2, 0}})
f = (f32[2,2]{0,1}, s32[]) custom-call(lower, one, two, x), custom_call_target="lapack_spotrf", operand_layout_constraints={s32[], s32[], s32[], f32[2,2]{0,1}}, api_version=API_VERSION_STATUS_RETURNING
a = f32[2,2] get-tuple-element(f), index=0
info = s32[] get-tuple-element(f), index=1
ROOT r = (f32[2,2], s32[]) tuple(a, info))");
  CHECK((values<float>(result, 0, 0) == F32{2, 7, 1, -1}));
  CHECK((values<int32_t>(result, 0, 1) == S32{2}));
}

TEST_CASE("custom-call: products of sparse matrices leave out what is outside") {
  RunResult result = run(R"(v = f32[3] constant({2, 3, 5})
starts = s32[4] constant({-7, 2, 2, 9})
columns = s64[3] constant({1, -1, 4})
x = f32[2] constant({10, 100})
ROOT y = f32[3] custom-call(v, starts, columns, x), custom_call_target="cpu_csr_sparse_dense_ffi")");
  CHECK((values<float>(result, 0) == F32{200, 0, 0}));
}

TEST_CASE("custom-call: LAPACK calls of other shapes end the run") {
  constexpr const char* kCalls[] = {
      R"(x = f32[2,3] constant({...})
ROOT f = (f32[2,3], s32[]) custom-call(x), custom_call_target="lapack_spotrf_ffi")",
      R"(x = f32[2,2] constant({{1, 2}, {3, 4}})
ROOT f = (f32[2,2], s64[]) custom-call(x), custom_call_target="lapack_spotrf_ffi")",
      R"(x = f64[2,2] constant({{1, 2}, {3, 4}})
ROOT f = (f64[2,2], s32[]) custom-call(x), custom_call_target="lapack_spotrf_ffi")",
      R"(x = f32[2] constant({1, 2})
ROOT f = (f32[2], s32[]) custom-call(x), custom_call_target="lapack_spotrf_ffi")",
      R"(x = f32[2,2] constant({{1, 2}, {3, 4}})
ROOT f = f32[2,2] custom-call(x), custom_call_target="lapack_spotrf_ffi")",
      R"(a = f32[3,3] constant({{1, 2, 3}, {3, 4, 5}, {6, 7, 8}})
b = f32[2,3] constant({{1, 2, 3}, {3, 4, 5}})
ROOT f = f32[2,3] custom-call(a, b), custom_call_target="lapack_strsm_ffi", backend_config={side = 76 : ui8})",
      R"(a = f32[3,3] constant({{1, 2, 3}, {3, 4, 5}, {6, 7, 8}})
ROOT f = (f32[3,3], f32[2], s32[]) custom-call(a), custom_call_target="lapack_sgehrd_ffi", backend_config={high = 9 : i32, low = 1 : i32})",
      R"(v = f32[3] constant({2, 3, 5})
i = s32[3] constant({0, 1, 2})
ROOT y = f32[3] custom-call(v, i, i, v), custom_call_target="cpu_csr_sparse_dense_ffi")",
      R"(v = s32[3] constant({2, 3, 5})
b = s32[3,1] constant({{0}, {1}, {2}})
ROOT y = s32[3,1] custom-call(v, v, v, b), custom_call_target="tridiagonal_solve_perturbed_ffi")",
  };
  for (const char* body : kCalls) {
    CAPTURE(body);
    RunOptions options;
    options.elided = ElidedConstants::kZero;
    auto result = run_text(fmt::format("HloModule m\nENTRY e {{\n{}\n}}", body), 1, 1, options);
    REQUIRE(!result);
    CHECK(result.error().kind == Stop::Kind::kUnsupported);
  }
}

}  // namespace
}  // namespace minihlo

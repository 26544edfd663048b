#include "ir/shape_inference.h"

#include <doctest/doctest.h>

#include "ir/dim_labels.h"

namespace minihlo {
namespace {

TEST_CASE("every opcode's shape is inferred but for those that only the writer knows") {
  for (int i = 0; i < kOpcodeCount; ++i) {
    const Opcode opcode = static_cast<Opcode>(i);
    CAPTURE(to_string(opcode));
    // A custom-call's result is whatever its target makes.
    CHECK(has_shape_inference(opcode) == (opcode != Opcode::kCustomCall));
  }
}

TEST_CASE("labels of a convolution's dimensions") {
  auto dims = parse_dim_labels("b01f_io10->f0b1");
  REQUIRE(dims.has_value());
  CHECK(dims->input_batch == 0);
  CHECK(dims->input_feature == 3);
  CHECK(dims->input_spatial == std::vector<int64_t>{1, 2});
  CHECK(dims->kernel_input_feature == 0);
  CHECK(dims->kernel_output_feature == 1);
  CHECK(dims->kernel_spatial == std::vector<int64_t>{3, 2});
  CHECK(dims->output_batch == 2);
  CHECK(dims->output_feature == 0);
  CHECK(dims->output_spatial == std::vector<int64_t>{1, 3});
  CHECK(parse_dim_labels("bf_io->bf").has_value());
  CHECK(parse_dim_labels("b0f?_0io->b0f").has_value());
  for (const char* bad : {"", "b0f", "b0f_0io", "b0f->b0f", "b0f_0io->b0f0", "b1f_1io->b1f",
                          "b0f_0io->b0", "b0f_0oo->b0f", "b00f_00io->b00f", "b0f_io->b0f"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_dim_labels(bad).has_value());
  }
}

}  // namespace
}  // namespace minihlo

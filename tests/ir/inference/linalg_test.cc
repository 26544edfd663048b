#include <doctest/doctest.h>

#include "tests/ir/inference/rows.h"

namespace minihlo {
namespace {

constexpr InferenceRow kRows[] = {
    {"f32[7,3,3]", "", "cholesky(p0), lower=true", "f32[7,3,3]{2,1,0}"},
    {"f32[3,4]", "", "cholesky(p0)",
     "error: operand 0 (%p0, f32[3,4]) must hold square matrices in its last two dimensions"},
    {"f32[3]", "", "cholesky(p0)",
     "error: operand 0 (%p0, f32[3]) must hold square matrices in its last two dimensions"},
    {"s32[3,3]", "", "cholesky(p0)",
     "error: cholesky is defined on floats or complex numbers, not on operand 0 (%p0, s32[3,3])"},
    {"f32[3,3] f32[3,5]", "", "triangular-solve(p0, p1), left_side=true, transpose_a=NO_TRANSPOSE",
     "f32[3,5]{1,0}"},
    {"f32[3,3] f32[3,5]", "", "triangular-solve(p0, p1), left_side=true",
     "error: transpose_a must be given: NO_TRANSPOSE, TRANSPOSE or ADJOINT"},
    {"f32[3,3] f32[3,5]", "", "triangular-solve(p0, p1), left_side=false, transpose_a=TRANSPOSE",
     "error: operand 0 (%p0, f32[3,3]) does not fit operand 1 (%p1, f32[3,5]), which it is on the "
     "right of"},
    {"f32[3,3] f32[5]", "", "triangular-solve(p0, p1), left_side=true, transpose_a=ADJOINT",
     "error: operand 0 (%p0, f32[3,3]) and operand 1 (%p1, f32[5]) differ in rank"},
    {"f32[2,3,3] f32[4,3,5]", "", "triangular-solve(p0, p1), left_side=true, transpose_a=ADJOINT",
     "error: operand 0 (%p0, f32[2,3,3]) and operand 1 (%p1, f32[4,3,5]) differ in batch dimension "
     "0"},
    {"c64[4,4]", "", "fft(p0), fft_type=FFT, fft_length={4}", "c64[4,4]{1,0}"},
    {"f32[4,8]", "", "fft(p0), fft_type=FFT, fft_length={8}",
     "error: FFT is defined on complex numbers, not on operand 0 (%p0, f32[4,8])"},
    {"f32[4,8]", "", "fft(p0), fft_type=RFFT, fft_length={8}", "c64[4,5]{1,0}"},
    {"f32[4,8]", "", "fft(p0), fft_type=RFFT, fft_length={7}",
     "error: RFFT needs a size of 7 in dimension 1 by fft_length={7}, but operand 0 (%p0, "
     "f32[4,8]) has 8"},
    {"f32[4,0]", "", "fft(p0), fft_type=RFFT, fft_length={0}", "c64[4,0]{1,0}"},
    {"bf16[4,8]", "", "fft(p0), fft_type=RFFT, fft_length={8}",
     "error: RFFT is defined on f32 and f64, not on operand 0 (%p0, bf16[4,8])"},
    {"c128[4,5]", "", "fft(p0), fft_type=IRFFT, fft_length={4,8}", "f64[4,8]{1,0}"},
    {"c128[4,5]", "", "fft(p0), fft_type=IRFFT, fft_length={3,8}",
     "error: IRFFT needs a size of 3 in dimension 0 by fft_length={3,8}, but operand 0 (%p0, "
     "c128[4,5]) has 4"},
    {"c128[4,5]", "", "fft(p0), fft_type=IRFFT, fft_length={7}",
     "error: IRFFT needs a size of 4 in the last dimension by fft_length={7}, but operand 0 (%p0, "
     "c128[4,5]) has 5"},
    {"f64[4,5]", "", "fft(p0), fft_type=IRFFT, fft_length={8}",
     "error: IRFFT is defined on complex numbers, not on operand 0 (%p0, f64[4,5])"},
    {"c64[4]", "", "fft(p0), fft_type=IFFT, fft_length={4,4}",
     "error: fft_length={4,4} has more lengths than operand 0 (%p0, c64[4]) has dimensions"},
    {"c64[4]", "", "fft(p0), fft_type=IFFT, fft_length={}",
     "error: fft_length={} must have 1 to 3 lengths"},
    {"c64[4]", "", "fft(p0), fft_type=IFFT, fft_length={-4}",
     "error: fft_length={-4} has a negative length"},
    {"f32[2,3,4] f32[3] f32[3]", "",
     "batch-norm-training(p0, p1, p2), epsilon=0.1, feature_index=1",
     "(f32[2,3,4]{2,1,0}, f32[3]{0}, f32[3]{0})"},
    {"f32[2,3,4] f32[4] f32[3]", "",
     "batch-norm-training(p0, p1, p2), epsilon=0.1, feature_index=1",
     "error: operand 1 (%p1, f32[4]) must have one number for each feature of operand 0 (%p0, "
     "f32[2,3,4]), dimension 1"},
    {"f32[2,3,4] f32[3] f32[3]", "",
     "batch-norm-training(p0, p1, p2), epsilon=0.1, feature_index=3",
     "error: feature_index=3 is no dimension of operand 0 (%p0, f32[2,3,4])"},
    {"s32[2,3,4] s32[3] s32[3]", "",
     "batch-norm-training(p0, p1, p2), epsilon=0.1, feature_index=1",
     "error: batch-norm-training is defined on floats, not on operand 0 (%p0, s32[2,3,4])"},
    {"f32[2,3,4] f32[3] f32[3] f32[3] f32[3]", "",
     "batch-norm-inference(p0, p1, p2, p3, p4), epsilon=0.1, feature_index=1", "f32[2,3,4]{2,1,0}"},
    {"f32[2,3,4] f32[3] f32[3] f32[3] f32[2,3,4]", "",
     "batch-norm-grad(p0, p1, p2, p3, p4), epsilon=0.1, feature_index=1",
     "(f32[2,3,4]{2,1,0}, f32[3]{0}, f32[3]{0})"},
    {"f32[2,3,4] f32[3] f32[3] f32[3] f32[2,3,5]", "",
     "batch-norm-grad(p0, p1, p2, p3, p4), epsilon=0.1, feature_index=1",
     "error: operand 0 (%p0, f32[2,3,4]) and operand 4 (%p4, f32[2,3,5]) differ in their "
     "dimensions"},
    {"f32[] f32[]", "f32[2,3]", "rng(p0, p1), distribution=rng_uniform", "f32[2,3]{1,0}"},
    {"s32[] s32[]", "s32[2,3]", "rng(p0, p1), distribution=rng_normal",
     "error: distribution=rng_normal does not give s32[2,3]"},
    {"f32[1] f32[]", "f32[2,3]", "rng(p0, p1), distribution=rng_uniform",
     "error: operand 0 (%p0, f32[1]) is no scalar"},
    {"f32[] f32[]", "s32[2,3]", "rng(p0, p1), distribution=rng_uniform",
     "error: operand 0 (%p0, f32[]) must have the element type of the result s32[2,3]"},
    {"u64[2]", "(u64[2], u32[5])", "rng-bit-generator(p0), algorithm=rng_default",
     "(u64[2]{0}, u32[5]{0})"},
    {"u64[2]", "(u64[3], u32[5])", "rng-bit-generator(p0), algorithm=rng_default",
     "(u64[2]{0}, u32[5]{0})"},
    {"u64[2]", "u32[5]", "rng-bit-generator(p0), algorithm=rng_default", "u32[5]{0}"},
    {"u64[2]", "(u64[2], pred[5])", "rng-bit-generator(p0), algorithm=rng_default",
     "(u64[2]{0}, pred[5]{0})"},
    {"u64[2]", "(u64[2])", "rng-bit-generator(p0), algorithm=rng_default",
     "error: the result of rng-bit-generator is a pair of state and data, not (u64[2])"},
    {"", "u64[2]", "rng-get-and-update-state(), delta=1", "u64[2]{0}"},
};

TEST_CASE("shapes of linear algebra, transforms, random numbers") { check_rows(kRows); }

}  // namespace
}  // namespace minihlo

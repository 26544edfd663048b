#include <doctest/doctest.h>

#include "tests/ir/inference/rows.h"

namespace minihlo {
namespace {

constexpr InferenceRow kRows[] = {
    {"f32[2,3] f32[3,4]", "", "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "f32[2,4]{1,0}"},
    {"f32[7,2,3] f32[7,3,4]", "",
     "dot(p0, p1), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
     "rhs_contracting_dims={1}",
     "f32[7,2,4]{2,1,0}"},
    {"f32[2,3] f32[4]", "", "dot(p0, p1), lhs_contracting_dims={}, rhs_contracting_dims={}",
     "f32[2,3,4]{2,1,0}"},
    {"f32[2,3] bf16[3,4]", "", "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "f32[2,4]{1,0}"},
    {"s8[2,3] u8[3,4]", "", "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "s8[2,4]{1,0}"},
    {"s4[2,3] bf16[3,4]", "", "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "bf16[2,4]{1,0}"},
    {"s8[2,3] s8[3,4]", "s32[2,4]",
     "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "s32[2,4]{1,0}"},
    {"bf16[2,3] bf16[3,4]", "f32[2,4]",
     "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "f32[2,4]{1,0}"},
    {"f32[2,3] f32[3,4]", "bf16[2,4]",
     "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "bf16[2,4]{1,0}"},
    {"s32[2,3] s32[3,4]", "s8[2,4]",
     "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "s8[2,4]{1,0}"},
    {"f32[2,3] f32[4,4]", "", "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "error: lhs_contracting_dims={1} and rhs_contracting_dims={0}: dimension 1 of operand 0 (%p0, "
     "f32[2,3]) and dimension 0 of operand 1 (%p1, f32[4,4]) differ in size"},
    {"f32[2,3] f32[3,4]", "", "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={}",
     "error: lhs_contracting_dims={1} and rhs_contracting_dims={} must name as many dimensions"},
    {"f32[2,3] f32[3,4]", "", "dot(p0, p1), lhs_contracting_dims={2}, rhs_contracting_dims={0}",
     "error: lhs_contracting_dims={2} names dimension 2, but there are 2"},
    {"f32[3,3] f32[3,3]", "", "dot(p0, p1), lhs_contracting_dims={1,1}, rhs_contracting_dims={0,1}",
     "error: lhs_contracting_dims={1,1} names dimension 1 twice"},
    {"f32[3,3] f32[3,3]", "",
     "dot(p0, p1), lhs_batch_dims={0}, lhs_contracting_dims={0}, rhs_batch_dims={0}, "
     "rhs_contracting_dims={1}",
     "error: lhs_batch_dims={0} and lhs_contracting_dims={0} both name dimension 0"},
    {"f32[2,3] f32[3,4] f32[1]", "",
     "dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "error: dot takes 2 operands, not 3, where neither sparsity nor scales are given"},
    {"bf16[4,64] bf16[64,8] f8e8m0fnu[4,2] f8e8m0fnu[4,2]", "",
     "dot(p0, p1, p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "block_scaling_config={lhs={scale_idx=2 zero_idx=3 strides=1x32 steps=1x1}}",
     "bf16[4,8]{1,0}"},
    {"bf16[4,32] bf16[64,8] f8e8m0fnu[4,1]", "",
     "dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "block_scaling_config={lhs={scale_idx=2 strides=1x32 steps=1x1}}",
     "error: lhs_contracting_dims={1} and rhs_contracting_dims={0}: dimension 1 of operand 0 (%p0, "
     "bf16[4,32]) and dimension 0 of operand 1 (%p1, bf16[64,8]) differ in size"},
    {"bf16[4,32] bf16[64,8] s8[4,16]", "",
     "dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "sparsity_config={lhs={sparsity=2x4 dimension=1 stride=1 idx=2}}",
     "bf16[4,8]{1,0}"},
    {"bf16[4,2] bf16[8,4] s8[4,2]", "",
     "convolution(p0, p1, p2), dim_labels=bf_io->bf, "
     "sparsity_config={lhs={sparsity=1x4 dimension=1 stride=1 idx=2}}",
     "bf16[4,4]{1,0}"},
    {"bf16[4,2] bf16[8,4] s8[4,2]", "", "convolution(p0, p1, p2), dim_labels=bf_io->bf",
     "error: operand 0 (%p0, bf16[4,2]) has 2 features, operand 1 (%p1, bf16[8,4]) has 8 for each "
     "of feature_group_count=1 groups"},
    {"bf16[4,2] bf16[8,4] s8[4,2]", "",
     "convolution(p0, p1, p2), dim_labels=bf_io->bf, sparsity_config={lhs={sparsity=1x4 idx=1}}",
     "error: sparsity_config={lhs={sparsity=1x4 idx=1}}: idx=1 is none of the operands behind the "
     "second"},
    {"bf16[4,2] bf16[8,4] s8[4,2]", "",
     "convolution(p0, p1, p2), dim_labels=bf_io->bf, sparsity_config={rhs={sparsity=1x4 idx=3}}",
     "error: sparsity_config={rhs={sparsity=1x4 idx=3}}: idx=3 is none of the operands behind the "
     "second"},
    {"bf16[4,2] bf16[8,4] token[]", "",
     "convolution(p0, p1, p2), dim_labels=bf_io->bf, sparsity_config={rhs={sparsity=1x4 idx=2}}",
     "error: operand 2 (%p2, token[]) is no array"},
    {"bf16[4,2] bf16[8,4] s8[4,2]", "",
     "convolution(p0, p1, p2), dim_labels=bf_io->bf, "
     "sparsity_config={lhs={sparsity=1x4 idx=2} rhs={sparsity=1x4 idx=2}}",
     "error: sparsity_config={lhs={sparsity=1x4 idx=2} rhs={sparsity=1x4 idx=2}}: both sides have "
     "the indices of operand 2"},
    {"bf16[4,32] bf16[64,8] s8[4,16]", "",
     "dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "sparsity_config={lhs={sparsity=2x4 dimension=1 stride=1 idx=4}}",
     "error: sparsity_config={lhs={sparsity=2x4 dimension=1 stride=1 idx=4}}: idx=4 is none of the "
     "operands behind the second"},
    {"f8e4m3fn[4,64] f8e4m3fn[64,5] f8e8m0fnu[4,2] f8e8m0fnu[]", "f32[4,5]",
     "scaled-dot(p0, p1, p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "f32[4,5]{1,0}"},
    {"f32[4,8,8] f32[4,8,8] f32[1] f32[4,4,8]", "f32[4,4]",
     "scaled-dot(p0, p1, p2, p3), lhs_contracting_dims={1,2}, rhs_contracting_dims={1,2}",
     "error: lhs_contracting_dims={1,2} must name one dimension"},
    {"f8e4m3fn[4,64] bf16[64,5] f8e8m0fnu[4,2] bf16[]", "f32[4,5]",
     "scaled-dot(p0, p1, p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "f32[4,5]{1,0}"},
    {"bf16[4,64] bf16[64,5] bf16[] bf16[]", "f32[4,5]",
     "scaled-dot(p0, p1, p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "error: operand 2 (%p2, bf16[]) and operand 3 (%p3, bf16[]) can't both be scalars"},
    {"f32[2,3] f32[?,<=4]", "", "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "f32[2,<=4]{1,0}"},
    {"f32[4,2] f32[3,2,5] s32[3]", "",
     "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
     "lhs_ragged_dims={0}, rhs_group_dims={0}",
     "f32[4,5]{1,0}"},
    {"f32[4,2] f32[2,5] s32[3]", "",
     "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "lhs_ragged_dims={1}, rhs_group_dims={}",
     "f32[3,4,5]{2,1,0}"},
    {"f32[7,4,2] f32[7,2,5] s32[3]", "",
     "ragged-dot(p0, p1, p2), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
     "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={}",
     "f32[7,4,5]{2,1,0}"},
    {"f32[4,2] f32[3,2,5] s32[4]", "",
     "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
     "lhs_ragged_dims={0}, rhs_group_dims={0}",
     "error: operand 2 (%p2, s32[4]) lists 4 groups, but dimension 0 of operand 1 (%p1, "
     "f32[3,2,5]) has 3"},
    {"f32[4,2] f32[3,2,5] s32[3]", "",
     "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
     "lhs_ragged_dims={0,1}, rhs_group_dims={0}",
     "error: lhs_ragged_dims={0,1} must name one dimension"},
    {"f32[4,2] f32[3,2,5] s32[3]", "",
     "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
     "lhs_ragged_dims={0}, rhs_group_dims={1}",
     "error: rhs_group_dims={1} must be neither contracted nor a batch"},
    {"f32[4,2] f32[2,5] s32[3]", "",
     "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "lhs_ragged_dims={1}, rhs_group_dims={1}",
     "error: rhs_group_dims={1} must be empty where lhs_ragged_dims={1} is contracted"},
    {"f8e4m3fn[4,64] f8e4m3fn[64,5] f8e8m0fnu[4,2] f8e8m0fnu[2,5]", "f32[4,5]",
     "scaled-dot(p0, p1, p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "f32[4,5]{1,0}"},
    {"f8e4m3fn[4,64] bf16[64,5] f8e8m0fnu[4,2] bf16[1,1]", "bf16[4,5]",
     "scaled-dot(p0, p1, p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "bf16[4,5]{1,0}"},
    {"f8e4m3fn[4,64] f8e4m3fn[64,5] f8e8m0fnu[4,3] f8e8m0fnu[2,5]", "f32[4,5]",
     "scaled-dot(p0, p1, p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "error: dimension 1 of operand 0 (%p0, f8e4m3fn[4,64]) is not a multiple of that of its "
     "scale, operand 2 (%p2, f8e8m0fnu[4,3])"},
    {"f8e4m3fn[4,64] f8e4m3fn[64,5] f8e8m0fnu[8] f8e8m0fnu[2,5]", "f32[4,5]",
     "scaled-dot(p0, p1, p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "error: operand 2 (%p2, f8e8m0fnu[8]) scales operand 0 (%p0, f8e4m3fn[4,64]), so it must have "
     "its rank"},
    {"f32[2,9,3] f32[2,3,5]", "",
     "convolution(p0, p1), window={size=2 stride=2 pad=1_0}, dim_labels=b0f_0io->b0f",
     "f32[2,5,5]{2,1,0}"},
    {"f32[2,6,9] f32[4,3,2]", "",
     "convolution(p0, p1), window={size=2}, dim_labels=bf0_oi0->bf0, feature_group_count=2",
     "f32[2,4,8]{2,1,0}"},
    {"f32[4,3,9] f32[4,3,2]", "",
     "convolution(p0, p1), window={size=2}, dim_labels=bf0_oi0->bf0, batch_group_count=2",
     "f32[2,4,8]{2,1,0}"},
    {"f32[2,3] f32[3,5]", "", "convolution(p0, p1), dim_labels=bf_io->bf", "f32[2,5]{1,0}"},
    {"s8[2,3] s8[3,5]", "s32[2,5]", "convolution(p0, p1), dim_labels=bf_io->bf", "s32[2,5]{1,0}"},
    {"f32[2,9,3] f32[2,3,5]", "", "convolution(p0, p1), window={size=3}, dim_labels=b0f_0io->b0f",
     "error: window size 3 in dimension 0 is not that of operand 1 (%p1, f32[2,3,5]), 2"},
    {"f32[2,9,3] f32[2,3,5]", "", "convolution(p0, p1), dim_labels=b0f_0io->b0f",
     "error: window has 0 dimensions, but dim_labels=b0f_0io->b0f has 1"},
    {"f32[2,9,4] f32[2,3,5]", "", "convolution(p0, p1), window={size=2}, dim_labels=b0f_0io->b0f",
     "error: operand 0 (%p0, f32[2,9,4]) has 4 features, operand 1 (%p1, f32[2,3,5]) has 3 for "
     "each of feature_group_count=1 groups"},
    {"f32[2,9,6] f32[2,3,5]", "",
     "convolution(p0, p1), window={size=2}, dim_labels=b0f_0io->b0f, feature_group_count=2",
     "error: the 5 output features of operand 1 (%p1, f32[2,3,5]) are not a multiple of "
     "feature_group_count=2 and batch_group_count=1"},
    {"f32[3,9,3] f32[2,3,4]", "",
     "convolution(p0, p1), window={size=2}, dim_labels=b0f_0io->b0f, batch_group_count=2",
     "error: the batch of 3 in operand 0 (%p0, f32[3,9,3]) is not a multiple of "
     "batch_group_count=2"},
    {"f32[2,9,3] f32[2,3,5]", "",
     "convolution(p0, p1), window={size=2}, dim_labels=b0f_0io->b0f, feature_group_count=0",
     "error: feature_group_count=0 and batch_group_count=1 must be positive, and one of them 1"},
    {"f32[2,9,3] f32[2,3,5]", "",
     "convolution(p0, p1), window={size=2}, dim_labels=b0f_0io->b0f, feature_group_count=3, "
     "batch_group_count=2",
     "error: feature_group_count=3 and batch_group_count=2 must be positive, and one of them 1"},
    {"f32[2,9,3] f32[2,3,5]", "", "convolution(p0, p1), window={size=2}, dim_labels=b0b_0io->b0f",
     "error: dim_labels=b0b_0io->b0f must name b and f (i and o) and the digits from 0 once in "
     "each part, as in b01f_01io->b01f"},
    {"f32[2,9,3] f32[2,3,5]", "", "convolution(p0, p1), window={size=2}, dim_labels=b0f_io->b0f",
     "error: dim_labels=b0f_io->b0f has parts with different numbers of spatial dimensions"},
    {"f32[2,9] f32[2,3,5]", "", "convolution(p0, p1), window={size=2}, dim_labels=b0f_0io->b0f",
     "error: dim_labels=b0f_0io->b0f names 3 dimensions, but operand 0 (%p0, f32[2,9]) has 2"},
};

TEST_CASE("shapes of contractions") { check_rows(kRows); }

}  // namespace
}  // namespace minihlo

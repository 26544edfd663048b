#include <doctest/doctest.h>

#include "tests/ir/inference/rows.h"

namespace minihlo {
namespace {

constexpr InferenceRow kRows[] = {
    {"f32[8,3] s32[] s32[]", "", "dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}",
     "f32[2,3]{1,0}"},
    {"f32[8,3] s32[2]", "", "dynamic-slice(p0, p1), dynamic_slice_sizes={2,3}", "f32[2,3]{1,0}"},
    {"f32[8,3] s32[3]", "", "dynamic-slice(p0, p1), dynamic_slice_sizes={2,3}",
     "error: operand 1 (%p1, s32[3]) must hold 2 start indices, one for each dimension of operand "
     "0 (%p0, f32[8,3])"},
    {"f32[8,3] s32[]", "", "dynamic-slice(p0, p1), dynamic_slice_sizes={2,3}",
     "error: dynamic-slice takes 2 start indices, one for each dimension of operand 0 (%p0, "
     "f32[8,3]), not 1"},
    {"f32[8,3] s32[] s64[]", "", "dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}",
     "error: start indices must be of one type, but operand 1 (%p1, s32[]) and operand 2 (%p2, "
     "s64[]) differ"},
    {"f32[8,3] f32[] f32[]", "", "dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}",
     "error: operand 1 (%p1, f32[]) is not made of integers"},
    {"f32[8,3] s32[] s32[1]", "", "dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}",
     "error: operand 2 (%p2, s32[1]) is no scalar"},
    {"f32[8,3] s32[] s32[]", "", "dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2}",
     "error: dynamic_slice_sizes={2} must have a size for each dimension of operand 0 (%p0, "
     "f32[8,3])"},
    {"f32[8,3] s32[] s32[]", "", "dynamic-slice(p0, p1, p2), dynamic_slice_sizes={9,3}",
     "error: dynamic_slice_sizes={9,3}: 9 is no size within dimension 0 of operand 0 (%p0, "
     "f32[8,3])"},
    {"f32[8,3] s32[] s32[]", "", "dynamic-slice(p0, p1, p2), dynamic_slice_sizes={-1,3}",
     "error: dynamic_slice_sizes={-1,3}: -1 is no size within dimension 0 of operand 0 (%p0, "
     "f32[8,3])"},
    {"f32[]", "", "dynamic-slice(p0), dynamic_slice_sizes={}", "f32[]"},
    {"f32[<=8,<=3] s32[] s32[]", "", "dynamic-slice(p0, p1, p2), dynamic_slice_sizes={8,2}",
     "f32[<=8,2]{1,0}"},
    {"f32[8,3] f32[2,3] s32[] s32[]", "", "dynamic-update-slice(p0, p1, p2, p3)", "f32[8,3]{1,0}"},
    {"f32[8,3] f32[9,3] s32[] s32[]", "", "dynamic-update-slice(p0, p1, p2, p3)",
     "error: operand 1 (%p1, f32[9,3]) is larger than operand 0 (%p0, f32[8,3]) in dimension 0"},
    {"f32[8,3] f32[3] s32[] s32[]", "", "dynamic-update-slice(p0, p1, p2, p3)",
     "error: operand 0 (%p0, f32[8,3]) and operand 1 (%p1, f32[3]) differ in rank"},
    {"f32[8,3] s32[2,3] s32[] s32[]", "", "dynamic-update-slice(p0, p1, p2, p3)",
     "error: operand 0 (%p0, f32[8,3]) and operand 1 (%p1, s32[2,3]) differ in their element "
     "types"},
    {"f32[8,3] f32[2,3] s32[]", "", "dynamic-update-slice(p0, p1, p2)",
     "error: dynamic-update-slice takes 2 start indices, one for each dimension of operand 0 (%p0, "
     "f32[8,3]), not 1"},
    {"f32[] f32[]", "", "dynamic-update-slice(p0, p1)", "f32[]"},
    {"f32[8,3] s32[5,1]", "",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,3}",
     "f32[5,3]{1,0}"},
    {"f32[8,3] s32[5]", "",
     "gather(p0, p1), offset_dims={0}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,2}",
     "f32[2,5]{1,0}"},
    {"f32[8,3] s32[2]", "",
     "gather(p0, p1), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, "
     "index_vector_dim=0, slice_sizes={1,1}",
     "f32[]"},
    {"f32[4,8,3] s32[4,5,1]", "",
     "gather(p0, p1), offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, "
     "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, "
     "slice_sizes={1,1,3}",
     "f32[4,5,3]{2,1,0}"},
    {"f32[4,8,3] s32[5,5,1]", "",
     "gather(p0, p1), offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, "
     "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, "
     "slice_sizes={1,1,3}",
     "error: dimension 0 of operand 0 (%p0, f32[4,8,3]) and dimension 0 of operand 1 (%p1, "
     "s32[5,5,1]) go together in a batch, but differ in size"},
    {"f32[4,8,3] s32[4,5,1]", "",
     "gather(p0, p1), offset_dims={2}, collapsed_slice_dims={1}, start_index_map={0}, "
     "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, "
     "slice_sizes={1,1,3}",
     "error: start_index_map={0} and operand_batching_dims={0} both name dimension 0"},
    {"f32[4,8,3] s32[4,5,1]", "",
     "gather(p0, p1), offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, "
     "operand_batching_dims={0}, start_indices_batching_dims={2}, index_vector_dim=2, "
     "slice_sizes={1,1,3}",
     "error: start_indices_batching_dims={2} names dimension 2, which index_vector_dim has too"},
    {"f32[4,8,3] s32[4,5,1]", "",
     "gather(p0, p1), offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, "
     "operand_batching_dims={0}, start_indices_batching_dims={}, index_vector_dim=2, "
     "slice_sizes={1,1,3}",
     "error: operand_batching_dims={0} and start_indices_batching_dims={} must name as many "
     "dimensions"},
    {"f32[8,3] f32[5,1]", "",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,3}",
     "error: operand 1 (%p1, f32[5,1]) is not made of integers"},
    {"f32[8,3] s32[5,1]", "",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=3, slice_sizes={1,3}",
     "error: index_vector_dim=3 is no dimension of operand 1 (%p1, s32[5,1]), nor the next one"},
    {"f32[8,3] s32[5,2]", "",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,3}",
     "error: start_index_map={0} names 1 dimensions, but an index of operand 1 (%p1, s32[5,2]) has "
     "2 numbers"},
    {"f32[8,3] s32[5,1]", "",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={2}, "
     "index_vector_dim=1, slice_sizes={1,3}",
     "error: start_index_map={2} names dimension 2, but there are 2"},
    {"f32[8,3] s32[5,1]", "",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={2,3}",
     "error: slice_sizes={2,3}: the size in dimension 0 must be 1, since collapsed_slice_dims={0} "
     "names it"},
    {"f32[8,3] s32[5,1]", "",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,4}",
     "error: slice_sizes={1,4}: 4 is no size within dimension 1 of operand 0 (%p0, f32[8,3])"},
    {"f32[8,3] s32[5,1]", "",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1}",
     "error: slice_sizes={1} must have a size for each dimension of operand 0 (%p0, f32[8,3])"},
    {"f32[8,3] s32[5,1]", "",
     "gather(p0, p1), offset_dims={0,1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,3}",
     "error: offset_dims={0,1} must name 1 dimensions: operand 0 (%p0, f32[8,3]) has 2, without "
     "collapsed_slice_dims={0} and operand_batching_dims={}"},
    {"f32[8,3] s32[5,1]", "",
     "gather(p0, p1), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,3}",
     "error: offset_dims={2} names dimension 2, but there are 2"},
    {"f32[8,3] s32[5,1]", "",
     "gather(p0, p1), offset_dims={2,1}, collapsed_slice_dims={}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,3}",
     "error: offset_dims={2,1} is not in ascending order"},
    {"f32[8,3] s32[5,1] f32[5,3]", "",
     "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
     "f32[8,3]{1,0}"},
    {"f32[8,3] f32[8,3] s32[5,1] f32[5,3] f32[5,3]", "",
     "scatter(p0, p1, p2, p3, p4), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=pair_f32",
     "(f32[8,3]{1,0}, f32[8,3]{1,0})"},
    {"f32[8,3] s32[5,1] f32[5,4]", "",
     "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
     "error: operand 2 (%p2, f32[5,4]) is larger in dimension 1 than operand 0 (%p0, f32[8,3]) in "
     "dimension 1"},
    {"f32[8,3] s32[5,1] f32[6,3]", "",
     "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
     "error: dimension 0 of operand 2 (%p2, f32[6,3]) must have the size of its dimension in "
     "operand 1 (%p1, s32[5,1])"},
    {"f32[8,3] s32[5,1] f32[3]", "",
     "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
     "error: operand 2 (%p2, f32[3]) must have 2 dimensions: 1 of operand 1 (%p1, s32[5,1]) and 1 "
     "of update_window_dims={1}"},
    {"f32[8,3] s32[5,1] f32[5,3]", "",
     "scatter(p0, p1, p2), update_window_dims={0,1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
     "error: update_window_dims={0,1} must name 1 dimensions: operand 0 (%p0, f32[8,3]) has 2, "
     "without inserted_window_dims={0} and input_batching_dims={}"},
    {"f32[8,3] s32[5,1] f32[5,3]", "",
     "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_s32",
     "error: to_apply=%add_s32 accumulates s32[], but the initial value is f32"},
    {"f32[8,3] s32[5,1] f32[5,3] f32[2]", "",
     "scatter(p0, p1, p2, p3), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
     "error: scatter takes operands, indices and as many updates, but it has 4 operands"},
};

TEST_CASE("shapes of indexing") { check_rows(kRows); }

}  // namespace
}  // namespace minihlo

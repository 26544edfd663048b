// The shape rules, one function for opcodes that share one. shape_inference.cc says which opcode
// has which. Each is given as many operands as the opcode's row allows.
#pragma once

#include "ir/inference/context.h"

namespace minihlo::inference {

// elementwise.cc
Result infer_elementwise(const Context& c);
Result infer_is_finite(const Context& c);
Result infer_component(const Context& c);
Result infer_complex(const Context& c);
Result infer_compare(const Context& c);
Result infer_clamp(const Context& c);
Result infer_select(const Context& c);
Result infer_convert(const Context& c);
Result infer_reduce_precision(const Context& c);
Result infer_stochastic_convert(const Context& c);

// movement.cc
Result infer_same(const Context& c);
Result infer_broadcast(const Context& c);
Result infer_reshape(const Context& c);
Result infer_dynamic_reshape(const Context& c);
Result infer_bitcast(const Context& c);
Result infer_bitcast_convert(const Context& c);
Result infer_concatenate(const Context& c);
Result infer_pad(const Context& c);
Result infer_slice(const Context& c);
Result infer_transpose(const Context& c);
Result infer_reverse(const Context& c);
Result infer_shuffle(const Context& c);
Result infer_iota(const Context& c);
Result infer_get_dimension_size(const Context& c);
Result infer_set_dimension_size(const Context& c);

// indexing.cc
Result infer_dynamic_slice(const Context& c);
Result infer_dynamic_update_slice(const Context& c);
Result infer_gather(const Context& c);
Result infer_scatter(const Context& c);

// reduction.cc
Result infer_map(const Context& c);
Result infer_reduce(const Context& c);
Result infer_reduce_window(const Context& c);
Result infer_select_and_scatter(const Context& c);
Result infer_sort(const Context& c);
Result infer_topk(const Context& c);
Result infer_scan(const Context& c);
/// The size of a dimension after a window has gone over it (xla/window_util.cc). `i` is its number,
/// for messages.
tl::expected<Dim, std::string> window_output(Dim base, const WindowDimension& window, size_t i);

// contraction.cc
Result infer_dot(const Context& c);
Result infer_ragged_dot(const Context& c);
Result infer_scaled_dot(const Context& c);
Result infer_convolution(const Context& c);

// linalg.cc
Result infer_cholesky(const Context& c);
Result infer_triangular_solve(const Context& c);
Result infer_fft(const Context& c);
Result infer_batch_norm_inference(const Context& c);
Result infer_batch_norm_training(const Context& c);
Result infer_batch_norm_grad(const Context& c);
Result infer_rng(const Context& c);
Result infer_rng_bit_generator(const Context& c);
Result infer_rng_get_and_update_state(const Context& c);

// control.cc
Result infer_written(const Context& c);
Result infer_constant(const Context& c);
Result infer_tuple(const Context& c);
Result infer_get_tuple_element(const Context& c);
Result infer_token(const Context& c);
Result infer_own_id(const Context& c);
Result infer_call(const Context& c);
Result infer_fusion(const Context& c);
Result infer_while(const Context& c);
Result infer_conditional(const Context& c);

// collective.cc
Result infer_all_reduce(const Context& c);
Result infer_collective_reduce(const Context& c);
Result infer_collective_broadcast(const Context& c);
Result infer_all_gather(const Context& c);
Result infer_all_gather_start(const Context& c);
Result infer_reduce_scatter(const Context& c);
Result infer_all_to_all(const Context& c);
Result infer_ragged_all_to_all(const Context& c);
Result infer_collective_permute(const Context& c);
Result infer_collective_permute_start(const Context& c);

// async.cc
Result infer_async_start(const Context& c);
Result infer_async_update(const Context& c);
Result infer_async_done(const Context& c);
Result infer_second_element(const Context& c);
Result infer_copy_start(const Context& c);
Result infer_copy_done(const Context& c);
Result infer_add_dependency(const Context& c);
Result infer_send(const Context& c);
Result infer_recv(const Context& c);
Result infer_send_done(const Context& c);
Result infer_recv_done(const Context& c);
Result infer_infeed(const Context& c);
Result infer_outfeed(const Context& c);

}  // namespace minihlo::inference

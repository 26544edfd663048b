// How an instruction of each opcode is made. A rule finds operands, chooses attributes and emits;
// it returns null where the opcode does not fit in the place at hand.
#pragma once

#include "tests/generator/builder.h"

namespace minihlo::generator {

struct Rule {
  Instruction* (*make)(Builder&, Opcode);
  Use use;  // the last use that it is fit for
};

const Rule& rule_of(Opcode opcode);

// structure.cc
Instruction* make_parameter(Builder&, Opcode);
Instruction* make_constant(Builder&, Opcode);
Instruction* make_tuple(Builder&, Opcode);
Instruction* make_get_tuple_element(Builder&, Opcode);
Instruction* make_after_all(Builder&, Opcode);
Instruction* make_add_dependency(Builder&, Opcode);
Instruction* make_same(Builder&, Opcode);
Instruction* make_domain(Builder&, Opcode);
Instruction* make_own_id(Builder&, Opcode);
Instruction* make_rng(Builder&, Opcode);
Instruction* make_rng_bit_generator(Builder&, Opcode);
Instruction* make_rng_state(Builder&, Opcode);

// elementwise.cc
Instruction* make_elementwise(Builder&, Opcode);
Instruction* make_compare(Builder&, Opcode);
Instruction* make_clamp(Builder&, Opcode);
Instruction* make_select(Builder&, Opcode);
Instruction* make_convert(Builder&, Opcode);
Instruction* make_reduce_precision(Builder&, Opcode);
Instruction* make_stochastic_convert(Builder&, Opcode);

// movement.cc
Instruction* make_bitcast(Builder&, Opcode);
Instruction* make_bitcast_convert(Builder&, Opcode);
Instruction* make_broadcast(Builder&, Opcode);
Instruction* make_concatenate(Builder&, Opcode);
Instruction* make_dynamic_reshape(Builder&, Opcode);
Instruction* make_iota(Builder&, Opcode);
Instruction* make_pad(Builder&, Opcode);
Instruction* make_reshape(Builder&, Opcode);
Instruction* make_reverse(Builder&, Opcode);
Instruction* make_shuffle(Builder&, Opcode);
Instruction* make_slice(Builder&, Opcode);
Instruction* make_transpose(Builder&, Opcode);
Instruction* make_dimension_size(Builder&, Opcode);

// indexing.cc
Instruction* make_dynamic_slice(Builder&, Opcode);
Instruction* make_dynamic_update_slice(Builder&, Opcode);
Instruction* make_gather(Builder&, Opcode);
Instruction* make_scatter(Builder&, Opcode);

// reduction.cc
Instruction* make_map(Builder&, Opcode);
Instruction* make_reduce(Builder&, Opcode);
Instruction* make_reduce_window(Builder&, Opcode);
Instruction* make_scan(Builder&, Opcode);
Instruction* make_select_and_scatter(Builder&, Opcode);
Instruction* make_sort(Builder&, Opcode);
Instruction* make_topk(Builder&, Opcode);

// contraction.cc
Instruction* make_dot(Builder&, Opcode);
Instruction* make_ragged_dot(Builder&, Opcode);
Instruction* make_scaled_dot(Builder&, Opcode);
Instruction* make_convolution(Builder&, Opcode);
Instruction* make_fft(Builder&, Opcode);
Instruction* make_cholesky(Builder&, Opcode);
Instruction* make_triangular_solve(Builder&, Opcode);
Instruction* make_batch_norm(Builder&, Opcode);

// collective.cc
Instruction* make_reducing_collective(Builder&, Opcode);
Instruction* make_all_gather(Builder&, Opcode);
Instruction* make_reduce_scatter(Builder&, Opcode);
Instruction* make_all_to_all(Builder&, Opcode);
Instruction* make_ragged_all_to_all(Builder&, Opcode);
Instruction* make_collective_broadcast(Builder&, Opcode);
Instruction* make_collective_permute(Builder&, Opcode);

// async.cc
Instruction* make_async_start(Builder&, Opcode);
Instruction* make_copy_start(Builder&, Opcode);
Instruction* make_infeed(Builder&, Opcode);
Instruction* make_outfeed(Builder&, Opcode);
Instruction* make_send(Builder&, Opcode);
Instruction* make_recv(Builder&, Opcode);
/// An opcode that ends what is under way, or goes on with it: made by the start's rule.
Instruction* make_done(Builder&, Opcode);

// control.cc
Instruction* make_call(Builder&, Opcode);
Instruction* make_conditional(Builder&, Opcode);
Instruction* make_fusion(Builder&, Opcode);
Instruction* make_while(Builder&, Opcode);
Instruction* make_custom_call(Builder&, Opcode);
/// output_to_operand_aliasing={{}: (i, {})}, sometimes, where operand i has the shape of the result
/// or of the part of it at `index`.
void add_aliasing(Builder& b, const std::vector<Instruction*>& operands, const Shape* result,
                  std::vector<Attribute>& attributes, const std::vector<int64_t>& index = {});
/// Those of the custom-calls that turn an array into a buffer (Pin), and back (Unpin).
std::vector<Attribute> buffer_attributes(Builder& b, std::string_view target);

}  // namespace minihlo::generator

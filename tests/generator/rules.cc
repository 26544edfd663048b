#include "tests/generator/rules.h"

#include <array>

namespace minihlo::generator {
namespace {

std::array<Rule, kOpcodeCount> make_table() {
  std::array<Rule, kOpcodeCount> rules{};
  auto set = [&](Instruction* (*make)(Builder&, Opcode), Use use,
                 std::initializer_list<Opcode> opcodes) {
    for (Opcode opcode : opcodes) rules[static_cast<size_t>(opcode)] = {make, use};
  };
  using enum Opcode;
  using enum Use;
  set(make_parameter, kOracle, {kParameter});
  set(make_constant, kOracle, {kConstant});
  set(make_tuple, kOracle, {kTuple});
  set(make_get_tuple_element, kOracle, {kGetTupleElement});
  set(make_after_all, kRunnable, {kAfterAll});
  set(make_add_dependency, kRunnable, {kAddDependency});
  set(make_same, kOracle, {kCopy, kOptimizationBarrier});
  set(make_domain, kRunnable, {kDomain});
  set(make_own_id, kOracle, {kReplicaId, kPartitionId});
  set(make_rng, kXla, {kRng});
  set(make_rng_bit_generator, kOracle, {kRngBitGenerator});
  set(make_rng_state, kRunnable, {kRngGetAndUpdateState});

  for (int i = 0; i < kOpcodeCount; ++i) {
    if (info(static_cast<Opcode>(i)).family != Family::kElementwise) continue;
    rules[static_cast<size_t>(i)] = {make_elementwise, kOracle};
  }
  set(make_elementwise, kRunnable, {kAcos, kAcosh, kAsin, kAsinh, kAtanh, kCosh, kSinh, kMulhi});
  set(make_compare, kOracle, {kCompare});
  set(make_clamp, kOracle, {kClamp});
  set(make_select, kOracle, {kSelect});
  set(make_convert, kOracle, {kConvert});
  set(make_reduce_precision, kOracle, {kReducePrecision});
  set(make_stochastic_convert, kRunnable, {kStochasticConvert});

  set(make_bitcast, kRunnable, {kBitcast});
  set(make_bitcast_convert, kOracle, {kBitcastConvert});
  set(make_broadcast, kOracle, {kBroadcast});
  set(make_concatenate, kOracle, {kConcatenate});
  set(make_dynamic_reshape, kXla, {kDynamicReshape});
  set(make_iota, kOracle, {kIota});
  set(make_pad, kOracle, {kPad});
  set(make_reshape, kOracle, {kReshape});
  set(make_reverse, kOracle, {kReverse});
  set(make_shuffle, kAny, {kShuffle});
  set(make_slice, kOracle, {kSlice});
  set(make_transpose, kOracle, {kTranspose});
  set(make_dimension_size, kRunnable, {kGetDimensionSize});
  set(make_dimension_size, kXla, {kSetDimensionSize});
  set(make_dynamic_slice, kOracle, {kDynamicSlice});
  set(make_dynamic_update_slice, kOracle, {kDynamicUpdateSlice});
  set(make_gather, kOracle, {kGather});
  set(make_scatter, kOracle, {kScatter});

  set(make_map, kOracle, {kMap});
  set(make_reduce, kOracle, {kReduce});
  set(make_reduce_window, kOracle, {kReduceWindow});
  set(make_scan, kRunnable, {kScan});
  set(make_select_and_scatter, kOracle, {kSelectAndScatter});
  set(make_sort, kOracle, {kSort});
  set(make_topk, kOracle, {kTopK});

  set(make_dot, kOracle, {kDot});
  set(make_ragged_dot, kRunnable, {kRaggedDot});
  set(make_scaled_dot, kXla, {kScaledDot});
  set(make_convolution, kOracle, {kConvolution});
  set(make_fft, kOracle, {kFft});
  set(make_cholesky, kOracle, {kCholesky});
  set(make_triangular_solve, kOracle, {kTriangularSolve});
  set(make_batch_norm, kOracle, {kBatchNormGrad, kBatchNormInference, kBatchNormTraining});

  set(make_reducing_collective, kOracle, {kAllReduce});
  set(make_reducing_collective, kRunnable, {kAllReduceStart});
  set(make_reducing_collective, kAny, {kCollectiveReduce});
  set(make_all_gather, kOracle, {kAllGather});
  set(make_all_gather, kRunnable, {kAllGatherStart});
  set(make_reduce_scatter, kOracle, {kReduceScatter});
  set(make_all_to_all, kOracle, {kAllToAll});
  set(make_ragged_all_to_all, kRunnable, {kRaggedAllToAll});
  set(make_collective_broadcast, kRunnable, {kCollectiveBroadcast});
  set(make_collective_permute, kOracle, {kCollectivePermute});
  set(make_collective_permute, kRunnable, {kCollectivePermuteStart});

  set(make_async_start, kRunnable, {kAsyncStart});
  set(make_copy_start, kRunnable, {kCopyStart});
  set(make_infeed, kXla, {kInfeed});
  set(make_outfeed, kXla, {kOutfeed});
  set(make_send, kXla, {kSend});
  set(make_recv, kXla, {kRecv});
  set(make_done, kRunnable,
      {kAllGatherDone, kAllReduceDone, kCollectivePermuteDone, kCopyDone, kAsyncDone,
       kAsyncUpdate});
  set(make_done, kXla, {kSendDone, kRecvDone});

  set(make_call, kOracle, {kCall});
  set(make_conditional, kOracle, {kConditional});
  set(make_fusion, kRunnable, {kFusion});
  set(make_while, kOracle, {kWhile});
  set(make_custom_call, kRunnable, {kCustomCall});
  return rules;
}

}  // namespace

const Rule& rule_of(Opcode opcode) {
  static const std::array<Rule, kOpcodeCount> table = make_table();
  return table[static_cast<size_t>(opcode)];
}

}  // namespace minihlo::generator

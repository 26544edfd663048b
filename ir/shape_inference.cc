#include "ir/shape_inference.h"

#include <array>

#include "ir/inference/families.h"

namespace minihlo {
namespace {

using namespace inference;
using Rule = Result (*)(const Context&);

// The rule of each opcode; null where the written shape is taken as it is.
constexpr std::array<Rule, kOpcodeCount> make_rules() {
  std::array<Rule, kOpcodeCount> rules{};
  auto set = [&](Rule rule, std::initializer_list<Opcode> opcodes) {
    for (Opcode opcode : opcodes) rules[static_cast<size_t>(opcode)] = rule;
  };
  using enum Opcode;
  set(infer_written, {kParameter});
  set(infer_constant, {kConstant});
  set(infer_tuple, {kTuple});
  set(infer_get_tuple_element, {kGetTupleElement});
  set(infer_token, {kAfterAll});
  set(infer_own_id, {kReplicaId, kPartitionId});
  set(infer_add_dependency, {kAddDependency});
  set(infer_same, {kOptimizationBarrier, kDomain, kCopy, kAllReduceDone});

  set(infer_elementwise, {kAcos,
                          kAcosh,
                          kAsin,
                          kAsinh,
                          kAtanh,
                          kCbrt,
                          kCeil,
                          kClz,
                          kCos,
                          kCosh,
                          kErf,
                          kExp,
                          kExpm1,
                          kFloor,
                          kLog,
                          kLog1p,
                          kLogistic,
                          kNegate,
                          kNot,
                          kPopulationCount,
                          kRoundNearestAfz,
                          kRoundNearestEven,
                          kRsqrt,
                          kSign,
                          kSin,
                          kSinh,
                          kSqrt,
                          kTan,
                          kTanh,
                          kAdd,
                          kAnd,
                          kAtan2,
                          kDivide,
                          kMaximum,
                          kMinimum,
                          kMulhi,
                          kMultiply,
                          kOr,
                          kPower,
                          kRemainder,
                          kShiftLeft,
                          kShiftRightArithmetic,
                          kShiftRightLogical,
                          kSubtract,
                          kXor});
  set(infer_is_finite, {kIsFinite});
  set(infer_component, {kAbs, kReal, kImag});
  set(infer_complex, {kComplex});
  set(infer_compare, {kCompare});
  set(infer_clamp, {kClamp});
  set(infer_select, {kSelect});
  set(infer_convert, {kConvert});
  set(infer_reduce_precision, {kReducePrecision});
  set(infer_stochastic_convert, {kStochasticConvert});

  set(infer_bitcast, {kBitcast});
  set(infer_bitcast_convert, {kBitcastConvert});
  set(infer_broadcast, {kBroadcast});
  set(infer_concatenate, {kConcatenate});
  set(infer_dynamic_reshape, {kDynamicReshape});
  set(infer_dynamic_slice, {kDynamicSlice});
  set(infer_dynamic_update_slice, {kDynamicUpdateSlice});
  set(infer_gather, {kGather});
  set(infer_iota, {kIota});
  set(infer_pad, {kPad});
  set(infer_reshape, {kReshape});
  set(infer_reverse, {kReverse});
  set(infer_shuffle, {kShuffle});
  set(infer_slice, {kSlice});
  set(infer_transpose, {kTranspose});
  set(infer_get_dimension_size, {kGetDimensionSize});
  set(infer_set_dimension_size, {kSetDimensionSize});

  set(infer_map, {kMap});
  set(infer_reduce, {kReduce});
  set(infer_reduce_window, {kReduceWindow});
  set(infer_scan, {kScan});
  set(infer_scatter, {kScatter});
  set(infer_select_and_scatter, {kSelectAndScatter});
  set(infer_sort, {kSort});
  set(infer_topk, {kTopK});

  set(infer_batch_norm_grad, {kBatchNormGrad});
  set(infer_batch_norm_inference, {kBatchNormInference});
  set(infer_batch_norm_training, {kBatchNormTraining});
  set(infer_cholesky, {kCholesky});
  set(infer_convolution, {kConvolution});
  set(infer_dot, {kDot});
  set(infer_fft, {kFft});
  set(infer_ragged_dot, {kRaggedDot});
  set(infer_scaled_dot, {kScaledDot});
  set(infer_triangular_solve, {kTriangularSolve});

  set(infer_all_gather, {kAllGather});
  set(infer_all_gather_start, {kAllGatherStart});
  set(infer_second_element, {kAllGatherDone, kCollectivePermuteDone});
  set(infer_all_reduce, {kAllReduce, kAllReduceStart});
  set(infer_all_to_all, {kAllToAll});
  set(infer_collective_broadcast, {kCollectiveBroadcast});
  set(infer_collective_permute, {kCollectivePermute});
  set(infer_collective_permute_start, {kCollectivePermuteStart});
  set(infer_collective_reduce, {kCollectiveReduce});
  set(infer_ragged_all_to_all, {kRaggedAllToAll});
  set(infer_reduce_scatter, {kReduceScatter});

  set(infer_async_start, {kAsyncStart});
  set(infer_async_update, {kAsyncUpdate});
  set(infer_async_done, {kAsyncDone});
  set(infer_copy_start, {kCopyStart});
  set(infer_copy_done, {kCopyDone});
  set(infer_infeed, {kInfeed});
  set(infer_outfeed, {kOutfeed});
  set(infer_recv, {kRecv});
  set(infer_recv_done, {kRecvDone});
  set(infer_send, {kSend});
  set(infer_send_done, {kSendDone});

  set(infer_call, {kCall});
  set(infer_conditional, {kConditional});
  set(infer_fusion, {kFusion});
  set(infer_while, {kWhile});

  set(infer_rng, {kRng});
  set(infer_rng_bit_generator, {kRngBitGenerator});
  set(infer_rng_get_and_update_state, {kRngGetAndUpdateState});
  return rules;
}

constexpr std::array<Rule, kOpcodeCount> kRules = make_rules();

}  // namespace

bool has_shape_inference(Opcode opcode) { return kRules[static_cast<size_t>(opcode)] != nullptr; }

tl::expected<const Shape*, std::string> infer_shape(ShapePool& shapes,
                                                    const InstructionParts& parts) {
  const Context context(shapes, parts);
  const Rule rule = kRules[static_cast<size_t>(parts.opcode)];
  return rule ? rule(context) : infer_written(context);
}

}  // namespace minihlo

#include <algorithm>

#include <tsl/robin_set.h>

#include "ir/shape_inference.h"
#include "ir/verify/verification.h"

namespace minihlo::verifier {
namespace {

// Opcodes whose operands may be floats of different widths (xla/service/hlo_verifier.cc,
// CheckMixedPrecisionOperands).
bool may_mix_floats(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherDone:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceDone:
    case Opcode::kAllReduceStart:
    case Opcode::kAsyncDone:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kCall:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kConditional:
    case Opcode::kConstant:
    case Opcode::kConvolution:
    case Opcode::kCopyDone:
    case Opcode::kCopyStart:
    case Opcode::kCustomCall:
    case Opcode::kDomain:
    case Opcode::kDot:
    case Opcode::kFusion:
    case Opcode::kGetTupleElement:
    case Opcode::kInfeed:
    case Opcode::kOptimizationBarrier:
    case Opcode::kOutfeed:
    case Opcode::kParameter:
    case Opcode::kRaggedDot:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kReducePrecision:
    case Opcode::kReduceWindow:
    case Opcode::kScaledDot:
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kSort:
    case Opcode::kTuple:
    case Opcode::kWhile:
      return true;
    default:
      return false;
  }
}

void check_precision(Verification& v, const Instruction* instruction) {
  if (instruction->operand_count() < 2 || may_mix_floats(instruction->opcode())) return;
  const Instruction* first = nullptr;
  for (const Instruction* operand : instruction->operands()) {
    const Shape* shape = operand->shape();
    if (!shape->is_array() || !is_float(shape->element_type())) continue;
    if (!first) first = operand;
    if (first->shape()->element_type() == shape->element_type()) continue;
    v.error("mixed-precision", instruction, "{} of floats of different types: %{} is {}, %{} is {}",
            to_string(instruction->opcode()), first->name(),
            to_string(first->shape()->element_type()), operand->name(),
            to_string(shape->element_type()));
    return;
  }
}

// The layouts of a shape's arrays: each orders just the dimensions that there are.
class Layouts {
 public:
  // What is wrong with the shape, or an empty string. Each shape is looked at once.
  std::string check(const Shape* shape) {
    if (!seen_.insert(shape).second) return "";
    for (const Shape* element : shape->elements()) {
      if (std::string wrong = check(element); !wrong.empty()) return wrong;
    }
    if (!shape->is_array() || !shape->layout()) return "";
    std::span<const int64_t> order = shape->layout()->minor_to_major;
    std::vector<int64_t> sorted(order.begin(), order.end());
    std::sort(sorted.begin(), sorted.end());
    bool good = static_cast<int64_t>(order.size()) == shape->rank();
    for (size_t i = 0; good && i < sorted.size(); ++i) {
      good = sorted[i] == static_cast<int64_t>(i);
    }
    if (good) return "";
    return fmt::format("the layout of {} does not order its {} dimensions", to_string(shape),
                       shape->rank());
  }

 private:
  tsl::robin_set<const Shape*> seen_;
};

}  // namespace

void check_shapes(Verification& v) {
  Layouts layouts;
  std::vector<bool> warned(kOpcodeCount, false);
  ShapePool& shapes = *v.module().shape_pool();
  for (const Computation* computation : v.module().computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!v.is_sound(instruction)) continue;
      const Opcode opcode = instruction->opcode();
      if (std::string wrong = layouts.check(instruction->shape()); !wrong.empty()) {
        v.error("layout", instruction, "{}", wrong);
      }
      if (!has_shape_inference(opcode) && !warned[static_cast<size_t>(opcode)]) {
        warned[static_cast<size_t>(opcode)] = true;
        v.warning("not-verified", instruction,
                  "shapes of {} do not follow from operands and attributes: they are taken as "
                  "written",
                  to_string(opcode));
      }
      check_precision(v, instruction);
      auto inferred = infer_shape(shapes, {opcode, instruction->operands(),
                                           instruction->attributes(), instruction->shape()});
      if (!inferred) {
        v.error("shape", instruction, "{}", inferred.error());
      } else if (!compatible_but_for_dynamic(*inferred, instruction->shape())) {
        v.error("shape-mismatch", instruction, "the shape of %{} is written as {}, but {} gives {}",
                instruction->name(), to_string(instruction->shape(), false), to_string(opcode),
                to_string(*inferred, false));
      }
    }
  }
}

}  // namespace minihlo::verifier

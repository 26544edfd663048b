// constant-fold: computes what depends on constants alone.
//
//   %a = s32[] constant(3)
//   %b = s32[] constant(4)                     ->  %m = s32[] constant(12)
//   %m = s32[] multiply(%a, %b)
//
// Constants, iota, get-dimension-size, movement and elementwise opcodes, by the functions that the
// simulator's kernels use (ir/semantics/evaluate.h), so each bit is what running gives. What is one
// value everywhere becomes the broadcast of a scalar, whatever its size, and everything else a
// constant of at most `limit` elements. iota and broadcast say the same in fewer words, and stay,
// unless they are scalars. The constant is given all that the instruction said of itself.
//
// Left alone: what names control predecessors; what is asynchronous; dynamic shapes; constants
// whose value is elided, and what depends on them; ids, which differ between devices.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "ir/rewriter.h"
#include "ir/semantics/elementwise.h"
#include "ir/semantics/evaluate.h"
#include "ir/semantics/movement.h"
#include "passes/effects.h"
#include "passes/fused.h"
#include "passes/keep_attributes.h"
#include "passes/pass.h"

namespace minihlo {
namespace {

// What one value may take on the way to what is folded, and all of a computation together.
constexpr int64_t kMaxValueBytes = int64_t{1} << 20;
constexpr int64_t kMaxBytes = int64_t{1} << 27;

// A value that is known: all elements, or the one that they all are.
struct Known {
  bool is_splat = false;
  ElementBytesList bytes;
};

bool all_alike(std::span<const std::byte> bytes, size_t width) {
  for (size_t at = width; at < bytes.size(); at += width) {
    if (std::memcmp(bytes.data(), bytes.data() + at, width) != 0) return false;
  }
  return true;
}

class Folding {
 public:
  Folding(Computation* computation, int64_t limit)
      : rewriter_(computation), limit_(limit), known_(computation->size()) {}

  // How many instructions became constants.
  int64_t run() {
    int64_t folded = 0;
    while (Instruction* at = rewriter_.next()) {
      std::optional<Known> value = compute(*at);
      if (!value) continue;
      bytes_left_ -= static_cast<int64_t>(value->bytes.size());
      if (is_to_be_folded(*at, *value)) {
        Instruction* constant = emit(at->shape(), *value);
        keep_common_attributes(*at, constant);
        rewriter_.replace(at, constant);
        ++folded;
      }
      known_[at->number()] = std::move(value);
    }
    rewriter_.finish();
    return folded;
  }

 private:
  std::optional<Known> compute(const Instruction& at) {
    const Shape* shape = at.shape();
    if (!shape->is_array() || at.has_dynamic_shape() || shape->element_count() == 0) {
      return std::nullopt;
    }
    const auto width = static_cast<size_t>(info(shape->element_type()).bytes);
    if (const Literal* literal = at.get(attr::literal_value);
        literal && literal->form == Literal::Form::kSplat) {
      return Known{true, ElementBytesList(literal->bytes.begin(), literal->bytes.end())};
    }
    if (!can_evaluate(at)) return std::nullopt;
    std::vector<const Known*> operands;
    if (at.opcode() != Opcode::kGetDimensionSize) {
      for (const Instruction* operand : at.operands()) {
        const std::optional<Known>& known = known_[operand->number()];
        if (!known) return std::nullopt;
        operands.push_back(&*known);
      }
    }
    if (auto splat = compute_splat(at, operands)) return splat;
    const int64_t most = std::min(kMaxValueBytes, bytes_left_);
    std::vector<ElementBytesList> written(operands.size());
    std::vector<std::span<const std::byte>> spans;
    int64_t bytes = shape->byte_count();
    for (size_t i = 0; i < operands.size(); ++i) {
      const Shape* own = at.operand(i)->shape();
      bytes += own->byte_count();
      if (bytes > most) return std::nullopt;
      spans.push_back(operands[i]->bytes);
      if (!operands[i]->is_splat) continue;
      for (int64_t k = 0; k < own->element_count(); ++k) {
        written[i].insert(written[i].end(), operands[i]->bytes.begin(), operands[i]->bytes.end());
      }
      spans.back() = written[i];
    }
    auto result = evaluate(at, spans, most);
    if (!result) return std::nullopt;
    if (!all_alike(*result, width)) return Known{false, std::move(*result)};
    result->resize(width);
    return Known{true, std::move(*result)};
  }

  // What comes of values that are the same everywhere, without writing them out.
  static std::optional<Known> compute_splat(const Instruction& at,
                                            const std::vector<const Known*>& operands) {
    if (operands.empty()) return std::nullopt;
    for (const Known* operand : operands) {
      if (!operand->is_splat) return std::nullopt;
    }
    if (info(at.opcode()).family == Family::kElementwise) {
      auto op = elementwise_op(at);
      if (!op) return std::nullopt;
      const std::byte* data[ElementwiseOp::kMaxOperands] = {};
      const int64_t steps[ElementwiseOp::kMaxOperands] = {};
      for (size_t i = 0; i < operands.size(); ++i) data[i] = operands[i]->bytes.data();
      Known result{true,
                   ElementBytesList(static_cast<size_t>(info(at.shape()->element_type()).bytes))};
      (*op)(1, data, steps, result.bytes.data());
      return result;
    }
    if (!is_movement(at)) return std::nullopt;
    for (size_t i = 1; i < moved_operand_count(at); ++i) {
      if (operands[i]->bytes != operands[0]->bytes) return std::nullopt;
    }
    return Known{true, operands[0]->bytes};
  }

  bool is_to_be_folded(const Instruction& at, const Known& value) const {
    if (at.opcode() == Opcode::kConstant || at.has(attr::control_predecessors)) return false;
    if (at.opcode() == Opcode::kIota || at.opcode() == Opcode::kBroadcast) {
      return at.shape()->is_scalar();
    }
    return value.is_splat || at.shape()->element_count() <= limit_;
  }

  Instruction* emit(const Shape* shape, const Known& value) {
    if (!value.is_splat || shape->is_scalar()) return rewriter_.constant(shape, value.bytes);
    Instruction* one =
        rewriter_.constant(rewriter_.shapes().scalar(shape->element_type()), value.bytes);
    return rewriter_.emit(Opcode::kBroadcast, "broadcast", shape, {one},
                          {make_attribute(attr::dimensions, {})});
  }

  Rewriter rewriter_;
  int64_t limit_;
  int64_t bytes_left_ = kMaxBytes;
  std::vector<std::optional<Known>> known_;  // by number
};

class ConstantFold : public Pass {
 public:
  explicit ConstantFold(const PassOptions& options) : limit_(*options.number("limit")) {}

  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    const Effects effects(module, context.num_partitions(module) > 1);
    int64_t folded = 0;
    const FusedBodies fused(module);
    for (Computation* computation : module.computations()) {
      if (effects.is_asynchronous(*computation) || !fused.may_change(*computation)) continue;
      folded += Folding(computation, limit_).run();
    }
    if (folded > 0) finish_bodies(module);
    if (context.log) context.log(fmt::format("constant-fold: instructions folded: {}", folded));
    return {};
  }

 private:
  int64_t limit_;
};

constexpr OptionInfo kOptions[] = {
    {"limit", "1024", "", 0, "elements that a constant of more than one value may have"},
};

}  // namespace

const PassInfo kConstantFold = {
    .name = "constant-fold",
    .summary = "compute what depends on constants alone",
    .options = kOptions,
    .make = [](const PassOptions& options) -> std::unique_ptr<Pass> {
      return std::make_unique<ConstantFold>(options);
    },
};

}  // namespace minihlo

// Custom-calls: by what their target means (ir/semantics/custom_calls.def), or by what the user
// says that others give.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ir/semantics/custom_calls.h"
#include "sim/run/kernels/custom_call.h"
#include "sim/walk.h"

namespace minihlo {

Stop unsupported_call(const KernelCall& call, std::string_view why) {
  return Stop::unsupported(
      "custom-call", fmt::format("{}: custom-call to '{}': {}", instruction_place(call.instruction),
                                 call.instruction.get(attr::custom_call_target), why));
}

std::string_view backend_config(const Instruction& instruction) {
  const JsonText* config = instruction.get(attr::backend_config);
  return config ? config->text : std::string_view();
}

namespace {

std::vector<const Shape*> operand_leaves(const Instruction& instruction) {
  std::vector<const Shape*> leaves;
  for (const Instruction* operand : instruction.operands()) {
    std::ranges::copy(leaf_shapes(operand->shape()), std::back_inserter(leaves));
  }
  return leaves;
}

// The topk of XLA: (values, 32-bit integers) of the operand's rows.
KernelResult top_k(KernelCall& call) {
  const Shape* shape = call.instruction.shape();
  auto fits = [&] {
    if (call.operands.size() != 1 || !shape->is_tuple() || shape->elements().size() != 2) {
      return false;
    }
    const Shape *from = call.operand_shape(0), *values = shape->element(0),
                *places = shape->element(1);
    if (!from->is_array() || !values->is_array() || !places->is_array() || from->rank() == 0 ||
        values->element_type() != from->element_type() || !is_integer(places->element_type()) ||
        info(places->element_type()).bits != 32 ||
        !std::ranges::equal(values->dims(), places->dims()) || values->rank() != from->rank()) {
      return false;
    }
    const auto last = static_cast<size_t>(from->rank()) - 1;
    return std::ranges::equal(values->dims().first(last), from->dims().first(last)) &&
           values->dims()[last] <= from->dims()[last];
  };
  if (!fits()) {
    return tl::unexpected(
        unsupported_call(call, "the result is not (values, 32-bit places) of an array's rows"));
  }
  return topk_kernel(call);
}

KernelResult zeros(KernelCall& call) {
  for (const Shape* leaf : leaf_shapes(call.instruction.shape())) {
    if (!leaf->is_array()) {
      call.results.emplace_back();
      continue;
    }
    const int64_t width = info(leaf->element_type()).bytes;
    auto one = call.allocate(leaf->element_count() == 0 ? 0 : width);
    if (!one) return tl::unexpected(std::move(one.error()));
    if (one->size() > 0) std::memset(one->mutable_data(), 0, static_cast<size_t>(width));
    call.results.push_back(leaf->element_count() > 1 ? one->as_splat() : *std::move(one));
  }
  return {};
}

// Words of 64-bit integers, elementwise.
KernelResult words(KernelCall& call, CustomCallMeaning meaning) {
  const Shape* shape = call.instruction.shape();
  const bool combine = meaning == CustomCallMeaning::kX64Combine;
  auto has_bits = [&](const Shape* array, int bits) {
    return array->is_array() && is_integer(array->element_type()) &&
           info(array->element_type()).bits == bits &&
           (!shape->is_array() || std::ranges::equal(array->dims(), shape->dims()));
  };
  bool fits = call.operands.size() == (combine ? 2U : 1U) && has_bits(shape, combine ? 64 : 32);
  for (size_t i = 0; fits && i < call.operands.size(); ++i) {
    fits = has_bits(call.operand_shape(i), combine ? 32 : 64);
  }
  if (!fits) {
    return tl::unexpected(unsupported_call(call, "only integers are combined of words or split"));
  }
  std::vector<Buffer> operands;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    auto dense = call.dense(i);
    if (!dense) return tl::unexpected(std::move(dense.error()));
    operands.push_back(*std::move(dense));
  }
  auto result = call.allocate(shape);
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*result);
  // A word of the result is one of an operand's: of low and high in turn, or every second.
  const size_t skip = meaning == CustomCallMeaning::kX64SplitHigh ? 4 : 0;
  call.add(shape->element_count(), 8, [=, to = *result](int64_t begin, int64_t end) {
    std::byte* out = Buffer(to).mutable_data();
    for (int64_t i = begin; i < end; ++i) {
      if (combine) {
        std::memcpy(out + 8 * i, operands[0].data() + 4 * i, 4);
        std::memcpy(out + 8 * i + 4, operands[1].data() + 4 * i, 4);
      } else {
        std::memcpy(out + 4 * i, operands[0].data() + 8 * i + skip, 4);
      }
    }
  });
  return {};
}

// Each leaf of the result is the operand's that it may share memory with, else that of its place.
KernelResult hand_on(KernelCall& call) {
  std::vector<const Shape*> from = operand_leaves(call.instruction);
  std::vector<const Shape*> to = leaf_shapes(call.instruction.shape());
  std::vector<size_t> source(to.size());
  for (size_t i = 0; i < to.size(); ++i) source[i] = i;
  const bool is_tuple = call.instruction.shape()->is_tuple();
  for (const Alias& alias : call.instruction.get(attr::output_to_operand_aliasing)) {
    // Deeper indices are of nested tuples, which custom-calls don't give.
    const size_t leaf = alias.output_index.empty() ? 0 : static_cast<size_t>(alias.output_index[0]);
    if (alias.output_index.size() != (is_tuple ? 1U : 0U) || leaf >= to.size()) continue;
    size_t first = 0;
    for (int64_t k = 0; k < alias.parameter; ++k) {
      first += static_cast<size_t>(
          call.instruction.operand(static_cast<size_t>(k))->shape()->leaf_count());
    }
    if (alias.parameter_index.size() == 1) first += static_cast<size_t>(alias.parameter_index[0]);
    if (alias.parameter_index.size() <= 1) source[leaf] = first;
  }
  for (size_t i = 0; i < to.size(); ++i) {
    if (source[i] >= from.size() || !compatible(to[i], from[source[i]])) {
      return tl::unexpected(Stop::invalid(fmt::format(
          "{}: --custom-call={}=identity: result {} is {}, and no operand stands for it",
          instruction_place(call.instruction), call.instruction.get(attr::custom_call_target), i,
          to_string(to[i], false))));
    }
    call.results.push_back(call.operands[source[i]]);
  }
  return {};
}

KernelResult by_rule(KernelCall& call) {
  std::string_view target = call.instruction.get(attr::custom_call_target);
  const CustomCallRule* chosen = nullptr;
  for (const CustomCallRule& rule : call.context.custom_calls) {
    if (rule.target == target || (rule.target == "*" && (!chosen || chosen->target == "*"))) {
      chosen = &rule;
    }
  }
  // What it does outside, such as printing, is nothing of a run.
  const auto is_array = [](const Shape* leaf) { return leaf->is_array(); };
  if (!chosen && std::ranges::none_of(leaf_shapes(call.instruction.shape()), is_array)) {
    return zeros(call);
  }
  switch (chosen ? chosen->action : CustomCallRule::Action::kFail) {
    case CustomCallRule::Action::kIdentity:
      return hand_on(call);
    case CustomCallRule::Action::kZero:
      return zeros(call);
    case CustomCallRule::Action::kFail:
      break;
  }
  return tl::unexpected(unsupported_call(
      call, fmt::format("what it does is not known (run --custom-call={}=identity, or =zero, says "
                        "what it gives)",
                        target)));
}

}  // namespace

KernelResult custom_call_kernel(KernelCall& call) {
  using enum CustomCallMeaning;
  const CustomCallTarget* row = find_custom_call(call.instruction.get(attr::custom_call_target));
  if (!row) return by_rule(call);
  switch (row->meaning) {
    case kIdentity:  // where shapes stay the walker handed them on
      return tl::unexpected(
          unsupported_call(call, "shapes change, as they do only before a module is partitioned"));
    case kUndefined:
      return zeros(call);
    case kTopK:
      return top_k(call);
    case kX64Combine:
    case kX64SplitHigh:
    case kX64SplitLow:
      return words(call, row->meaning);
    case kErf:
    case kGelu:
    case kGeluTanh:
    case kGeluDerivative:
    case kSilu:
    case kSiluDerivative:
    case kSoftplus:
      return activation_call(call, row->meaning);
    case kSoftmax:
    case kSoftmaxGradient:
    case kRmsNorm:
      return normalization_call(call, row->meaning);
    case kArgMax:
    case kArgMin:
      return extreme_place_call(call, row->meaning);
    case kPotrf:
    case kGetrf:
    case kGeqrf:
    case kGeqp3:
    case kOrgqr:
    case kOrmqr:
    case kTrsm:
    case kGehrd:
    case kSytrd:
    case kGtsv:
    case kPerturbedGtsv:
    case kSyevd:
    case kGesdd:
    case kGeev:
    case kGees:
      return lapack_call(call, row->meaning);
    case kCsrProduct:
      return csr_product_call(call);
    case kCollective:  // a run is of the module without them
      break;
  }
  return tl::unexpected(unsupported_call(call, "it is not supported in a run"));
}

}  // namespace minihlo

#include "sim/run/kernels/chain.h"

#include <cstring>

#include "ir/semantics/elementwise_arithmetic.h"
#include "ir/vector_code.h"

namespace minihlo {
namespace {

// A vector of elements, and what operators there are on whole vectors. As functions on elements
// (ir/semantics/elementwise_arithmetic.h) they would not stay in registers from step to step.
template <class T, int bytes>
struct Lanes {
  typedef T Vector __attribute__((vector_size(bytes)));
  typedef std::make_signed_t<elementwise::BitsOf<T>> Bits __attribute__((vector_size(bytes)));

  MINIHLO_ALWAYS_INLINE static void choose(const Bits& mask, const Vector& a, Vector& otherwise) {
    otherwise = (Vector)(((Bits)a & mask) | ((Bits)otherwise & ~mask));
  }
  // elementwise::Maximum, ::Minimum
  template <bool kMaximum>
  MINIHLO_ALWAYS_INLINE static void extreme(const Vector& a, const Vector& b, Vector& result) {
    const Vector first = kMaximum ? (a > b ? a : b) : (a < b ? a : b);
    const Vector second = kMaximum ? (b > a ? b : a) : (b < a ? b : a);
    const Bits ordered = kMaximum ? (Bits)first & (Bits)second : (Bits)first | (Bits)second;
    result = (Vector)(ordered | (a != a) | (b != b));
  }
};

// The step on all of some vectors.
template <class L, size_t count, class Function>
MINIHLO_ALWAYS_INLINE inline void for_each(typename L::Vector (&values)[count],
                                           const ChainStep& step, int64_t offset,
                                           const Function& function) {
  using Vector = typename L::Vector;
  const std::byte* other = step.other ? step.other + offset : nullptr;
  MINIHLO_UNROLLED
  for (size_t i = 0; i < count; ++i) {
    Vector beside = values[i];
    if (other) std::memcpy(&beside, other + i * sizeof(Vector), sizeof(Vector));
    if (step.other_first) {
      function(beside, values[i], values[i]);
    } else {
      function(values[i], beside, values[i]);
    }
  }
}

template <class L, size_t count>
MINIHLO_ALWAYS_INLINE inline void apply(typename L::Vector (&values)[count], const ChainStep& step,
                                        int64_t offset) {
  using Vector = typename L::Vector;
  switch (step.opcode) {
    case Opcode::kAdd:
      return for_each<L>(values, step, offset,
                         [](const Vector& a, const Vector& b, Vector& to)
                             MINIHLO_ALWAYS_INLINE { to = a + b; });
    case Opcode::kSubtract:
      return for_each<L>(values, step, offset,
                         [](const Vector& a, const Vector& b, Vector& to)
                             MINIHLO_ALWAYS_INLINE { to = a - b; });
    case Opcode::kMultiply:
      return for_each<L>(values, step, offset,
                         [](const Vector& a, const Vector& b, Vector& to)
                             MINIHLO_ALWAYS_INLINE { to = a * b; });
    case Opcode::kDivide:
      return for_each<L>(values, step, offset,
                         [](const Vector& a, const Vector& b, Vector& to)
                             MINIHLO_ALWAYS_INLINE { to = a / b; });
    case Opcode::kMaximum:
      return for_each<L>(values, step, offset,
                         [](const Vector& a, const Vector& b, Vector& to)
                             MINIHLO_ALWAYS_INLINE { L::template extreme<true>(a, b, to); });
    default:
      return for_each<L>(values, step, offset,
                         [](const Vector& a, const Vector& b, Vector& to)
                             MINIHLO_ALWAYS_INLINE { L::template extreme<false>(a, b, to); });
  }
}

// As many whole groups of vectors as there are, from byte `at` on.
template <class L, size_t count>
MINIHLO_ALWAYS_INLINE inline void run_groups(const std::byte* first,
                                             std::span<const ChainStep> steps, int64_t end,
                                             std::byte* result, int64_t& at) {
  using Vector = typename L::Vector;
  constexpr auto kBytes = static_cast<int64_t>(count * sizeof(Vector));
  constexpr Vector kZero = {};
  const Vector nan = kZero + std::numeric_limits<decltype(kZero[0] + 0)>::quiet_NaN();
  for (; at + kBytes <= end; at += kBytes) {
    Vector values[count];
    MINIHLO_UNROLLED
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(&values[i], first + at + i * sizeof(Vector), sizeof(Vector));
    }
    for (const ChainStep& step : steps) apply<L>(values, step, at);
    MINIHLO_UNROLLED
    for (size_t i = 0; i < count; ++i) {
      L::choose(values[i] != values[i], nan, values[i]);
      std::memcpy(result + at + i * sizeof(Vector), &values[i], sizeof(Vector));
    }
  }
}

template <class T>
void run_typed(const std::byte* first, std::span<const ChainStep> steps, int64_t count,
               std::byte* result) {
  const int64_t end = count * static_cast<int64_t>(sizeof(T));
  int64_t at = 0;
  run_vectorized([&](auto bytes) MINIHLO_ALWAYS_INLINE {
    run_groups<Lanes<T, bytes>, 8>(first, steps, end, result, at);
    run_groups<Lanes<T, bytes>, 1>(first, steps, end, result, at);
  });
  run_groups<Lanes<T, sizeof(T)>, 1>(first, steps, end, result, at);
}

}  // namespace

bool has_chain_step(Opcode opcode, ElementType type) {
  if (type != ElementType::F32 && type != ElementType::F64) return false;
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kDivide:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kMultiply:
    case Opcode::kSubtract:
      return true;
    default:
      return false;
  }
}

void run_chain(ElementType type, const std::byte* first, std::span<const ChainStep> steps,
               int64_t count, std::byte* result) {
  if (type == ElementType::F32) return run_typed<float>(first, steps, count, result);
  run_typed<double>(first, steps, count, result);
}

}  // namespace minihlo

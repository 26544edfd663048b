#include <utility>

#include "ir/semantics/elementwise_arithmetic.h"

namespace minihlo::elementwise {
namespace {

constexpr int kDirections = static_cast<int>(ComparisonDirection::kLt) + 1;

template <size_t... i>
const KernelRow& pick(ComparisonDirection direction, bool total_order, std::index_sequence<i...>) {
  static constexpr const KernelRow* kPartial[] = {
      &kRow<Compare<static_cast<ComparisonDirection>(i)>, 2>...};
  static constexpr const KernelRow* kTotal[] = {
      &kRow<CompareTotalOrder<static_cast<ComparisonDirection>(i)>, 2>...};
  return *(total_order ? kTotal : kPartial)[static_cast<size_t>(direction)];
}

}  // namespace

const KernelRow& compare_row(ComparisonDirection direction, bool total_order) {
  return pick(direction, total_order, std::make_index_sequence<kDirections>{});
}

const KernelRow& clamp_row() { return kRow<Clamp, 3>; }

}  // namespace minihlo::elementwise

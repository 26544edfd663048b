// topk: the k largest (or smallest) of each row in total order, with their places; of equal ones
// the first comes first.
#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

#include "ir/numbers.h"
#include "sim/run/kernel.h"
#include "sim/run/kernels/keyed_sort.h"
#include "sim/run/kernels/order_key.h"

namespace minihlo {
namespace {

// Thrown out of the library's algorithm when time is out.
struct OutOfTime {};

struct Plan {
  int64_t columns, k;
  bool largest;
  Buffer operand, values, places;

  /// Whether rows are not worth sorting in full.
  bool takes_few() const { return k < columns / 16; }
};

template <class T>
using Number = OrderNumber<T>;

// Bytes that sorting of a row in full takes, if it is.
template <class T>
int64_t sort_memory(const Plan& plan) {
  const KeyNumbers key{nullptr, sizeof(Number<T>) == 8, false};
  return plan.takes_few() ? 0 : keyed_sort_memory({&key, 1}, plan.columns);
}

// Bytes that a row takes, the numbers of its elements and their order included.
template <class T>
int64_t row_memory(const Plan& plan) {
  constexpr int64_t kWidth = sizeof(Number<T>) + sizeof(uint32_t);
  return sort_memory<T>(plan) + plan.columns * kWidth;
}

template <class T>
void top_rows(const Plan& plan, int64_t begin, int64_t end, std::byte* memory, Workers& workers) {
  const int64_t columns = plan.columns, k = plan.k;
  KeyNumbers key{nullptr, sizeof(Number<T>) == 8, false};
  auto* numbers = reinterpret_cast<Number<T>*>(memory + sort_memory<T>(plan));
  auto* order = reinterpret_cast<uint32_t*>(numbers + columns);
  key.first = reinterpret_cast<const std::byte*>(numbers);
  const Number<T> turn = plan.largest ? static_cast<Number<T>>(~Number<T>{0}) : 0;
  LateCheck is_late(workers);
  for (int64_t row = begin; row < end && !is_late(columns); ++row) {
    const T* data = reinterpret_cast<const T*>(plan.operand.data()) + row * columns;
    for (int64_t i = 0; i < columns; ++i) {
      numbers[i] = order_number<Number<T>>(data[i]) ^ turn;
    }
    if (plan.takes_few()) {
      std::iota(order, order + columns, 0);
      std::partial_sort(order, order + k, order + columns, [&](uint32_t a, uint32_t b) {
        if (is_late(8)) throw OutOfTime();
        return numbers[a] != numbers[b] ? numbers[a] < numbers[b] : a < b;
      });
    } else {
      keyed_sort({&key, 1}, true, columns, 1, order, memory, is_late);
    }
    T* values = reinterpret_cast<T*>(Buffer(plan.values).mutable_data()) + row * k;
    auto* places = reinterpret_cast<int32_t*>(Buffer(plan.places).mutable_data()) + row * k;
    for (int64_t i = 0; i < k; ++i) {
      values[i] = data[order[i]];
      places[i] = static_cast<int32_t>(order[i]);
    }
  }
}

}  // namespace

KernelResult topk_kernel(KernelCall& call) {
  const Shape* operand = call.operand_shape(0);
  const Shape* shape = call.instruction.shape();
  const int64_t columns = operand->dims().back();
  if (is_complex(operand->element_type()) || columns > std::numeric_limits<int32_t>::max()) {
    return tl::unexpected(Stop::unsupported("topk", "rows that have no order or are too long"));
  }
  auto data = call.dense(0);
  if (!data) return tl::unexpected(std::move(data.error()));
  for (int64_t i = 0; i < 2; ++i) {
    auto result = call.allocate(shape->element(i));
    if (!result) return tl::unexpected(std::move(result.error()));
    call.results.push_back(*std::move(result));
  }
  if (operand->element_count() == 0) return {};
  Plan plan{columns,
            shape->element(0)->dims().back(),
            call.instruction.get(attr::largest),
            *std::move(data),
            call.results[0],
            call.results[1]};
  call.add(operand->element_count() / columns, columns * 16,
           [plan = std::move(plan), type = operand->element_type(), &instruction = call.instruction,
            &context = call.context](int64_t begin, int64_t end) {
             dispatch(type, [&]<class T>(std::type_identity<T>) {
               if constexpr (!is_complex(element_type_of<T>)) {
                 auto memory = allocate_for(instruction, context, row_memory<T>(plan));
                 if (!memory) return context.workers.fail(std::move(memory.error()));
                 try {
                   top_rows<T>(plan, begin, end, memory->mutable_data(), context.workers);
                 } catch (const OutOfTime&) {
                 }
               }
             });
           });
  return {};
}

}  // namespace minihlo

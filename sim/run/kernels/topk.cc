// topk: the k largest (or smallest) of each row in total order, with their places; of equal ones
// the first comes first.
#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

#include "ir/numbers.h"
#include "sim/run/kernel.h"
#include "sim/run/kernels/order_key.h"

namespace minihlo {
namespace {

// Thrown out of the library's algorithm when time is out.
struct OutOfTime {};

template <class T>
void top_rows(const std::byte* from, int64_t columns, int64_t k, bool largest, int64_t begin,
              int64_t end, int32_t* orders, std::byte* values, std::byte* places,
              Workers& workers) {
  LateCheck is_late(workers);
  for (int64_t row = begin; row < end; ++row) {
    int32_t* order = orders + row * columns;
    const T* data = reinterpret_cast<const T*>(from) + row * columns;
    std::iota(order, order + columns, 0);
    std::partial_sort(order, order + k, order + columns, [&](int32_t a, int32_t b) {
      if (is_late(8)) throw OutOfTime();
      auto x = order_key(data[a]), y = order_key(data[b]);
      if (x != y) return largest ? x > y : x < y;
      return a < b;
    });
    for (int64_t i = 0; i < k; ++i) {
      reinterpret_cast<T*>(values)[row * k + i] = data[order[i]];
    }
    std::copy_n(order, k, reinterpret_cast<int32_t*>(places) + row * k);
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
  if (columns == 0) return {};
  int64_t order_bytes = 0;
  if (__builtin_mul_overflow(operand->element_count(), int64_t{sizeof(int32_t)}, &order_bytes)) {
    order_bytes = std::numeric_limits<int64_t>::max();
  }
  auto orders = call.allocate(order_bytes);
  if (!orders) return tl::unexpected(std::move(orders.error()));
  call.add(
      operand->element_count() / columns, columns * 16,
      [=, data = *data, k = shape->element(0)->dims().back(),
       largest = call.instruction.get(attr::largest), orders = *orders, values = call.results[0],
       places = call.results[1], &workers = call.context.workers](int64_t begin, int64_t end) {
        dispatch(operand->element_type(), [&]<class T>(std::type_identity<T>) {
          if constexpr (!std::is_same_v<T, std::complex<float>> &&
                        !std::is_same_v<T, std::complex<double>>) {
            try {
              top_rows<T>(data.data(), columns, k, largest, begin, end,
                          reinterpret_cast<int32_t*>(Buffer(orders).mutable_data()),
                          Buffer(values).mutable_data(), Buffer(places).mutable_data(), workers);
            } catch (const OutOfTime&) {
            }
          }
        });
      });
  return {};
}

}  // namespace minihlo

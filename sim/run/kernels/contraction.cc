#include "sim/run/kernels/contraction.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ir/numbers.h"
#include "ir/semantics/elementwise_kernels.h"
#include "ir/transpose_tile.h"
#include "sim/run/kernels/axes.h"
#include "sim/walk.h"

namespace minihlo {

tl::expected<ElementwiseOp, Stop> conversion(const KernelCall& call, ElementType from,
                                             ElementType to) {
  const ElementType types[] = {from};
  auto op = elementwise_op(ElementwiseSignature{Opcode::kConvert, types, to, {}});
  if (!op) {
    return tl::unexpected(
        Stop::unsupported(std::string(to_string(call.instruction.opcode())),
                          fmt::format("{}: {}", instruction_place(call.instruction), op.error())));
  }
  return *op;
}

namespace {

Work convert_work(const ElementwiseOp& op, const Buffer& from, const Buffer& to, int64_t count) {
  const int64_t from_width = info(op.operand_type(0)).bytes;
  const int64_t to_width = info(op.result_type()).bytes;
  return {count, from_width + to_width,
          [=, out = Buffer(to).mutable_data(), keep = to](int64_t begin, int64_t end) {
            const std::byte* operand = from.data() + begin * from_width;
            const int64_t step = 1;
            op(end - begin, &operand, &step, out + begin * to_width);
          }};
}

}  // namespace

tl::expected<Buffer, Stop> converted_operand(KernelCall& call, size_t i, ElementType type) {
  auto dense = call.dense(i);
  const Shape* shape = call.operand_shape(i);
  if (!dense || shape->element_type() == type) return dense;
  auto op = conversion(call, shape->element_type(), type);
  if (!op) return tl::unexpected(std::move(op.error()));
  auto result = call.allocate(shape->element_count() * info(type).bytes);
  if (!result) return result;
  Work work = convert_work(*op, *dense, *result, shape->element_count());
  if (auto stop = call.context.workers.run({&work, 1})) return tl::unexpected(*std::move(stop));
  return result;
}

KernelResult convert_result(KernelCall& call, const Buffer& sums, ElementType type) {
  const Shape* shape = call.instruction.shape();
  if (type == shape->element_type()) {
    call.results.push_back(sums);
    return {};
  }
  auto op = conversion(call, type, shape->element_type());
  if (!op) return tl::unexpected(std::move(op.error()));
  auto result = call.allocate(shape);
  if (!result) return tl::unexpected(std::move(result.error()));
  call.next_stage();
  Work work = convert_work(*op, sums, *result, shape->element_count());
  call.add(work.count, work.cost, std::move(work.body));
  call.results.push_back(*std::move(result));
  return {};
}

std::optional<int64_t> even_stride(std::span<const int64_t> offsets) {
  const int64_t stride = offsets.size() > 1 ? offsets[1] - offsets[0] : 1;
  for (size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] - offsets[i - 1] != stride) return std::nullopt;
  }
  return stride;
}

namespace {

template <class T>
void pack_typed(const std::byte* elements, std::span<const int64_t> outer,
                std::span<const int64_t> depth, int64_t row_size, std::byte* packed) {
  const T* from = reinterpret_cast<const T*>(elements);
  T* to = reinterpret_cast<T*>(packed);
  const auto used = static_cast<int64_t>(outer.size());
  const auto count = static_cast<int64_t>(depth.size());
  if (count == 0) return;  // there may be no memory either
  if (used < row_size) std::memset(to, 0, static_cast<size_t>(count * row_size) * sizeof(T));
  if (is_run(outer)) {
    for (int64_t k = 0; k < count; ++k) {
      std::memcpy(to + k * row_size, from + outer[0] + depth[static_cast<size_t>(k)],
                  static_cast<size_t>(used) * sizeof(T));
    }
    return;
  }
  if (const auto stride = even_stride(outer); stride && is_run(depth)) {
    return transpose_tile(from + outer[0] + depth[0], *stride, used, count, to, row_size);
  }
  // Square tiles, so that neither side is walked through with long strides.
  constexpr int64_t kTile = 16;
  for (int64_t k = 0; k < count; k += kTile) {
    const int64_t end = std::min(count, k + kTile);
    for (int64_t i = 0; i < used; ++i) {
      const T* row = from + outer[static_cast<size_t>(i)];
      for (int64_t at = k; at < end; ++at) {
        to[at * row_size + i] = row[depth[static_cast<size_t>(at)]];
      }
    }
  }
}

struct Wide {
  uint64_t low, high;
};

}  // namespace

void pack_elements(int64_t bytes, const std::byte* elements, std::span<const int64_t> outer,
                   std::span<const int64_t> depth, int64_t row_size, std::byte* packed) {
  switch (bytes) {
    case 1:
      return pack_typed<uint8_t>(elements, outer, depth, row_size, packed);
    case 2:
      return pack_typed<uint16_t>(elements, outer, depth, row_size, packed);
    case 4:
      return pack_typed<uint32_t>(elements, outer, depth, row_size, packed);
    case 8:
      return pack_typed<uint64_t>(elements, outer, depth, row_size, packed);
    default:
      return pack_typed<Wide>(elements, outer, depth, row_size, packed);
  }
}

void canonicalize(ElementType type, int64_t count, std::byte* sums) {
  dispatch(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (!IsMiniFloat<T>::value && !IsNarrowInt<T>::value) {
      T* values = reinterpret_cast<T*>(sums);
      for (int64_t i = 0; i < count; ++i) values[i] = elementwise::canonical(values[i]);
    }
  });
}

}  // namespace minihlo

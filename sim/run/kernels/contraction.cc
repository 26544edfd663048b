#include "sim/run/kernels/contraction.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ir/numbers.h"
#include "ir/semantics/elementwise_kernels.h"
#include "sim/run/kernels/contract.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

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

void store_tile(ElementType type, const std::byte* sums, int64_t rows, int64_t columns_used,
                std::byte* result, int64_t columns) {
  dispatch(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (!IsMiniFloat<T>::value && !IsNarrowInt<T>::value) {
      const T* from = reinterpret_cast<const T*>(sums);
      T* to = reinterpret_cast<T*>(result);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns_used; ++c) {
          to[r * columns + c] = elementwise::canonical(from[r * kTileColumns + c]);
        }
      }
    }
  });
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

int64_t panel_count(const MatrixView& view, int64_t block) {
  return count_of(view.groups) * ((count_of(view.rows) + block - 1) / block);
}

void pack_panels(const MatrixView& view, const std::byte* from, int64_t width, int64_t block,
                 int64_t begin, int64_t end, std::byte* panels) {
  const int64_t rows = count_of(view.rows), depth = count_of(view.depth);
  const int64_t blocks = (rows + block - 1) / block;
  std::vector<int64_t> offsets(static_cast<size_t>(block));
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t group = OffsetWalk(view.groups, panel / blocks).offset();
    const int64_t first = panel % blocks * block;
    const int64_t used = std::min(block, rows - first);
    OffsetWalk row(view.rows, first);
    bool contiguous = true;
    for (int64_t i = 0; i < used; ++i, row.next()) {
      offsets[static_cast<size_t>(i)] = row.offset();
      contiguous = contiguous && offsets[static_cast<size_t>(i)] == offsets[0] + i;
    }
    std::byte* to = panels + panel * depth * block * width;
    OffsetWalk at(view.depth);
    for (int64_t k = 0; k < depth; ++k, at.next(), to += block * width) {
      const std::byte* source = from + (group + at.offset()) * width;
      if (contiguous) {
        std::memcpy(to, source + offsets[0] * width, static_cast<size_t>(used * width));
      } else {
        for (int64_t i = 0; i < used; ++i) {
          std::memcpy(to + i * width, source + offsets[static_cast<size_t>(i)] * width,
                      static_cast<size_t>(width));
        }
      }
      std::memset(to + used * width, 0, static_cast<size_t>((block - used) * width));
    }
  }
}

}  // namespace minihlo

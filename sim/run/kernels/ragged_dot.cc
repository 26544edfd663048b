// ragged-dot: the ragged dimension of lhs is cut into groups, one behind the other, whose sizes are
// the third operand. Where it is lhs's own, each group meets a slice of rhs of its own, and indices
// behind the last group give zero; where it is contracted, each group gives a slice of the result
// of its own; where it is a batch dimension, groups change nothing.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/run/kernel.h"
#include "sim/run/kernels/contract.h"
#include "sim/run/kernels/matrix_product.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

bool contains(std::span<const int64_t> dims, int64_t dim) {
  return std::ranges::find(dims, dim) != dims.end();
}

// A range of one of the product's indices, and the dimension that it is of each array; -1: of none.
struct Index {
  enum class Role : uint8_t { kBatch, kRow, kColumn, kDepth, kGroup };
  Role role;
  int64_t lhs, rhs, result;
  int64_t size;
};

class RaggedDot {
 public:
  explicit RaggedDot(const KernelCall& call) : dot_(call.instruction) {
    std::span<const int64_t> lhs_batch = dot_.get(attr::lhs_batch_dims);
    std::span<const int64_t> lhs_depth = dot_.get(attr::lhs_contracting_dims);
    std::span<const int64_t> rhs_batch = dot_.get(attr::rhs_batch_dims);
    std::span<const int64_t> rhs_depth = dot_.get(attr::rhs_contracting_dims);
    std::span<const int64_t> group = dot_.get(attr::rhs_group_dims);
    const Shape *lhs = call.operand_shape(0), *rhs = call.operand_shape(1);
    const Shape* sizes = call.operand_shape(2);
    const int64_t group_count = sizes->dim(sizes->rank() - 1);
    int64_t next = 0;  // dimension of the result
    if (contains(lhs_depth, ragged())) {
      indices_.push_back({Index::Role::kGroup, -1, -1, next++, group_count});
    } else if (!group.empty()) {
      indices_.push_back({Index::Role::kGroup, -1, group[0], -1, group_count});
    }
    for (size_t i = 0; i < lhs_batch.size(); ++i) {
      indices_.push_back(
          {Index::Role::kBatch, lhs_batch[i], rhs_batch[i], next++, lhs->dim(lhs_batch[i])});
    }
    for (size_t i = 0; i < lhs_depth.size(); ++i) {
      indices_.push_back(
          {Index::Role::kDepth, lhs_depth[i], rhs_depth[i], -1, lhs->dim(lhs_depth[i])});
    }
    for (int64_t dim = 0; dim < lhs->rank(); ++dim) {
      if (contains(lhs_batch, dim) || contains(lhs_depth, dim)) continue;
      indices_.push_back({Index::Role::kRow, dim, -1, next++, lhs->dim(dim)});
    }
    for (int64_t dim = 0; dim < rhs->rank(); ++dim) {
      if (contains(rhs_batch, dim) || contains(rhs_depth, dim) || contains(group, dim)) continue;
      indices_.push_back({Index::Role::kColumn, -1, dim, next++, rhs->dim(dim)});
    }
  }

  int64_t ragged() const { return dot_.get(attr::lhs_ragged_dims)[0]; }
  bool is_batched() const { return contains(dot_.get(attr::lhs_batch_dims), ragged()); }

  /// What sizes of rank above 1 are told apart by: the indices of lhs before the ragged one that
  /// are batch indices or of its kind. Nothing where that is not what their dimensions say.
  std::optional<std::vector<Index>> prefix(const Shape* sizes) const {
    std::vector<Index> result;
    if (sizes->rank() == 1) return result;
    auto at = std::ranges::find(indices_, ragged(), &Index::lhs);
    for (auto index = indices_.begin(); index != at; ++index) {
      if (index->role == Index::Role::kBatch || index->role == at->role) result.push_back(*index);
    }
    if (static_cast<int64_t>(result.size()) != sizes->rank() - 1) return std::nullopt;
    for (size_t i = 0; i < result.size(); ++i) {
      if (result[i].size != sizes->dims()[i] || result[i].role == Index::Role::kDepth) {
        return std::nullopt;
      }
    }
    return result;
  }

  /// The product of a part: `first` and `size` of some indices, of the others all.
  struct Range {
    Index index;
    int64_t first, size;
  };
  MatrixProduct product(const KernelCall& call, std::span<const Range> part) const {
    MatrixProduct product;
    product.sum_type = contraction_type(dot_.shape()->element_type());
    product.left = {call.operands[0], call.operand_shape(0)->element_type(), {}};
    product.right = {call.operands[1], call.operand_shape(1)->element_type(), {}};
    product.result = {call.results[0], dot_.shape()->element_type(), {}};
    const std::vector<int64_t> lhs_strides = row_major_strides(call.operand_shape(0)->dims());
    const std::vector<int64_t> rhs_strides = row_major_strides(call.operand_shape(1)->dims());
    const std::vector<int64_t> result_strides = row_major_strides(dot_.shape()->dims());
    for (const Index& index : indices_) {
      // A slice of rhs or of the result belongs to each group.
      int64_t first = 0, size = index.role == Index::Role::kGroup ? 1 : index.size;
      for (const Range& range : part) {
        if (range.index.role != index.role || range.index.lhs != index.lhs) continue;
        first = range.first;
        size = range.size;
      }
      auto add = [&](MatrixView& view, std::vector<StridedAxis>& axes,
                     const std::vector<int64_t>& strides, int64_t dim) {
        if (dim < 0) return;
        const int64_t stride = strides[static_cast<size_t>(dim)];
        view.offset += first * stride;
        if (size != 1) axes.push_back({size, stride});
      };
      MatrixView &left = product.left.view, &right = product.right.view;
      MatrixView& result = product.result.view;
      const bool is_row = index.role == Index::Role::kRow;
      const bool is_depth = index.role == Index::Role::kDepth;
      const bool is_column = index.role == Index::Role::kColumn;
      add(left, is_row ? left.rows : is_depth ? left.columns : left.groups, lhs_strides, index.lhs);
      add(right,
          is_depth    ? right.rows
          : is_column ? right.columns
                      : right.groups,
          rhs_strides, index.rhs);
      add(result,
          is_row      ? result.rows
          : is_column ? result.columns
                      : result.groups,
          result_strides, index.result);
    }
    return product;
  }

  const std::vector<Index>& indices() const { return indices_; }

 private:
  const Instruction& dot_;
  std::vector<Index> indices_;
};

}  // namespace

KernelResult ragged_dot_kernel(KernelCall& call) {
  const Shape *shape = call.instruction.shape(), *sizes = call.operand_shape(2);
  auto result = call.allocate(shape);
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*result);
  if (shape->element_count() == 0) return {};
  const RaggedDot dot(call);
  if (dot.is_batched()) return add_matrix_product(call, dot.product(call, {}));
  auto prefix = dot.prefix(sizes);
  if (!prefix) {
    return tl::unexpected(Stop::unsupported(
        "ragged-dot", fmt::format("{}: sizes of groups in {}", instruction_place(call.instruction),
                                  to_string(sizes, false))));
  }
  call.add(result->size(), 1, [to = *result](int64_t begin, int64_t end) {
    std::memset(Buffer(to).mutable_data() + begin, 0, static_cast<size_t>(end - begin));
  });
  call.next_stage();

  const Index& ragged = *std::ranges::find(dot.indices(), dot.ragged(), &Index::lhs);
  const Index& group = dot.indices()[0];
  std::vector<StridedAxis> prefix_axes;
  for (const Index& index : *prefix) prefix_axes.push_back({index.size, 0});
  for (int64_t number = 0; number < count_of(prefix_axes); ++number) {
    std::vector<RaggedDot::Range> part;
    int64_t rest = number;
    for (size_t i = prefix->size(); i-- > 0; rest /= (*prefix)[i].size) {
      part.push_back({(*prefix)[i], rest % (*prefix)[i].size, 1});
    }
    int64_t first = 0;
    for (int64_t i = 0; i < group.size; ++i) {
      const int64_t size = std::clamp<int64_t>(
          integer_at(call.operands[2], sizes->element_type(), number * group.size + i), 0,
          ragged.size - first);
      if (size == 0) continue;
      part.push_back({ragged, first, size});
      part.push_back({group, i, 1});
      if (KernelResult done = add_matrix_product(call, dot.product(call, part)); !done) return done;
      part.resize(part.size() - 2);
      first += size;
    }
  }
  return {};
}

}  // namespace minihlo

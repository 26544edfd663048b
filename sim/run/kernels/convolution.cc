// convolution: each result element is the sum over the positions of the window in row-major order,
// at each over the input features; positions in the padding or in holes contribute nothing.
#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "sim/run/kernel.h"
#include "sim/run/kernels/contract.h"
#include "sim/run/kernels/contraction.h"
#include "sim/run/kernels/windows.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

// Where one side of dim_labels has its dimensions: two letters and the spatial ones in order.
struct Labels {
  int64_t first = -1;   // b, or i of the kernel
  int64_t second = -1;  // f, or o of the kernel
  std::vector<int64_t> spatial;
};

Labels parse_side(std::string_view text, char first, char second) {
  Labels labels;
  for (size_t i = 0; i < text.size(); ++i) {
    auto dim = static_cast<int64_t>(i);
    if (text[i] == first) {
      labels.first = dim;
    } else if (text[i] == second) {
      labels.second = dim;
    } else if (text[i] >= '0' && text[i] <= '9') {
      auto number = static_cast<size_t>(text[i] - '0');
      if (labels.spatial.size() <= number) labels.spatial.resize(number + 1, -1);
      labels.spatial[number] = dim;
    }
  }
  return labels;
}

struct Plan {
  Windows windows;  // over the spatial dimensions
  ElementType type;
  int64_t width;
  ContractTile tile;
  Buffer data, panels, sums;
  std::vector<StridedAxis> data_spatial;  // strides of the operand's spatial dimensions
  std::vector<int64_t> data_dims;
  int64_t data_batch_stride, data_feature_stride;
  std::vector<StridedAxis> out_spatial;
  int64_t out_batch_stride, out_feature_stride;
  int64_t batches;    // of the result
  int64_t positions;  // spatial, of the result
  int64_t depth;      // input features of a group
  int64_t groups;     // of features, or of batches
  bool batch_groups;
  int64_t group_features;  // output features of a group
  int64_t column_blocks;
};

// Up to kTileRows result positions of one group.
class Strip {
 public:
  explicit Strip(const Plan& plan)
      : plan_(plan),
        rank_(plan.windows.rank()),
        outputs_(kTileRows * rank_),
        position_(rank_),
        left_(static_cast<size_t>(plan.depth * kTileRows * plan.width)),
        sums_(static_cast<size_t>(plan.column_blocks * kTileRows * kTileColumns * plan.width)) {}

  void run(int64_t group, int64_t first, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) {
      plan_.windows.output_index((first + r) % plan_.positions, output(r));
    }
    if (all_alike(rows)) {
      sum(group, first, 0, rows);
      store(group, first, 0, rows);
      return;
    }
    for (int64_t r = 0; r < rows; ++r) {
      sum(group, first, r, r + 1);
      store(group, first, r, r + 1);
    }
  }

 private:
  int64_t* output(int64_t row) { return outputs_.data() + static_cast<size_t>(row) * rank_; }

  // Whether all rows meet the operand at the same positions of the window.
  bool all_alike(int64_t rows) {
    for (int64_t p = 0; p < plan_.windows.position_count(); ++p) {
      plan_.windows.position_index(p, position_.data());
      bool meets = plan_.windows.element(output(0), position_.data()) >= 0;
      for (int64_t r = 1; r < rows; ++r) {
        if ((plan_.windows.element(output(r), position_.data()) >= 0) != meets) return false;
      }
    }
    return true;
  }

  // The operand's element for a row, at feature 0 of the group; `linear` counts spatial indices.
  const std::byte* data_at(int64_t group, int64_t item, int64_t linear) const {
    int64_t batch = item / plan_.positions;
    if (plan_.batch_groups) batch += group * plan_.batches;
    int64_t offset = batch * plan_.data_batch_stride +
                     (plan_.batch_groups ? 0 : group * plan_.depth * plan_.data_feature_stride) +
                     OffsetWalk(plan_.data_spatial, linear).offset();
    return plan_.data.data() + offset * plan_.width;
  }

  void sum(int64_t group, int64_t first, int64_t begin, int64_t end) {
    const auto width = static_cast<size_t>(plan_.width);
    const int64_t feature_bytes = plan_.data_feature_stride * plan_.width;
    bool goes_on = false;
    auto add = [&](int64_t count, int64_t p) {
      for (int64_t j = 0; j < plan_.column_blocks; ++j) {
        const std::byte* right =
            plan_.panels.data() +
            (((group * plan_.column_blocks + j) * plan_.windows.position_count() + p) *
             plan_.depth * kTileColumns) *
                plan_.width;
        plan_.tile(count, left_.data(), right, goes_on,
                   sums_.data() + static_cast<size_t>(j * kTileRows * kTileColumns) * width);
      }
      goes_on = true;
    };
    std::fill(left_.begin(), left_.end(), std::byte{0});
    for (int64_t p = 0; p < plan_.windows.position_count(); ++p) {
      plan_.windows.position_index(p, position_.data());
      bool meets = true;
      for (int64_t r = begin; r < end && meets; ++r) {
        int64_t linear = plan_.windows.element(output(r), position_.data());
        meets = linear >= 0;
        if (!meets) break;
        const std::byte* from = data_at(group, first + r, linear);
        for (int64_t k = 0; k < plan_.depth; ++k) {
          std::memcpy(left_.data() + static_cast<size_t>(k * kTileRows + r - begin) * width,
                      from + k * feature_bytes, width);
        }
      }
      if (meets && plan_.depth > 0) add(plan_.depth, p);
    }
    if (!goes_on) add(0, 0);
  }

  void store(int64_t group, int64_t first, int64_t begin, int64_t end) {
    const auto width = static_cast<size_t>(plan_.width);
    alignas(64) std::byte tile[kTileRows * kTileColumns * 16];
    std::byte* to = Buffer(plan_.sums).mutable_data();
    for (int64_t j = 0; j < plan_.column_blocks; ++j) {
      const int64_t used = std::min(kTileColumns, plan_.group_features - j * kTileColumns);
      store_tile(plan_.type,
                 sums_.data() + static_cast<size_t>(j * kTileRows * kTileColumns) * width,
                 end - begin, used, tile, kTileColumns);
      for (int64_t r = begin; r < end; ++r) {
        const int64_t item = first + r;
        const int64_t place = item / plan_.positions * plan_.out_batch_stride +
                              OffsetWalk(plan_.out_spatial, item % plan_.positions).offset();
        for (int64_t c = 0; c < used; ++c) {
          const int64_t feature = group * plan_.group_features + j * kTileColumns + c;
          std::memcpy(to + (place + feature * plan_.out_feature_stride) * plan_.width,
                      tile + static_cast<size_t>((r - begin) * kTileColumns + c) * width, width);
        }
      }
    }
  }

  const Plan& plan_;
  size_t rank_;
  std::vector<int64_t> outputs_, position_;
  std::vector<std::byte> left_, sums_;
};

}  // namespace

KernelResult convolution_kernel(KernelCall& call) {
  const Instruction& instruction = call.instruction;
  const Shape *lhs = call.operand_shape(0), *rhs = call.operand_shape(1);
  const Shape* shape = instruction.shape();
  std::string_view text = instruction.get(attr::dim_labels);
  const size_t middle = text.find('_'), arrow = text.find("->");
  auto unsupported = [&](std::string_view why) {
    return tl::unexpected(Stop::unsupported(
        "convolution", fmt::format("{}: {}", instruction_place(instruction), why)));
  };
  if (call.operands.size() != 2) return unsupported("sparse operands");
  if (middle == text.npos || arrow == text.npos || text.find('?') != text.npos) {
    return unsupported("dimensions without a role");
  }
  const Labels data = parse_side(text.substr(0, middle), 'b', 'f');
  const Labels kernel = parse_side(text.substr(middle + 1, arrow - middle - 1), 'i', 'o');
  const Labels out = parse_side(text.substr(arrow + 2), 'b', 'f');

  const ElementType type = contraction_type(shape->element_type());
  const int64_t width = info(type).bytes;
  Buffer operands[2];
  for (size_t i = 0; i < 2; ++i) {
    auto operand = converted_operand(call, i, type);
    if (!operand) return tl::unexpected(std::move(operand.error()));
    operands[i] = *std::move(operand);
  }
  auto sums = call.allocate(shape->element_count() * width);
  if (!sums) return tl::unexpected(std::move(sums.error()));
  if (shape->element_count() == 0) return convert_result(call, *sums, type);

  const std::vector<int64_t> data_strides = row_major_strides(lhs->dims());
  const std::vector<int64_t> kernel_strides = row_major_strides(rhs->dims());
  const std::vector<int64_t> out_strides = row_major_strides(shape->dims());
  std::span<const WindowDimension> given = instruction.get(attr::window);
  std::vector<WindowDimension> window(given.begin(), given.end());
  window.resize(data.spatial.size());
  std::vector<int64_t> data_dims, out_dims;
  std::vector<StridedAxis> data_spatial, out_spatial, kernel_depth;
  int64_t kernel_base = 0;
  for (size_t i = 0; i < data.spatial.size(); ++i) {
    auto axis = [](const Shape* of, const std::vector<int64_t>& strides, int64_t dim) {
      return StridedAxis{of->dim(dim), strides[static_cast<size_t>(dim)]};
    };
    data_spatial.push_back(axis(lhs, data_strides, data.spatial[i]));
    out_spatial.push_back(axis(shape, out_strides, out.spatial[i]));
    kernel_depth.push_back(axis(rhs, kernel_strides, kernel.spatial[i]));
    data_dims.push_back(data_spatial.back().size);
    out_dims.push_back(out_spatial.back().size);
    if (window[i].reversal) {
      kernel_base += (kernel_depth.back().size - 1) * kernel_depth.back().stride;
      kernel_depth.back().stride = -kernel_depth.back().stride;
    }
  }
  auto stride = [](const std::vector<int64_t>& strides, int64_t dim) {
    return strides[static_cast<size_t>(dim)];
  };
  const int64_t feature_groups = std::max<int64_t>(1, instruction.get(attr::feature_group_count));
  const int64_t batch_groups = std::max<int64_t>(1, instruction.get(attr::batch_group_count));
  const int64_t groups = feature_groups * batch_groups;
  const int64_t features = rhs->dim(kernel.second);
  const int64_t depth = rhs->dim(kernel.first);
  Plan plan{Windows(window, data_dims, out_dims),
            type,
            width,
            contract_tile(type),
            operands[0],
            {},
            *sums,
            data_spatial,
            data_dims,
            stride(data_strides, data.first),
            stride(data_strides, data.second),
            out_spatial,
            stride(out_strides, out.first),
            stride(out_strides, out.second),
            shape->dim(out.first),
            count_of(out_spatial),
            depth,
            groups,
            batch_groups > 1,
            features / groups,
            (features / groups + kTileColumns - 1) / kTileColumns};

  const int64_t kernel_o = stride(kernel_strides, kernel.second);
  MatrixView view{
      {{groups, plan.group_features * kernel_o}}, {{plan.group_features, kernel_o}}, kernel_depth};
  view.depth.push_back({depth, stride(kernel_strides, kernel.first)});
  const int64_t panels = panel_count(view, kTileColumns);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(panels * kTileColumns * width, count_of(view.depth), &bytes)) {
    bytes = std::numeric_limits<int64_t>::max();
  }
  auto memory = call.allocate(bytes);
  if (!memory) return tl::unexpected(std::move(memory.error()));
  plan.panels = *std::move(memory);
  call.add(panels, count_of(view.depth) * kTileColumns * width,
           [=, kernel = operands[1], to = plan.panels](int64_t begin, int64_t end) {
             pack_panels(view, kernel.data() + kernel_base * width, width, kTileColumns, begin, end,
                         Buffer(to).mutable_data());
           });
  call.next_stage();

  const int64_t items = plan.batches * plan.positions;
  const int64_t strips = (items + kTileRows - 1) / kTileRows;
  const int64_t work = std::min(count_of(view.depth) + 1, int64_t{1} << 30) *
                       std::min(plan.column_blocks * kTileColumns * kTileRows, int64_t{1} << 30);
  call.add(strips * groups, work,
           [plan = std::move(plan), strips, items](int64_t begin, int64_t end) {
             Strip strip(plan);
             for (int64_t i = begin; i < end; ++i) {
               const int64_t first = i % strips * kTileRows;
               strip.run(i / strips, first, std::min(kTileRows, items - first));
             }
           });
  return convert_result(call, *sums, type);
}

}  // namespace minihlo

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
  std::vector<StridedAxis> data_spatial;  // of the operand, merged
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

  /// Terms of a sum.
  int64_t term_count() const { return windows.position_count() * depth; }
};

// Terms of the kernel that are packed together.
constexpr int64_t kPackedTerms = 8192;

// Some result positions of one group, as many as a tile has rows.
class Strip {
 public:
  Strip(const Plan& plan, Workers& workers)
      : plan_(plan),
        is_late_(workers),
        rank_(plan.windows.rank()),
        batch_of_(static_cast<size_t>(plan.tile.rows)),
        outputs_(static_cast<size_t>(plan.tile.rows) * rank_),
        position_(rank_),
        features_(offsets_of(std::vector<StridedAxis>{{plan.depth, plan.data_feature_stride}}, 0,
                             plan.depth)),
        run_positions_(std::max<int64_t>(1, kRunTerms / std::max<int64_t>(1, plan.depth))),
        left_(static_cast<size_t>(std::min(run_positions_, plan.windows.position_count()) *
                                  plan.depth * plan.tile.rows * plan.width)),
        sums_(static_cast<size_t>(plan.column_blocks * plan.tile.rows * plan.tile.columns *
                                  plan.width)) {}

  void run(int64_t group, int64_t first, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) {
      batch_of_[static_cast<size_t>(r)] = (first + r) / plan_.positions;
      plan_.windows.output_index((first + r) % plan_.positions, output(r));
    }
    if (all_alike(rows)) {
      sum(group, 0, rows);
      store(group, first, 0, rows);
      return;
    }
    for (int64_t r = 0; r < rows; ++r) {
      sum(group, r, r + 1);
      store(group, first, r, r + 1);
    }
  }

 private:
  // Terms that are worked on together.
  static constexpr int64_t kRunTerms = 512;

  int64_t* output(int64_t row) { return outputs_.data() + static_cast<size_t>(row) * rank_; }

  // Whether all rows meet the operand at the same positions of the window.
  bool all_alike(int64_t rows) {
    for (int64_t p = 0; p < plan_.windows.position_count(); ++p) {
      if (is_late_(4 * rows)) return false;
      plan_.windows.position_index(p, position_.data());
      bool meets = plan_.windows.element(output(0), position_.data()) >= 0;
      for (int64_t r = 1; r < rows; ++r) {
        if ((plan_.windows.element(output(r), position_.data()) >= 0) != meets) return false;
      }
    }
    return true;
  }

  // The operand's element for a row, at feature 0 of the group; `linear` counts spatial indices.
  int64_t data_offset(int64_t group, int64_t row, int64_t linear) const {
    int64_t batch = batch_of_[static_cast<size_t>(row)];
    if (plan_.batch_groups) batch += group * plan_.batches;
    return batch * plan_.data_batch_stride +
           (plan_.batch_groups ? 0 : group * plan_.depth * plan_.data_feature_stride) +
           offset_of(plan_.data_spatial, linear);
  }

  // Adds the terms of `count` window positions from `first` on, which stand in left_.
  void add_run(int64_t group, int64_t rows, int64_t first, int64_t count, bool goes_on) {
    const ContractTile& tile = plan_.tile;
    for (int64_t j = 0; j < plan_.column_blocks; ++j) {
      const int64_t panel = group * plan_.column_blocks + j;
      const std::byte* right =
          plan_.panels.data() +
          (panel * plan_.term_count() + first * plan_.depth) * tile.columns * plan_.width;
      tile.run(rows, count * plan_.depth, left_.data(), right, tile.columns, goes_on,
               sums_.data() + j * tile.rows * tile.columns * plan_.width);
    }
  }

  void sum(int64_t group, int64_t begin, int64_t end) {
    std::vector<int64_t> elements(static_cast<size_t>(end - begin));
    int64_t first = 0, count = 0;  // the run at hand
    bool goes_on = false;
    auto flush = [&] {
      if (count == 0) return;
      add_run(group, end - begin, first, count, goes_on);
      goes_on = true;
      count = 0;
    };
    for (int64_t p = 0; p < plan_.windows.position_count(); ++p) {
      if (is_late_((end - begin) * plan_.depth * plan_.column_blocks)) break;
      plan_.windows.position_index(p, position_.data());
      bool meets = true;
      for (int64_t r = begin; r < end && meets; ++r) {
        int64_t linear = plan_.windows.element(output(r), position_.data());
        meets = linear >= 0;
        if (meets) elements[static_cast<size_t>(r - begin)] = data_offset(group, r, linear);
      }
      if (!meets || count == run_positions_) flush();
      if (!meets) continue;
      if (count == 0) first = p;
      pack_elements(plan_.width, plan_.data.data(), elements, features_, plan_.tile.rows,
                    left_.data() + count * plan_.depth * plan_.tile.rows * plan_.width);
      ++count;
    }
    flush();
    if (!goes_on) std::fill(sums_.begin(), sums_.end(), std::byte{0});
  }

  void store(int64_t group, int64_t first, int64_t begin, int64_t end) {
    const ContractTile& tile = plan_.tile;
    canonicalize(plan_.type, plan_.column_blocks * tile.rows * tile.columns, sums_.data());
    std::byte* to = Buffer(plan_.sums).mutable_data();
    for (int64_t r = begin; r < end; ++r) {
      const int64_t item = first + r;
      const int64_t base = batch_of_[static_cast<size_t>(r)] * plan_.out_batch_stride +
                           offset_of(plan_.out_spatial, item % plan_.positions);
      for (int64_t c = 0; c < plan_.group_features; ++c) {
        const int64_t feature = group * plan_.group_features + c;
        const int64_t at =
            (c / tile.columns * tile.rows + r - begin) * tile.columns + c % tile.columns;
        std::memcpy(to + (base + feature * plan_.out_feature_stride) * plan_.width,
                    sums_.data() + at * plan_.width, static_cast<size_t>(plan_.width));
      }
    }
  }

  const Plan& plan_;
  LateCheck is_late_;
  size_t rank_;
  std::vector<int64_t> batch_of_, outputs_, position_;
  std::vector<int64_t> features_;
  int64_t run_positions_;
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
  const ContractTile tile = contract_tile(type);
  Plan plan{Windows(window, data_dims, out_dims),
            type,
            width,
            tile,
            operands[0],
            {},
            *sums,
            merge_axes(data_spatial),
            stride(data_strides, data.first),
            stride(data_strides, data.second),
            merge_axes(out_spatial),
            stride(out_strides, out.first),
            stride(out_strides, out.second),
            shape->dim(out.first),
            count_of(out_spatial),
            depth,
            groups,
            batch_groups > 1,
            features / groups,
            (features / groups + tile.columns - 1) / tile.columns};

  // Panels of the kernel: for each block of output features all terms, one behind the other.
  const int64_t kernel_o = stride(kernel_strides, kernel.second);
  kernel_depth.push_back({depth, stride(kernel_strides, kernel.first)});
  const int64_t panels = groups * plan.column_blocks;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(panels * tile.columns * width, plan.term_count(), &bytes)) {
    bytes = std::numeric_limits<int64_t>::max();
  }
  auto memory = call.allocate(bytes);
  if (!memory) return tl::unexpected(std::move(memory.error()));
  plan.panels = *std::move(memory);
  call.add(panels, plan.term_count() * tile.columns * width,
           [=, elements = operands[1], to = plan.panels, blocks = plan.column_blocks,
            group_features = plan.group_features,
            &workers = call.context.workers](int64_t begin, int64_t end) {
             LateCheck is_late(workers);
             const int64_t count = count_of(kernel_depth), row_bytes = tile.columns * width;
             std::vector<int64_t> columns;
             for (int64_t panel = begin; panel < end; ++panel) {
               const int64_t first = panel % blocks * tile.columns;
               columns.resize(static_cast<size_t>(std::min(tile.columns, group_features - first)));
               for (size_t c = 0; c < columns.size(); ++c) {
                 columns[c] =
                     (panel / blocks * group_features + first + static_cast<int64_t>(c)) * kernel_o;
               }
               for (int64_t term = 0; term < count; term += kPackedTerms) {
                 const std::vector<int64_t> terms =
                     offsets_of(kernel_depth, term, std::min(kPackedTerms, count - term));
                 pack_elements(width, elements.data() + kernel_base * width, columns, terms,
                               tile.columns,
                               Buffer(to).mutable_data() + (panel * count + term) * row_bytes);
                 if (is_late(static_cast<int64_t>(terms.size()) * tile.columns)) return;
               }
             }
           });
  call.next_stage();

  const int64_t items = plan.batches * plan.positions;
  const int64_t strips = (items + tile.rows - 1) / tile.rows;
  const int64_t work = std::min(plan.term_count() + 1, int64_t{1} << 30) *
                       std::min(plan.column_blocks * tile.columns * tile.rows, int64_t{1} << 30);
  call.add(strips * groups, work,
           [plan = std::move(plan), strips, items, &workers = call.context.workers](int64_t begin,
                                                                                    int64_t end) {
             Strip strip(plan, workers);
             for (int64_t i = begin; i < end; ++i) {
               const int64_t first = i % strips * plan.tile.rows;
               strip.run(i / strips, first, std::min(plan.tile.rows, items - first));
             }
           });
  return convert_result(call, *sums, type);
}

}  // namespace minihlo

#include "tools/tensor_text.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/row_major.h"

namespace minihlo {
namespace {

constexpr int64_t kShownInFull = 1000;
constexpr int64_t kEdge = 3;       // rows and columns at each end of a gap
constexpr int64_t kOuterEdge = 1;  // matrices at each end of a gap
constexpr size_t kMaxColumns = 100;
// Of larger matrices columns are not brought below each other.
constexpr size_t kMaxAligned = size_t{1} << 18;
constexpr std::string_view kIndent = "    ";
constexpr std::string_view kGap = "...";

class TensorText {
 public:
  TensorText(const HostTensor& tensor, bool in_full)
      : tensor_(tensor),
        is_elided_(!in_full && tensor.element_count() > kShownInFull),
        strides_(row_major_strides(tensor.dims)) {}

  std::string text() {
    const size_t rank = tensor_.dims.size();
    out_ = fmt::format("{}[{}]", to_string(tensor_.type), fmt::join(tensor_.dims, ","));
    if (tensor_.element_count() == 0) return out_ + " no elements";
    if (rank == 0) return out_ + ' ' + element_text(tensor_, 0);
    if (rank == 1) {
      append_row(row(0, shown(0)), {}, out_.size());
      return std::move(out_);
    }
    append_matrices();
    return std::move(out_);
  }

 private:
  // What is shown along a dimension; -1 is a gap.
  std::vector<int64_t> shown(size_t axis) const {
    const int64_t size = tensor_.dims[axis];
    const int64_t edge = axis + 2 < tensor_.dims.size() ? kOuterEdge : kEdge;
    std::vector<int64_t> result;
    if (!is_elided_ || size <= 2 * edge) {
      result.resize(static_cast<size_t>(size));
      std::iota(result.begin(), result.end(), 0);
      return result;
    }
    for (int64_t i = 0; i < edge; ++i) result.push_back(i);
    result.push_back(-1);
    for (int64_t i = size - edge; i < size; ++i) result.push_back(i);
    return result;
  }

  std::vector<std::string> row(int64_t offset, std::span<const int64_t> columns) const {
    std::vector<std::string> words;
    for (const int64_t i : columns) {
      words.push_back(i < 0 ? std::string(kGap) : element_text(tensor_, offset + i));
    }
    return words;
  }

  // Appends words behind a line that has `length` characters, and on further lines.
  void append_row(const std::vector<std::string>& words, std::span<const size_t> widths,
                  size_t length) {
    bool is_first = length <= kIndent.size();
    for (size_t i = 0; i < words.size(); ++i) {
      const size_t width = std::max(words[i].size(), i < widths.size() ? widths[i] : 0);
      if (!is_first && length + 1 + width > kMaxColumns) {
        out_ += fmt::format("\n{}  ", kIndent);
        length = kIndent.size() + 2;
        is_first = true;
      }
      out_ += fmt::format("{}{:>{}}", is_first ? "" : " ", words[i], width);
      length += width + (is_first ? 0 : 1);
      is_first = false;
    }
  }

  // The last two dimensions, from element `offset` on.
  void append_matrix(int64_t offset) {
    const size_t rank = tensor_.dims.size();
    const std::vector<int64_t> rows = shown(rank - 2), columns = shown(rank - 1);
    std::vector<size_t> widths;
    if (rows.size() * columns.size() <= kMaxAligned) {
      widths.resize(columns.size());
      for (const int64_t i : rows) {
        if (i < 0) continue;
        const auto words = row(offset + i * strides_[rank - 2], columns);
        for (size_t k = 0; k < words.size(); ++k) widths[k] = std::max(widths[k], words[k].size());
      }
    }
    for (const int64_t i : rows) {
      out_ += fmt::format("\n{}", kIndent);
      if (i < 0) {
        out_ += kGap;
      } else {
        append_row(row(offset + i * strides_[rank - 2], columns), widths, kIndent.size());
      }
    }
  }

  // All matrices that are shown, each under its index where there are several dimensions more.
  void append_matrices() {
    const size_t outer = tensor_.dims.size() - 2;
    if (outer == 0) return append_matrix(0);
    std::vector<std::vector<int64_t>> ranges;
    for (size_t axis = 0; axis < outer; ++axis) ranges.push_back(shown(axis));
    std::vector<size_t> at(outer, 0);
    for (;;) {
      const auto gap = [&]() -> std::optional<size_t> {
        for (size_t axis = 0; axis < outer; ++axis) {
          if (ranges[axis][at[axis]] < 0) return axis;
        }
        return std::nullopt;
      }();
      if (gap) {
        out_ += fmt::format("\n{}{}", kIndent, kGap);
        // Nothing below a gap is shown.
        for (size_t axis = *gap + 1; axis < outer; ++axis) at[axis] = ranges[axis].size() - 1;
      } else {
        std::vector<int64_t> index;
        int64_t offset = 0;
        for (size_t axis = 0; axis < outer; ++axis) {
          index.push_back(ranges[axis][at[axis]]);
          offset += index.back() * strides_[axis];
        }
        out_ += fmt::format("\n{}[{},:,:]", kIndent, fmt::join(index, ","));
        append_matrix(offset);
      }
      size_t axis = outer;
      while (axis > 0 && ++at[axis - 1] == ranges[axis - 1].size()) at[--axis] = 0;
      if (axis == 0) return;
    }
  }

  const HostTensor& tensor_;
  const bool is_elided_;
  const std::vector<int64_t> strides_;
  std::string out_;
};

}  // namespace

std::string tensor_text(const HostTensor& tensor, bool in_full) {
  return TensorText(tensor, in_full).text();
}

}  // namespace minihlo

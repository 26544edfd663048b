#include "ir/semantics/shuffle.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/numbers.h"
#include "ir/row_major.h"

namespace minihlo {
namespace {

int64_t modulo(int64_t shift, int64_t size) {
  if (size == 0) return 0;
  const int64_t remainder = shift % size;
  return remainder < 0 ? remainder + size : remainder;
}

// What lies behind the shift comes first.
void add_rotated(const Box& box, int64_t axis, int64_t shift, std::vector<Box>& boxes) {
  const int64_t size = box.axes[axis].size;
  const int64_t split = modulo(shift, size);
  Box first = box;
  first.base[axis] = split;
  first.axes[axis].size = size - split;
  boxes.push_back(std::move(first));
  if (split == 0) return;
  Box second = box;
  second.axes[axis].start = size - split;
  second.axes[axis].size = split;
  boxes.push_back(std::move(second));
}

// The integers of a literal, of which each place along `dims`, or all places along a dimension
// where the literal has size 1, have `count`.
class Table {
 public:
  Table(const Literal& literal, std::span<const int64_t> dims)
      : literal_(literal),
        places_(literal.shape->dims().begin(),
                literal.shape->dims().begin() + static_cast<ptrdiff_t>(dims.size())),
        dims_(dims) {}

  int64_t place_count() const { return element_count(places_); }

  int64_t integer(int64_t i) const {
    return decode_integer(literal_.shape->element_type(), literal_.element_bytes(i).data());
  }

  // The part of the result that place number `i` speaks of.
  Box box(int64_t i) const {
    Box box = whole_box(dims_);
    const std::vector<int64_t> index = multi_index(i, places_);
    for (size_t axis = 0; axis < dims_.size(); ++axis) {
      if (places_[axis] == 1) continue;
      box.axes[axis].start = box.base[axis] = index[axis];
      box.axes[axis].size = 1;
    }
    return box;
  }

 private:
  const Literal& literal_;
  std::vector<int64_t> places_;
  std::span<const int64_t> dims_;
};

}  // namespace

tl::expected<std::vector<Movement>, std::string> shuffle_movement(const Instruction& shuffle) {
  std::span<const int64_t> dims = shuffle.shape()->dims();
  std::span<const int64_t> dimensions = shuffle.get(attr::dimensions);
  Movement moved;
  moved.result_dims.assign(dims.begin(), dims.end());
  moved.operand_dims.push_back(moved.result_dims);
  std::vector<Movement> list;
  const ShuffleMode mode = shuffle.get(attr::shuffle_mode);
  if (mode == ShuffleMode::kRotate) {
    for (size_t i = 0; i < dimensions.size(); ++i) {
      Movement& step = list.emplace_back(moved);
      add_rotated(whole_box(dims), dimensions[i], shuffle.get(attr::shifts)[i], step.boxes);
    }
    return list;
  }
  const bool permutes = mode == ShuffleMode::kPermute;
  const Literal& literal =
      *(permutes ? shuffle.get(attr::shuffle_indices) : shuffle.get(attr::multi_shifts));
  if (!literal.is_known()) {
    return tl::unexpected(fmt::format("the {} are not known", permutes ? "indices" : "shifts"));
  }
  const Table table(literal, dims);
  if (table.place_count() > kMaxBoxes / 2) {
    return tl::unexpected(fmt::format("more than {} boxes", kMaxBoxes));
  }
  const auto count = static_cast<int64_t>(dimensions.size());
  for (int64_t place = 0; place < table.place_count(); ++place) {
    Box box = table.box(place);
    if (!permutes) {
      add_rotated(box, dimensions[0], table.integer(place), moved.boxes);
      continue;
    }
    for (int64_t i = 0; i < count; ++i) {
      const int64_t axis = dimensions[i], last = std::max<int64_t>(dims[axis] - 1, 0);
      box.base[axis] = std::clamp<int64_t>(table.integer(place * count + i), 0, last);
      box.axes[axis].operand_axis = -1;
      box.axes[axis].stride = 0;
    }
    moved.boxes.push_back(std::move(box));
  }
  list.push_back(std::move(moved));
  return list;
}

}  // namespace minihlo

// Strided copies, whatever way they take: rows, runs, tiles, past the cache.
#include <algorithm>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "ir/semantics/strided_copy.h"

namespace minihlo {
namespace {

// A transpose of an array of `dims`, into the middle of a result of the same size and a bit more.
StridedCopy transpose(const std::vector<int64_t>& dims, const std::vector<size_t>& permutation) {
  StridedCopy copy;
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
  for (size_t axis : permutation) copy.axes.push_back({dims[axis], 1, strides[axis]});
  for (size_t i = dims.size() - 1; i-- > 0;) {
    copy.axes[i].result_stride = copy.axes[i + 1].result_stride * copy.axes[i + 1].size;
  }
  return copy;
}

TEST_CASE("strided copy: every element arrives, and nothing else is written") {
  std::mt19937 random(1);
  std::vector<std::byte> from(size_t{2} << 20);
  for (std::byte& byte : from) byte = static_cast<std::byte>(random());
  const std::vector<std::vector<int64_t>> shapes = {
      {7, 5},       {130, 70},      {3, 66, 35},   {40, 19, 16}, {40, 19, 20},
      {33, 70, 20}, {9, 5, 3, 130}, {5, 1, 70, 8}, {3, 70, 20},  {70, 3, 17},
      {36, 290, 9}, {18, 260, 17},  {95, 70, 3}};
  for (const std::vector<int64_t>& dims : shapes) {
    std::vector<size_t> permutation(dims.size());
    std::iota(permutation.begin(), permutation.end(), size_t{0});
    do {
      const StridedCopy whole = transpose(dims, permutation);
      int64_t count = 1;
      for (int64_t dim : dims) count *= dim;
      REQUIRE(count * 16 <= static_cast<int64_t>(from.size()));
      for (int64_t width : {1, 2, 4, 8, 16}) {
        for (int variant = 0; variant < 3; ++variant) {
          // As it is; with gaps between the elements of the result; from the end of an axis.
          StridedCopy copy = whole;
          // The results of the first begin at a cache line, which some of them fill.
          copy.result_offset = variant == 0 ? 64 : 3;
          for (StridedCopy::Axis& axis : copy.axes) axis.result_stride *= variant == 1 ? 2 : 1;
          if (variant == 2) {
            StridedCopy::Axis& axis = copy.axes[random() % copy.axes.size()];
            copy.operand_offset = (axis.size - 1) * axis.operand_stride;
            axis.operand_stride = -axis.operand_stride;
          }
          constexpr size_t kLine = 64;
          const size_t bytes = static_cast<size_t>((2 * count + 72) * width);
          std::vector<std::byte> expected(bytes), memory(bytes + kLine);
          std::byte* result =
              memory.data() + (-reinterpret_cast<uintptr_t>(memory.data()) & (kLine - 1));
          std::vector<int64_t> index(dims.size(), 0);
          for (int64_t i = 0; i < count; ++i) {
            int64_t rest = i, at = copy.result_offset, source = copy.operand_offset;
            for (size_t a = copy.axes.size(); a-- > 0; rest /= copy.axes[a].size) {
              at += rest % copy.axes[a].size * copy.axes[a].result_stride;
              source += rest % copy.axes[a].size * copy.axes[a].operand_stride;
            }
            std::copy_n(from.begin() + source * width, width, expected.begin() + at * width);
          }
          for (bool past_cache : {false, true}) {
            std::fill_n(result, bytes, std::byte{0});
            (past_cache ? copy_strided_past_cache : copy_strided)(copy, from.data(), result, width);
            CHECK(std::equal(expected.begin(), expected.end(), result));
          }
        }
      }
    } while (std::next_permutation(permutation.begin(), permutation.end()));
  }
}

TEST_CASE("strided copy: one element for all of a row") {
  for (int64_t size : {100, 1024, 5000}) {
    for (int64_t offset : {0, 3}) {
      StridedCopy copy;
      copy.axes = {{size, 1, 0}};
      copy.result_offset = offset;
      const uint32_t element = 0x12345678;
      std::vector<uint32_t> expected(static_cast<size_t>(size + 8)), result = expected;
      std::fill_n(expected.begin() + offset, size, element);
      copy_strided_past_cache(copy, reinterpret_cast<const std::byte*>(&element),
                              reinterpret_cast<std::byte*>(result.data()), sizeof(element));
      CHECK(result == expected);
    }
  }
}

}  // namespace
}  // namespace minihlo

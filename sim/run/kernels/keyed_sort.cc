#include "sim/run/kernels/keyed_sort.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace minihlo {
namespace {

constexpr int64_t kRun = 7;                   // elements that are sorted by insertion
constexpr int64_t kLeastForDigits = 256;      // elements from which on counting digits is faster
constexpr int64_t kBlock = int64_t{1} << 16;  // elements between looks at the clock

template <class Number>
struct Item {
  Number number;
  uint32_t element;
};

template <class Number>
using Digits = std::array<std::array<int64_t, 256>, sizeof(Number)>;

template <class Number>
class ItemSorter {
 public:
  using Items = Item<Number>*;

  /// `items` and `spare` have room for `size` each.
  ItemSorter(Items items, Items spare, int64_t size, LateCheck& is_late)
      : from_(items), to_(spare), size_(size), is_late_(is_late) {}

  /// Stable, by the lowest digit first. False when time is out.
  bool by_digits() {
    Digits<Number> starts{};
    for (int64_t i = 0; i < size_; ++i) {
      for (size_t d = 0; d < sizeof(Number); ++d) ++starts[d][digit(from_[i], d)];
    }
    for (size_t d = 0; d < sizeof(Number); ++d) {
      auto& start = starts[d];
      if (start[digit(from_[0], d)] == size_) continue;
      int64_t sum = 0;
      for (int64_t& count : start) sum += std::exchange(count, sum);
      for (int64_t at = 0; at < size_; at += kBlock) {
        if (is_late_(kBlock * 4)) return false;
        for (int64_t i = at; i < std::min(size_, at + kBlock); ++i) {
          to_[start[digit(from_[i], d)]++] = from_[i];
        }
      }
      std::swap(from_, to_);
    }
    return true;
  }

  /// By merging, with the questions that std::stable_sort of GNU's library asks, in its order:
  /// `is_before` may be no order. False when time is out.
  template <class IsBefore>
  bool by_merging(IsBefore is_before) {
    const int64_t n = size_, half = (n + 1) / 2;
    for (int64_t at = 0; at < n;) {
      if (is_late_(kRun * 4)) return false;
      const int64_t end = std::min(at + kRun, at < half ? half : n);
      insert(from_ + at, from_ + end, is_before);
      at = end;
    }
    for (int64_t run = kRun; run < half; run *= 2) {
      if (!merge_runs(0, half, run, is_before) || !merge_runs(half, n, run, is_before)) {
        return false;
      }
      std::swap(from_, to_);
    }
    if (n < 2) return true;
    if (is_late_(n * 4)) return false;
    if (half > n - half) {
      merge_backwards(half, is_before);
    } else {
      merge(0, half, n, is_before);
    }
    std::swap(from_, to_);
    return true;
  }

  Items sorted() const { return from_; }

 private:
  static size_t digit(const Item<Number>& item, size_t d) {
    return static_cast<uint8_t>(item.number >> (8 * d));
  }

  // Each goes in front of all where it is before the first one, else to where none in front of it
  // comes behind it.
  template <class IsBefore>
  static void insert(Items begin, Items end, IsBefore is_before) {
    for (Items next = begin + 1; next < end; ++next) {
      const Item<Number> item = *next;
      Items place = next;
      if (is_before(item, *begin)) {
        std::copy_backward(begin, next, next + 1);
        place = begin;
      } else {
        for (; is_before(item, place[-1]); --place) *place = place[-1];
      }
      *place = item;
    }
  }

  template <class IsBefore>
  bool merge_runs(int64_t begin, int64_t end, int64_t run, IsBefore is_before) {
    for (int64_t at = begin; at < end; at += 2 * run) {
      const int64_t stop = std::min(end, at + 2 * run);
      if (is_late_((stop - at) * 4)) return false;
      merge(at, std::min(end, at + run), stop, is_before);
    }
    return true;
  }

  template <class IsBefore>
  void merge(int64_t begin, int64_t middle, int64_t end, IsBefore is_before) {
    Items left = from_ + begin, right = from_ + middle, out = to_ + begin;
    const Items left_end = right, right_end = from_ + end;
    while (left != left_end && right != right_end) {
      *out++ = is_before(*right, *left) ? *right++ : *left++;
    }
    std::copy(right, right_end, std::copy(left, left_end, out));
  }

  // All of it, from the end.
  template <class IsBefore>
  void merge_backwards(int64_t middle, IsBefore is_before) {
    const Items left = from_, right = from_ + middle;
    Items left_end = right, right_end = from_ + size_, out = to_ + size_;
    while (left != left_end && right != right_end) {
      *--out = is_before(right_end[-1], left_end[-1]) ? *--left_end : *--right_end;
    }
    std::copy_backward(left, left_end, std::copy_backward(right, right_end, out));
  }

  Items from_, to_;
  const int64_t size_;
  LateCheck& is_late_;
};

// Sorts what `order` lists by one key. False when time is out.
template <class Number>
bool sort_by(const KeyNumbers& key, bool is_strict, int64_t size, int64_t stride, uint32_t* order,
             std::byte* memory, LateCheck& is_late) {
  constexpr auto kUnordered = static_cast<Number>(~Number{0});
  const auto* numbers = reinterpret_cast<const Number*>(key.first);
  auto* items = reinterpret_cast<Item<Number>*>(memory);
  bool is_ordered = true;
  for (int64_t at = 0; at < size; at += kBlock) {
    if (is_late(std::min(size, kBlock) * 4)) return false;
    for (int64_t i = at; i < std::min(size, at + kBlock); ++i) {
      const Number number = numbers[order[i] * stride];
      is_ordered &= number != kUnordered;
      items[i] = {number, order[i]};
    }
  }
  ItemSorter<Number> sorter(items, items + size, size, is_late);
  bool is_done = false;
  using I = const Item<Number>&;
  if (is_ordered || !key.may_be_unordered) {
    // Where either of two equal elements is before the other, the later one goes first.
    if (!is_strict) std::reverse(items, items + size);
    is_done = size >= kLeastForDigits
                  ? sorter.by_digits()
                  : sorter.by_merging([](I a, I b) { return a.number < b.number; });
  } else if (is_strict) {
    is_done =
        sorter.by_merging([](I a, I b) { return a.number < b.number && b.number != kUnordered; });
  } else {
    is_done =
        sorter.by_merging([](I a, I b) { return a.number <= b.number && b.number != kUnordered; });
  }
  if (!is_done) return false;
  for (int64_t i = 0; i < size; ++i) order[i] = sorter.sorted()[i].element;
  return true;
}

}  // namespace

int64_t keyed_sort_memory(std::span<const KeyNumbers> keys, int64_t size) {
  const bool any_wide = std::ranges::any_of(keys, &KeyNumbers::is_wide);
  return 2 * size *
         static_cast<int64_t>(any_wide ? sizeof(Item<uint64_t>) : sizeof(Item<uint32_t>));
}

void keyed_sort(std::span<const KeyNumbers> keys, bool is_strict, int64_t size, int64_t stride,
                uint32_t* order, std::byte* memory, LateCheck& is_late) {
  for (int64_t i = 0; i < size; ++i) order[i] = static_cast<uint32_t>(i);
  // What is sorted by a key keeps its order among equal ones of the keys before it.
  for (size_t k = keys.size(); k-- > 0;) {
    const auto sort = keys[k].is_wide ? sort_by<uint64_t> : sort_by<uint32_t>;
    // The reversal of equal ones, by the last key, holds for all.
    const bool keeps = is_strict || k + 1 < keys.size();
    if (!sort(keys[k], keeps, size, stride, order, memory, is_late)) return;
  }
}

}  // namespace minihlo

#include "sim/run/kernels/long_sort.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

namespace minihlo {
namespace {

constexpr int64_t kPart = int64_t{1} << 17;  // elements

using Counts = std::array<uint32_t, 256>;  // of each digit

struct Row {
  std::vector<KeyNumbers> keys;
  bool is_strict;
  int64_t size, stride;
  uint32_t* order;
  std::byte* memory;
  int64_t parts;
  std::vector<Counts> counts;  // of the parts
  std::atomic<bool> is_unordered = false;
};

// Sorts by one key what the order lists, by the lowest digit first. In each round the parts are
// counted, and then their elements put behind those of smaller digits and of the parts before.
template <class Number>
class KeyRounds {
 public:
  struct Item {
    Number number;
    uint32_t element;
  };

  KeyRounds(std::shared_ptr<Row> row, size_t key) : row_(std::move(row)), key_(key) {}

  // Items of a part in the order so far.
  void load(int64_t part) {
    constexpr auto kUnordered = static_cast<Number>(~Number{0});
    const Row& row = *row_;
    const auto* numbers = reinterpret_cast<const Number*>(row.keys[key_].first);
    const bool is_first = key_ + 1 == row.keys.size();
    bool is_ordered = true;
    for (int64_t i = part * kPart; i < end(part); ++i) {
      // Where either of two equal elements is before the other, the later one goes first.
      const int64_t element = !is_first ? row.order[i] : row.is_strict ? i : row.size - 1 - i;
      const Number number = numbers[element * row.stride];
      is_ordered &= number != kUnordered;
      items(0)[i] = {number, static_cast<uint32_t>(element)};
    }
    if (!is_ordered && row.keys[key_].may_be_unordered) row_->is_unordered = true;
  }
  void count(int64_t part, size_t digit) {
    if (row_->is_unordered) return;
    Counts counts{};
    const Item* from = items(source_);
    for (int64_t i = part * kPart; i < end(part); ++i) ++counts[digit_of(from[i], digit)];
    row_->counts[static_cast<size_t>(part)] = counts;
  }
  void move(int64_t part, size_t digit) {
    if (row_->is_unordered || all_alike()) return;
    Counts starts{};
    uint32_t sum = 0;
    for (size_t value = 0; value < starts.size(); ++value) {
      for (int64_t p = 0; p < row_->parts; ++p) {
        if (p == part) starts[value] = sum;
        sum += row_->counts[static_cast<size_t>(p)][value];
      }
    }
    const Item* from = items(source_);
    Item* to = items(1 - source_);
    for (int64_t i = part * kPart; i < end(part); ++i) {
      to[starts[digit_of(from[i], digit)]++] = from[i];
    }
  }
  void finish_round() {
    if (!all_alike()) source_ = 1 - source_;
  }
  void store(int64_t part, LateCheck& is_late) {
    const Row& row = *row_;
    if (!row.is_unordered) {
      const Item* from = items(source_);
      for (int64_t i = part * kPart; i < end(part); ++i) row.order[i] = from[i].element;
    } else if (part == 0) {
      // What is no order is sorted as a whole.
      keyed_sort(row.keys, row.is_strict, row.size, row.stride, row.order, row.memory, is_late);
    }
  }

 private:
  int64_t end(int64_t part) const { return std::min(row_->size, (part + 1) * kPart); }
  Item* items(int which) const {
    return reinterpret_cast<Item*>(row_->memory) + which * row_->size;
  }
  // Whether all elements have the digit that was counted.
  bool all_alike() const {
    for (size_t value = 0; value < Counts{}.size(); ++value) {
      int64_t sum = 0;
      for (const Counts& counts : row_->counts) sum += counts[value];
      if (sum > 0) return sum == row_->size;
    }
    return true;
  }
  static size_t digit_of(const Item& item, size_t digit) {
    return static_cast<uint8_t>(item.number >> (8 * digit));
  }

  std::shared_ptr<Row> row_;
  size_t key_;
  int source_ = 0;
};

template <class Number>
void add_rounds(KernelCall& call, const std::shared_ptr<Row>& row, size_t key) {
  constexpr int64_t kCost = kPart * 16;
  auto rounds = std::make_shared<KeyRounds<Number>>(row, key);
  auto add = [&](auto body) {
    call.add(row->parts, kCost, [body](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) body(part);
    });
    call.next_stage();
  };
  add([rounds](int64_t part) { rounds->load(part); });
  for (size_t digit = 0; digit < sizeof(Number); ++digit) {
    add([rounds, digit](int64_t part) { rounds->count(part, digit); });
    add([rounds, digit](int64_t part) { rounds->move(part, digit); });
    call.add(1, 1, [rounds](int64_t, int64_t) { rounds->finish_round(); });
    call.next_stage();
  }
  add([rounds, &workers = call.context.workers](int64_t part) {
    LateCheck is_late(workers);
    rounds->store(part, is_late);
  });
}

}  // namespace

void add_long_sort(KernelCall& call, std::vector<KeyNumbers> keys, bool is_strict, int64_t size,
                   int64_t stride, uint32_t* order, std::byte* memory) {
  const auto row = std::make_shared<Row>();
  row->keys = std::move(keys);
  row->is_strict = is_strict;
  row->size = size;
  row->stride = stride;
  row->order = order;
  row->memory = memory;
  row->parts = (size + kPart - 1) / kPart;
  row->counts.resize(static_cast<size_t>(row->parts));
  // What is sorted by a key keeps its order among equal ones of the keys before it.
  for (size_t key = row->keys.size(); key-- > 0;) {
    if (row->keys[key].is_wide) {
      add_rounds<uint64_t>(call, row, key);
    } else {
      add_rounds<uint32_t>(call, row, key);
    }
  }
}

}  // namespace minihlo

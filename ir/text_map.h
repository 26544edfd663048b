// Maps from texts: a table from hashes to the places of what the caller keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/hash.h"

namespace minihlo {

/// a == b, without a call where texts are short.
inline bool same_text(std::string_view a, std::string_view b) {
  using internal::load;
  const size_t size = a.size();
  if (size != b.size()) return false;
  if (size > 64) return std::memcmp(a.data(), b.data(), size) == 0;
  const char* p = a.data();
  const char* q = b.data();
  if (size >= 8) {
    for (size_t at = 0; at + 8 < size; at += 8) {
      if (load(p + at, 8) != load(q + at, 8)) return false;
    }
    return load(p + size - 8, 8) == load(q + size - 8, 8);
  }
  if (size >= 4) return load(p, 4) == load(q, 4) && load(p + size - 4, 4) == load(q + size - 4, 4);
  for (size_t at = 0; at < size; ++at) {
    if (p[at] != q[at]) return false;
  }
  return true;
}

/// An open-addressing table from hashes to indices below 2^32 - 1. It grows by itself.
class IndexTable {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  /// Room for `expected` entries before it must grow.
  explicit IndexTable(size_t expected = 0) : slots_(size_for(expected)) {}
  /// The same, of a table that is empty.
  void reserve(size_t expected) { slots_.resize(size_for(expected)); }

  /// The index that was put in under `hash` and for which `same(index)` holds, or kNone.
  template <class Same>
  uint32_t find(uint32_t hash, Same same) const {
    const size_t mask = slots_.size() - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.index == kNone) return kNone;
      if (slot.hash == hash && same(slot.index)) return slot.index;
    }
  }

  void insert(uint32_t hash, uint32_t index) {
    if ((count_ + 1) * 3 > slots_.size() * 2) grow();
    ++count_;
    place(hash, index);
  }

  /// Forgets everything. The table is small again, but keeps its memory.
  void clear() {
    constexpr size_t kSmall = 32;
    slots_.assign(kSmall, {});
    count_ = 0;
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t index = kNone;
  };

  static size_t size_for(size_t entries) {
    size_t size = 16;
    while (size * 2 < entries * 3) size *= 2;
    return size;
  }

  void place(uint32_t hash, uint32_t index) {
    const size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    while (slots_[at].index != kNone) at = (at + 1) & mask;
    slots_[at] = {hash, index};
  }

  void grow() {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
    for (const Slot& slot : old) {
      if (slot.index != kNone) place(slot.hash, slot.index);
    }
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

/// A map from texts, which must outlive it, to small values. Iterates in the order of insertion.
template <class Value>
class TextMap {
 public:
  struct Entry {
    std::string_view text;
    Value value;
  };

  TextMap() = default;
  TextMap(std::initializer_list<Entry> entries) {
    for (const Entry& entry : entries) insert(entry.text, entry.value);
  }

  /// The entry of `text`, or null. Valid until the next insertion.
  Entry* find(std::string_view text) { return find(text, hash_text(text)); }
  Entry* find(std::string_view text, uint32_t hash) {
    const uint32_t index =
        table_.find(hash, [&](uint32_t place) { return same_text(entries_[place].text, text); });
    return index == IndexTable::kNone ? nullptr : &entries_[index];
  }
  const Entry* find(std::string_view text) const { return const_cast<TextMap*>(this)->find(text); }
  /// The entry of `text`, and whether it was not there before. One that was keeps its value.
  std::pair<Entry*, bool> insert(std::string_view text, Value value) {
    const uint32_t hash = hash_text(text);
    if (Entry* known = find(text, hash)) return {known, false};
    insert_new(text, hash, value);
    return {&entries_.back(), true};
  }
  /// The same for a text that is known not to be there, and its hash.
  void insert_new(std::string_view text, uint32_t hash, Value value) {
    table_.insert(hash, static_cast<uint32_t>(entries_.size()));
    entries_.push_back({text, value});
  }
  /// Forgets all entries and keeps the memory.
  void clear() {
    table_.clear();
    entries_.clear();
  }
  /// Takes memory for so many entries.
  void reserve(size_t count) {
    table_.reserve(count);
    entries_.reserve(count);
  }
  Value& operator[](std::string_view text) { return insert(text, Value{}).first->value; }

  size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  IndexTable table_;
  std::vector<Entry> entries_;
};

}  // namespace minihlo

// A bump allocator: what a module is made of lives until the module's storage goes.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace minihlo {

/// Hands out memory that is freed all at once. Objects are never destroyed, so only trivially
/// destructible ones may be made here. Not thread-safe.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* allocate(size_t bytes, size_t alignment) {
    size_t start = (used_ + alignment - 1) & ~(alignment - 1);
    if (start + bytes > capacity_) {
      grow(bytes);
      start = 0;
    }
    used_ = start + bytes;
    return block_ + start;
  }

  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  /// An uninitialized array of `count` elements.
  template <class T>
  std::span<T> array(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count == 0) return {};
    return {static_cast<T*>(allocate(count * sizeof(T), alignof(T))), count};
  }

  template <class Range>
  auto copy(const Range& range) -> std::span<const typename Range::value_type> {
    using T = typename Range::value_type;
    std::span<T> result = array<T>(range.size());
    std::uninitialized_copy(range.begin(), range.end(), result.begin());
    return result;
  }

  std::string_view copy_string(std::string_view text) {
    if (text.empty()) return {};
    char* place = static_cast<char*>(allocate(text.size(), 1));
    std::memcpy(place, text.data(), text.size());
    return {place, text.size()};
  }

 private:
  void grow(size_t bytes) {
    size_t size = blocks_.empty() ? 1024 : std::min<size_t>(2 * capacity_, size_t{1} << 20);
    if (size < bytes) size = bytes;
    blocks_.emplace_back(new std::byte[size]);
    block_ = blocks_.back().get();
    capacity_ = size;
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* block_ = nullptr;
  size_t used_ = 0;
  size_t capacity_ = 0;
};

}  // namespace minihlo

// A growing text that is written piece by piece: what printers append to.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace minihlo::internal {

/// Appends to a string, which holds the whole text only once the buffer is gone. Each piece costs a
/// comparison and a copy; a std::string would be asked for room by a call for every character.
class TextBuffer {
 public:
  explicit TextBuffer(std::string& out) : out_(out) {
    at_ = end_ = out_.data() + out_.size();
    grow(0);
  }
  ~TextBuffer() { out_.resize(static_cast<size_t>(at_ - out_.data())); }
  TextBuffer(const TextBuffer&) = delete;
  TextBuffer& operator=(const TextBuffer&) = delete;

  TextBuffer& operator+=(char c) {
    if (at_ == end_) grow(1);
    *at_++ = c;
    return *this;
  }
  TextBuffer& operator+=(std::string_view text) {
    if (static_cast<size_t>(end_ - at_) < text.size()) grow(text.size());
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
    return *this;
  }
  TextBuffer& operator+=(const char* text) { return *this += std::string_view(text); }
  void append(const char* begin, const char* end) {
    *this += std::string_view(begin, static_cast<size_t>(end - begin));
  }
  template <class Integer>
  void append_number(Integer value) {
    constexpr size_t kDigits = 24;
    char* to = room(kDigits);
    at_ = std::to_chars(to, to + kDigits, value).ptr;
  }

  size_t size() const { return static_cast<size_t>(at_ - out_.data()); }
  /// Appends a part of what has been written, once more.
  void repeat(size_t begin, size_t size) {
    char* to = room(size);
    std::memcpy(to, out_.data() + begin, size);
    at_ += size;
  }

  /// Says that about so many characters will follow, so that room for them is made at once.
  void expect(size_t size) {
    if (static_cast<size_t>(end_ - at_) < size) resize(size);
  }
  /// Where the next `size` characters may be written; commit() says how far they went.
  char* room(size_t size) {
    if (static_cast<size_t>(end_ - at_) < size) grow(size);
    return at_;
  }
  void commit(char* end) { at_ = end; }

 private:
  void grow(size_t size) {
    constexpr size_t kLeast = 256;
    resize(std::max({size, this->size(), kLeast}));
  }
  void resize(size_t room) {
    const size_t used = size();
    out_.resize(used + room);
    at_ = out_.data() + used;
    end_ = out_.data() + out_.size();
  }

  std::string& out_;
  char* at_;
  char* end_;
};

}  // namespace minihlo::internal

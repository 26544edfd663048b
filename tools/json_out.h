// One JSON document, built value by value and printed at the end.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace minihlo {

/// A JSON value. Objects keep their keys in the order in which they were set. Bytes that are not
/// UTF-8 are printed as U+FFFD, numbers that are not finite as null.
class Json {
 public:
  static Json object();
  static Json array();
  Json();  // null
  Json(std::string_view text);
  Json(const std::string& text) : Json(std::string_view(text)) {}
  Json(const char* text) : Json(std::string_view(text)) {}
  Json(std::same_as<bool> auto value) : Json(Truth{value}) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T value) : Json(Integer{static_cast<int64_t>(value)}) {}
  Json(double value);
  Json(Json&&) noexcept;
  Json& operator=(Json&&) noexcept;
  ~Json();

  /// Sets a key of an object.
  void set(std::string_view key, Json value);
  /// Adds to an array.
  void push(Json value);

  /// The document, indented by two blanks a level, with a line end.
  std::string text() const;
  /// The same in one line, with a line end.
  std::string line() const;

 private:
  struct Value;
  struct Truth {
    bool value;
  };
  struct Integer {
    int64_t value;
  };
  explicit Json(Truth value);
  explicit Json(Integer value);
  explicit Json(std::unique_ptr<Value> value);

  std::unique_ptr<Value> value_;
};

}  // namespace minihlo

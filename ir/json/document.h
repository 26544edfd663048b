// A JSON text that was checked and can be walked in any order, without a tree of allocated values:
// arrays of plain values (the numbers of a constant, say) take one entry, whatever their length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/instruction.h"

namespace minihlo::internal {

enum class JsonKind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

/// What a kind is called in messages: "a number".
std::string_view to_string(JsonKind kind);

/// A value in a document.
struct JsonValue {
  JsonKind kind = JsonKind::kNull;
  uint32_t offset = 0;
  uint32_t length = 0;
  uint32_t node = 0;  // of an array or object

  Location location() const { return {offset, length}; }
};

class JsonDocument {
 public:
  struct Problem {
    std::string rule;
    std::string message;
    Location location;
  };

  /// Checks the whole text (RFC 8259), which must stay alive and be shorter than 4 GiB. Values nest
  /// at most kMaxDepth deep.
  static constexpr size_t kMaxDepth = 1000;
  std::optional<Problem> parse(std::string_view text);

  JsonValue root() const { return value(0); }
  std::string_view text(const JsonValue& value) const {
    return text_.substr(value.offset, value.length);
  }
  /// How many elements or members an array or object has.
  uint32_t count(const JsonValue& container) const { return nodes_[container.node].count; }

  /// The string that a value stands for: a view into the text where it has no escapes, else into
  /// `scratch`. A lone surrogate \udcXX with XX >= 80 stands for the byte XX, as in Python's
  /// surrogateescape; nothing where another one occurs.
  std::optional<std::string_view> string(const JsonValue& value, std::string& scratch) const;

  /// Calls visit(element) for each element of an array until it returns false.
  template <class Visit>
  bool each_element(const JsonValue& array, Visit visit) const {
    const Node& node = nodes_[array.node];
    if (!node.flat) {
      for (uint32_t child = array.node + 1, left = node.count; left > 0; --left) {
        if (!visit(value(child))) return false;
        child = nodes_[child].next;
      }
      return true;
    }
    uint32_t at = node.offset + 1;
    for (uint32_t left = node.count; left > 0; --left) {
      const JsonValue element = scalar_at(at);
      if (!visit(element)) return false;
      at = element.offset + element.length;
    }
    return true;
  }
  /// Calls visit(key, value) for each member of an object until it returns false. The key is a
  /// string value.
  template <class Visit>
  bool each_member(const JsonValue& object, Visit visit) const {
    uint32_t child = object.node + 1;
    for (uint32_t left = nodes_[object.node].count; left > 0; --left) {
      const Node& node = nodes_[child];
      if (!visit(JsonValue{JsonKind::kString, node.key, node.key_length, 0}, value(child))) {
        return false;
      }
      child = node.next;
    }
    return true;
  }

  /// The JSON pointer (RFC 6901) of the innermost value around an offset: "/computations/0".
  std::string path(uint32_t offset) const;

 private:
  friend class JsonScanner;
  struct Node {
    uint32_t offset;
    uint32_t length;
    uint32_t key;  // of a member
    uint32_t key_length;
    uint32_t count;
    uint32_t next;  // behind all that is inside
    JsonKind kind;
    bool flat;  // an array of plain values, which have no nodes
  };
  JsonValue value(uint32_t node) const {
    return {nodes_[node].kind, nodes_[node].offset, nodes_[node].length, node};
  }
  /// The plain value at or behind `at`, which is behind its predecessor or the bracket.
  JsonValue scalar_at(uint32_t at) const;

  std::string_view text_;
  std::vector<Node> nodes_;
};

}  // namespace minihlo::internal

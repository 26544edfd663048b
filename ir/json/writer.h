// IR to JSON, straight into a text.
#pragma once

#include <tsl/robin_map.h>

#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "ir/arena.h"
#include "ir/json/fields.h"
#include "ir/text/text_buffer.h"

namespace minihlo::internal {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  void write_module(const Module& module);

 private:
  // writer.cc
  void write_computation(const Computation& computation);
  void write_instruction(const Instruction& instruction);
  void write_attributes(std::span<const Attribute> attributes, const Shape* shape);
  void write_attribute(const Attribute& attribute, const Shape* shape);
  void write_shape(const Shape& shape);
  void write_layout(const Shape& shape);
  void write_string_map(std::span<const NamedString> map);
  void write(std::string_view text);
  void write_key(std::string_view key) {
    out_ += '"';
    out_ += key;
    out_ += "\":";
  }
  // writer_literal.cc
  /// `shape`: what goes without saying.
  void write_literal(const Literal& literal, const Shape* shape);

  void write(bool value) { out_ += value ? "true" : "false"; }
  void write(int64_t value) { out_.append_number(value); }
  void write(double value);
  void write(const Shape* shape);
  void write(const Computation* computation) { write(computation->name()); }
  void write(const Instruction* instruction) { write(instruction->name()); }
  void write(const JsonText* json) { write(json->text); }
  void write(std::span<const Attribute> values) { write_attributes(values, nullptr); }
  void write(std::span<const NamedString> map) { write_string_map(map); }
  void write(const SourceTarget& pair) {
    out_ += '[';
    write(pair.source);
    out_ += ',';
    write(pair.target);
    out_ += ']';
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void write(Enum value) { write(kWords<Enum>[static_cast<size_t>(value)]); }
  template <class T>
  void write(std::span<T> values) {
    write_list(values);
  }
  template <class T>
  void write(const std::vector<T>& values) {
    write_list(values);
  }
  template <class T>
  requires std::is_class_v<T>
  void write(const T* value) { write(*value); }
  template <class T>
  requires std::is_class_v<T>
  void write(const T& value) {
    Fields fields{*this};
    out_ += '{';
    describe(fields, value);
    out_ += '}';
  }
  template <class List>
  void write_list(const List& values) {
    out_ += '[';
    bool first = true;
    for (const auto& value : values) {
      if (!std::exchange(first, false)) out_ += ',';
      write(value);
    }
    out_ += ']';
  }

  // Writes the members of one object.
  struct Fields {
    JsonWriter& writer;
    bool first = true;

    template <class T>
    void operator()(std::string_view key, const T& value) {
      if (!std::exchange(first, false)) writer.out_ += ',';
      writer.write_key(key);
      writer.write(value);
    }
    template <class T>
    void operator()(std::string_view key, const T& value, const std::type_identity_t<T>& absent) {
      if (!is_same(value, absent)) (*this)(key, value);
    }
    template <class T>
    static bool is_same(const T& a, const T& b) {
      if constexpr (std::is_same_v<T, std::string_view>) {
        return a == b;
      } else if constexpr (requires { a.size(); }) {
        return a.size() == 0 && b.size() == 0;
      } else {
        return a == b;
      }
    }
  };

  TextBuffer out_;
  tsl::robin_map<const Shape*, std::string_view> shapes_;
  Arena shape_texts_;
};

}  // namespace minihlo::internal

// JSON to IR. Functions that return bool return false after they have reported an error, or when
// what they read depends on something whose error was reported before.
#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ir/diagnostics.h"
#include "ir/hash.h"
#include "ir/json/document.h"
#include "ir/json/fields.h"
#include "ir/json/layout_text.h"
#include "ir/json/module_json.h"

namespace minihlo::internal {

class JsonReader {
 public:
  JsonReader(std::shared_ptr<const Source> source, Diagnostics& diagnostics,
             const ParseOptions& options);

  std::unique_ptr<Module> run();

 private:
  struct Member {
    std::string_view key;
    JsonValue place;  // of the key
    JsonValue value;
    bool used = false;
  };

  // Reads the members of one object, for describe().
  class Fields {
   public:
    Fields(JsonReader& reader, const JsonValue& object);
    ~Fields() { reader_.members_.resize(first_); }
    Fields(const Fields&) = delete;
    Fields& operator=(const Fields&) = delete;

    template <class T>
    void operator()(std::string_view key, T& value) {
      if (!ok_) return;
      Member* member = take(key);
      if (!member) {
        ok_ = fail_missing(key);
      } else {
        ok_ = reader_.read(JsonValue(member->value), value);
      }
    }
    template <class T>
    void operator()(std::string_view key, T& value, const std::type_identity_t<T>& absent) {
      if (!ok_) return;
      if (Member* member = take(key)) {
        ok_ = reader_.read(JsonValue(member->value), value);
      } else if constexpr (!std::is_array_v<T>) {
        value = absent;
      }
    }
    /// The value of a key, if it is there.
    const Member* find(std::string_view key) { return ok_ ? take(key) : nullptr; }
    bool ok() const { return ok_; }
    /// Whether all went well and nothing is left.
    bool close();

   private:
    Member* take(std::string_view key);
    bool fail_missing(std::string_view key);

    JsonReader& reader_;
    const JsonValue object_;
    const size_t first_;
    bool ok_ = true;
    std::vector<std::string_view> asked_;
  };

  // reader.cc
  bool expect(const JsonValue& value, JsonKind kind);
  bool fail(std::string_view rule, const JsonValue& place, std::string message);
  bool read(const JsonValue& value, bool& out);
  bool read(const JsonValue& value, int64_t& out);
  bool read(const JsonValue& value, double& out);
  bool read(const JsonValue& value, std::string_view& out);
  bool read(const JsonValue& value, SourceTarget& out);
  bool read(const JsonValue& value, const JsonText*& out);
  bool read(const JsonValue& value, std::span<const NamedString>& out);
  bool read(const JsonValue& value, std::span<const Attribute>& out);
  bool check_int32(const JsonValue& place, int64_t value);
  bool read_word(const JsonValue& value, std::span<const std::string_view> words, size_t& out);
  bool read_name(const JsonValue& value, std::string_view& out);
  template <class Enum>
  requires std::is_enum_v<Enum>
  bool read(const JsonValue& value, Enum& out) {
    size_t index = 0;
    if (!read_word(value, kWords<Enum>, index)) return false;
    out = static_cast<Enum>(index);
    return true;
  }
  template <class T>
  bool read(const JsonValue& value, std::vector<T>& out) {
    if (!expect(value, JsonKind::kArray)) return false;
    return document_.each_element(
        value, [&](const JsonValue& element) { return read(element, out.emplace_back()); });
  }
  template <class T>
  bool read(const JsonValue& value, std::span<const T>& out) {
    if (!expect(value, JsonKind::kArray)) return false;
    std::vector<std::conditional_t<std::is_same_v<T, bool>, char, T>> values;
    if (!document_.each_element(value, [&](const JsonValue& element) {
          T one{};
          if (!read(element, one)) return false;
          values.push_back(one);
          return true;
        })) {
      return false;
    }
    std::span<T> kept = arena().array<T>(values.size());
    std::copy(values.begin(), values.end(), kept.begin());
    out = kept;
    return true;
  }
  template <class T>
  requires std::is_class_v<T>
  bool read(const JsonValue& value, const T*& out) {
    T made{};
    if (!read(value, made)) return false;
    out = arena().make<T>(made);
    return true;
  }
  template <class T>
  requires std::is_class_v<T>
  bool read(const JsonValue& value, T& out) {
    if (!expect(value, JsonKind::kObject)) return false;
    Fields fields(*this, value);
    describe(fields, out);
    return fields.close() && check(value, out);
  }
  // What describe() can't say, and the form that is kept of several; most of it in
  // reader_sharding.cc.
  template <class T>
  bool check(const JsonValue&, T&) {
    return true;
  }
  bool check(const JsonValue& place, IotaOrder& order);
  bool check(const JsonValue& place, DeviceMesh& mesh);
  bool check(const JsonValue& place, StackFrames::FileLocation& location);
  bool check(const JsonValue& place, StackFrames::Frame& frame);
  bool check(const JsonValue& place, AxisRef& axis);
  bool check(const JsonValue& place, DeviceGroups& groups);
  bool check(const JsonValue& place, Sharding& sharding);

  // reader_shape.cc
  bool read(const JsonValue& value, const Shape*& out);
  bool read_shape(const JsonValue& value, const Shape*& out);
  bool read_dims(const JsonValue& value, std::vector<int64_t>& dims);
  bool read_layout(const JsonValue& value, size_t rank, Layout& layout, std::string& tiling,
                   std::string& split);

  // reader_literal.cc
  /// `shape`: what goes without saying; null where it must be said.
  bool read_literal(const JsonValue& value, const Shape* shape, const Literal*& out);
  bool read_values(const JsonValue& value, bool splat, Literal& literal);

  // reader_module.cc
  bool read_module();
  bool read_computation(const JsonValue& value);
  bool read_instruction(const JsonValue& value);
  bool read_attributes(const JsonValue& value, std::span<const AttributeUse> own,
                       std::span<const AttributeUse> common, const Shape* shape,
                       std::vector<Attribute>& attributes);
  bool read_attribute(const JsonValue& value, const Shape* shape, Attribute& attribute);
  bool check_text(const JsonValue& place, const Attribute& attribute);
  /// Infers the shape where none is given.
  bool check_made(const JsonValue& place, Opcode opcode, const Shape*& shape,
                  std::span<Instruction* const> operands, std::span<const Attribute> attributes);
  bool read(const JsonValue& value, Computation*& out);
  bool read(const JsonValue& value, Instruction*& out);
  bool read(const JsonValue& value, std::span<Computation* const>& out);
  bool read(const JsonValue& value, std::span<Instruction* const>& out);
  bool finish(std::string_view entry, const JsonValue& place);

  Arena& arena() { return module_->arena(); }

  std::shared_ptr<const Source> source_;
  Diagnostics& diagnostics_;
  const size_t errors_before_;
  JsonDocument document_;
  std::unique_ptr<Module> module_;
  std::vector<Member> members_;  // of all objects that are being read
  std::string scratch_;
  std::string_view current_instruction_;

  tsl::robin_map<std::string_view, const Shape*, TextHash> shapes_;        // by text
  tsl::robin_map<std::string_view, Computation*, TextHash> computations_;  // null: had an error
  tsl::robin_map<std::string_view, Instruction*, TextHash> instructions_;  // of the one being read
  tsl::robin_set<int64_t, IntegerHash> parameters_;                           // their numbers in it
  Computation* computation_ = nullptr;
};

}  // namespace minihlo::internal

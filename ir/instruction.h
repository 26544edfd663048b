// One instruction: an opcode applied to operands, with a result shape and attributes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/attributes.h"
#include "ir/opcode.h"
#include "ir/shape.h"

namespace minihlo {

class Arena;
class Computation;

/// Where something stands in the module's source text. length 0: nowhere.
struct Location {
  uint32_t offset = 0;  // in bytes
  uint32_t length = 0;
};

/// Instructions are made by Computation::append (or a Rewriter) and live as long as their module.
/// They are trivially destructible: everything they refer to lives in the module's arena.
class Instruction {
 public:
  Opcode opcode() const { return opcode_; }
  /// Without the leading %. Unique in the module.
  std::string_view name() const { return {name_, name_size_}; }
  /// `name` must be unique in the module and live in its storage (see Module::keep_name).
  void set_name(std::string_view name) {
    name_ = name.data();
    name_size_ = static_cast<uint32_t>(name.size());
  }
  const Shape* shape() const { return shape_; }
  /// Whether its shape or that of an operand is dynamic.
  bool has_dynamic_shape() const;
  Computation* parent() const { return parent_; }
  /// The position in the computation's list. An analysis is a vector indexed by it.
  uint32_t number() const { return number_; }
  Location location() const { return location_; }

  std::span<Instruction* const> operands() const { return {operands_, operand_count_}; }
  Instruction* operand(size_t i) const { return operands_[i]; }
  size_t operand_count() const { return operand_count_; }
  void set_operand(size_t i, Instruction* to) { operands_[i] = to; }

  std::span<const Attribute> attributes() const { return {attributes_, attribute_count_}; }
  template <class T>
  T get(AttributeKey<T> key) const {
    return minihlo::get(attributes(), key);
  }
  template <class T>
  std::optional<T> find(AttributeKey<T> key) const {
    return minihlo::find(attributes(), key);
  }
  template <class T>
  bool has(AttributeKey<T> key) const {
    return find_attribute(attributes(), key.id) != nullptr;
  }
  /// Adds or replaces one attribute; the value's own memory must live in the module.
  void set(const Attribute& attribute);
  template <class T>
  void set(AttributeKey<T> key, std::type_identity_t<T> value) {
    set(make_attribute(key, value));
  }
  void erase(AttributeId id);

  /// The computations that it names, in XLA's order (of a while: body, then condition).
  std::vector<Computation*> called_computations() const;
  bool calls_computations() const;

  /// The effective comparison type of a compare: as written, a total order of floats also as
  /// order=TOTAL, or the default of the operand's type.
  ComparisonType comparison_type() const;
  ComparisonType default_comparison_type() const;

 private:
  friend class Computation;
  friend class Module;

  Opcode opcode_;
  uint16_t attribute_count_ = 0;
  uint32_t number_ = 0;
  uint32_t name_size_ = 0;
  uint32_t operand_count_ = 0;
  const char* name_ = nullptr;
  const Shape* shape_ = nullptr;
  Instruction** operands_ = nullptr;
  Attribute* attributes_ = nullptr;
  Computation* parent_ = nullptr;
  Location location_;
};

/// Whether a compare of such operands, with these attributes, orders all of them, -0 below 0 and
/// NaN at the ends: type=TOTALORDER, or order=TOTAL of newer versions, of floats.
bool is_total_order(std::span<const Attribute> attributes, ElementType operands);

}  // namespace minihlo

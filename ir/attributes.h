// Attributes of instructions, modules and metadata: what they are called, and their values.
//
// An attribute is a key and a value. attributes.def lists the keys; each has one kind, which fixes
// the C++ type of its value and, in the text layer, how it is read and printed. An instruction
// holds a short array of them and is asked for one by its typed key:
//
//   instruction->get(attr::dimensions)       std::span<const int64_t>, empty when absent
//   instruction->find(attr::channel_id)      std::optional<int64_t>
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ir/device_groups.h"
#include "ir/literal.h"
#include "ir/shape.h"
#include "ir/sharding.h"

namespace minihlo {

class Computation;
class Instruction;
struct Attribute;

enum class AttributeId : uint8_t {
#define ATTRIBUTE(id, text, kind) id,
#define WORD_ATTRIBUTE(id, text, type, words) id,
#include "ir/attributes.def"
#undef ATTRIBUTE
#undef WORD_ATTRIBUTE
};

inline constexpr int kAttributeCount = 0
#define ATTRIBUTE(id, text, kind) +1
#define WORD_ATTRIBUTE(id, text, type, words) +1
#include "ir/attributes.def"
#undef ATTRIBUTE
#undef WORD_ATTRIBUTE
    ;

// Words. An enumerator's position is that of its word in attributes.def.
enum class CollectiveMode : uint8_t {
  kCrossReplica,
  kCrossPartition,
  kCrossReplicaAndPartition,
  kFlattenedId
};
enum class ConvolutionKind : uint8_t { kUnset, kFprop, kDgrad, kWgrad };
enum class FftType : uint8_t { kFft, kIfft, kRfft, kIrfft };
enum class TransposeA : uint8_t { kNoTranspose, kTranspose, kAdjoint };
enum class ComparisonDirection : uint8_t { kEq, kNe, kGe, kGt, kLe, kLt };
enum class ComparisonType : uint8_t { kFloat, kTotalOrder, kSigned, kUnsigned };
enum class ComparisonOrder : uint8_t { kTotal, kPartial };
enum class ShuffleMode : uint8_t { kRotate, kMultiRotate, kPermute };
enum class RandomDistribution : uint8_t { kUniform, kNormal };
enum class RandomAlgorithm : uint8_t { kDefault, kThreeFry, kPhilox };
enum class FusionKind : uint8_t { kLoop, kInput, kOutput, kCustom };
enum class PaddingType : uint8_t { kInvalid, kValid, kSame };
enum class CustomCallSchedule : uint8_t { kNone, kLatest, kEarliest };
enum class CustomCallApiVersion : uint8_t {
  kOriginal,
  kStatusReturning,
  kStatusReturningUnified,
  kTypedFfi
};

// Values that are more than a number or a string. All live in an arena and are immutable.

struct SourceTarget {
  int64_t source;
  int64_t target;
};
struct SliceDimension {
  int64_t start;
  int64_t limit;
  int64_t stride;
};
struct PaddingDimension {
  int64_t low;
  int64_t high;
  int64_t interior;
};
struct WindowDimension {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  int64_t base_dilation = 1;
  int64_t window_dilation = 1;
  bool reversal = false;
};
/// dim_labels=b01f_01io->b01f: where each side has its dimensions. `?` dimensions are kept as text.
struct DimLabels {
  std::string_view text;
};
struct NamedString {
  std::string_view name;
  std::string_view value;
  bool raw;  // a balanced {...}, printed as it is; else a quoted string
};
/// `text` without quotes and escapes, or a balanced {...} as it stands.
struct JsonText {
  std::string_view text;
  bool raw;
};
struct Alias {
  std::span<const int64_t> output_index;
  int64_t parameter;  // or operand
  std::span<const int64_t> parameter_index;
  std::string_view kind;  // "may-alias", "must-alias"; empty in output_to_operand_aliasing
};
struct Donor {
  int64_t parameter;
  std::span<const int64_t> index;
};
struct ProgramShape {
  std::span<const Shape* const> parameters;
  const Shape* result;
};
struct DomainValue {
  std::string_view kind;
  const Sharding* entry;
  const Sharding* exit;
};

enum class AttributeKind : uint8_t {
  kBool,
  kInt,
  kFloat,
  kString,
  kWord,   // an identifier or token, kept as it is
  kWords,  // {high,default}
  kEnum,   // a WORD_ATTRIBUTE
  kInts,
  kBools,
  kIntLists,
  kPairs,
  kSlice,
  kPadding,
  kWindow,
  kDimLabels,
  kShape,
  kShapes,
  kProgramShape,
  kLiteral,
  kSharding,
  kDeviceGroups,
  kComputation,
  kComputations,
  kInstructions,
  kStringMap,
  kMetadata,
  kJson,
  kAliases,
  kDonors,
  kDomain,
  kBraced,  // a balanced {...}, kept as it stands
};

template <AttributeKind kind>
struct KindTraits;
#define MINIHLO_KIND(kind, ...)            \
  template <>                              \
  struct KindTraits<AttributeKind::kind> { \
    using type = __VA_ARGS__;              \
  };
MINIHLO_KIND(kBool, bool)
MINIHLO_KIND(kInt, int64_t)
MINIHLO_KIND(kFloat, double)
MINIHLO_KIND(kString, std::string_view)
MINIHLO_KIND(kWord, std::string_view)
MINIHLO_KIND(kWords, std::span<const std::string_view>)
MINIHLO_KIND(kInts, std::span<const int64_t>)
MINIHLO_KIND(kBools, std::span<const bool>)
MINIHLO_KIND(kIntLists, std::span<const std::span<const int64_t>>)
MINIHLO_KIND(kPairs, std::span<const SourceTarget>)
MINIHLO_KIND(kSlice, std::span<const SliceDimension>)
MINIHLO_KIND(kPadding, std::span<const PaddingDimension>)
MINIHLO_KIND(kWindow, std::span<const WindowDimension>)
MINIHLO_KIND(kDimLabels, std::string_view)
MINIHLO_KIND(kShape, const Shape*)
MINIHLO_KIND(kShapes, std::span<const Shape* const>)
MINIHLO_KIND(kProgramShape, const ProgramShape*)
MINIHLO_KIND(kLiteral, const Literal*)
MINIHLO_KIND(kSharding, const Sharding*)
MINIHLO_KIND(kDeviceGroups, const DeviceGroups*)
MINIHLO_KIND(kComputation, Computation*)
MINIHLO_KIND(kComputations, std::span<Computation* const>)
MINIHLO_KIND(kInstructions, std::span<Instruction* const>)
MINIHLO_KIND(kStringMap, std::span<const NamedString>)
MINIHLO_KIND(kMetadata, std::span<const Attribute>)
MINIHLO_KIND(kJson, const JsonText*)
MINIHLO_KIND(kAliases, std::span<const Alias>)
MINIHLO_KIND(kDonors, std::span<const Donor>)
MINIHLO_KIND(kDomain, const DomainValue*)
MINIHLO_KIND(kBraced, std::string_view)
#undef MINIHLO_KIND

/// One attribute with its value. Which member of the union counts is a matter of the key's kind.
struct Attribute {
  AttributeId id;
  uint32_t size = 0;  // elements or characters behind `data`, where the value is a range
  union {
    int64_t integer;
    double real;
    const void* data;
  };
};
static_assert(sizeof(Attribute) == 16);

template <class T>
struct AttributeKey {
  AttributeId id;
};

namespace attr {
#define ATTRIBUTE(name, text, kind) \
  inline constexpr AttributeKey<KindTraits<AttributeKind::kind>::type> name{AttributeId::name};
#define WORD_ATTRIBUTE(name, text, type, words) \
  inline constexpr AttributeKey<type> name{AttributeId::name};
#include "ir/attributes.def"
#undef ATTRIBUTE
#undef WORD_ATTRIBUTE
}  // namespace attr

struct AttributeInfo {
  std::string_view text;
  AttributeKind kind;
  std::string_view words;  // of kEnum: blank-separated
};
const AttributeInfo& info(AttributeId id);
/// All attributes that HLO text calls `text`: different opcodes may take different ones of a name.
std::vector<AttributeId> attributes_named(std::string_view text);
/// Word number `index` of an enumerated attribute.
std::string_view word(AttributeId id, int64_t index);
/// The value that an absent attribute stands for where that is a number or truth value: 1 for
/// group counts and the mesh, true for `largest`, else 0.
int64_t default_value(AttributeId id);

namespace internal {
template <class T>
struct IsSpan : std::false_type {};
template <class T>
struct IsSpan<std::span<T>> : std::true_type {
  using element = T;
};
}  // namespace internal

template <class T>
Attribute make_attribute(AttributeKey<T> key, std::type_identity_t<T> value) {
  Attribute result{key.id, 0, {0}};
  if constexpr (std::is_pointer_v<T>) {
    result.data = value;
  } else if constexpr (std::is_same_v<T, std::string_view> || internal::IsSpan<T>::value) {
    result.data = value.data();
    result.size = static_cast<uint32_t>(value.size());
  } else if constexpr (std::is_same_v<T, double>) {
    result.real = value;
  } else {
    result.integer = static_cast<int64_t>(value);
  }
  return result;
}

/// Sets the value of an attribute whose kind is one of ranges or texts.
template <class T>
void set_range(Attribute& attribute, std::span<T> values) {
  attribute.data = values.data();
  attribute.size = static_cast<uint32_t>(values.size());
}
inline void set_range(Attribute& attribute, std::string_view text) {
  attribute.data = text.data();
  attribute.size = static_cast<uint32_t>(text.size());
}

template <class T>
T attribute_value(const Attribute& attribute) {
  if constexpr (std::is_pointer_v<T>) {
    return static_cast<T>(const_cast<void*>(attribute.data));
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return {static_cast<const char*>(attribute.data), attribute.size};
  } else if constexpr (internal::IsSpan<T>::value) {
    return {static_cast<typename internal::IsSpan<T>::element*>(attribute.data), attribute.size};
  } else if constexpr (std::is_same_v<T, double>) {
    return attribute.real;
  } else {
    return static_cast<T>(attribute.integer);
  }
}

inline const Attribute* find_attribute(std::span<const Attribute> attributes, AttributeId id) {
  for (const Attribute& attribute : attributes) {
    if (attribute.id == id) return &attribute;
  }
  return nullptr;
}

template <class T>
std::optional<T> find(std::span<const Attribute> attributes, AttributeKey<T> key) {
  const Attribute* attribute = find_attribute(attributes, key.id);
  if (!attribute) return std::nullopt;
  return attribute_value<T>(*attribute);
}

/// The value, or what its absence stands for.
template <class T>
T get(std::span<const Attribute> attributes, AttributeKey<T> key) {
  if (const Attribute* attribute = find_attribute(attributes, key.id)) {
    return attribute_value<T>(*attribute);
  }
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return static_cast<T>(default_value(key.id));
  } else {
    return T{};
  }
}

}  // namespace minihlo

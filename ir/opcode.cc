#include "ir/opcode.h"

#include <array>
#include <string_view>

#include "ir/text_map.h"

namespace minihlo {
namespace {

constexpr std::string_view kAttributeIds[] = {
#define ATTRIBUTE(id, text, kind) #id,
#define WORD_ATTRIBUTE(id, text, type, words) #id,
#include "ir/attributes.def"
#undef ATTRIBUTE
#undef WORD_ATTRIBUTE
};

constexpr AttributeUse attribute_use(std::string_view text) {
  AttributeUse use{AttributeId{}, false, AttributeUse::Printed::kUnlessDefault};
  for (;; text.remove_suffix(1)) {
    if (text.ends_with('*')) {
      use.required = true;
    } else if (text.ends_with('!')) {
      use.printed = AttributeUse::Printed::kAlways;
    } else if (text.ends_with('?')) {
      use.printed = AttributeUse::Printed::kWherePresent;
    } else {
      break;
    }
  }
  for (size_t i = 0; i < std::size(kAttributeIds); ++i) {
    if (kAttributeIds[i] == text) {
      use.id = static_cast<AttributeId>(i);
      return use;
    }
  }
  throw "opcodes.def names an attribute that attributes.def does not have";
}

constexpr size_t count_words(std::string_view text) {
  size_t count = text.empty() ? 0 : 1;
  for (char c : text) count += c == ' ';
  return count;
}

// A blank-separated list of attribute ids, read while compiling.
template <size_t count>
constexpr std::array<AttributeUse, count> attribute_uses(std::string_view text) {
  std::array<AttributeUse, count> uses{};
  for (size_t i = 0; i < count; ++i) {
    size_t blank = text.find(' ');
    uses[i] = attribute_use(text.substr(0, blank));
    text.remove_prefix(blank == text.npos ? text.size() : blank + 1);
  }
  return uses;
}

constexpr OpcodeTraits opcode_traits(std::string_view words) {
  OpcodeTraits traits;
  while (!words.empty()) {
    const size_t blank = words.find(' ');
    const std::string_view word = words.substr(0, blank);
    if (word == "carries") {
      traits.carries = true;
    } else if (word == "mixes") {
      traits.mixes_floats = true;
    } else if (word == "keeps") {
      traits.keeps_types = true;
    } else if (word == "writes") {
      traits.writes_buffers = true;
    } else {
      throw "opcodes.def names an unknown trait";
    }
    words.remove_prefix(blank == words.npos ? words.size() : blank + 1);
  }
  return traits;
}

#define OPCODE(name, text, min, max, family, shape, traits, attributes) \
  constexpr auto name##Attributes = attribute_uses<count_words(attributes)>(attributes);
#include "ir/opcodes.def"
#undef OPCODE

constexpr OpcodeInfo kOpcodes[] = {
#define OPCODE(name, text, min, max, family, shape, traits, attributes) \
  {text, min, max, Family::family, ResultShape::shape, opcode_traits(traits), name##Attributes},
#include "ir/opcodes.def"
#undef OPCODE
};

constexpr std::string_view kCommon =
    "parameter_replication sharding frontend_attributes control_predecessors statistics "
    "result_accuracy origin metadata backend_config";
constexpr auto kCommonAttributes = attribute_uses<count_words(kCommon)>(kCommon);

constexpr std::string_view kModule =
    "is_scheduled input_output_alias buffer_donor alias_passthrough_params "
    "entry_computation_layout allow_spmd_sharding_propagation_to_parameters "
    "allow_spmd_sharding_propagation_to_output replica_count num_partitions frontend_attributes "
    "origin_recovery_table debug_attributes";
constexpr auto kModuleAttributes = attribute_uses<count_words(kModule)>(kModule);

constexpr std::string_view kMetadata =
    "op_type op_name source_file source_line source_end_line source_column source_end_column "
    "profile_type deduplicated_name preserve_layout scheduling_name stack_frame_id "
    "metadata_payload";
constexpr auto kMetadataAttributes = attribute_uses<count_words(kMetadata)>(kMetadata);

}  // namespace

const OpcodeInfo& info(Opcode opcode) { return kOpcodes[static_cast<size_t>(opcode)]; }

std::string_view to_string(Family family) {
  switch (family) {
    case Family::kStructure:
      return "structure";
    case Family::kIdentity:
      return "identity";
    case Family::kElementwise:
      return "elementwise";
    case Family::kMovement:
      return "movement";
    case Family::kReduction:
      return "reduction";
    case Family::kContraction:
      return "contraction";
    case Family::kCollective:
      return "collective";
    case Family::kAsync:
      return "async";
    case Family::kEffect:
      return "effect";
    case Family::kControl:
      return "control";
    case Family::kCustom:
      return "custom";
    case Family::kRandom:
      return "random";
  }
  return "";
}

std::optional<Opcode> opcode_from(std::string_view text) {
  static const auto* const table = [] {
    auto* map = new TextMap<Opcode>;
    for (int i = 0; i < kOpcodeCount; ++i) map->insert(kOpcodes[i].text, static_cast<Opcode>(i));
    return map;
  }();
  const auto* found = table->find(text);
  if (!found) return std::nullopt;
  return found->value;
}

namespace {

// Keys by their names. Several keys may have one, as no opcode takes more than one of them; the
// first stands for all.
class KeyNames {
 public:
  KeyNames() {
    for (size_t i = 0; i < std::size(kAttributeIds); ++i) {
      const auto id = static_cast<AttributeId>(i);
      first_[i] = names_.insert(info(id).text, id).first->value;
    }
    for (const AttributeUse& use : kCommonAttributes) {
      common_[static_cast<size_t>(first_[static_cast<size_t>(use.id)])] = &use;
    }
  }
  // The first key of this name.
  std::optional<AttributeId> find(std::string_view text) const {
    const auto* found = names_.find(text);
    if (!found) return std::nullopt;
    return found->value;
  }
  const AttributeUse* find(std::span<const AttributeUse> uses, AttributeId first) const {
    for (const AttributeUse& use : uses) {
      if (first_[static_cast<size_t>(use.id)] == first) return &use;
    }
    return nullptr;
  }
  // What all opcodes take under this name, or null.
  const AttributeUse* find_common(AttributeId first) const {
    return common_[static_cast<size_t>(first)];
  }

 private:
  TextMap<AttributeId> names_;
  std::array<AttributeId, std::size(kAttributeIds)> first_{};
  std::array<const AttributeUse*, std::size(kAttributeIds)> common_{};
};

const KeyNames& key_names() {
  static const auto* const names = new KeyNames;
  return *names;
}

}  // namespace

const AttributeUse* find_attribute_use(std::span<const AttributeUse> uses, std::string_view text) {
  const KeyNames& names = key_names();
  const std::optional<AttributeId> first = names.find(text);
  return first ? names.find(uses, *first) : nullptr;
}

const AttributeUse* find_attribute_use(Opcode opcode, std::string_view text) {
  const KeyNames& names = key_names();
  const std::optional<AttributeId> first = names.find(text);
  if (!first) return nullptr;
  if (const AttributeUse* own = names.find(info(opcode).attributes, *first)) return own;
  const AttributeUse* common = names.find_common(*first);
  return common && common->id != AttributeId::result_accuracy ? common : nullptr;
}

std::span<const AttributeUse> common_attributes() { return kCommonAttributes; }
std::span<const AttributeUse> module_attributes() { return kModuleAttributes; }
std::span<const AttributeUse> metadata_attributes() { return kMetadataAttributes; }

}  // namespace minihlo

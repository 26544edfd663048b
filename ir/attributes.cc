#include "ir/attributes.h"

namespace minihlo {
namespace {

constexpr AttributeInfo kAttributes[] = {
#define ATTRIBUTE(id, text, kind) {text, AttributeKind::kind, ""},
#define WORD_ATTRIBUTE(id, text, type, words) {text, AttributeKind::kEnum, words},
#include "ir/attributes.def"
#undef ATTRIBUTE
#undef WORD_ATTRIBUTE
};

}  // namespace

const AttributeInfo& info(AttributeId id) { return kAttributes[static_cast<size_t>(id)]; }

std::vector<AttributeId> attributes_named(std::string_view text) {
  std::vector<AttributeId> ids;
  for (int id = 0; id < kAttributeCount; ++id) {
    if (!text.empty() && kAttributes[id].text == text) ids.push_back(static_cast<AttributeId>(id));
  }
  return ids;
}

std::string_view word(AttributeId id, int64_t index) {
  std::string_view words = info(id).words;
  for (; index > 0; --index) words.remove_prefix(words.find(' ') + 1);
  return words.substr(0, words.find(' '));
}

int64_t default_value(AttributeId id) {
  switch (id) {
    case AttributeId::replica_count:
    case AttributeId::num_partitions:
    case AttributeId::feature_group_count:
    case AttributeId::batch_group_count:
    case AttributeId::largest:
      return 1;
    default:
      return 0;
  }
}

}  // namespace minihlo

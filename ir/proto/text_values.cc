// Attributes that no field of a message holds as they are, as HLO text.
#include "ir/proto/attribute_values.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "ir/proto/enums.h"
#include "ir/text/printer.h"
#include "ir/text/strings.h"

namespace minihlo::proto {

bool read_text_value(Reading& reading, const Message& in, AttributeId id, Attribute& value) {
  value.id = id;
  std::string_view text = in.text(MinihloAttribute::text);
  const char* const end = text.data() + text.size();
  auto wrong = [&] {
    return in.fail("invalid-attribute", MinihloAttribute::text,
                   fmt::format("this is no value of '{}'", info(id).text));
  };
  switch (info(id).kind) {
    case AttributeKind::kInt: {
      auto [behind, error] = std::from_chars(text.data(), end, value.integer);
      return (error == std::errc() && behind == end) || wrong();
    }
    case AttributeKind::kFloat: {
      auto [behind, error] = std::from_chars(text.data(), end, value.real);
      return (error == std::errc() && behind == end) || wrong();
    }
    case AttributeKind::kEnum:
      for (size_t i = 0; i < word_count(id); ++i) {
        value.integer = static_cast<int64_t>(i);
        if (word(id, value.integer) == text) return true;
      }
      return wrong();
    case AttributeKind::kBraced:
      if (!is_braced(text)) return wrong();
      set_range(value, text);
      return true;
    case AttributeKind::kWord:
    case AttributeKind::kDimLabels:
      set_range(value, text);
      return true;
    case AttributeKind::kWords: {
      std::vector<std::string_view> words;
      if (!is_braced(text)) return wrong();
      text = text.substr(1, text.size() - 2);
      while (!text.empty()) {
        words.push_back(text.substr(0, text.find(',')));
        text.remove_prefix(std::min(text.size(), words.back().size() + 1));
      }
      set_range(value, reading.arena.copy(words));
      return true;
    }
    case AttributeKind::kIntLists: {
      std::vector<std::span<const int64_t>> lists;
      std::vector<int64_t> list;
      for (const char* at = text.data(); at < end; ++at) {
        int64_t number;
        auto [behind, error] = std::from_chars(at, end, number);
        if (error == std::errc()) {
          list.push_back(number);
          at = behind;
        }
        if (at < end && *at == '}' && at + 1 < end) {
          lists.push_back(reading.arena.copy(list));
          list.clear();
        }
      }
      set_range(value, reading.arena.copy(lists));
      return true;
    }
    default:
      return wrong();
  }
}

void write_text_value(Writer& out, const Attribute& value) {
  const std::string text = print_text(value);
  std::string_view name = info(value.id).text;
  out.text(MinihloAttribute::name, name);
  out.text(MinihloAttribute::text, std::string_view(text).substr(name.size() + 1));
}

}  // namespace minihlo::proto

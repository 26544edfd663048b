#include "ir/proto/braced.h"

#include <charconv>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "ir/proto/enums.h"
#include "ir/proto/origins.h"

namespace minihlo::proto {
namespace {

void append_real(std::string& out, double value) {
  char digits[40];
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

// statistics={visualizing_index=0,name=1.5}

bool read_statistics(const Message& in, std::string& text) {
  // XLA sets the message everywhere.
  if (!in.has(StatisticsViz::statistics)) return true;
  text = fmt::format("{{visualizing_index={}", in.integer(StatisticsViz::stat_index_to_visualize));
  if (!in.each(StatisticsViz::statistics, [&](const Message& one) {
        text += fmt::format(",{}=", one.text(Statistic::stat_name));
        append_real(text, one.real(Statistic::stat_val));
        return true;
      })) {
    return false;
  }
  text += '}';
  return true;
}

bool write_statistics(TextCursor& from, Writer& out) {
  int64_t index;
  if (!from.accept(TokenKind::kLeftBrace) || !from.accept_key("visualizing_index") ||
      !from.integer(index)) {
    return false;
  }
  out.integer(StatisticsViz::stat_index_to_visualize, index);
  while (from.accept(TokenKind::kComma)) {
    std::string name;
    double value;
    if (!from.key(name) || !from.real(value)) return false;
    out.message(StatisticsViz::statistics, [&](Writer& one) {
      one.text(Statistic::stat_name, name);
      one.real(Statistic::stat_val, value);
    });
  }
  return from.accept(TokenKind::kRightBrace);
}

// result_accuracy={mode=highest} or {tolerance={atol=1e-06,rtol=0,ulps=4}}

bool read_accuracy(const Message& in, std::string& text) {
  if (!in.has(ResultAccuracy::tolerance)) {
    const int64_t number = in.integer(ResultAccuracy::mode);
    std::string_view mode = value_name(EnumId::ResultAccuracyMode, number);
    if (mode.empty()) {
      return in.fail("unknown-value", ResultAccuracy::mode,
                     fmt::format("there is no mode of number {}", number));
    }
    text = fmt::format("{{mode={}}}", to_lower(mode));
    return true;
  }
  return in.each(ResultAccuracy::tolerance, [&](const Message& tolerance) {
    text = "{tolerance={atol=";
    append_real(text, tolerance.real(Tolerance::atol));
    text += ",rtol=";
    append_real(text, tolerance.real(Tolerance::rtol));
    text += fmt::format(",ulps={}}}}}", tolerance.integer(Tolerance::ulps));
    return true;
  });
}

bool write_accuracy(TextCursor& from, Writer& out) {
  if (!from.accept(TokenKind::kLeftBrace)) return false;
  if (from.accept_key("mode")) {
    std::string word;
    if (!from.word(word)) return false;
    std::optional<int32_t> number = number_of_word(EnumId::ResultAccuracyMode, word);
    if (!number) return false;
    out.integer(ResultAccuracy::mode, *number, true);
    return from.accept(TokenKind::kRightBrace);
  }
  double atol, rtol;
  int64_t ulps;
  if (!from.accept_key("tolerance") || !from.accept(TokenKind::kLeftBrace) ||
      !from.accept_key("atol") || !from.real(atol) || !from.accept(TokenKind::kComma) ||
      !from.accept_key("rtol") || !from.real(rtol) || !from.accept(TokenKind::kComma) ||
      !from.accept_key("ulps") || !from.integer(ulps) || !from.accept(TokenKind::kRightBrace)) {
    return false;
  }
  out.message(ResultAccuracy::tolerance, [&](Writer& inner) {
    inner.real(Tolerance::atol, atol);
    inner.real(Tolerance::rtol, rtol);
    inner.integer(Tolerance::ulps, ulps);
  });
  return from.accept(TokenKind::kRightBrace);
}

// sparsity_config={lhs={sparsity=2x4 dimension=1 stride=1 idx=2} rhs={...}}

struct KeyedField {
  std::string_view key;
  Field field;
};
constexpr KeyedField kSparsityParts[] = {{"dimension", TensorSparsityConfig::dimension},
                                         {"stride", TensorSparsityConfig::stride},
                                         {"idx", TensorSparsityConfig::idx}};
constexpr KeyedField kSparsitySides[] = {{"lhs", SparsityConfig::lhs},
                                         {"rhs", SparsityConfig::rhs}};

bool read_sparsity_config(const Message& in, std::string& text) {
  if (!in.has(SparsityConfig::lhs) && !in.has(SparsityConfig::rhs)) return true;
  text = "{";
  for (const KeyedField& side : kSparsitySides) {
    if (!in.each(side.field, [&](const Message& one) {
          if (text.size() > 1) text += ' ';
          text += fmt::format("{}={{sparsity={}x{}", side.key,
                              one.integer(TensorSparsityConfig::num_non_zero),
                              one.integer(TensorSparsityConfig::block_size));
          for (const KeyedField& part : kSparsityParts) {
            if (one.has(part.field))
              text += fmt::format(" {}={}", part.key, one.integer(part.field));
          }
          text += '}';
          return true;
        })) {
      return false;
    }
  }
  text += '}';
  return true;
}

bool write_sparsity_config(TextCursor& from, Writer& out) {
  if (!from.accept(TokenKind::kLeftBrace)) return false;
  for (const KeyedField& side : kSparsitySides) {
    if (!from.accept_key(side.key)) continue;
    bool good = from.accept(TokenKind::kLeftBrace) && from.accept_key("sparsity");
    out.message(side.field, [&](Writer& one) {
      int64_t non_zero, block, value;
      good = good && from.sizes(non_zero, block);
      if (!good) return;
      one.integer(TensorSparsityConfig::num_non_zero, non_zero);
      one.integer(TensorSparsityConfig::block_size, block);
      for (const KeyedField& part : kSparsityParts) {
        if (!from.accept_key(part.key)) continue;
        good = good && from.integer(value);
        if (good) one.integer(part.field, value, true);
      }
      good = good && from.accept(TokenKind::kRightBrace);
    });
    if (!good) return false;
  }
  return from.accept(TokenKind::kRightBrace);
}

// block_scaling_config={lhs={scale_idx=2 zero_idx=3 strides=1x32 steps=1x1} rhs={...}}

constexpr KeyedField kScalingSides[] = {{"lhs", BlockScalingConfig::lhs},
                                        {"rhs", BlockScalingConfig::rhs}};
constexpr KeyedField kScalingParts[] = {{"scale_idx", TensorBlockScalingConfig::scale_idx},
                                        {"zero_idx", TensorBlockScalingConfig::zero_idx},
                                        {"strides", TensorBlockScalingConfig::strides},
                                        {"steps", TensorBlockScalingConfig::steps}};

bool read_block_scaling_config(const Message& in, std::string& text) {
  if (!in.has(BlockScalingConfig::lhs) && !in.has(BlockScalingConfig::rhs)) return true;
  text = "{";
  for (const KeyedField& side : kScalingSides) {
    if (!in.each(side.field, [&](const Message& one) {
          if (text.size() > 1) text += ' ';
          text += fmt::format("{}={{scale_idx={}", side.key,
                              one.integer(TensorBlockScalingConfig::scale_idx));
          for (const KeyedField& part : std::span(kScalingParts).subspan(1)) {
            if (!one.has(part.field)) continue;
            if (!part.field.is_repeated()) {
              text += fmt::format(" {}={}", part.key, one.integer(part.field));
              continue;
            }
            std::vector<int64_t> sizes;
            if (!one.integers(part.field, sizes)) return false;
            if (!sizes.empty()) text += fmt::format(" {}={}", part.key, fmt::join(sizes, "x"));
          }
          text += '}';
          return true;
        })) {
      return false;
    }
  }
  text += '}';
  return true;
}

bool write_block_scaling_config(TextCursor& from, Writer& out) {
  if (!from.accept(TokenKind::kLeftBrace)) return false;
  for (const KeyedField& side : kScalingSides) {
    if (!from.accept_key(side.key)) continue;
    bool good = from.accept(TokenKind::kLeftBrace);
    out.message(side.field, [&](Writer& one) {
      for (const KeyedField& part : kScalingParts) {
        if (!good || !from.accept_key(part.key)) continue;
        std::vector<int64_t> sizes;
        int64_t index = 0;
        if (part.field.is_repeated()) {
          good = from.sizes(sizes);
          one.integers<int64_t>(part.field, sizes);
        } else {
          good = from.integer(index) && index == static_cast<int32_t>(index);
          one.integer(part.field, index, true);
        }
      }
    });
    if (!good || !from.accept(TokenKind::kRightBrace)) return false;
  }
  return from.accept(TokenKind::kRightBrace);
}

struct Parts {
  AttributeId id;
  Field field;  // where it is repeated the text is a table, and the rest is about one entry
  bool (*read)(const Message& in, std::string& text);
  bool (*write)(TextCursor& from, Writer& out);
};
constexpr Parts kParts[] = {
    {AttributeId::statistics, HloInstructionProto::statistics_viz, read_statistics,
     write_statistics},
    {AttributeId::result_accuracy, HloInstructionProto::result_accuracy, read_accuracy,
     write_accuracy},
    {AttributeId::origin, HloInstructionProto::original_value, read_origin, write_origin},
    {AttributeId::sparsity_config, HloInstructionProto::sparsity_config, read_sparsity_config,
     write_sparsity_config},
    {AttributeId::block_scaling_config, HloInstructionProto::block_scaling_config,
     read_block_scaling_config, write_block_scaling_config},
    {AttributeId::debug_attributes, HloModuleProto::debug_attributes, read_debug_attributes,
     write_debug_attributes},
    {AttributeId::origin_recovery_table, HloModuleProto::original_value_recovery_table,
     read_recovery_table, write_recovery_table},
};

const Parts* find_parts(AttributeId id) {
  for (const Parts& parts : kParts) {
    if (parts.id == id) return &parts;
  }
  return nullptr;
}

// The text that will be read from a message of the owner's type with this field.
std::string text_of(const Parts& parts, std::string owner) {
  std::shared_ptr<const Source> source = Source::from_string("", std::move(owner));
  Diagnostics diagnostics(source);
  Input input(source, diagnostics);
  std::string text;
  Message message(input, parts.field.message, source->text());
  return message.ok() && read_parts(parts.id, message, text) ? text : std::string();
}

}  // namespace

bool read_parts(AttributeId id, const Message& owner, std::string& text) {
  const Parts& parts = *find_parts(id);
  const bool is_table = parts.field.is_repeated();
  if (!owner.each(parts.field, [&](const Message& inner) {
        if (is_table) text += text.empty() ? "{\n  " : ",\n  ";
        return parts.read(inner, text);
      })) {
    return false;
  }
  if (is_table && !text.empty()) text += "\n}";
  return true;
}

bool write_parts(AttributeId id, std::string_view text, Writer& owner) {
  const Parts* found = find_parts(id);
  if (!found) return false;
  const Parts& parts = *found;
  TextCursor from(text);
  std::string made;
  bool good = true;
  auto write = [&] {
    Writer(made).message(parts.field, [&](Writer& inner) { good = parts.write(from, inner); });
    return good;
  };
  if (!parts.field.is_repeated()) {
    write();
  } else {
    good = from.accept(TokenKind::kLeftBrace);
    while (good && !from.at(TokenKind::kRightBrace) && write() && from.accept(TokenKind::kComma)) {
    }
    good = good && from.accept(TokenKind::kRightBrace);
  }
  if (!good || !from.at(TokenKind::kEnd)) return false;
  owner.append(made);
  return text_of(parts, std::move(made)) == text;
}

}  // namespace minihlo::proto

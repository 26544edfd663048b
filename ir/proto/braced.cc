#include "ir/proto/braced.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "ir/proto/words.h"
#include "ir/text/lexer.h"
#include "ir/text/strings.h"

namespace minihlo::proto {
namespace {

// A cursor over the text of an attribute. What is not as expected is said by false.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : lexer_(text) {}

  bool at(TokenKind kind) const { return lexer_.at(kind); }
  bool accept(TokenKind kind) {
    if (!at(kind)) return false;
    lexer_.advance();
    return true;
  }
  bool accept_key(std::string_view key) {
    return lexer_.current().text == key && accept(TokenKind::kKey);
  }
  bool key(std::string& text) { return take(TokenKind::kKey, text); }
  bool word(std::string& text) { return take(TokenKind::kWord, text); }
  bool string(std::string& text) {
    if (!at(TokenKind::kString)) return false;
    text.clear();
    if (!unescape(lexer_.current().text, text)) return false;
    lexer_.advance();
    return true;
  }
  bool integer(int64_t& value) {
    if (!at(TokenKind::kInteger)) return false;
    value = lexer_.current().integer;
    lexer_.advance();
    return true;
  }
  bool real(double& value) {
    if (!at(TokenKind::kInteger) && !at(TokenKind::kDecimal)) return false;
    std::string_view text = lexer_.current().text;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return false;
    lexer_.advance();
    return true;
  }
  // {1,0}
  bool integers(std::vector<int64_t>& values) {
    if (!accept(TokenKind::kLeftBrace)) return false;
    while (!accept(TokenKind::kRightBrace)) {
      if (!integer(values.emplace_back())) return false;
      accept(TokenKind::kComma);
    }
    return true;
  }
  // 2x4
  bool sizes(int64_t& first, int64_t& second) {
    if (!at(TokenKind::kSizes)) return false;
    std::string_view text = lexer_.current().text;
    const char* const end = text.data() + text.size();
    auto [behind, error] = std::from_chars(text.data(), end, first);
    if (error != std::errc() || behind == end) return false;
    auto [last, second_error] = std::from_chars(behind + 1, end, second);
    if (second_error != std::errc() || last != end) return false;
    lexer_.advance();
    return true;
  }

 private:
  bool take(TokenKind kind, std::string& text) {
    if (!at(kind)) return false;
    text = lexer_.current().text;
    lexer_.advance();
    return true;
  }

  Lexer lexer_;
};

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

bool write_statistics(Cursor& from, Writer& out) {
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

bool write_accuracy(Cursor& from, Writer& out) {
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

struct SparsityPart {
  std::string_view key;
  Field field;
};
constexpr SparsityPart kSparsityParts[] = {{"dimension", TensorSparsityConfig::dimension},
                                           {"stride", TensorSparsityConfig::stride},
                                           {"idx", TensorSparsityConfig::idx}};
constexpr SparsityPart kSparsitySides[] = {{"lhs", SparsityConfig::lhs},
                                           {"rhs", SparsityConfig::rhs}};

bool read_sparsity_config(const Message& in, std::string& text) {
  if (!in.has(SparsityConfig::lhs) && !in.has(SparsityConfig::rhs)) return true;
  text = "{";
  for (const SparsityPart& side : kSparsitySides) {
    if (!in.each(side.field, [&](const Message& one) {
          if (text.size() > 1) text += ' ';
          text += fmt::format("{}={{sparsity={}x{}", side.key,
                              one.integer(TensorSparsityConfig::num_non_zero),
                              one.integer(TensorSparsityConfig::block_size));
          for (const SparsityPart& part : kSparsityParts) {
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

bool write_sparsity_config(Cursor& from, Writer& out) {
  if (!from.accept(TokenKind::kLeftBrace)) return false;
  for (const SparsityPart& side : kSparsitySides) {
    if (!from.accept_key(side.key)) continue;
    bool good = from.accept(TokenKind::kLeftBrace) && from.accept_key("sparsity");
    out.message(side.field, [&](Writer& one) {
      int64_t non_zero, block, value;
      good = good && from.sizes(non_zero, block);
      if (!good) return;
      one.integer(TensorSparsityConfig::num_non_zero, non_zero);
      one.integer(TensorSparsityConfig::block_size, block);
      for (const SparsityPart& part : kSparsityParts) {
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

// origin={({"a" {0}}, {}, ({"b"}))}: the leaves of the shape, each with an array that it is.

struct Origin {
  std::string text;  // what stands between the braces of a leaf
  std::vector<int64_t> path;
};

bool read_origin_leaf(const Message& element, Origin& leaf) {
  if (!element.integers(OriginalValueElementProto::shape_index, leaf.path)) return false;
  std::string name;
  std::vector<int64_t> index;
  // Until spring 2025 the name and the index stood in the element itself: its second field was the
  // name, which no tag of the message of today can begin.
  const Field array = OriginalValueElementProto::original_array;
  std::string_view bytes = element.text(array);
  const bool is_name = !bytes.empty() && bytes[0] != '\x0a' && bytes[0] != '\x12';
  if (is_name || element.has(OriginalValueElementProto::leaf_source_index)) {
    name = bytes;
    if (!element.integers(OriginalValueElementProto::leaf_source_index, index)) return false;
  } else if (!element.each(array, [&](const Message& inner) {
               name = inner.text(OriginalArrayProto::instruction_name);
               return inner.integers(OriginalArrayProto::shape_index, index);
             })) {
    return false;
  }
  if (!element.has(array)) return true;
  leaf.text = fmt::format("\"{}\"", escaped(name));
  if (!index.empty()) leaf.text += fmt::format(" {{{}}}", fmt::join(index, ","));
  return true;
}

constexpr size_t kMaxOriginDepth = 200;

// Appends the tree of the leaves that share the first `depth` steps. False where they are no tree.
bool append_origins(std::span<const Origin> leaves, size_t depth, std::string& out) {
  if (leaves.size() == 1 && leaves[0].path.size() == depth) {
    out += '{' + leaves[0].text + '}';
    return true;
  }
  if (depth >= kMaxOriginDepth) return false;
  out += '(';
  int64_t next = 0;
  for (size_t begin = 0; begin < leaves.size();) {
    if (leaves[begin].path.size() <= depth) return false;
    const int64_t step = leaves[begin].path[depth];
    size_t end = begin + 1;
    while (end < leaves.size() && leaves[end].path.size() > depth &&
           leaves[end].path[depth] == step) {
      ++end;
    }
    // Leaves that are not listed have no array.
    constexpr int64_t kMostLeftOut = 10000;
    if (step < next || step - next > kMostLeftOut) return false;
    for (; next < step; ++next) out += next > 0 ? ", {}" : "{}";
    if (next > 0) out += ", ";
    if (!append_origins(leaves.subspan(begin, end - begin), depth + 1, out)) return false;
    ++next;
    begin = end;
  }
  out += ')';
  return true;
}

bool read_origin(const Message& in, std::string& text) {
  if (in.boolean(OriginalValueProto::is_synthetic_call)) {
    text = "{[synthetic_call]}";
    return true;
  }
  std::vector<Origin> leaves;
  if (!in.each(OriginalValueProto::elements, [&](const Message& element) {
        return read_origin_leaf(element, leaves.emplace_back());
      })) {
    return false;
  }
  std::stable_sort(leaves.begin(), leaves.end(),
                   [](const Origin& a, const Origin& b) { return a.path < b.path; });
  text = "{";
  if (!append_origins(leaves, 0, text)) {
    return in.fail("invalid-origin", "the leaves are those of no tuple");
  }
  text += '}';
  return true;
}

bool write_origins(Cursor& from, Writer& out, std::vector<int64_t>& path) {
  if (path.size() > kMaxOriginDepth) return false;
  if (from.accept(TokenKind::kLeftParen)) {
    path.push_back(0);
    while (!from.accept(TokenKind::kRightParen)) {
      if (path.back() > 0 && !from.accept(TokenKind::kComma)) return false;
      if (!write_origins(from, out, path)) return false;
      ++path.back();
    }
    path.pop_back();
    return true;
  }
  if (!from.accept(TokenKind::kLeftBrace)) return false;
  std::string name;
  std::vector<int64_t> index;
  const bool has_array = from.string(name);
  if (has_array && from.at(TokenKind::kLeftBrace) && !from.integers(index)) return false;
  out.message(OriginalValueProto::elements, [&](Writer& element) {
    element.integers<int64_t>(OriginalValueElementProto::shape_index, path);
    if (!has_array) return;
    element.message(OriginalValueElementProto::original_array, [&](Writer& array) {
      array.text(OriginalArrayProto::instruction_name, name);
      array.integers<int64_t>(OriginalArrayProto::shape_index, index);
    });
  });
  return from.accept(TokenKind::kRightBrace);
}

bool write_origin(Cursor& from, Writer& out) {
  if (!from.accept(TokenKind::kLeftBrace)) return false;
  if (from.accept(TokenKind::kLeftSquare)) {
    std::string word;
    if (!from.word(word) || word != "synthetic_call") return false;
    out.integer(OriginalValueProto::is_synthetic_call, 1);
    return from.accept(TokenKind::kRightSquare) && from.accept(TokenKind::kRightBrace);
  }
  std::vector<int64_t> path;
  return write_origins(from, out, path) && from.accept(TokenKind::kRightBrace);
}

struct Parts {
  AttributeId id;
  Field field;
  bool (*read)(const Message& in, std::string& text);
  bool (*write)(Cursor& from, Writer& out);
};
constexpr Parts kParts[] = {
    {AttributeId::statistics, HloInstructionProto::statistics_viz, read_statistics,
     write_statistics},
    {AttributeId::result_accuracy, HloInstructionProto::result_accuracy, read_accuracy,
     write_accuracy},
    {AttributeId::origin, HloInstructionProto::original_value, read_origin, write_origin},
    {AttributeId::sparsity_config, HloInstructionProto::sparsity_config, read_sparsity_config,
     write_sparsity_config},
};

const Parts* find_parts(AttributeId id) {
  for (const Parts& parts : kParts) {
    if (parts.id == id) return &parts;
  }
  return nullptr;
}

}  // namespace

bool read_parts(AttributeId id, const Message& instruction, std::string& text) {
  const Parts& parts = *find_parts(id);
  return instruction.each(parts.field,
                          [&](const Message& inner) { return parts.read(inner, text); });
}

bool write_parts(AttributeId id, std::string_view text, std::string& instruction) {
  const Parts* found = find_parts(id);
  if (!found) return false;
  const Parts& parts = *found;
  Cursor from(text);
  const size_t before = instruction.size();
  Writer out(instruction);
  bool good = true;
  out.message(parts.field, [&](Writer& inner) { good = parts.write(from, inner); });
  good = good && from.at(TokenKind::kEnd);
  if (!good) instruction.resize(before);
  return good;
}

std::string parts_text(AttributeId id, std::string instruction) {
  std::shared_ptr<const Source> source = Source::from_string("", std::move(instruction));
  Diagnostics diagnostics(source);
  Input input(source, diagnostics);
  std::string text;
  Message message(input, MessageId::HloInstructionProto, source->text());
  return message.ok() && read_parts(id, message, text) ? text : std::string();
}

}  // namespace minihlo::proto

#include "ir/proto/origins.h"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "ir/proto/enums.h"
#include "ir/proto/module_reading.h"
#include "ir/proto/proto_writer.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/text/strings.h"

namespace minihlo::proto {
namespace {

constexpr size_t kMaxOriginDepth = 200;

struct KeyedNumber {
  std::string_view key;
  Field field;
};
constexpr KeyedNumber kDebugNumbers[] = {{"callback_id", DebugAttributesProto::callback_id},
                                         {"op_id", DebugAttributesProto::op_id}};

// "name" {1,0}: what stands between the braces of an array.
void append_original_array(std::string& out, std::string_view name,
                           std::span<const int64_t> index) {
  out += fmt::format("\"{}\"", escaped(name));
  if (!index.empty()) out += fmt::format(" {{{}}}", fmt::join(index, ","));
}

bool read_original_array(const Message& in, std::string& text) {
  std::vector<int64_t> index;
  if (!in.integers(OriginalArrayProto::shape_index, index)) return false;
  append_original_array(text, in.text(OriginalArrayProto::instruction_name), index);
  return true;
}

bool write_original_array(TextCursor& from, Writer& out) {
  std::string name;
  std::vector<int64_t> index;
  if (!from.string(name)) return false;
  if (from.at(TokenKind::kLeftBrace) && !from.integers(index)) return false;
  out.text(OriginalArrayProto::instruction_name, name);
  out.integers<int64_t>(OriginalArrayProto::shape_index, index);
  return true;
}

struct Origin {
  std::string text;  // what stands between the braces of a leaf
  std::vector<int64_t> path;
};

bool read_origin_leaf(const Message& element, Origin& leaf) {
  if (!element.integers(OriginalValueElementProto::shape_index, leaf.path)) return false;
  // Until spring 2025 the name and the index stood in the element itself: its second field was the
  // name, which never begins as a tag of the message of today does.
  const Field array = OriginalValueElementProto::original_array;
  std::string_view bytes = element.text(array);
  const bool is_name = !bytes.empty() && static_cast<unsigned char>(bytes[0]) >= ' ';
  if (is_name || element.has(OriginalValueElementProto::leaf_source_index)) {
    std::vector<int64_t> index;
    if (!element.integers(OriginalValueElementProto::leaf_source_index, index)) return false;
    if (element.has(array)) append_original_array(leaf.text, bytes, index);
    return true;
  }
  return element.each(array,
                      [&](const Message& inner) { return read_original_array(inner, leaf.text); });
}

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

bool write_origins(TextCursor& from, Writer& out, std::vector<int64_t>& path) {
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
  bool good = true;
  out.message(OriginalValueProto::elements, [&](Writer& element) {
    element.integers<int64_t>(OriginalValueElementProto::shape_index, path);
    if (!from.at(TokenKind::kString)) return;
    element.message(OriginalValueElementProto::original_array,
                    [&](Writer& array) { good = write_original_array(from, array); });
  });
  return good && from.accept(TokenKind::kRightBrace);
}

// The text of a module in quotes, as XLA prints it.
std::string quoted(const Module& module) {
  const std::string text = print_text(module);
  std::string out = "\"\n";
  for (size_t i = 0; i < text.size(); ++i) {
    if ((i == 0 || text[i - 1] == '\n') && text[i] != '\n') out += "    ";
    if (text[i] == '"' || text[i] == '\\') out += '\\';
    out += text[i];
  }
  return out + "\n  \"";
}

// The characters that names take in the text of a module: a name is written once and may be used
// many times.
size_t name_characters(const Module& module) {
  size_t count = 0;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      for (const Instruction* operand : instruction->operands()) count += operand->name().size();
      for (const Instruction* before : instruction->get(attr::control_predecessors)) {
        count += before->name().size();
      }
      for (const Computation* callee : instruction->called_computations()) {
        count += callee->name().size();
      }
    }
  }
  return count;
}

bool read_recovery_module(const Message& in, std::string& text) {
  constexpr size_t kMostCharacters = size_t{1} << 26;
  Module module("");
  if (!ModuleReader(module, in.input(), ModuleReader::Role::kRecovery).run(in, nullptr)) {
    return false;
  }
  if (name_characters(module) > kMostCharacters) {
    return in.fail("module-too-large", "the names of a recovery module take more than 64 MiB");
  }
  text += ",\n  " + quoted(module);
  return true;
}

bool write_recovery_module(TextCursor& from, Writer& out) {
  std::string text;
  if (!from.string(text)) return false;
  std::shared_ptr<const Source> source = Source::from_string("", std::move(text));
  Diagnostics diagnostics(source);
  const std::unique_ptr<Module> module = parse_text(source, diagnostics);
  if (module) out.append(print_module_proto(*module, diagnostics));
  return module != nullptr;
}

}  // namespace

bool read_origin(const Message& in, std::string& text) {
  const bool has_calls = in.has(OriginalValueProto::call_hierarchy);
  const bool is_synthetic = in.boolean(OriginalValueProto::is_synthetic_call);
  if (is_synthetic && !has_calls) {
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
  if (is_synthetic && leaves.empty()) leaves.emplace_back();
  text = "{";
  if (!append_origins(leaves, 0, text)) {
    return in.fail("invalid-origin", "the leaves are those of no tuple");
  }
  if (has_calls) {
    text += fmt::format(",[\"{}\"]", escaped(in.text(OriginalValueProto::call_hierarchy)));
  }
  text += '}';
  return true;
}

bool write_origin(TextCursor& from, Writer& out) {
  if (!from.accept(TokenKind::kLeftBrace)) return false;
  if (from.accept(TokenKind::kLeftSquare)) {
    std::string word;
    if (!from.word(word) || word != "synthetic_call") return false;
    out.integer(OriginalValueProto::is_synthetic_call, 1);
    return from.accept(TokenKind::kRightSquare) && from.accept(TokenKind::kRightBrace);
  }
  std::vector<int64_t> path;
  if (!write_origins(from, out, path)) return false;
  if (from.accept(TokenKind::kComma)) {
    std::string calls;
    if (!from.accept(TokenKind::kLeftSquare) || !from.string(calls) ||
        !from.accept(TokenKind::kRightSquare)) {
      return false;
    }
    if (calls.empty()) out.integer(OriginalValueProto::is_synthetic_call, 1);
    out.text(OriginalValueProto::call_hierarchy, calls, true);
  }
  return from.accept(TokenKind::kRightBrace);
}

bool read_debug_attributes(const Message& in, std::string& text) {
  text += '{';
  if (!in.each(DebugAttributeTableEntryProto::original_array,
               [&](const Message& array) { return read_original_array(array, text); })) {
    return false;
  }
  text += "}:(";
  bool first = true;
  if (!in.each(DebugAttributeTableEntryProto::debug_attributes, [&](const Message& one) {
        std::vector<std::string> parts;
        if (one.has(DebugAttributesProto::log_mode)) {
          const int64_t number = one.integer(DebugAttributesProto::log_mode);
          std::string_view name = value_name(DebugAttributesProto::log_mode.enum_type(), number);
          if (name.empty()) {
            return one.fail("unknown-value", DebugAttributesProto::log_mode,
                            fmt::format("there is no mode {}", number));
          }
          parts.push_back("log_mode=" + to_lower(name));
        }
        for (const auto& [key, field] : kDebugNumbers) {
          if (one.has(field)) parts.push_back(fmt::format("{}={}", key, one.integer(field)));
        }
        if (one.boolean(DebugAttributesProto::partitioned)) parts.push_back("partitioned=true");
        text += fmt::format("{}{{{}}}", first ? "" : ",", fmt::join(parts, ","));
        first = false;
        return true;
      })) {
    return false;
  }
  text += ')';
  return true;
}

bool write_debug_attributes(TextCursor& from, Writer& out) {
  bool good = from.accept(TokenKind::kLeftBrace);
  if (good && from.at(TokenKind::kString)) {
    out.message(DebugAttributeTableEntryProto::original_array,
                [&](Writer& array) { good = write_original_array(from, array); });
  }
  good = good && from.accept(TokenKind::kRightBrace) && from.accept(TokenKind::kColon) &&
         from.accept(TokenKind::kLeftParen);
  while (good && from.accept(TokenKind::kLeftBrace)) {
    out.message(DebugAttributeTableEntryProto::debug_attributes, [&](Writer& one) {
      std::string key, mode;
      while (good && from.key(key)) {
        if (key == "log_mode") {
          good = from.word(mode);
          auto number = value_number(DebugAttributesProto::log_mode.enum_type(), to_upper(mode));
          good = good && number;
          if (good) one.integer(DebugAttributesProto::log_mode, *number, true);
        } else if (key == "partitioned") {
          good = from.word(mode) && mode == "true";
          one.integer(DebugAttributesProto::partitioned, 1);
        } else {
          const KeyedNumber* number =
              std::ranges::find(kDebugNumbers, std::string_view(key), &KeyedNumber::key);
          int64_t value = 0;
          good = number != std::end(kDebugNumbers) && from.integer(value);
          if (good) one.integer(number->field, value, true);
        }
        from.accept(TokenKind::kComma);
      }
    });
    good = good && from.accept(TokenKind::kRightBrace);
    from.accept(TokenKind::kComma);
  }
  return good && from.accept(TokenKind::kRightParen);
}

bool read_recovery_table(const Message& in, std::string& text) {
  if (!in.has(OriginalValueRecoveryTableProto::entries)) return true;
  text = "{";
  if (!in.each(OriginalValueRecoveryTableProto::entries, [&](const Message& entry) {
        auto array = [&](Field field) {
          text += '{';
          if (!entry.each(field,
                          [&](const Message& one) { return read_original_array(one, text); })) {
            return false;
          }
          text += '}';
          return true;
        };
        text += "\n  ";
        if (!array(RecoveryEntry::old_original_array)) return false;
        text += " : ";
        return array(RecoveryEntry::new_original_array) &&
               entry.each(RecoveryEntry::recovery_module, [&](const Message& module) {
                 return read_recovery_module(module, text);
               });
      })) {
    return false;
  }
  text += "\n}";
  return true;
}

bool write_recovery_table(TextCursor& from, Writer& out) {
  if (!from.accept(TokenKind::kLeftBrace)) return false;
  bool good = true;
  while (good && from.at(TokenKind::kLeftBrace)) {
    out.message(OriginalValueRecoveryTableProto::entries, [&](Writer& entry) {
      auto array = [&](Field field) {
        if (!from.accept(TokenKind::kLeftBrace)) return false;
        bool written = true;
        if (from.at(TokenKind::kString)) {
          entry.message(field, [&](Writer& one) { written = write_original_array(from, one); });
        }
        return written && from.accept(TokenKind::kRightBrace);
      };
      good = array(RecoveryEntry::old_original_array) && from.accept(TokenKind::kColon) &&
             array(RecoveryEntry::new_original_array);
      if (good && from.accept(TokenKind::kComma)) {
        entry.message(RecoveryEntry::recovery_module,
                      [&](Writer& module) { good = write_recovery_module(from, module); });
      }
    });
  }
  return good && from.accept(TokenKind::kRightBrace);
}

}  // namespace minihlo::proto

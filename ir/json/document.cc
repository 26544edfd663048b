#include "ir/json/document.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

namespace minihlo::internal {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

JsonKind kind_of(char first) {
  switch (first) {
    case '"':
      return JsonKind::kString;
    case 't':
    case 'f':
      return JsonKind::kBool;
    case 'n':
      return JsonKind::kNull;
    default:
      return JsonKind::kNumber;
  }
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int extra = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  out += static_cast<char>((0xFF00 >> (extra + 1)) | (code >> (6 * extra)));
  for (int i = extra - 1; i >= 0; --i) {
    out += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3F));
  }
}

}  // namespace

std::string_view to_string(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kBool:
      return "a truth value";
    case JsonKind::kNumber:
      return "a number";
    case JsonKind::kString:
      return "a string";
    case JsonKind::kArray:
      return "an array";
    case JsonKind::kObject:
      return "an object";
  }
  return "";
}

// Reads a text once, from front to back, and lists what is in it.
class JsonScanner {
 public:
  JsonScanner(std::string_view text, std::vector<JsonDocument::Node>& nodes)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), nodes_(nodes) {}

  std::optional<JsonDocument::Problem> run() {
    bool done = scan();
    if (done) {
      skip_blank();
      if (at_ != end_) done = fail("expected the end of the text");
    }
    return std::move(problem_);
  }

 private:
  using Node = JsonDocument::Node;

  bool fail(std::string message, std::string rule = "invalid-json") {
    // A place of its own, even at the end.
    problem_ = {std::move(rule), std::move(message), {offset(), at_ == end_ ? 0u : 1u}};
    return false;
  }
  uint32_t offset() const { return static_cast<uint32_t>(at_ - begin_); }
  void skip_blank() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
  }

  // All of one value, with an explicit stack of what is open around it.
  bool scan() {
    for (;;) {
      // A value starts here.
      skip_blank();
      if (at_ == end_) return fail("expected a value, got the end of the text");
      if (*at_ == '{' || *at_ == '[') {
        if (!open_container()) return false;
        const char close = nodes_[open_.back()].kind == JsonKind::kObject ? '}' : ']';
        skip_blank();
        if (at_ == end_ || *at_ != close) {
          if (close == '}' && !scan_key()) return false;
          continue;
        }
      } else {
        const uint32_t start = offset();
        if (!scan_scalar()) return false;
        const bool listed = open_.empty() || !nodes_[open_.back()].flat;
        if (listed) add_node(kind_of(begin_[start]), start, offset() - start);
        if (!open_.empty()) ++nodes_[open_.back()].count;
      }
      // Behind a value, or right behind the bracket of an empty container.
      for (;;) {
        if (open_.empty()) return true;
        skip_blank();
        Node& node = nodes_[open_.back()];
        const bool object = node.kind == JsonKind::kObject;
        if (at_ != end_ && *at_ == ',' && node.count > 0) {
          ++at_;
          if (object && !scan_key()) return false;
          break;
        }
        if (at_ == end_ || *at_ != (object ? '}' : ']')) {
          return fail(object ? "expected ',' or '}'" : "expected ',' or ']'");
        }
        ++at_;
        node.length = offset() - node.offset;
        node.next = static_cast<uint32_t>(nodes_.size());
        open_.pop_back();
        if (!open_.empty()) ++nodes_[open_.back()].count;
      }
    }
  }

  bool open_container() {
    if (open_.size() >= JsonDocument::kMaxDepth) {
      return fail(fmt::format("nested more than {} levels deep", JsonDocument::kMaxDepth),
                  "nested-too-deeply");
    }
    if (!open_.empty() && nodes_[open_.back()].flat) list_scalars(open_.back());
    const bool object = *at_ == '{';
    add_node(object ? JsonKind::kObject : JsonKind::kArray, offset(), 1);
    nodes_.back().flat = !object;
    open_.push_back(static_cast<uint32_t>(nodes_.size() - 1));
    ++at_;
    return true;
  }

  // Plain elements that were not listed until another kind of element came.
  void list_scalars(uint32_t array) {
    const char* const here = at_;
    at_ = begin_ + nodes_[array].offset + 1;
    nodes_[array].flat = false;
    for (uint32_t left = nodes_[array].count; left > 0; --left) {
      skip_blank();
      if (*at_ == ',') ++at_;
      skip_blank();
      const uint32_t start = offset();
      scan_scalar();
      add_node(kind_of(begin_[start]), start, offset() - start);
    }
    at_ = here;
  }

  bool scan_key() {
    skip_blank();
    if (at_ == end_ || *at_ != '"') return fail("expected a key, in quotes");
    key_ = offset();
    if (!scan_string()) return false;
    key_length_ = offset() - key_;
    skip_blank();
    if (at_ == end_ || *at_ != ':') return fail("expected ':' behind the key");
    ++at_;
    return true;
  }

  bool scan_scalar() {
    const char c = *at_;
    if (c == '"') return scan_string();
    if (c == '-' || is_digit(c)) return scan_number();
    for (std::string_view word : {"true", "false", "null"}) {
      if (std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) {
        at_ += word.size();
        return true;
      }
    }
    return fail("expected a value");
  }

  bool scan_number() {
    auto digits = [&] {
      const char* const first = at_;
      while (at_ != end_ && is_digit(*at_)) ++at_;
      return at_ != first || fail("expected a digit");
    };
    if (*at_ == '-') ++at_;
    if (at_ != end_ && *at_ == '0') {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      if (!digits()) return false;
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!digits()) return false;
    }
    return true;
  }

  bool scan_string() {
    for (++at_; at_ != end_; ++at_) {
      if (*at_ == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(*at_) < ' ') {
        return fail("a control character in a string must be escaped");
      }
      if (*at_ != '\\') continue;
      if (++at_ == end_) break;
      if (*at_ == 'u') {
        for (int i = 0; i < 4; ++i) {
          if (++at_ == end_ || !std::isxdigit(static_cast<unsigned char>(*at_))) {
            return fail("expected four hexadecimal digits");
          }
        }
      } else if (std::string_view("\"\\/bfnrt").find(*at_) == std::string_view::npos) {
        return fail("there is no such escape");
      }
    }
    return fail("nothing ends the string");
  }

  void add_node(JsonKind kind, uint32_t start, uint32_t length) {
    nodes_.push_back({start, length, key_, key_length_, 0, 0, kind, false});
    nodes_.back().next = static_cast<uint32_t>(nodes_.size());
    key_ = key_length_ = 0;
  }

  const char* const begin_;
  const char* at_;
  const char* const end_;
  std::vector<Node>& nodes_;
  std::vector<uint32_t> open_;
  uint32_t key_ = 0;
  uint32_t key_length_ = 0;
  std::optional<JsonDocument::Problem> problem_;
};

std::optional<JsonDocument::Problem> JsonDocument::parse(std::string_view text) {
  text_ = text;
  nodes_.clear();
  return JsonScanner(text, nodes_).run();
}

JsonValue JsonDocument::scalar_at(uint32_t at) const {
  while (is_blank(text_[at]) || text_[at] == ',') ++at;
  uint32_t end = at + 1;
  if (text_[at] == '"') {
    for (; text_[end] != '"'; ++end) end += text_[end] == '\\';
    ++end;
  } else {
    while (!is_blank(text_[end]) && text_[end] != ',' && text_[end] != ']') ++end;
  }
  return {kind_of(text_[at]), at, end - at, 0};
}

std::optional<std::string_view> JsonDocument::string(const JsonValue& value,
                                                     std::string& scratch) const {
  const std::string_view inside = text(value).substr(1, value.length - 2);
  if (inside.find('\\') == std::string_view::npos) return inside;
  scratch.clear();
  auto unit = [&](size_t at) {
    uint32_t code = 0;
    std::from_chars(inside.data() + at, inside.data() + at + 4, code, 16);
    return code;
  };
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\') {
      scratch += inside[i];
      continue;
    }
    const char c = inside[++i];
    if (c != 'u') {
      constexpr std::string_view kLetters = "\"\\/bfnrt";
      constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
      scratch += kMeanings[kLetters.find(c)];
      continue;
    }
    uint32_t code = unit(i + 1);
    i += 4;
    if (code >= 0xDC80 && code < 0xDD00) {
      scratch += static_cast<char>(code & 0xFF);
      continue;
    }
    if (code >= 0xD800 && code < 0xE000) {
      if (code >= 0xDC00 || inside.substr(i + 1, 2) != "\\u") return std::nullopt;
      const uint32_t low = unit(i + 3);
      if (low < 0xDC00 || low >= 0xE000) return std::nullopt;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      i += 6;
    }
    append_utf8(scratch, code);
  }
  return scratch;
}

std::string JsonDocument::path(uint32_t offset) const {
  std::string path;
  uint32_t node = 0;
  auto around = [&](const JsonValue& value) {
    return value.offset <= offset && offset < value.offset + value.length;
  };
  for (;;) {
    uint32_t inner = 0;
    int64_t index = 0;
    const JsonValue outer = value(node);
    std::string step;
    if (outer.kind == JsonKind::kArray) {
      each_element(outer, [&](const JsonValue& element) {
        if (around(element)) {
          step = fmt::format("/{}", index);
          inner = element.node;
          return false;
        }
        ++index;
        return true;
      });
    } else if (outer.kind == JsonKind::kObject) {
      each_member(outer, [&](const JsonValue& key, const JsonValue& member) {
        if (!around(key) && !around(member)) return true;
        std::string scratch;
        step.push_back('/');
        for (char c : string(key, scratch).value_or("")) {
          if (c == '~') {
            step += "~0";
          } else if (c == '/') {
            step += "~1";
          } else {
            step += c;
          }
        }
        if (around(member)) inner = member.node;
        return false;
      });
    }
    path += step;
    if (step.empty() || inner == 0) return path;
    node = inner;
  }
}

}  // namespace minihlo::internal

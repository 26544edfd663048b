#include "ir/text/strings.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace minihlo {

size_t end_of_braces(std::string_view text, size_t offset) {
  size_t depth = 0;
  bool quoted = false;
  for (size_t at = offset; at < text.size(); ++at) {
    switch (text[at]) {
      case '\\':
        if (quoted) ++at;
        break;
      case '"':
        quoted = !quoted;
        break;
      case '{':
        depth += !quoted;
        break;
      case '}':
        if (!quoted && --depth == 0) return at + 1;
        break;
      default:
        break;
    }
  }
  return std::string_view::npos;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool is_braced(std::string_view text) {
  return text.starts_with('{') && end_of_braces(text, 0) == text.size();
}

bool unescape(std::string_view text, std::string& out) {
  auto number = [&](size_t& i, int base, size_t most, uint32_t largest) -> int64_t {
    uint32_t value = 0;
    const char* first = text.data() + i;
    const char* last = first + std::min(most, text.size() - i);
    auto [end, error] = std::from_chars(first, last, value, base);
    if (error != std::errc() || value > largest) return -1;
    i += static_cast<size_t>(end - first);
    return value;
  };
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      out += text[i++];
      continue;
    }
    if (++i >= text.size()) return false;
    char c = text[i];
    constexpr std::string_view kLetters = "abfnrtv\\?'\"";
    constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\?'\"";
    if (size_t which = kLetters.find(c); which != kLetters.npos) {
      out += kMeanings[which];
      ++i;
    } else if (c >= '0' && c <= '7') {
      int64_t value = number(i, 8, 3, 255);
      if (value < 0) return false;
      out += static_cast<char>(value);
    } else if (c == 'x' || c == 'X') {
      int64_t value = number(++i, 16, 8, 255);
      if (value < 0) return false;
      out += static_cast<char>(value);
    } else if (c == 'u' || c == 'U') {
      size_t digits = c == 'u' ? 4 : 8;
      size_t begin = ++i;
      int64_t value = number(i, 16, digits, 0x10FFFF);
      if (value < 0 || i != begin + digits || (value >= 0xD800 && value < 0xE000)) return false;
      if (value < 0x80) {
        out += static_cast<char>(value);
        continue;
      }
      int extra = value < 0x800 ? 1 : value < 0x10000 ? 2 : 3;
      out += static_cast<char>((0xFF00 >> (extra + 1)) | (value >> (6 * extra)));
      while (extra-- > 0) out += static_cast<char>(0x80 | ((value >> (6 * extra)) & 0x3F));
    } else {
      return false;
    }
  }
  return true;
}

void append_escaped(internal::TextBuffer& out, std::string_view text) {
  size_t done = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c >= ' ' && c < '\x7f' && c != '"' && c != '\'' && c != '\\') continue;
    out += text.substr(done, at - done);
    done = at + 1;
    out += '\\';
    switch (c) {
      case '\n':
        out += 'n';
        break;
      case '\r':
        out += 'r';
        break;
      case '\t':
        out += 't';
        break;
      case '"':
      case '\'':
      case '\\':
        out += c;
        break;
      default: {
        auto byte = static_cast<unsigned char>(c);
        out += static_cast<char>('0' + (byte >> 6));
        out += static_cast<char>('0' + ((byte >> 3) & 7));
        out += static_cast<char>('0' + (byte & 7));
      }
    }
  }
  out += text.substr(done);
}

std::string escaped(std::string_view text) {
  std::string out;
  {
    internal::TextBuffer buffer(out);
    append_escaped(buffer, text);
  }
  return out;
}

}  // namespace minihlo

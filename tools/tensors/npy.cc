#include "tools/tensors/npy.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace minihlo {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRank = 1000;

struct NamedType {
  std::string_view text;  // kind and size
  ElementType type;
};
// "f1" is what ml_dtypes writes for float8_e5m2; "V1" and "V2" are bytes of types that numpy lacks.
constexpr NamedType kTypes[] = {
    {"b1", ElementType::PRED}, {"i1", ElementType::S8},    {"i2", ElementType::S16},
    {"i4", ElementType::S32},  {"i8", ElementType::S64},   {"u1", ElementType::U8},
    {"u2", ElementType::U16},  {"u4", ElementType::U32},   {"u8", ElementType::U64},
    {"f2", ElementType::F16},  {"f4", ElementType::F32},   {"f8", ElementType::F64},
    {"c8", ElementType::C64},  {"c16", ElementType::C128}, {"f1", ElementType::F8E5M2},
    {"V1", ElementType::U8},   {"V2", ElementType::U16},
};

// Reads the Python dictionary that describes the array.
class DictionaryReader {
 public:
  explicit DictionaryReader(std::string_view text) : rest_(text) {}

  // What is wrong, or nothing.
  std::string read(StoredTensor& tensor) {
    bool has_type = false, has_order = false, has_shape = false;
    if (!take('{')) return "its header is no dictionary";
    while (!take('}')) {
      const std::optional<std::string_view> key = word();
      if (!key || !take(':')) return "its header is no dictionary";
      std::string wrong;
      if (*key == "descr") {
        wrong = read_type(tensor);
        has_type = true;
      } else if (*key == "fortran_order") {
        wrong = read_order(tensor);
        has_order = true;
      } else if (*key == "shape") {
        wrong = read_dims(tensor);
        has_shape = true;
      } else {
        wrong = fmt::format("its header has an unknown key '{}'", *key);
      }
      if (!wrong.empty()) return wrong;
      if (!take(',') && !peek('}')) return "its header is no dictionary";
    }
    if (!has_type || !has_order || !has_shape) {
      return "its header lacks one of 'descr', 'fortran_order' and 'shape'";
    }
    skip_blanks();
    return rest_.empty() ? "" : "something follows the dictionary in its header";
  }

 private:
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }
  bool peek(char c) {
    skip_blanks();
    return rest_.starts_with(c);
  }
  bool take(char c) {
    const bool is_there = peek(c);
    if (is_there) rest_.remove_prefix(1);
    return is_there;
  }
  bool take(std::string_view text) {
    skip_blanks();
    const bool is_there = rest_.starts_with(text);
    if (is_there) rest_.remove_prefix(text.size());
    return is_there;
  }

  // A string without escapes.
  std::optional<std::string_view> word() {
    if (!peek('\'') && !peek('"')) return std::nullopt;
    const size_t end = rest_.find(rest_[0], 1);
    if (end == rest_.npos) return std::nullopt;
    const std::string_view text = rest_.substr(1, end - 1);
    if (text.find('\\') != text.npos) return std::nullopt;
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::string read_type(StoredTensor& tensor) {
    if (peek('[') || peek('(')) return "its elements are structures";
    const std::optional<std::string_view> text = word();
    if (!text) return "its element type is not a string";
    tensor.type_text = *text;
    std::string_view name = *text;
    if (!name.empty() && std::string_view("<>=|").find(name[0]) != name.npos) {
      tensor.is_big_endian = name[0] == '>';
      name.remove_prefix(1);
    }
    for (const NamedType& type : kTypes) {
      if (type.text != name) continue;
      tensor.type = type.type;
      return "";
    }
    return fmt::format("its element type '{}' ({}) has no counterpart", *text, kind(name));
  }

  static std::string_view kind(std::string_view name) {
    switch (name.empty() ? '\0' : name[0]) {
      case 'O':
        return "Python objects";
      case 'S':
      case 'U':
      case 'a':
        return "strings";
      case 'M':
      case 'm':
        return "dates or times";
      case 'V':
        return "structures or plain bytes";
      default:
        return "unknown";
    }
  }

  std::string read_order(StoredTensor& tensor) {
    tensor.is_column_major = take("True");
    return tensor.is_column_major || take("False") ? ""
                                                   : "'fortran_order' is neither True nor False";
  }

  std::string read_dims(StoredTensor& tensor) {
    const std::string wrong = "'shape' is not a tuple of sizes";
    if (!take('(')) return wrong;
    while (!take(')')) {
      skip_blanks();
      int64_t size = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc() || size < 0 || tensor.dims.size() == kMaxRank) return wrong;
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      take('L');  // of Python 2
      tensor.dims.push_back(size);
      if (!take(',') && !peek(')')) return wrong;
    }
    return "";
  }

  std::string_view rest_;
};

uint32_t little_endian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// "<f4" for an element type.
std::string type_name(ElementType type) {
  if (is_integer(type) && info(type).bits < 8) return is_signed(type) ? "|i1" : "|u1";
  std::string_view text = info(type).bytes == 1 ? "V1" : "V2";
  for (const NamedType& named : kTypes) {
    const bool is_plain = named.text[0] != 'V' && named.text != "f1";
    if (named.type == type && is_plain) text = named.text;
  }
  return fmt::format("{}{}", info(type).bytes == 1 ? '|' : '<', text);
}

}  // namespace

bool is_npy(std::string_view bytes) { return bytes.starts_with(kMagic); }

tl::expected<NpyHeader, std::string> read_npy_header(std::string_view start) {
  auto wrong = [](std::string_view what) { return tl::unexpected(std::string(what)); };
  if (!is_npy(start)) return wrong("it does not begin as .npy files do");
  if (start.size() < kMagic.size() + 2) return wrong("its header is cut");
  const int version = static_cast<unsigned char>(start[kMagic.size()]);
  if (version < 1 || version > 3) {
    return wrong(fmt::format("it has the unknown version {} of the format", version));
  }
  const size_t width = version == 1 ? 2 : 4;
  const size_t begin = kMagic.size() + 2 + width;
  if (start.size() < begin) return wrong("its header is cut");
  const size_t size = little_endian(start.substr(begin - width, width));
  if (size > kMaxNpyHeader - begin) return wrong(fmt::format("its header has {} bytes", size));
  if (start.size() < begin + size) return wrong("its header is cut");
  NpyHeader header;
  header.data_begin = begin + size;
  std::string what = DictionaryReader(start.substr(begin, size)).read(header.tensor);
  if (!what.empty()) return wrong(what);
  if (!stored_bytes(header.tensor.type, header.tensor.dims)) return wrong("it is too large");
  return header;
}

std::string npy_header(const HostTensor& tensor) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 type_name(tensor.type), fmt::join(tensor.dims, ", "),
                                 tensor.dims.size() == 1 ? "," : "");
  // The elements begin at a multiple of 64, behind a line end.
  const size_t fixed = kMagic.size() + 4;
  text.append(63 - (fixed + text.size()) % 64, ' ');
  text += '\n';
  std::string header = std::string(kMagic) + '\1' + '\0';
  header += static_cast<char>(text.size() & 0xFF);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace minihlo

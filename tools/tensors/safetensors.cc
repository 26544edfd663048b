#include "tools/tensors/safetensors.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace minihlo {
namespace {

constexpr size_t kLengthBytes = 8;
// The limit of the format's own library.
constexpr size_t kMaxHeader = 100'000'000;
constexpr size_t kMaxRank = 1000;

struct NamedType {
  std::string_view text;
  ElementType type;
};
constexpr NamedType kTypes[] = {
    {"BOOL", ElementType::PRED},
    {"F4", ElementType::F4E2M1FN},
    {"F6_E2M3", ElementType::F6E2M3FN},
    {"F6_E3M2", ElementType::F6E3M2FN},
    {"U8", ElementType::U8},
    {"I8", ElementType::S8},
    {"F8_E5M2", ElementType::F8E5M2},
    {"F8_E4M3", ElementType::F8E4M3FN},
    {"F8_E8M0", ElementType::F8E8M0FNU},
    {"F8_E4M3FNUZ", ElementType::F8E4M3FNUZ},
    {"F8_E5M2FNUZ", ElementType::F8E5M2FNUZ},
    {"I16", ElementType::S16},
    {"U16", ElementType::U16},
    {"F16", ElementType::F16},
    {"BF16", ElementType::BF16},
    {"I32", ElementType::S32},
    {"U32", ElementType::U32},
    {"F32", ElementType::F32},
    {"C64", ElementType::C64},
    {"F64", ElementType::F64},
    {"I64", ElementType::S64},
    {"U64", ElementType::U64},
};

uint64_t header_size(std::string_view bytes) {
  uint64_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof(size));
  return size;
}

struct Entry {
  StoredTensor tensor;
  uint64_t begin = 0, end = 0;
};

// Takes the header as it is parsed, so that it makes nothing but tensors:
//   {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {...}}
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  const std::string& wrong() const { return wrong_; }
  std::vector<Entry> take_entries() { return std::move(entries_); }

  bool null() override { return unexpected(); }
  bool boolean(bool) override { return unexpected(); }
  bool number_float(number_float_t, const string_t&) override { return unexpected(); }
  bool binary(binary_t&) override { return unexpected(); }
  bool number_integer(number_integer_t) override { return unexpected(); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::kShape) {
      std::vector<int64_t>& dims = entries_.back().tensor.dims;
      if (value > INT64_MAX || dims.size() == kMaxRank)
        return fail("has a shape that is too large");
      dims.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (place_ != Place::kOffsets || offsets_ == 2) return unexpected();
    (offsets_++ == 0 ? entries_.back().begin : entries_.back().end) = value;
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::kMetadata) return true;
    if (place_ != Place::kTensor || key_ != "dtype") return unexpected();
    entries_.back().tensor.type_text = text;
    for (const NamedType& type : kTypes) {
      if (type.text != text) continue;
      entries_.back().tensor.type = type.type;
      entries_.back().tensor.is_packed = info(type.type).bits < 8;
      return true;
    }
    return fail(fmt::format("has the unknown dtype '{}'", text));
  }

  bool start_object(size_t) override {
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
      return true;
    }
    if (place_ != Place::kTop) return unexpected();
    if (key_ == "__metadata__") {
      place_ = Place::kMetadata;
      return true;
    }
    if (!names_.insert(key_).second) {
      wrong_ = fmt::format("two tensors are called '{}'", key_);
      return false;
    }
    place_ = Place::kTensor;
    seen_ = 0;
    offsets_ = 0;
    entries_.emplace_back().tensor.name = key_;
    return true;
  }

  bool key(string_t& text) override {
    if (place_ == Place::kTensor) {
      constexpr std::string_view kKeys[] = {"dtype", "shape", "data_offsets"};
      const auto* at = std::ranges::find(kKeys, text);
      if (at == std::end(kKeys)) return fail(fmt::format("has an unknown member '{}'", text));
      const unsigned bit = 1U << (at - kKeys);
      if (seen_ & bit) return fail(fmt::format("has two members '{}'", text));
      seen_ |= bit;
    }
    key_ = text;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor && (seen_ != 7 || offsets_ != 2)) {
      return fail("lacks a dtype, a shape or two data_offsets");
    }
    place_ = place_ == Place::kTop ? Place::kEnd : Place::kTop;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::kTensor || key_ == "dtype") return unexpected();
    place_ = key_ == "shape" ? Place::kShape : Place::kOffsets;
    return true;
  }
  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    wrong_ = fmt::format("its header is not JSON at byte {}", kLengthBytes + position);
    return false;
  }

 private:
  enum class Place : uint8_t { kStart, kTop, kMetadata, kTensor, kShape, kOffsets, kEnd };

  bool fail(std::string_view what) {
    wrong_ = fmt::format("tensor '{}' {}", entries_.back().tensor.name, what);
    return false;
  }
  bool unexpected() {
    if (place_ == Place::kTensor || place_ == Place::kShape || place_ == Place::kOffsets) {
      return fail(fmt::format("has a '{}' that is none", key_));
    }
    wrong_ = "its header does not describe tensors";
    return false;
  }

  Place place_ = Place::kStart;
  std::string key_;
  unsigned seen_ = 0;  // a bit for each member of the tensor at hand
  int offsets_ = 0;
  std::vector<Entry> entries_;
  std::unordered_set<std::string> names_;
  std::string wrong_;
};

// How an element type is stored; `dims` is extended where one element is two.
std::string_view stored_type(const HostTensor& tensor, std::vector<int64_t>& dims) {
  const ElementTypeInfo& type = info(tensor.type);
  if (tensor.type == ElementType::C128) {
    dims.push_back(2);
    return "F64";
  }
  if (is_integer(tensor.type) && type.bits < 8) return is_signed(tensor.type) ? "I8" : "U8";
  const bool is_whole = stored_bytes(tensor.type, dims, true).has_value();
  for (const NamedType& named : kTypes) {
    if (named.type == tensor.type && is_whole) return named.text;
  }
  return "U8";
}

bool is_written_packed(std::string_view text, ElementType type) {
  return info(type).bits < 8 && text.starts_with('F');
}

std::string packed(const HostTensor& tensor) {
  const auto bits = static_cast<size_t>(info(tensor.type).bits);
  const auto count = static_cast<size_t>(tensor.bytes);
  std::string out(count * bits / 8, '\0');
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i * bits;
    const unsigned word = static_cast<unsigned>(tensor.data.get()[i]) << at % 8;
    out[at / 8] = static_cast<char>(out[at / 8] | (word & 0xFF));
    if (word > 0xFF) out[at / 8 + 1] = static_cast<char>(out[at / 8 + 1] | (word >> 8));
  }
  return out;
}

}  // namespace

bool is_safetensors(std::string_view bytes) {
  if (bytes.size() < kLengthBytes + 2 || bytes[kLengthBytes] != '{') return false;
  return header_size(bytes) <= bytes.size() - kLengthBytes;
}

tl::expected<std::vector<StoredTensor>, std::string> read_safetensors(
    const std::shared_ptr<const Source>& source) {
  auto wrong = [](std::string what) { return tl::unexpected(std::move(what)); };
  const std::string_view bytes = source->text();
  if (bytes.size() < kLengthBytes) return wrong("it is shorter than the length of a header");
  const uint64_t size = header_size(bytes);
  if (size > kMaxHeader) return wrong(fmt::format("its header would have {} bytes", size));
  if (size > bytes.size() - kLengthBytes) return wrong("its header is cut");
  const std::string_view header = bytes.substr(kLengthBytes, static_cast<size_t>(size));
  const std::string_view data = bytes.substr(kLengthBytes + static_cast<size_t>(size));
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(header, &reader)) return wrong(reader.wrong());

  std::vector<Entry> entries = reader.take_entries();
  // No byte may belong to two tensors or none, so that tensors never take more than the file.
  std::vector<const Entry*> by_place;
  for (const Entry& entry : entries) by_place.push_back(&entry);
  std::ranges::sort(by_place, {},
                    [](const Entry* entry) { return std::pair(entry->begin, entry->end); });
  uint64_t at = 0;
  for (const Entry* entry : by_place) {
    const StoredTensor& tensor = entry->tensor;
    const auto needed = stored_bytes(tensor.type, tensor.dims, tensor.is_packed);
    if (!needed || entry->end < entry->begin ||
        entry->end - entry->begin != static_cast<uint64_t>(*needed)) {
      return wrong(fmt::format("tensor '{}' has data_offsets that do not fit its dtype and shape",
                               tensor.name));
    }
    if (entry->end > data.size()) {
      return wrong(fmt::format("tensor '{}' ends at byte {} of the data, which are {} bytes",
                               tensor.name, entry->end, data.size()));
    }
    if (entry->begin != at) {
      return wrong(
          fmt::format("tensor '{}' begins at byte {} of the data, not where the one before "
                      "ends, at {}",
                      tensor.name, entry->begin, at));
    }
    at = entry->end;
  }
  if (at != data.size()) {
    return wrong(fmt::format("{} bytes of data belong to no tensor", data.size() - at));
  }

  std::vector<StoredTensor> tensors;
  for (Entry& entry : entries) {
    entry.tensor.read = [source, from = data.data() + entry.begin](std::span<std::byte> to) {
      if (!to.empty()) std::memcpy(to.data(), from, to.size());
      return std::string();
    };
    tensors.push_back(std::move(entry.tensor));
  }
  return tensors;
}

bool write_safetensors(std::span<const NamedTensor> tensors,
                       const std::function<bool(std::string_view)>& write) {
  std::string text = "{";
  std::vector<std::string_view> types;
  int64_t at = 0;
  for (const auto& [name, tensor] : tensors) {
    std::vector<int64_t> dims = tensor.dims;
    const std::string_view type = stored_type(tensor, dims);
    int64_t size = tensor.bytes;
    if (is_written_packed(type, tensor.type)) size = size * info(tensor.type).bits / 8;
    const std::string quoted =
        nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    text +=
        fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                    types.empty() ? "" : ",", quoted, type, fmt::join(dims, ","), at, at + size);
    types.push_back(type);
    at += size;
  }
  text += '}';
  // The data begin at a multiple of 8.
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t size = text.size();
  if (!write({reinterpret_cast<const char*>(&size), sizeof(size)}) || !write(text)) return false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const HostTensor& tensor = tensors[i].tensor;
    if (is_written_packed(types[i], tensor.type)) {
      if (!write(packed(tensor))) return false;
    } else if (!write({reinterpret_cast<const char*>(tensor.data.get()),
                       static_cast<size_t>(tensor.bytes)})) {
      return false;
    }
  }
  return true;
}

}  // namespace minihlo

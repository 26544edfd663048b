#include "tools/case_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ir/diagnostics.h"

namespace minihlo {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr int64_t kMaxDevices = int64_t{1} << 20;

constexpr std::array<int8_t, 256> digit_values() {
  std::array<int8_t, 256> values{};
  for (int8_t& value : values) value = -1;
  for (size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<int8_t>(i);
  }
  return values;
}

// Decodes exactly `size` bytes; false when the text is something else.
bool decode_base64(std::string_view text, int64_t size, std::byte* out) {
  static constexpr std::array<int8_t, 256> kValues = digit_values();
  while (text.ends_with('=')) text.remove_suffix(1);
  if (static_cast<int64_t>(text.size()) != (size * 8 + 5) / 6) return false;
  uint32_t bits = 0;
  int have = 0;
  for (char c : text) {
    int8_t value = kValues[static_cast<unsigned char>(c)];
    if (value < 0) return false;
    bits = bits << 6 | static_cast<uint32_t>(value);
    have += 6;
    if (have >= 8) {
      have -= 8;
      *out++ = static_cast<std::byte>(bits >> have);
    }
  }
  return true;
}

std::string encode_base64(const std::byte* data, int64_t size) {
  std::string out;
  out.reserve(static_cast<size_t>((size + 2) / 3 * 4));
  for (int64_t i = 0; i < size; i += 3) {
    uint32_t bits = 0;
    int64_t count = std::min<int64_t>(3, size - i);
    for (int64_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < count ? static_cast<uint32_t>(data[i + k]) : 0);
    }
    for (int64_t k = 0; k < 4; ++k) {
      out += k <= count ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

// Reads cases out of JSON values; `wrong_` is the first thing that is not as it should be.
class Reader {
 public:
  const std::string& wrong() const { return wrong_; }

  Case read(const Json& json) {
    Case item;
    if (!json.is_object()) {
      fail("a case is a JSON object");
      return item;
    }
    item.name = text(json, "name");
    item.about = text(json, "about");
    item.oracle = text(json, "oracle");
    if (json.contains("module")) item.module = text(json, "module");
    item.replicas = count(json, "replicas");
    item.partitions = count(json, "partitions");
    if (json.contains("inputs")) item.inputs = tensors(json["inputs"], "inputs");
    if (json.contains("outputs")) item.outputs = tensors(json["outputs"], "outputs");
    if (json.contains("devices")) item.devices = devices(json["devices"]);
    if (json.contains("compare")) item.rule = rule(json["compare"]);
    if (std::string nan = text(json, "nan"); nan == "payload") {
      item.rule.nan_payload = true;
    } else if (!nan.empty()) {
      fail("\"nan\" is \"payload\"");
    }
    return item;
  }

 private:
  void fail(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }

  std::string text(const Json& json, const char* key) {
    auto at = json.find(key);
    if (at == json.end()) return "";
    if (!at->is_string()) {
      fail(fmt::format("\"{}\" is a string", key));
      return "";
    }
    return at->get<std::string>();
  }

  int64_t count(const Json& json, const char* key) {
    auto at = json.find(key);
    if (at == json.end()) return 0;
    if (!at->is_number_integer() || at->get<int64_t>() < 1 || at->get<int64_t>() > kMaxDevices) {
      fail(fmt::format("\"{}\" is a number from 1 to {}", key, kMaxDevices));
      return 0;
    }
    return at->get<int64_t>();
  }

  std::vector<int> devices(const Json& json) {
    std::vector<int> result;
    auto is_device = [](const Json& device) {
      return device.is_number_unsigned() &&
             device.get<uint64_t>() < static_cast<uint64_t>(kMaxDevices);
    };
    if (!json.is_array() || !std::ranges::all_of(json, is_device)) {
      fail("\"devices\" is a list of devices");
      return {};
    }
    for (const Json& device : json) result.push_back(device.get<int>());
    return result;
  }

  CompareRule rule(const Json& json) {
    CompareRule result;
    if (json == "bits") return result;
    auto take = [&](const Json& value, auto& number) {
      const bool is_whole = std::is_integral_v<std::remove_reference_t<decltype(number)>>;
      if (!(is_whole ? value.is_number_integer() : value.is_number())) return false;
      number = value.get<std::remove_reference_t<decltype(number)>>();
      return true;
    };
    bool good = json.is_object() && !json.empty();
    for (auto at = json.begin(); good && at != json.end(); ++at) {
      if (at.key() == "ulp" && json.size() == 1) {
        result.kind = CompareRule::Kind::kUlp;
        good = take(*at, result.ulp);
      } else if (at.key() == "rel" || at.key() == "abs") {
        result.kind = CompareRule::Kind::kTolerance;
        good = take(*at, at.key() == "rel" ? result.relative : result.absolute);
      } else {
        good = false;
      }
    }
    if (!good) {
      fail("\"compare\" is \"bits\", {\"rel\", \"abs\"} or {\"ulp\"}");
    } else if (std::string problem = problem_of(result); !problem.empty()) {
      fail(fmt::format("\"compare\": {}", problem));
    }
    return result;
  }

  std::vector<std::vector<HostTensor>> tensors(const Json& json, const char* key) {
    std::vector<std::vector<HostTensor>> result;
    if (!json.is_array()) {
      fail(fmt::format("\"{}\" is a list of lists", key));
      return result;
    }
    for (const Json& device : json) {
      std::vector<HostTensor>& leaves = result.emplace_back();
      if (!device.is_array()) {
        fail(fmt::format("\"{}\" is a list of lists", key));
        return result;
      }
      for (const Json& leaf : device) {
        leaves.push_back(tensor(leaf, {key, result.size() - 1, leaves.size()}));
      }
    }
    return result;
  }

  // Where a tensor stands in a case.
  struct Place {
    const char* key;
    size_t device, leaf;

    std::string text() const { return fmt::format("\"{}\"[{}][{}]", key, device, leaf); }
  };

  HostTensor tensor(const Json& json, const Place& place) {
    HostTensor result;
    if (!json.is_object() || !json.contains("dims") || !json["dims"].is_array() ||
        !json.contains("data") || !json["data"].is_string()) {
      fail(place.text() + ": a leaf has \"dtype\", \"dims\" and \"data\"");
      return result;
    }
    std::string name = text(json, "dtype");
    std::optional<ElementType> type = element_type_from(name);
    if (!type) {
      fail(fmt::format("{}: unknown element type '{}'", place.text(), name));
      return result;
    }
    result.type = *type;
    int64_t bytes = info(*type).bytes;
    for (const Json& dim : json["dims"]) {
      int64_t size = dim.is_number_integer() ? dim.get<int64_t>() : -1;
      if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) {
        fail(place.text() + ": dimensions that are none or too large");
        return result;
      }
      result.dims.push_back(size);
    }
    const auto& data = json["data"].get_ref<const std::string&>();
    // Devices with the same data share it.
    std::string identity = fmt::format("{}{}:{}", name, json["dims"].dump(), data);
    auto [known, is_new] = known_.try_emplace(std::move(identity));
    if (!is_new) return known->second;
    // Checked against the text before memory is taken.
    if (bytes / 3 > static_cast<int64_t>(data.size())) {
      fail(fmt::format("{}: {} bytes of data are needed", place.text(), bytes));
      return result;
    }
    std::shared_ptr<std::byte> memory = allocate_host(bytes);
    if (!memory || !decode_base64(data, bytes, memory.get())) {
      fail(fmt::format("{}: base64 of {} bytes is needed", place.text(), bytes));
      return result;
    }
    result.bytes = bytes;
    normalize(result.type, {memory.get(), static_cast<size_t>(bytes)});
    result.data = std::move(memory);
    return known->second = result;
  }

  std::string wrong_;
  std::unordered_map<std::string, HostTensor> known_;
};

Json tensors_json(const std::vector<std::vector<HostTensor>>& devices) {
  Json result = Json::array();
  for (const std::vector<HostTensor>& leaves : devices) {
    Json list = Json::array();
    for (const HostTensor& leaf : leaves) {
      Json entry = Json::object();
      entry["dtype"] = std::string(to_string(leaf.type));
      entry["dims"] = leaf.dims;
      entry["data"] = encode_base64(leaf.data.get(), leaf.bytes);
      list.push_back(std::move(entry));
    }
    result.push_back(std::move(list));
  }
  return result;
}

// JSON, or where it stops being that.
tl::expected<Json, std::string> parse_json(std::string_view text, int64_t first_line) {
  try {
    return Json::parse(text);
  } catch (const Json::out_of_range&) {
    return tl::unexpected(fmt::format("line {}: a number that is out of range", first_line));
  } catch (const Json::parse_error& error) {
    const std::string_view good = text.substr(0, error.byte > 0 ? error.byte - 1 : 0);
    const size_t row = good.find_last_of('\n') + 1;  // 0 where there is none
    return tl::unexpected(fmt::format("line {}, column {}: not JSON",
                                      first_line + std::ranges::count(good, '\n'),
                                      good.size() - row + 1));
  }
}

}  // namespace

tl::expected<std::vector<Case>, std::string> parse_cases(std::string_view text) {
  std::vector<Case> cases;
  auto add = [&](const Json& json) {
    Reader reader;
    Case item = reader.read(json);
    item.wrong = reader.wrong();
    if (item.name.empty()) item.name = fmt::format("case {}", cases.size() + 1);
    cases.push_back(std::move(item));
  };
  const tl::expected<Json, std::string> whole = parse_json(text, 1);
  if (whole && whole->is_array()) {
    for (const Json& json : *whole) add(json);
  } else if (whole) {
    add(*whole);
  } else {
    for (int64_t line = 1; !text.empty(); ++line) {
      size_t end = std::min(text.find('\n'), text.size());
      std::string_view row = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (row.find_first_not_of(" \t\r") == row.npos) continue;
      const tl::expected<Json, std::string> json = parse_json(row, line);
      if (json) {
        add(*json);
      } else if (cases.empty()) {
        return tl::unexpected(whole.error());
      } else {
        Case& item = cases.emplace_back();
        item.name = fmt::format("case {}", cases.size());
        item.wrong = json.error();
      }
    }
  }
  if (cases.empty()) return tl::make_unexpected(std::string("no cases"));
  return cases;
}

tl::expected<std::vector<Case>, std::string> read_case_file(const std::string& path) {
  std::string error;
  std::shared_ptr<const Source> source = Source::from_file(path, error);
  if (!source) return tl::unexpected(fmt::format("cannot read '{}': {}", path, error));
  auto cases = parse_cases(source->text());
  if (!cases) return tl::unexpected(fmt::format("'{}': {}", path, cases.error()));
  return cases;
}

std::string print_case(const Case& item) {
  Json json = Json::object();
  if (!item.name.empty()) json["name"] = item.name;
  if (!item.about.empty()) json["about"] = item.about;
  if (item.module) json["module"] = *item.module;
  if (item.replicas > 0) json["replicas"] = item.replicas;
  if (item.partitions > 0) json["partitions"] = item.partitions;
  if (item.inputs) json["inputs"] = tensors_json(*item.inputs);
  if (item.devices) json["devices"] = *item.devices;
  if (item.outputs) json["outputs"] = tensors_json(*item.outputs);
  switch (item.rule.kind) {
    case CompareRule::Kind::kBits:
      json["compare"] = "bits";
      break;
    case CompareRule::Kind::kTolerance:
      json["compare"] = {{"rel", item.rule.relative}, {"abs", item.rule.absolute}};
      break;
    case CompareRule::Kind::kUlp:
      json["compare"] = {{"ulp", item.rule.ulp}};
      break;
  }
  if (item.rule.nan_payload) json["nan"] = "payload";
  if (!item.oracle.empty()) json["oracle"] = item.oracle;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace minihlo

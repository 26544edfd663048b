#include "ir/json/reader.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "ir/json/text_checks.h"
#include "ir/text/strings.h"

namespace minihlo {

std::unique_ptr<Module> parse_json(std::shared_ptr<const Source> source, Diagnostics& diagnostics,
                                   const ParseOptions& options) {
  if (source->text().size() >= std::numeric_limits<uint32_t>::max()) {
    diagnostics.error("text-too-long", {}, "the text is 4 GiB or longer");
    return nullptr;
  }
  return internal::JsonReader(std::move(source), diagnostics, options).run();
}

namespace internal {

JsonReader::JsonReader(std::shared_ptr<const Source> source, Diagnostics& diagnostics,
                       const ParseOptions& options)
    : source_(std::move(source)),
      diagnostics_(diagnostics),
      errors_before_(diagnostics.error_count()) {
  module_ = std::make_unique<Module>("", options.shapes);
  module_->keep(source_);
}

std::unique_ptr<Module> JsonReader::run() {
  if (auto problem = document_.parse(source_->text())) {
    diagnostics_.error(std::move(problem->rule), problem->location, std::move(problem->message));
    return nullptr;
  }
  const bool done = read_module() && diagnostics_.error_count() == errors_before_;
  return done ? std::move(module_) : nullptr;
}

bool JsonReader::fail(std::string_view rule, const JsonValue& place, std::string message) {
  // Of what runs over many lines, where it begins.
  Location location = place.location();
  if (place.kind == JsonKind::kObject || place.kind == JsonKind::kArray) location.length = 1;
  Diagnostic& error = diagnostics_.error(std::string(rule), location, std::move(message));
  error.instruction = current_instruction_;
  if (std::string path = document_.path(place.offset); !path.empty()) {
    error.notes.push_back({"at " + path, {}});
  }
  return false;
}

bool JsonReader::expect(const JsonValue& value, JsonKind kind) {
  if (value.kind == kind) return true;
  return fail("wrong-type", value,
              fmt::format("expected {}, got {}", to_string(kind), to_string(value.kind)));
}

JsonReader::Fields::Fields(JsonReader& reader, const JsonValue& object)
    : reader_(reader), object_(object), first_(reader.members_.size()) {
  reader_.document_.each_member(object, [&](const JsonValue& place, const JsonValue& value) {
    std::string_view key;
    ok_ = reader_.read(place, key);
    if (ok_) reader_.members_.push_back({key, place, value});
    return ok_;
  });
}

JsonReader::Member* JsonReader::Fields::take(std::string_view key) {
  asked_.push_back(key);
  for (size_t i = first_; i < reader_.members_.size(); ++i) {
    Member& member = reader_.members_[i];
    if (member.key != key || member.used) continue;
    member.used = true;
    return &member;
  }
  return nullptr;
}

bool JsonReader::Fields::fail_missing(std::string_view key) {
  std::vector<std::string_view> unknown;
  for (size_t i = first_; i < reader_.members_.size(); ++i) {
    if (!reader_.members_[i].used) unknown.push_back(reader_.members_[i].key);
  }
  const std::string_view meant = closest(key, unknown);
  return reader_.fail(
      "missing-key", object_,
      fmt::format("the key '{}' is missing{}", key,
                  meant.empty() ? "" : fmt::format("; is it meant by '{}'?", meant)));
}

bool JsonReader::Fields::close() {
  if (!ok_) return false;
  for (size_t i = first_; i < reader_.members_.size(); ++i) {
    const Member& member = reader_.members_[i];
    if (member.used) continue;
    if (std::find(asked_.begin(), asked_.end(), member.key) != asked_.end()) {
      return reader_.fail("duplicate-key", member.place,
                          fmt::format("the key '{}' is given twice", member.key));
    }
    return reader_.fail(
        "unknown-key", member.place,
        fmt::format("there is no key '{}' here{}", member.key, suggestion(member.key, asked_)));
  }
  return true;
}

bool JsonReader::read(const JsonValue& value, bool& out) {
  if (!expect(value, JsonKind::kBool)) return false;
  out = document_.text(value) == "true";
  return true;
}

bool JsonReader::read(const JsonValue& value, int64_t& out) {
  if (!expect(value, JsonKind::kNumber)) return false;
  const std::string_view text = document_.text(value);
  const char* const end = text.data() + text.size();
  auto [behind, error] = std::from_chars(text.data(), end, out);
  if (error == std::errc::result_out_of_range) {
    return fail("number-out-of-range", value, "the integer does not fit 64 bits");
  }
  return behind == end || fail("wrong-type", value, "expected an integer");
}

bool JsonReader::read(const JsonValue& value, double& out) {
  const std::string_view text = document_.text(value);
  if (value.kind == JsonKind::kString) {
    if (text == "\"nan\"") {
      out = std::numeric_limits<double>::quiet_NaN();
    } else if (text == "\"inf\"" || text == "\"-inf\"") {
      out = text[1] == '-' ? -HUGE_VAL : HUGE_VAL;
    } else {
      return fail("wrong-type", value, "expected a number, \"nan\", \"inf\" or \"-inf\"");
    }
    return true;
  }
  if (!expect(value, JsonKind::kNumber)) return false;
  auto [_, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() ||
         fail("number-out-of-range", value, "the number does not fit 64 bits");
}

bool JsonReader::read(const JsonValue& value, std::string_view& out) {
  if (!expect(value, JsonKind::kString)) return false;
  std::optional<std::string_view> text = document_.string(value, scratch_);
  if (!text) {
    return fail("invalid-json", value,
                "a surrogate stands alone; of those, only \\udc80 to "
                "\\udcff stand for something, a byte");
  }
  out = text->data() == scratch_.data() ? arena().copy_string(*text) : *text;
  return true;
}

bool JsonReader::read_word(const JsonValue& value, std::span<const std::string_view> words,
                           size_t& out) {
  std::string_view text;
  if (!read(value, text)) return false;
  auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) {
    return fail("invalid-value", value,
                fmt::format("'{}' must be one of {}", text, fmt::join(words, ", ")));
  }
  out = static_cast<size_t>(found - words.begin());
  return true;
}

bool JsonReader::check_int32(const JsonValue& place, int64_t value) {
  return value == static_cast<int32_t>(value) ||
         fail("number-out-of-range", place, fmt::format("{} does not fit 32 bits", value));
}

bool JsonReader::check(const JsonValue& place, StackFrames::FileLocation& location) {
  for (int64_t value : {location.file_name_id, location.function_name_id, location.line,
                        location.end_line, location.column, location.end_column}) {
    if (!check_int32(place, value)) return false;
  }
  return true;
}

bool JsonReader::check(const JsonValue& place, StackFrames::Frame& frame) {
  return check_int32(place, frame.file_location_id) && check_int32(place, frame.parent_frame_id);
}

bool JsonReader::read_name(const JsonValue& value, std::string_view& out) {
  if (!read(value, out)) return false;
  return is_name(out) ||
         fail("invalid-name", value, fmt::format("'{}' is no name that HLO text can hold", out));
}

bool JsonReader::read(const JsonValue& value, SourceTarget& out) {
  if (!expect(value, JsonKind::kArray)) return false;
  if (document_.count(value) != 2) {
    return fail("wrong-type", value, "expected a pair [source, target]");
  }
  int64_t* next = &out.source;
  return document_.each_element(value, [&](const JsonValue& element) {
    return read(element, *std::exchange(next, &out.target));
  });
}

bool JsonReader::read(const JsonValue& value, const JsonText*& out) {
  JsonText json{};
  if (!read(value, json.text)) return false;
  json.raw = is_braced(json.text);
  out = arena().make<JsonText>(json);
  return true;
}

bool JsonReader::read(const JsonValue& value, std::span<const NamedString>& out) {
  if (!expect(value, JsonKind::kObject)) return false;
  std::vector<NamedString> entries;
  std::vector<JsonValue> places;
  if (!document_.each_member(value, [&](const JsonValue& key, const JsonValue& text) {
        NamedString entry{};
        if (!read(key, entry.name) || !read(text, entry.value)) return false;
        if (!is_key(entry.name)) {
          return fail("invalid-name", key,
                      fmt::format("'{}' is no key that HLO text can hold", entry.name));
        }
        entry.raw = is_braced(entry.value);
        entries.push_back(entry);
        return true;
      })) {
    return false;
  }
  std::sort(entries.begin(), entries.end(),
            [](const NamedString& a, const NamedString& b) { return a.name < b.name; });
  auto twice = std::adjacent_find(
      entries.begin(), entries.end(),
      [](const NamedString& a, const NamedString& b) { return a.name == b.name; });
  if (twice != entries.end()) {
    return fail("duplicate-key", value, fmt::format("the key '{}' is given twice", twice->name));
  }
  out = arena().copy(entries);
  return true;
}

}  // namespace internal
}  // namespace minihlo

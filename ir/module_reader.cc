#include "ir/module_reader.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "ir/gzip.h"
#include "ir/json/module_json.h"
#include "ir/proto/proto_reader.h"
#include "ir/proto/proto_text.h"

namespace minihlo {
namespace {

constexpr std::string_view kBlank = " \t\r\n\f\v";

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < ' ' || c == '\x7f') &&
         kBlank.find(c) == std::string_view::npos;
}

// The first byte of a message is the tag of one of its first fields: a control character, or a line
// feed for the first field of all, behind which a length and further tags are never far.
bool looks_binary(std::string_view content) {
  constexpr size_t kLookedAt = 256;
  if (content.empty()) return false;
  if (is_control(content[0])) return true;
  std::string_view head = content.substr(0, kLookedAt);
  return (content[0] == '\n' || content[0] == '\0') &&
         std::any_of(head.begin(), head.end(), is_control);
}

// What users take for a module and is none, by how it begins.
struct Foreign {
  std::string_view begin;
  std::string_view what;
};
constexpr std::string_view kMlir = "MLIR (StableHLO)";
constexpr Foreign kForeign[] = {
    {"\x1f\x8b", "packed by gzip twice"},
    {"\x28\xb5\x2f\xfd", "packed by zstd"},
    {"\xfd"
     "7zXZ",
     "packed by xz"},
    {"BZh91AY&SY", "packed by bzip2"},
    {"PK\x03\x04", "a zip file"},
    {"\x7f"
     "ELF",
     "a program"},
    {"\xef\xbb\xbf", "text behind a byte order mark"},
    {"\xff\xfe", "text in UTF-16"},
    {"\xfe\xff", "text in UTF-16"},
    {"ML\xefR", kMlir},
    {"module @", kMlir},
    {"func.func @", kMlir},
    {"module attributes", kMlir},
    {"#loc = loc(", kMlir},
    {"#loc1 = loc(", kMlir},
};

// Whether `content` is none of the forms, which is reported.
bool is_foreign(std::string_view content, Diagnostics& diagnostics) {
  for (const Foreign& one : kForeign) {
    if (!content.starts_with(one.begin)) continue;
    Diagnostic& error = diagnostics.error(
        "foreign-form", {},
        fmt::format("this is {}; a module is HLO text, protobuf or JSON, packed by gzip or not",
                    one.what));
    if (one.what == kMlir) {
      error.notes.push_back({"JAX gives HLO by lowered.as_text(dialect=\"hlo\")", {}});
    }
    return true;
  }
  return false;
}

}  // namespace

ModuleForm detect_form(std::string_view content) {
  if (looks_binary(content)) return ModuleForm::kProto;
  const size_t first = content.find_first_not_of(kBlank);
  if (first != std::string_view::npos && content[first] == '{') return ModuleForm::kJson;
  return looks_like_proto_text(content) ? ModuleForm::kProtoText : ModuleForm::kText;
}

std::unique_ptr<Module> parse_module(std::shared_ptr<const Source> source, Diagnostics& diagnostics,
                                     const ParseOptions& options) {
  if (is_gzip(source->text())) {
    auto unpacked = gunzip(source->text());
    if (!unpacked) {
      diagnostics.error("invalid-gzip", {}, unpacked.error());
      return nullptr;
    }
    source = Source::from_string(source->name(), std::move(*unpacked));
    diagnostics.set_source(source);
  }
  if (is_foreign(source->text(), diagnostics)) return nullptr;
  switch (detect_form(source->text())) {
    case ModuleForm::kProto:
      source = Source::binary(source);
      diagnostics.set_source(source);
      return parse_proto(source, diagnostics, options);
    case ModuleForm::kJson:
      return parse_json(source, diagnostics, options);
    case ModuleForm::kProtoText: {
      std::optional<std::string> wire = proto_text_to_wire(*source, diagnostics);
      if (!wire) return nullptr;
      source = Source::binary(
          Source::from_string(source->name() + " (as wire format)", std::move(*wire)));
      diagnostics.set_source(source);
      return parse_proto(source, diagnostics, options);
    }
    case ModuleForm::kText:
      break;
  }
  return parse_text(source, diagnostics, options);
}

}  // namespace minihlo

#include "ir/module_reader.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "ir/gzip.h"

namespace minihlo {
namespace {

using namespace std::string_view_literals;

TEST_CASE("module reader: forms are told apart by content") {
  CHECK(detect_form("HloModule a\n") == ModuleForm::kText);
  CHECK(detect_form("\n\n// why\nHloModule a\n") == ModuleForm::kText);
  CHECK(detect_form("x = f32[] parameter(0)") == ModuleForm::kText);
  CHECK(detect_form("") == ModuleForm::kText);
  CHECK(detect_form("// {\nHloModule a\n") == ModuleForm::kText);
  CHECK(detect_form(" \n{\"module\": 1}") == ModuleForm::kJson);
  CHECK(detect_form("\n\x0a\x0a\x08jit_step\x12\x04main"sv) == ModuleForm::kProto);
  CHECK(detect_form("\x12\x04main") == ModuleForm::kProto);
  CHECK(detect_form("\n\0"sv) == ModuleForm::kProto);
}

constexpr std::string_view kText = "ENTRY e { ROOT x = f32[2] parameter(0) }\n";
constexpr std::string_view kPacked =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x73\xf5\x0b\x09\x8a\x54\x48\x55\xa8\x56\x08\xf2\xf7"
    "\x0f\x51\xa8\x50\xb0\x55\x48\x33\x36\x8a\x36\x8a\x55\x28\x48\x2c\x4a\xcc\x4d\x2d\x49\x2d\xd2"
    "\x30\xd0\x54\xa8\xe5\x02\x00\xd6\x4d\x13\xc7\x29\x00\x00\x00"sv;

TEST_CASE("module reader: gzip is unpacked, and what is cut or changed is refused") {
  REQUIRE(is_gzip(kPacked));
  auto unpacked = gunzip(kPacked);
  REQUIRE(unpacked);
  CHECK(*unpacked == kText);
  CHECK(*gunzip(std::string(kPacked) + std::string(kPacked)) ==
        std::string(kText) + std::string(kText));
  for (size_t size = 0; size < kPacked.size(); ++size) CHECK(!gunzip(kPacked.substr(0, size)));
  std::string changed(kPacked);
  changed[60] ^= 1;
  CHECK(!gunzip(changed));

  Diagnostics diagnostics;
  std::unique_ptr<Module> module =
      parse_module(Source::from_string("a.hlo.gz", std::string(kPacked)), diagnostics);
  REQUIRE(module);
  CHECK(module->entry()->name() == "e");
  CHECK(diagnostics.source()->text() == kText);
}

TEST_CASE("module reader: what is no form of a module is named") {
  const auto said = [](std::string_view content) {
    Diagnostics diagnostics;
    CHECK(!parse_module(Source::from_string("a", std::string(content)), diagnostics));
    return diagnostics.to_string();
  };
  CHECK(said("module @jit_f {\n}\n") ==
        "error: this is MLIR (StableHLO); a module is HLO text, protobuf or JSON, packed by gzip "
        "or not [foreign-form]\n  note: JAX gives HLO by lowered.as_text(dialect=\"hlo\")\n");
  CHECK(said("\xff\xfeH\0l\0"sv).find("this is text in UTF-16;") != std::string::npos);
  CHECK(said("PK\x03\x04").find("this is a zip file;") != std::string::npos);
  CHECK(said("\x28\xb5\x2f\xfd\x04").find("zstd") != std::string::npos);
  // Names that begin alike are names.
  Diagnostics diagnostics;
  for (const char* name : {"PK", "BZh91AY", "ML", "module"}) {
    const std::string text = fmt::format("{} {{ ROOT x = f32[2] parameter(0) }}", name);
    CHECK(parse_module(Source::from_string("a", text), diagnostics));
  }
  CHECK(diagnostics.to_string() == "");
}

}  // namespace
}  // namespace minihlo

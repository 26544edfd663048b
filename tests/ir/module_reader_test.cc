#include "ir/module_reader.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

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

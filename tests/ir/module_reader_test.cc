#include "ir/module_reader.h"

#include <doctest/doctest.h>

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

}  // namespace
}  // namespace minihlo

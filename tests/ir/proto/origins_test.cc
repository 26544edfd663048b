// The table of original values and what recovers them: text, messages and back.
#include <doctest/doctest.h>

#include "ir/proto/proto_text.h"
#include "ir/proto/writer.h"
#include "tests/ir/proto/proto_testing.h"

namespace minihlo {
namespace {

// As XLA prints it, but for quotes in the recovery module, which XLA leaves as they are.
constexpr const char* kTable = R"(HloModule m, origin_recovery_table={
  {"a"} : {"b" {1,0}},
  "
    HloModule recovery, entry_computation_layout={(f32[2]{0})->f32[2]{0}}

    %add (x: f32[], y: f32[]) -> f32[] {
      %x = f32[] parameter(0)
      %y = f32[] parameter(1)
      ROOT %s = f32[] add(%x, %y), metadata={op_name=\"a\\\"b\"}
    }

    ENTRY %e.1 (p: f32[2]) -> f32[2] {
      %p = f32[2]{0} parameter(0)
      ROOT %r = f32[2]{0} all-reduce(%p), replica_groups={{0,1}}, to_apply=%add
    }


  "
  {"c\303\244"} : {"d"}
}

ENTRY %e (q: f32[]) -> f32[] {
  ROOT %q = f32[] parameter(0), origin={{"b" {1,0}}}
}

)";

TEST_CASE("origins: XLA reads the table from its own field, and so do we") {
  REQUIRE(reprinted(kTable) == kTable);
  CHECK(through_proto(kTable) == kTable);
  const std::string fields = wire_to_proto_text(written(*Parsed(kTable).module));
  CHECK(fields.find("recovery_module {") != std::string::npos);
  CHECK(fields.find("minihlo_attributes") == std::string::npos);
  // Nothing is said of the mesh of a module that is never run alone.
  CHECK(Read(written(*Parsed(kTable).module)).diagnostics.to_string() == "");
}

TEST_CASE("origins: what the field can't say is kept as text too") {
  for (const char* table : {
           "{}",
           "{\n  {} : {\"b\"}\n}",
           "{\n  {\"a\"} : {\"b\"},\n  \"ENTRY e { p = f32[] parameter(0) }\"\n}",
           "{\n  {\"a\"} : {\"b\"},\n  \"HloModule m, replica_count=2\\nENTRY e { p = f32[] "
           "parameter(0) }\"\n}",
           "{\n  {\"a\\x41\"} : {\"b\"}\n}",
       }) {
    const std::string text = fmt::format(
        "HloModule m, origin_recovery_table={}\n\nENTRY %e (p: f32[]) -> f32[] {{\n  ROOT %p = "
        "f32[] parameter(0)\n}}\n\n",
        table);
    CHECK(through_proto(text) == text);
  }
}

TEST_CASE("origins: an index alone is not taken for a name of old files, packed or not") {
  const std::string text = reprinted(module_with("p = f32[] parameter(0), origin={{\"\" {1}}}"));
  const std::string wire = written(*Parsed(text).module);
  CHECK(Read(wire).text() == text);
  Diagnostics diagnostics;
  auto unpacked =
      proto_text_to_wire(*Source::from_string("", wire_to_proto_text(wire)), diagnostics);
  REQUIRE(unpacked);
  CHECK(Read(*unpacked).text() == text);
}

TEST_CASE("origins: a synthetic call is one without leaves, or in calls without a name") {
  auto origin_of = [](const std::string& fields) {
    Parsed parsed(module_with("p = f32[] parameter(0), origin={[synthetic_call]}"));
    std::string pbtxt = wire_to_proto_text(written(*parsed.module));
    const std::string old = "is_synthetic_call: true";
    REQUIRE(pbtxt.find(old) != std::string::npos);
    pbtxt.replace(pbtxt.find(old), old.size(), fields);
    Diagnostics diagnostics;
    auto wire = proto_text_to_wire(*Source::from_string("", pbtxt), diagnostics);
    REQUIRE(wire);
    const std::string read = Read(*wire).text();
    const size_t begin = read.find("origin=");
    return read.substr(begin, read.find('\n', begin) - begin);
  };
  CHECK(origin_of("is_synthetic_call: true") == "origin={[synthetic_call]}");
  CHECK(origin_of("is_synthetic_call: true call_hierarchy: \"\"") == "origin={{},[\"\"]}");
  CHECK(origin_of("elements {} call_hierarchy: \"f\"") == "origin={{},[\"f\"]}");
}

TEST_CASE("origins: attributes for debugging come back as they were") {
  const std::string text = R"(HloModule m,
debug_attributes={
  {"A"}:({log_mode=default,callback_id=1,op_id=0,partitioned=true}),
  {"B" {1,0}}:({callback_id=1},{log_mode=fusion_debugger}),
  {}:()
}

ENTRY %e (p: f32[]) -> f32[] {
  ROOT %p = f32[] parameter(0)
}

)";
  CHECK(through_proto(text) == text);
}

// The proto of a module whose table has one entry, with this recovery module.
std::string with_recovery(const std::string& recovery) {
  std::string table;
  proto::Writer(table).message(
      proto::HloModuleProto::original_value_recovery_table, [&](proto::Writer& out) {
        out.message(proto::OriginalValueRecoveryTableProto::entries, [&](proto::Writer& entry) {
          entry.message(proto::RecoveryEntry::old_original_array, [](proto::Writer& array) {
            array.text(proto::OriginalArrayProto::instruction_name, "a");
          });
          entry.text(proto::RecoveryEntry::recovery_module, recovery, true);
        });
      });
  Diagnostics diagnostics;
  Parsed outer(module_with("p = f32[] parameter(0)"));
  return print_module_proto(*outer.module, diagnostics) + table;
}

TEST_CASE("origins: what is wrong in a recovery module has its place") {
  Read read(with_recovery(""));
  CHECK(!read.module);
  CHECK(read.diagnostics.to_string().find(
            "original_value_recovery_table.entries[0].recovery_module.host_program_shape: ") !=
        std::string::npos);
}

TEST_CASE("origins: tables inside recovery modules are not taken over, and that is said") {
  Read read(with_recovery(with_recovery("")));
  REQUIRE_MESSAGE(read.module, read.text());
  CHECK(read.diagnostics.to_string().find(
            "'original_value_recovery_table' of HloModuleProto is not taken over") !=
        std::string::npos);
}

TEST_CASE("origins: a name that is used without end does not become a text without end") {
  const std::string name(1 << 20, 'n');
  std::string text = fmt::format("ENTRY e {{\n  {} = f32[] parameter(0)\n", name);
  for (int i = 0; i < 100; ++i) text += fmt::format("  i{} = f32[] negate({})\n", i, name);
  Diagnostics diagnostics;
  Parsed recovery(text + "}\n");
  REQUIRE(recovery.module);
  Read read(with_recovery(print_module_proto(*recovery.module, diagnostics)));
  CHECK(!read.module);
  CHECK(read.diagnostics.to_string().find("[module-too-large]") != std::string::npos);
}

}  // namespace
}  // namespace minihlo

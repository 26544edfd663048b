// Protobuf's text format, to the wire format and back.
#include "ir/proto/proto_text.h"

#include <doctest/doctest.h>

#include "ir/module_reader.h"
#include "tests/ir/proto/proto_testing.h"

namespace minihlo {
namespace {

constexpr const char* kModule = R"(HloModule m, is_scheduled=true, num_partitions=2

ENTRY %e (p: f32[2]) -> f32[2] {
  %p = f32[2]{0} parameter(0), frontend_attributes={a={"q":1}}, metadata={op_name="a\"\303\244"}
  %c = f32[2]{0} constant({-0.5, 1e-30})
  %d = s64[2]{0} constant({-9223372036854775808, 3})
  ROOT %a = f32[2]{0} compare(%p, %c), direction=LT
}

)";

TEST_CASE("pbtxt: a module goes there and comes back") {
  const std::string wire = written(*Parsed(kModule).module);
  const std::string text = wire_to_proto_text(wire);
  CHECK(looks_like_proto_text(text));
  Diagnostics diagnostics;
  auto again = proto_text_to_wire(*Source::from_string("", text), diagnostics);
  CHECK(diagnostics.to_string() == "");
  REQUIRE(again);
  CHECK(Read(*again).text() == reprinted(kModule));
  CHECK(wire_to_proto_text(*again) == text);

  std::unique_ptr<Module> module = parse_module(Source::from_string("a", text), diagnostics);
  REQUIRE(module);
  CHECK(print_text(*module) == reprinted(kModule));
}

std::string wire_of(const std::string& text, std::string& said) {
  Diagnostics diagnostics(Source::from_string("t", text));
  auto wire = proto_text_to_wire(*Source::from_string("t", text), diagnostics);
  said = diagnostics.to_string();
  return wire.value_or("-");
}

TEST_CASE("pbtxt: spellings") {
  std::string said;
  const std::string expected = wire_of("name: \"ab\" computations { id: 3 } id: -1", said);
  CHECK(said == "");
  CHECK(wire_of("# why\nname: 'a' \"b\", computations: < id: 0x3; > id: -1", said) == expected);
  CHECK(wire_of("name: \"a\\142\" computations [{ id: 3 }]\nid: -1\n", said) == expected);
  CHECK(wire_of("name: \"ab\" what { x: [1, \"}\"] } computations { id: 3 } id: -1", said) ==
        expected);
  CHECK(said.find("HloModuleProto has no field 'what'") != std::string::npos);
}

TEST_CASE("pbtxt: errors have lines") {
  std::string said;
  for (const char* text : {"name: \"a", "name \"a\"", "name: 3", "id: x", "computations { id: 1",
                           "is_dynamic: 7x", "name: [\"a\"]", "id: 99999999999999999999",
                           "name: \"a\" }", "what {", "computations { id: 1 >"}) {
    CAPTURE(text);
    CHECK(wire_of(text, said) == "-");
    CHECK(said.find("t:1:") != std::string::npos);
  }
  // The place is that of the value.
  wire_of("name: \"a\"\ncomputations {\n  id: 1x\n}", said);
  CHECK(said.find("t:3:7: error: expected a number for 'id' [invalid-proto-text]\n"
                  "    id: 1x\n"
                  "        ^~\n") != std::string::npos);
  wire_of("computations {\n  name: \"a\\q\" id: 1\n}", said);
  CHECK(said.find("t:2:9: error: the string has a malformed escape") != std::string::npos);
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "result { tuple_shapes {";
  wire_of("host_program_shape { " + deep, said);
  CHECK(said.find("error") != std::string::npos);
}

TEST_CASE("pbtxt: told from HLO text") {
  CHECK(looks_like_proto_text("hlo_module { name: \"a\" }"));
  CHECK(looks_like_proto_text("# c\nname: \"a\""));
  CHECK(looks_like_proto_text("hlo_module < name: \"a\" >"));
  CHECK(looks_like_proto_text("hlo_module { [a.b]: 1 name: \"a\" }"));
  CHECK(looks_like_proto_text("hlo_module {}"));
  CHECK_FALSE(looks_like_proto_text("HloModule name"));
  CHECK_FALSE(looks_like_proto_text("computations { x = f32[] parameter(0) }"));
  CHECK_FALSE(looks_like_proto_text("name = f32[] parameter(0)"));
}

}  // namespace
}  // namespace minihlo

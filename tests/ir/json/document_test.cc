// JSON texts are checked as RFC 8259 has it, and walked in any order.
#include "ir/json/document.h"

#include <doctest/doctest.h>

namespace minihlo::internal {
namespace {

// "message @offset", or nothing where the text is well-formed.
std::string problem(std::string_view text) {
  JsonDocument document;
  auto found = document.parse(text);
  return found ? found->message + " @" + std::to_string(found->location.offset) : "";
}

TEST_CASE("JSON: well-formed texts") {
  for (std::string_view text :
       {"0", "-0.5e+3", "1E5", "\"\"", " [ ] ", "{}", "[1,[2],3,{}]", "[[],[]]", "[{},1,2]",
        R"({"a":{"b":[1,2]},"c":null})", "[true,false,null]", R"("\u00e9\n\"")", "\t1\r\n"}) {
    CAPTURE(text);
    CHECK(problem(text) == "");
  }
}

TEST_CASE("JSON: texts that are not") {
  CHECK(problem("") == "expected a value, got the end of the text @0");
  CHECK(problem("[1,]") == "expected a value @3");
  CHECK(problem("[1 2]") == "expected ',' or ']' @3");
  CHECK(problem("[") == "expected a value, got the end of the text @1");
  CHECK(problem("[1") == "expected ',' or ']' @2");
  CHECK(problem("{\"a\" 1}") == "expected ':' behind the key @5");
  CHECK(problem("{a:1}") == "expected a key, in quotes @1");
  CHECK(problem("{\"a\":1,}") == "expected a key, in quotes @7");
  CHECK(problem("{\"a\":1") == "expected ',' or '}' @6");
  CHECK(problem("1 2") == "expected the end of the text @2");
  CHECK(problem("01") == "expected the end of the text @1");
  CHECK(problem("1.") == "expected a digit @2");
  CHECK(problem("-") == "expected a digit @1");
  CHECK(problem("+1") == "expected a value @0");
  CHECK(problem("NaN") == "expected a value @0");
  CHECK(problem("\"a") == "nothing ends the string @2");
  CHECK(problem("\"\\q\"") == "there is no such escape @2");
  CHECK(problem("\"\\u12\"") == "expected four hexadecimal digits @5");
  CHECK(problem("\"\n\"") == "a control character in a string must be escaped @1");
  CHECK(problem(std::string(1001, '[')) == "nested more than 1000 levels deep @1000");
  CHECK(problem(std::string(1'000'000, '[')) == "nested more than 1000 levels deep @1000");
}

TEST_CASE("JSON: elements and paths") {
  JsonDocument document;
  const std::string_view text = R"({"a/b":[1, "x]" ,[true],{"c":[5,6]}, 2],"d":[]})";
  REQUIRE_FALSE(document.parse(text));
  std::string walked;
  auto walk = [&](auto&& self, const JsonValue& value) -> bool {
    if (value.kind == JsonKind::kArray) {
      walked += '[';
      document.each_element(value, [&](const JsonValue& one) { return self(self, one); });
      walked += ']';
    } else if (value.kind == JsonKind::kObject) {
      walked += '{';
      document.each_member(value, [&](const JsonValue& key, const JsonValue& one) {
        walked += document.text(key);
        return self(self, one);
      });
      walked += '}';
    } else {
      walked += document.text(value);
      walked += ' ';
    }
    return true;
  };
  walk(walk, document.root());
  CHECK(walked == R"({"a/b"[1 "x]" [true ]{"c"[5 6 ]}2 ]"d"[]})");
  auto path = [&](std::string_view part) {
    return document.path(static_cast<uint32_t>(text.find(part)));
  };
  CHECK(path("{") == "");
  CHECK(path("\"a/b\"") == "/a~1b");
  CHECK(path("true") == "/a~1b/2/0");
  CHECK(path("6]") == "/a~1b/3/c/1");
  CHECK(path("[]") == "/d");
}

}  // namespace
}  // namespace minihlo::internal

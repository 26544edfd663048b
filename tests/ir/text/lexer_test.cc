#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ir/text/lexer.h"
#include "ir/text/strings.h"

namespace minihlo {
namespace {

std::vector<TokenKind> kinds(std::string_view text) {
  std::vector<TokenKind> result;
  for (Lexer lexer(text); !lexer.at(TokenKind::kEnd); lexer.advance()) {
    result.push_back(lexer.current().kind);
  }
  return result;
}

using Kinds = std::vector<TokenKind>;
using enum TokenKind;

TEST_CASE("words, names, keys and labels") {
  CHECK(kinds("add %add.1 dims= x: a.b-c f32") == Kinds{kWord, kName, kKey, kLabel, kWord, kWord});
  CHECK(kinds("foo = x :") == Kinds{kWord, kEqual, kWord, kColon});
  Lexer lexer("%add.1 dims=");
  CHECK(lexer.current().text == "add.1");
  CHECK(lexer.current().length == 6);
  lexer.advance();
  CHECK(lexer.current().text == "dims");
  CHECK(lexer.current().offset == 7);
}

TEST_CASE("words and strings of any length end where they end") {
  for (size_t length = 1; length < 70; ++length) {
    const std::string word = std::string(length - 1, 'a') + "Z";
    for (std::string_view end : {"", " ", "/", "@", "[", "`", "{", ",", "\x80", "^"}) {
      const std::string text = word + std::string(end);
      CHECK(Lexer(text).current().text == word);
      CHECK(Lexer('%' + text).current().text == word);
      CHECK(Lexer('"' + text + "\" x").current().text == text);
    }
    for (char part : std::string_view("azAZ09_.-")) {
      const std::string text = word + part + "b,";
      CHECK(Lexer(text).current().text == word + part + 'b');
    }
  }
}

TEST_CASE("where values end") {
  // The value behind the first blank.
  auto value = [](const std::string& text) {
    Lexer lexer(text);
    lexer.advance();
    const size_t begin = lexer.current().offset, end = lexer.end_of_value();
    return end == std::string::npos ? "?" : text.substr(begin, end - begin);
  };
  CHECK(value("x {a=\"}, {\" b='({' c={1,{2}}}, y={}") == "{a=\"}, {\" b='({' c={1,{2}}}");
  CHECK(value("x {a=\"\\\"}\"}\ny") == "{a=\"\\\"}\"}");
  CHECK(value("x [2,4]<=[8]T(1,0), y=1") == "[2,4]<=[8]T(1,0)");
  CHECK(value("x mesh['a'=2], {'a'}, y=1") == "mesh['a'=2], {'a'}");
  CHECK(value("x 1}") == "1");
  CHECK(value("x {1}\n") == "{1}");
  CHECK(value("x {1") == "?");
  CHECK(value("x {\n1}, ") == "?");
  CHECK(value("x {/*}*/1}, ") == "?");
  CHECK(value("x {\"a\nb\"}, ") == "?");
  CHECK(value("x {\"" + std::string(5000, 'a') + "\"}, ") == "?");
  for (size_t length = 0; length < 70; ++length) {
    const std::string braces = '{' + std::string(length, '.') + '}';
    CHECK(value("x " + braces + ", ") == braces);
  }
}

TEST_CASE("numbers") {
  CHECK(kinds("1 -2 1. 0.5 1e5 -.5 3x3 0_0x-1_2_1") ==
        Kinds{kInteger, kInteger, kDecimal, kDecimal, kDecimal, kDecimal, kSizes, kPadding});
  CHECK(kinds("-inf -nan -nan(0x1) -> ?") ==
        Kinds{kDecimal, kDecimal, kDecimal, kArrow, kQuestion});
  CHECK(kinds("b01f_01io->b01f bf_io->bf 01bf_oi01->b01f") ==
        Kinds{kDimLabels, kDimLabels, kDimLabels});
  CHECK(kinds("[0:2:1] {1,0}") == Kinds{kLeftSquare, kInteger, kColon, kInteger, kColon, kInteger,
                                        kRightSquare, kLeftBrace, kInteger, kComma, kInteger,
                                        kRightBrace});
  CHECK(Lexer("-9223372036854775808").current().integer == INT64_MIN);
  CHECK(Lexer("18446744073709551615").current().integer == -1);
  CHECK(kinds("18446744073709551616") == Kinds{kInvalid});
}

TEST_CASE("blanks and comments are skipped") {
  CHECK(kinds("a /* b\n */ c // d\n e\r\n\t") == Kinds{kWord, kWord, kWord});
  CHECK(kinds("a /*/ b */ c") == Kinds{kWord, kWord});
  CHECK(kinds("a //") == Kinds{kWord});
}

TEST_CASE("strings") {
  CHECK(kinds(R"("a\"b" 'c"d')") == Kinds{kString, kString});
  CHECK(Lexer(R"("a\"b")").current().text == R"(a\"b)");
  std::string out;
  CHECK(unescape(R"(a\n\t\\\"\'\x41\101\u00e9)", out));
  CHECK(out == "a\n\t\\\"'AA\xC3\xA9");
  CHECK_FALSE(unescape("\\", out));
  CHECK_FALSE(unescape("\\q", out));
  CHECK_FALSE(unescape("\\xg", out));
  CHECK_FALSE(unescape("\\777", out));
  CHECK_FALSE(unescape("\\ud800", out));
  out.clear();
  {
    internal::TextBuffer buffer(out);
    append_escaped(buffer, "a\n\"'\\\x01\xC3\xA9");
  }
  CHECK(out == R"(a\n\"\'\\\001\303\251)");
}

TEST_CASE("what is no token says why") {
  auto problem = [](std::string_view text) { return std::string(Lexer(text).problem_rule()); };
  CHECK(problem("\"abc") == "unfinished-string");
  CHECK(problem("'abc\\") == "unfinished-string");
  CHECK(problem("/* abc") == "unfinished-comment");
  CHECK(problem("/ abc") == "invalid-character");
  CHECK(problem(std::string_view("\0", 1)) == "invalid-character");
  CHECK(problem("\xff") == "invalid-character");
  CHECK(problem("% a") == "invalid-name");
  CHECK(problem("<") == "invalid-character");
  CHECK(problem("..") == "invalid-character");
}

TEST_CASE("balanced braces") {
  CHECK(end_of_braces("{a{b}c}d", 0) == 7);
  CHECK(end_of_braces(R"({"}\"}"})", 0) == 8);
  CHECK(end_of_braces("{a", 0) == std::string_view::npos);
}

}  // namespace
}  // namespace minihlo

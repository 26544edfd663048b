#include "ir/diagnostics.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include <chrono>

#include <fmt/format.h>

namespace minihlo {
namespace {

// What is printed of one error at `part` of `text`.
std::string shown(const std::string& text, std::string_view part, bool colours = false) {
  const size_t at = text.find(part);
  REQUIRE(at != text.npos);
  Diagnostics diagnostics(Source::from_string("f", text));
  diagnostics.error("rule", {static_cast<uint32_t>(at), static_cast<uint32_t>(part.size())}, "no");
  return diagnostics.to_string(colours);
}

TEST_CASE("diagnostics: the caret stands under the place") {
  CHECK(shown("a\nbc def", "def") == "f:2:4: error: no [rule]\n  bc def\n     ^~~\n");
  CHECK(shown("\tx y", "y") == "f:1:4: error: no [rule]\n   x y\n     ^\n");
  CHECK(shown("x y\r\nz", "y") == "f:1:3: error: no [rule]\n  x y\n    ^\n");
}

TEST_CASE("diagnostics: columns are those of a terminal, whatever the bytes") {
  // Two bytes and one column; three bytes and two columns; a mark that combines.
  CHECK(shown("\xC3\xA9 y", "y") == "f:1:4: error: no [rule]\n  \xC3\xA9 y\n    ^\n");
  CHECK(shown("\xE6\xBC\xA2 y", "y") == "f:1:5: error: no [rule]\n  \xE6\xBC\xA2 y\n     ^\n");
  CHECK(shown("e\xCC\x81 y", "y") == "f:1:5: error: no [rule]\n  e\xCC\x81 y\n    ^\n");
  CHECK(shown("x \xE6\xBC\xA2", "\xE6\xBC\xA2") ==
        "f:1:3: error: no [rule]\n  x \xE6\xBC\xA2\n    ^~\n");
}

TEST_CASE("diagnostics: what a terminal would act on is not printed") {
  // An escape sequence, a byte that is no UTF-8, a mark that turns the direction of writing.
  CHECK(shown("\x1b[31m y", "y") == "f:1:7: error: no [rule]\n   [31m y\n        ^\n");
  CHECK(shown("\xFF y", "y") == "f:1:3: error: no [rule]\n  \xEF\xBF\xBD y\n    ^\n");
  CHECK(shown("\xE2\x80\xAE y", "y") == "f:1:5: error: no [rule]\n  \xEF\xBF\xBD y\n    ^\n");
  CHECK(shown("\xE6\xBC", "\xE6") == "f:1:1: error: no [rule]\n  \xEF\xBF\xBD\xEF\xBF\xBD\n  ^\n");
}

TEST_CASE("diagnostics: of a long line, what is around the place") {
  const std::string filler(1000, 'a');
  std::string text = shown(filler + "!" + filler, "!");
  CHECK(text.size() < 400);
  const size_t row = text.find('\n') + 1, caret = text.find('\n', row) + 1;
  CHECK(text[row + text.substr(caret).find('^')] == '!');
  CHECK(text.substr(row).starts_with("  ...aaa"));
  CHECK(text.substr(0, caret).ends_with("aaa...\n"));
  // A range ends where the part that is shown does.
  text = shown("b" + filler, "b" + filler);
  CHECK(text.size() < 400);
  CHECK(text.find("^~~~") != text.npos);
}

TEST_CASE("diagnostics: nor what a message takes over from a module") {
  Diagnostics diagnostics;
  diagnostics.error("rule", {}, "\x1b[31m\n'x'").notes.push_back({"\xFF\n", {}});
  CHECK(diagnostics.to_string() == "error:  [31m 'x' [rule]\n  note: \xEF\xBF\xBD \n");
}

TEST_CASE("diagnostics: places of every line") {
  const auto source = Source::from_string("f", "\nab\r\n\nc");
  const auto at = [&](uint32_t offset) {
    const Source::Position position = source->position(offset);
    return fmt::format("{}:{} {}", position.line, position.column, position.row);
  };
  CHECK(at(0) == "1:1 ");
  CHECK(at(1) == "2:1 ab");
  CHECK(at(4) == "2:4 ab");
  CHECK(at(5) == "3:1 ");
  CHECK(at(6) == "4:1 c");
  CHECK(at(7) == "4:2 c");
  CHECK(at(99) == "4:2 c");
}

TEST_CASE("diagnostics: thousands of errors behind a long text take no time to be placed") {
  constexpr size_t kLines = 1000000, kErrors = 10000;
  std::string text;
  for (size_t i = 0; i < kLines; ++i) text += "0123456789\n";
  Diagnostics diagnostics(Source::from_string("f", text), 0);
  for (size_t i = 0; i < kErrors; ++i) {
    diagnostics.error("rule", {static_cast<uint32_t>(text.size() - 11), 1}, "no");
  }
  // Looking for each line from the start would read 110 GB, for minutes.
  const auto begin = std::chrono::steady_clock::now();
  CHECK(diagnostics.to_string().ends_with("f:1000000:1: error: no [rule]\n  0123456789\n  ^\n"));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("diagnostics: colours only where they are asked for") {
  CHECK(shown("x y", "y", true) ==
        "\x1b[1mf:1:3:\x1b[0m \x1b[1;31merror:\x1b[0m \x1b[1mno\x1b[0m [rule]\n"
        "  x y\n    \x1b[1;32m^\x1b[0m\n");
}

TEST_CASE("diagnostics: past the limit errors are counted") {
  Diagnostics diagnostics(Source::from_string("f", "x"), 2);
  for (int i = 0; i < 5; ++i) diagnostics.error("rule", {0, 1}, fmt::format("number {}", i));
  CHECK(diagnostics.error_count() == 5);
  CHECK(diagnostics.all().size() == 2);
  CHECK(diagnostics.to_string().ends_with("3 more errors not shown\n"));
}

TEST_CASE("diagnostics: a message of kilobytes is cut in its middle") {
  Diagnostics diagnostics;
  diagnostics.error("rule", {}, "head " + std::string(100000, 'x') + " tail");
  const std::string& message = diagnostics.all()[0].message;
  CHECK(message.size() < 1100);
  CHECK(message.starts_with("head x"));
  CHECK(message.ends_with("x tail"));
}

TEST_CASE("sources: files are read, whatever they say of their length") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("minihlo-source-{}", getpid());
  std::filesystem::create_directories(folder);
  const std::string path = folder / "file";
  std::string error;
  for (size_t size : {size_t{0}, size_t{1}, size_t{65536}, size_t{5000000}}) {
    std::string text(size, 'a');
    if (size > 0) text.back() = 'z';
    std::ofstream(path, std::ios::binary) << text;
    auto source = Source::from_file(path, error);
    REQUIRE(source);
    CHECK(source->name() == path);
    CHECK(source->text() == text);
  }
  // Sparse: it takes no room.
  std::filesystem::resize_file(path, uint64_t{1} << 32);
  CHECK(!Source::from_file(path, error));
  CHECK(error == "it has 4 GiB or more");
  CHECK(!Source::from_file(folder, error));
  CHECK(error == "Is a directory");
  CHECK(!Source::from_file(folder / "none", error));
  CHECK(error == "No such file or directory");
  std::filesystem::remove_all(folder);
  // Says that it has no bytes.
  auto self = Source::from_file("/proc/self/stat", error);
  REQUIRE(self);
  CHECK(self->text().starts_with(std::to_string(getpid())));
}

TEST_CASE("closest: only what is close") {
  const std::vector<std::string_view> words = {"add", "all-gather", "negate", "f32"};
  CHECK(closest("ad", words) == "add");
  CHECK(closest("dad", words) == "add");
  CHECK(closest("Add", words) == "add");
  CHECK(closest("all_gather", words) == "all-gather");
  CHECK(closest("all-gahter", words) == "all-gather");
  CHECK(closest("f33", words) == "f32");
  CHECK(closest("a", words).empty());
  CHECK(closest("xy", words).empty());
  CHECK(closest("negative", words) == "negate");
  CHECK(closest("divide", words).empty());
  CHECK(closest(std::string(1000, 'a'), words).empty());
}

}  // namespace
}  // namespace minihlo

#include "tools/arguments.h"

#include <doctest/doctest.h>

namespace minihlo {
namespace {

struct Values {
  bool json = false;
  std::string output = "-";
  int64_t count = 7;
  uint64_t seed = 0;
  double tolerance = 0;
  std::vector<std::string> inputs;
  int64_t memory = 0;
  std::string form = "text";
  std::string file;
  std::vector<std::string> more;
  int help = 0;

  // What parsing says.
  std::string parse(const std::vector<std::string>& words) {
    Arguments arguments;
    arguments.flag("--json", json, "");
    arguments.option("-o,--output", "F", output, "");
    arguments.option("--count", "N", count, "", 1);
    arguments.option("--seed", "S", seed, "");
    arguments.option("--tolerance", "T", tolerance, "");
    arguments.option("--input", "F", inputs, "");
    arguments.size("--max-memory", "BYTES", memory, "");
    arguments.choice("--format", form, {"text", "json"}, "");
    arguments.positional("FILE", file, "");
    arguments.positionals("MORE", more, "", false);
    return arguments.parse(words, help);
  }
};

TEST_CASE("arguments: what is not given keeps its value") {
  Values values;
  CHECK(values.parse({"a"}) == "");
  CHECK(values.file == "a");
  CHECK_FALSE(values.json);
  CHECK(values.output == "-");
  CHECK(values.count == 7);
  CHECK(values.inputs.empty());
  CHECK(values.more.empty());
}

TEST_CASE("arguments: options of all kinds, before, between and behind positional arguments") {
  Values values;
  CHECK(values.parse({"--json", "a", "-oF", "--count", "3", "--seed=18446744073709551615", "b",
                      "--tolerance=1e-3", "--input=x", "--input", "y", "c", "--max-memory=2GiB",
                      "--format=json"}) == "");
  CHECK(values.json);
  CHECK(values.output == "F");
  CHECK(values.count == 3);
  CHECK(values.seed == ~uint64_t{0});
  CHECK(values.tolerance == 1e-3);
  CHECK(values.inputs == std::vector<std::string>{"x", "y"});
  CHECK(values.memory == int64_t{2} << 30);
  CHECK(values.form == "json");
  CHECK(values.file == "a");
  CHECK(values.more == std::vector<std::string>{"b", "c"});
}

TEST_CASE("arguments: words are taken as they are") {
  Values values;
  CHECK(values.parse({"-", "[x,y]", "", "--", "--json", "-o"}) == "");
  CHECK(values.file == "-");
  CHECK(values.more == std::vector<std::string>{"[x,y]", "", "--json", "-o"});
  Values list;
  CHECK(list.parse({"a", "--input=[x,y]", "--output=a b"}) == "");
  CHECK(list.inputs == std::vector<std::string>{"[x,y]"});
  CHECK(list.output == "a b");
}

TEST_CASE("arguments: what is wrong is said") {
  auto wrong = [](const std::vector<std::string>& words) { return Values().parse(words); };
  CHECK(wrong({}) == "FILE is missing");
  CHECK(wrong({"a", "--counts=1"}) == "unknown option '--counts'; did you mean '--count'?");
  CHECK(wrong({"a", "--count"}) == "--count has no value");
  CHECK(wrong({"--count=", "a"}) == "--count= has no value");
  CHECK(wrong({"a", "--count=0"}) == "--count: '0': expected 1 or more");
  CHECK(wrong({"a", "--count=1x"}) == "--count: '1x': expected an integer of at most 64 bits");
  CHECK(wrong({"a", "--seed=-1"}) == "--seed: '-1': expected a whole number of at most 64 bits");
  CHECK(wrong({"a", "--tolerance=nan"}) == "--tolerance: 'nan': expected a number above 0");
  CHECK(wrong({"a", "--tolerance=0"}) == "--tolerance: '0': expected a number above 0");
  CHECK(wrong({"a", "-o", "b", "--output=c"}) == "--output is given 2 times");
  CHECK(wrong({"a", "--format=pdf"}) == "--format: 'pdf': expected one of text, json");
  CHECK(wrong({"a", "--json=1"}) == "--json: '1': it takes no value");
  CHECK(wrong({"a", "--max-memory=2X"}) ==
        "--max-memory: '2X': expected a number of bytes, such as 4096, 512M or 8GiB");
}

TEST_CASE("arguments: help is asked for even where other words are wrong") {
  Values values;
  CHECK(values.parse({"--nonsense", "-h"}) == "");
  CHECK(values.help == 1);
  CHECK(values.parse({"--help"}) == "");
  CHECK(values.help == 2);
}

TEST_CASE("arguments: sizes in bytes") {
  CHECK(parse_size("0") == 0);
  CHECK(parse_size("4096") == 4096);
  CHECK(parse_size("4096B") == 4096);
  CHECK(parse_size("3k") == 3 * 1024);
  CHECK(parse_size("3MB") == 3 * 1024 * 1024);
  CHECK(parse_size("1TiB") == int64_t{1} << 40);
  for (const char* bad : {"", "-1", "K", "1.5G", "1KK", "1X", "99999999999T", "1 K"}) {
    CHECK(parse_size(bad) == -1);
  }
}

}  // namespace
}  // namespace minihlo

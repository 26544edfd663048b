// The rules of the house that a compiler does not check.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "tests/paths.h"

namespace minihlo {
namespace {

namespace fs = std::filesystem;

const fs::path& kRoot = testing::source_folder();

using testing::read_file;

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

bool is_source(const fs::path& path) {
  return path.extension() == ".cc" || path.extension() == ".h";
}

// Calls `visit` with every C++ file below the folder.
void each_source(std::string_view folder, const std::function<void(const fs::path&)>& visit) {
  fs::path top = kRoot / folder;
  REQUIRE(fs::exists(top));
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(top)) {
    if (entry.is_regular_file() && is_source(entry.path())) visit(entry.path());
  }
}

std::string name(const fs::path& path) { return path.lexically_relative(kRoot).string(); }

// Lines of the folder's files that include something of one of the other folders.
std::vector<std::string> includes(std::string_view folder, std::vector<std::string_view> others) {
  std::vector<std::string> found;
  each_source(folder, [&](const fs::path& path) {
    for (const std::string& line : lines(read_file(path))) {
      for (std::string_view other : others) {
        if (line.starts_with("#include \"" + std::string(other) + "/")) {
          found.push_back(name(path) + ": " + line);
        }
      }
    }
  });
  return found;
}

// One a line, so that a failing check shows them.
std::string listed(const std::vector<std::string>& found) {
  std::string text;
  for (const std::string& entry : found) text += "\n  " + entry;
  return text;
}

constexpr std::string_view kFolders[] = {"ir", "passes", "sim", "tools", "tests"};

TEST_CASE("architecture: includes run one way, tools to passes and sim to ir") {
  CHECK(listed(includes("ir", {"passes", "sim", "tools", "tests"})) == "");
  CHECK(listed(includes("passes", {"sim", "tools", "tests"})) == "");
  CHECK(listed(includes("sim", {"passes", "tools", "tests"})) == "");
  CHECK(listed(includes("tools", {"tests"})) == "");
}

TEST_CASE("architecture: the libraries for arguments and JSON stay out of the layers below tools") {
  std::vector<std::string> found;
  for (std::string_view folder : {"ir", "passes", "sim"}) {
    each_source(folder, [&](const fs::path& path) {
      for (const std::string& line : lines(read_file(path))) {
        if (line.starts_with("#include <CLI/")) found.push_back(name(path) + ": " + line);
        if (line.starts_with("#include <nlohmann/json.hpp") && path.extension() == ".h") {
          found.push_back(name(path) + ": " + line);
        }
      }
    });
  }
  CHECK(listed(found) == "");
}

TEST_CASE("architecture: no file is longer than 600 lines") {
  std::vector<std::string> found;
  for (std::string_view folder : kFolders) {
    each_source(folder, [&](const fs::path& path) {
      size_t count = lines(read_file(path)).size();
      if (count > 600) found.push_back(name(path) + ": " + std::to_string(count));
    });
  }
  CHECK(listed(found) == "");
}

TEST_CASE("architecture: every .cc file is listed in the meson.build of its folder") {
  std::vector<std::string> found;
  for (std::string_view folder : kFolders) {
    each_source(folder, [&](const fs::path& path) {
      if (path.extension() != ".cc") return;
      std::string list = read_file(path.parent_path() / "meson.build");
      if (list.find("'" + path.filename().string() + "'") == std::string::npos) {
        found.push_back(name(path));
      }
    });
  }
  CHECK(listed(found) == "");
}

TEST_CASE("architecture: every header protects itself from being included twice") {
  std::vector<std::string> found;
  for (std::string_view folder : kFolders) {
    each_source(folder, [&](const fs::path& path) {
      if (path.extension() == ".h" &&
          read_file(path).find("\n#pragma once\n") == std::string::npos) {
        found.push_back(name(path));
      }
    });
  }
  CHECK(listed(found) == "");
}

}  // namespace
}  // namespace minihlo

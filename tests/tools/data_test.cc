// The modules of data/ are good, and printing and parsing them again changes nothing.
#include <algorithm>
#include <filesystem>
#include <vector>

#include <doctest/doctest.h>

#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "tests/paths.h"
#include "tools/module_file.h"

namespace minihlo {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> modules() {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(testing::source_folder() / "data")) {
    if (entry.path().extension() == ".hlo") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST_CASE("data: every module parses and passes the verifier") {
  for (const fs::path& path : modules()) {
    CAPTURE(path.string());
    ModuleFile file = read_module(path);
    CHECK(file.unreadable == "");
    if (file.module) verify(*file.module, {}, file.diagnostics);
    INFO(file.diagnostics.to_string());
    CHECK(file.module);
    CHECK(file.diagnostics.ok());
  }
}

TEST_CASE("data: what is printed parses again, and is printed alike") {
  for (const fs::path& path : modules()) {
    CAPTURE(path.string());
    ModuleFile file = read_module(path);
    if (!file.module) continue;  // reported by the case above
    std::string once = print_text(*file.module);
    auto source = Source::from_string("printed", once);
    Diagnostics diagnostics(source);
    std::unique_ptr<Module> again = parse_text(source, diagnostics);
    INFO(diagnostics.to_string());
    REQUIRE(again);
    CHECK(again->instruction_count() == file.module->instruction_count());
    CHECK((print_text(*again) == once));
  }
}

}  // namespace
}  // namespace minihlo

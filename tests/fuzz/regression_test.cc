// Inputs of fuzzing that once went wrong: data/fuzz/TARGET/NAME.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/fuzz/targets.h"
#include "tests/paths.h"

namespace minihlo::fuzz {
namespace {

namespace fs = std::filesystem;

TEST_CASE("fuzzing: inputs that once went wrong do no more") {
  size_t count = 0;
  for (const Target& target : kTargets) {
    const fs::path folder = testing::data_file("fuzz") / target.name;
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      CAPTURE(entry.path().string());
      CHECK(target.run(testing::read_file(entry.path())) == "");
      ++count;
    }
  }
  CHECK(count > 0);
}

}  // namespace
}  // namespace minihlo::fuzz

// Inputs of fuzzing that once went wrong: data/fuzz/TARGET/NAME.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>

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

// Files of tensors are small, and most changes are noticed: the target finds its way by chance.
TEST_CASE("fuzzing: files of tensors that are changed at random") {
  uint64_t random = 1;
  auto below = [&](size_t count) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return static_cast<size_t>(random >> 33) % count;
  };
  for (const auto& entry : fs::directory_iterator(testing::data_file("tensors"))) {
    CAPTURE(entry.path().string());
    const std::string whole = testing::read_file(entry.path());
    CHECK(tensors(whole) == "");
    for (int round = 0; round < 400; ++round) {
      CAPTURE(round);
      std::string changed = whole;
      for (size_t count = 1 + below(3); count > 0; --count) {
        const size_t at = below(changed.size()), length = below(8);
        switch (below(3)) {
          case 0:
            changed[at] = static_cast<char>(below(256));
            break;
          case 1:
            changed.erase(at, std::min(length, changed.size() - 1));
            break;
          default:
            changed.insert(at, whole.substr(below(whole.size()), length));
        }
      }
      CHECK(tensors(changed) == "");
    }
  }
}

// Nor do decisions of the generator need a lead.
TEST_CASE("fuzzing: modules of random decisions run alike, and are not refuted by themselves") {
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    std::string decisions(500 + random() % 1500, '\0');
    for (char& letter : decisions) letter = static_cast<char>(random());
    CHECK(run(decisions) == "");
    CHECK(equiv(decisions) == "");
  }
}

}  // namespace
}  // namespace minihlo::fuzz

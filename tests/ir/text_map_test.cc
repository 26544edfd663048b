#include "ir/text_map.h"

#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "ir/text_repeats.h"

namespace minihlo {
namespace {

std::vector<std::string> names(int count) {
  std::vector<std::string> made;
  for (const char* stem :
       {"", "q.", "add.", "fusion.", "all-reduce-start.", "a_rather_long_name."}) {
    for (int i = 0; i < count; ++i) made.push_back(fmt::format("{}{}", stem, i));
  }
  return made;
}

TEST_CASE("Names that differ by a number have hashes that differ") {
  std::set<uint64_t> hashes;
  const std::vector<std::string> all = names(50000);
  for (const std::string& name : all) hashes.insert(hash_text_wide(name));
  CHECK(hashes.size() == all.size());
}

TEST_CASE("Repeated texts are found wherever they are") {
  CHECK(!TextRepeats().any());
  for (int count : {1, 2, 100, 20000}) {
    const std::vector<std::string> all = names(count);
    TextRepeats repeats;
    for (const std::string& name : all) repeats.add(name);
    CHECK(!repeats.any());
    for (size_t i : {size_t{0}, all.size() / 2, all.size() - 1}) {
      TextRepeats with = repeats;
      with.add(std::string(all[i]));
      CHECK(with.any());
    }
  }
}

TEST_CASE("A map that was cleared is empty and can be filled again") {
  TextMap<int> map;
  const std::vector<std::string> all = names(300);
  for (size_t round = 1; round <= 3; ++round) {
    const size_t count = all.size() / round;
    for (size_t i = 0; i < count; ++i) CHECK(map.insert(all[i], static_cast<int>(i)).second);
    CHECK(map.size() == count);
    for (size_t i = 0; i < all.size(); ++i) {
      const auto* found = map.find(all[i]);
      CHECK((found != nullptr) == (i < count));
      if (found) CHECK(found->value == static_cast<int>(i));
    }
    map.clear();
    CHECK(map.size() == 0);
    CHECK(!map.find(all[0]));
  }
}

}  // namespace
}  // namespace minihlo

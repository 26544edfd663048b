#include "sim/run/inputs.h"

#include <set>

#include <doctest/doctest.h>

#include "ir/shape.h"

namespace minihlo {
namespace {

std::vector<std::string> seeded(ElementType type, int64_t count, uint64_t seed) {
  ShapePool pool;
  const int64_t dims[] = {count};
  const Shape* shape = pool.array(type, dims);
  auto data = allocate_host(shape->byte_count());
  fill_seeded(shape, seed, 0, count, count, data.get());
  const HostTensor tensor{type, {count}, data, shape->byte_count()};
  std::vector<std::string> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(element_text(tensor, i));
  return values;
}

// How many of 200 values must differ, by what a type has room for.
size_t distinct_of_200(ElementType type) {
  switch (info(type).bits) {
    case 1:
      return 2;
    case 2:
      return 4;
    case 4:
      return is_float(type) ? 4 : 16;
    case 6:
      return 8;
    case 8:
      return type == ElementType::PRED ? 2 : is_float(type) ? 8 : 200;
    default:
      return 200;
  }
}

TEST_CASE("inputs: seeded values of every type differ as far as there is room, and are finite") {
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    CAPTURE(to_string(type));
    const std::vector<std::string> values = seeded(type, 200, 3);
    CHECK(std::set(values.begin(), values.end()).size() >= distinct_of_200(type));
    for (const std::string& value : values) {
      CHECK(value.find("nan") == value.npos);
      CHECK(value.find("inf") == value.npos);
    }
    CHECK(values == seeded(type, 200, 3));
    // One bit has two orders alone.
    if (info(type).bits > 1) CHECK(values != seeded(type, 200, 4));
  }
}

}  // namespace
}  // namespace minihlo

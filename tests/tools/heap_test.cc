// Where there is no more memory the heap of the program says so: it is caught and reported.
#include <doctest/doctest.h>

#include <cstddef>
#include <new>

namespace minihlo {
namespace {

TEST_CASE("heap: what can't be had is an exception") {
  volatile std::size_t too_much = std::size_t{1} << 50;
  CHECK_THROWS_AS((void)::operator new(too_much), std::bad_alloc);
  CHECK_THROWS_AS((void)::operator new[](too_much), std::bad_alloc);
  CHECK_THROWS_AS((void)::operator new (too_much, std::align_val_t{64}), std::bad_alloc);
  CHECK_THROWS_AS((void)::operator new[](too_much, std::align_val_t{64}), std::bad_alloc);
}

}  // namespace
}  // namespace minihlo

#include "sim/run/buffer.h"

#include <thread>

#include <doctest/doctest.h>

namespace minihlo {
namespace {

TEST_CASE("buffer: bytes in use are counted, the most of them kept in mind") {
  auto pool = BufferPool::make(1 << 20);
  {
    Buffer a = *pool->allocate(100, "a");
    CHECK(reinterpret_cast<uintptr_t>(a.data()) % BufferPool::kAlignment == 0);
    CHECK(a.size() == 100);
    CHECK(pool->current() == 128);
    Buffer b = *pool->allocate(64, "b");
    CHECK(pool->current() == 192);
  }
  CHECK(pool->current() == 0);
  CHECK(pool->peak() == 192);
}

TEST_CASE("buffer: freed blocks serve again") {
  auto pool = BufferPool::make(1 << 20);
  const std::byte* first = nullptr;
  {
    Buffer a = *pool->allocate(4096, "a");
    first = a.data();
  }
  Buffer b = *pool->allocate(4000, "b");
  CHECK(b.data() == first);
  CHECK(pool->taken() == 4096);
  Buffer small = *pool->allocate(64, "small");
  CHECK(pool->taken() == 4096 + 64);
}

TEST_CASE(
    "buffer: beyond the limit there is an error with the numbers, and kept blocks make room") {
  auto pool = BufferPool::make(8192);
  Buffer a = *pool->allocate(4096, "a");
  auto too_much = pool->allocate(8192, "%big = add");
  REQUIRE(!too_much);
  CHECK(too_much.error().kind == Stop::Kind::kMemory);
  CHECK(too_much.error().message.find("%big = add needs 8192 more bytes") != std::string::npos);
  CHECK(too_much.error().message.find("4096 are in use and 8192 are allowed") != std::string::npos);
  CHECK(pool->taken() == 4096);
  a = {};
  CHECK(pool->allocate(8192, "b"));
  CHECK(!pool->allocate(INT64_MAX, "c"));
}

TEST_CASE("buffer: a handle knows whether it is the only one") {
  auto pool = BufferPool::make(8192);
  Buffer a = *pool->allocate(16, "a");
  CHECK(a.is_writable(1));
  Buffer b = a;
  CHECK(a == b);
  CHECK(!a.is_writable(1));
  CHECK(a.is_writable(2));
  b = {};
  CHECK(a.is_writable(1));
  CHECK(!(a == a.as_splat()));
  Buffer foreign = pool->wrap(a.data(), 16, nullptr);
  CHECK(!foreign.is_writable(1));
}

TEST_CASE("buffer: handles may be copied and dropped by several threads") {
  auto pool = BufferPool::make(1 << 20);
  Buffer shared = *pool->allocate(64, "shared");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) {
        Buffer copy = shared;
        Buffer own = *pool->allocate(256, "own");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(shared.reference_count() == 1);
  CHECK(pool->current() == 64);
}

TEST_CASE("buffer: outputs outlive the pool's owner") {
  Buffer kept;
  {
    auto pool = BufferPool::make(1024);
    kept = *pool->allocate(8, "kept");
    kept.mutable_data()[0] = std::byte{42};
  }
  CHECK(kept.data()[0] == std::byte{42});
}

}  // namespace
}  // namespace minihlo

#include "ir/gzip.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <zlib.h>

#include <fmt/format.h>

#include "ir/module_reader.h"

namespace minihlo {
namespace {

using namespace std::string_view_literals;

std::string packed(std::string_view bytes) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string said(std::string content) {
  Diagnostics diagnostics;
  CHECK(!parse_module(Source::from_string("a.gz", std::move(content)), diagnostics));
  return diagnostics.to_string();
}

constexpr std::string_view kText = "ENTRY e { ROOT x = f32[2] parameter(0) }\n";

TEST_CASE("gzip: it is unpacked, also from several members, and zeros behind them are nothing") {
  const std::string once = packed(kText);
  REQUIRE(is_gzip(once));
  CHECK(*gunzip(once) == kText);
  CHECK(*gunzip(once + packed("") + once) == std::string(kText) + std::string(kText));
  CHECK(*gunzip(once + std::string(512, '\0')) == kText);
  CHECK(*gunzip(packed("")) == "");
  // More than it is given room for at first.
  const std::string long_text(1 << 20, 'a');
  CHECK(*gunzip(packed(long_text)) == long_text);

  Diagnostics diagnostics;
  std::unique_ptr<Module> module = parse_module(Source::from_string("a.hlo.gz", once), diagnostics);
  REQUIRE(module);
  CHECK(module->entry()->name() == "e");
  CHECK(diagnostics.source()->text() == kText);
}

TEST_CASE("gzip: what is cut, changed or followed by something else is refused, with the place") {
  const std::string once = packed(kText);
  for (size_t size = 2; size < once.size(); ++size) {
    CAPTURE(size);
    CHECK(gunzip(once.substr(0, size)).error() ==
          fmt::format("the gzip file is cut: it ends at byte {}", size));
  }
  CHECK(said(once.substr(0, 20)) ==
        "error: the gzip file is cut: it ends at byte 20 [invalid-gzip]\n");
  CHECK(said(once + once.substr(0, 9)) ==
        fmt::format("error: the gzip file is cut: it ends at byte {} [invalid-gzip]\n",
                    once.size() + 9));
  for (std::string_view more : {"x"sv, "\0\0more"sv, "\x1f\x8c"sv}) {
    CHECK(said(once + std::string(more)) ==
          fmt::format("error: what is packed ends at byte {}, and something else follows "
                      "[invalid-gzip]\n",
                      once.size()));
  }
  std::string changed = once;
  changed[once.size() - 6] ^= 1;  // of the checksum
  CHECK(said(changed).starts_with("error: the gzip file is damaged at or before byte "));
}

TEST_CASE("gzip: what is packed twice is told so") {
  CHECK(said(packed(packed(kText))).find("this is packed by gzip twice; ") != std::string::npos);
}

TEST_CASE("gzip: a small file that unpacks without end is refused before it fills the memory") {
  const std::string member = packed(std::string(1 << 20, '\0'));
  std::string bomb;
  for (int i = 0; i < 300; ++i) bomb += member;
  REQUIRE(bomb.size() < 400'000);
  const auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss >> 10;  // MiB
  };
  const auto before = peak();
  CHECK(said(bomb) == "error: the gzip file unpacks to more than 268435456 bytes [invalid-gzip]\n");
  // A string that grows takes its old place and its new one.
  CHECK(peak() - before < 1024);
}

}  // namespace
}  // namespace minihlo

#include "ir/gzip.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <zlib.h>

namespace minihlo {
namespace {

constexpr size_t kAlwaysAllowed = size_t{256} << 20;
constexpr size_t kAllowedRatio = 100;
constexpr size_t kNeverAllowed = (size_t{2} << 30) - 1;

class Inflater {
 public:
  // 16 asks for the header and trailer of gzip.
  Inflater() { ready_ = inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK; }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool ready() const { return ready_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

std::string damaged(size_t at) {
  return fmt::format("the gzip file is damaged at or before byte {}", at);
}

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

tl::expected<std::string, std::string> gunzip(std::string_view bytes) {
  if (bytes.size() > std::numeric_limits<uInt>::max()) {
    return tl::unexpected(std::string("the gzip file is 4 GiB or longer"));
  }
  Inflater inflater;
  if (!inflater.ready()) return tl::unexpected(std::string("zlib can't be started"));
  const size_t limit =
      std::min(kNeverAllowed, std::max(kAlwaysAllowed, kAllowedRatio * bytes.size()));
  z_stream& stream = inflater.stream();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  size_t size = 0;
  for (;;) {
    if (size == out.size()) {
      if (size == limit) {
        return tl::unexpected(fmt::format("the gzip file unpacks to more than {} bytes", limit));
      }
      out.resize(std::min(limit, std::max<size_t>(2 * size, 4 * bytes.size() + 4096)));
    }
    const size_t room = std::min<size_t>(out.size() - size, std::numeric_limits<uInt>::max());
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + size);
    stream.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream, Z_NO_FLUSH);
    size += room - stream.avail_out;
    const size_t at = bytes.size() - stream.avail_in;
    if (status == Z_STREAM_END) {
      // Another member may follow, or zeros that fill up a block.
      const std::string_view rest = bytes.substr(at);
      if (rest.find_first_not_of('\0') == std::string_view::npos) break;
      if (!std::string_view("\x1f\x8b").starts_with(rest.substr(0, 2))) {
        return tl::unexpected(
            fmt::format("what is packed ends at byte {}, and something else follows", at));
      }
      if (inflateReset(&stream) != Z_OK) return tl::unexpected(damaged(at));
      continue;
    }
    if (status == Z_BUF_ERROR || (status == Z_OK && stream.avail_in == 0 && stream.avail_out > 0)) {
      return tl::unexpected(fmt::format("the gzip file is cut: it ends at byte {}", bytes.size()));
    }
    if (status != Z_OK) return tl::unexpected(damaged(at));
  }
  out.resize(size);
  return out;
}

}  // namespace minihlo

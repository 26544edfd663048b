// Files that gzip has packed.
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace minihlo {

/// Whether `bytes` begin as a gzip file does.
bool is_gzip(std::string_view bytes);

/// What is packed in a gzip file, of one or several members, or what is wrong with it. A file that
/// unpacks to more than 256 MiB and to more than 100 times its size, or to 2 GiB, is refused before
/// it fills the memory.
tl::expected<std::string, std::string> gunzip(std::string_view bytes);

}  // namespace minihlo

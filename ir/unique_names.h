// XLA's rule for names that clash (xla/service/name_uniquer.cc).
#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <cstdint>
#include <string_view>

#include "ir/arena.h"
#include "ir/hash.h"

namespace minihlo {

/// Hands out names: the one that is asked for if it is free, else its stem with a free number. A
/// trailing .NUMBER counts as that number, and no number as 0, so `a`, `a.0` and `a.00` clash.
class UniqueNames {
 public:
  /// Names that are made live in `arena`.
  explicit UniqueNames(Arena& arena) : arena_(arena) {}

  /// The name to use for `name`, which must live as long as this does, as what is returned does.
  std::string_view claim(std::string_view name);

 private:
  struct Numbers {
    tsl::robin_set<int64_t, IntegerHash> used;
    int64_t next = 0;
  };
  Arena& arena_;
  tsl::robin_map<std::string_view, Numbers, TextHash> stems_;
};

}  // namespace minihlo

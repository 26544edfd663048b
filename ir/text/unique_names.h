// XLA's rule for names that clash (xla/service/name_uniquer.cc).
#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace minihlo::internal {

/// Hands out names: the one that is asked for if it is free, else its stem with a free number. A
/// trailing .NUMBER counts as that number, and no number as 0, so `a`, `a.0` and `a.00` clash.
class UniqueNames {
 public:
  explicit UniqueNames(Module& module) : module_(module) {}

  /// The name to use for `name`, kept in the module. `name` itself must live in the module.
  std::string_view claim(std::string_view name);

 private:
  struct Numbers {
    tsl::robin_set<int64_t> used;
    int64_t next = 1;
  };
  Module& module_;
  tsl::robin_map<std::string_view, Numbers> stems_;
};

/// What XLA makes of a name that it does not allow: a type's name, or one that starts with __ but
/// not with __xla_. Other names are returned as they are.
std::string allowed_name(std::string_view name);
bool is_allowed_name(std::string_view name);

/// What names of one kind have in them that makes UniqueNames change some, gathered as they are
/// read.
class NameClashes {
 public:
  /// Notes a name. Names that are equal must be told of with `add_clash`.
  void add(std::string_view name) {
    if (!name.empty() && name.back() >= '0' && name.back() <= '9') add_numbered(name);
  }
  void add_clash() { clash_ = true; }
  /// Whether a name must change; `contains` says whether a text is one of the names.
  template <class Contains>
  bool any(Contains contains) const {
    return clash_ || std::any_of(zeros_.begin(), zeros_.end(), contains);
  }

 private:
  void add_numbered(std::string_view name);

  bool clash_ = false;
  std::vector<std::string_view> zeros_;  // what stands before .0
};

}  // namespace minihlo::internal

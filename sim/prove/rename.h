// Terms with other numbers for the placeholders of one loop.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/prove/terms.h"

namespace minihlo::prove {

class Renaming {
 public:
  /// Placeholder i of `level` becomes placeholder numbers[i]; where that is -1 it may not occur.
  Renaming(Terms& terms, int64_t level, std::vector<int64_t> numbers)
      : terms_(terms), level_(level), numbers_(std::move(numbers)) {}

  Handle operator()(Handle handle);

 private:
  struct Hash {
    size_t operator()(Handle handle) const { return mix(0, handle); }
  };
  // The terms that one is made of, seen from its device.
  std::vector<Handle> parts(Handle handle) const;
  Handle rebuilt(Handle handle) const;

  Terms& terms_;
  int64_t level_;
  std::vector<int64_t> numbers_;
  std::unordered_map<Handle, Handle, Hash> done_;
};

}  // namespace minihlo::prove

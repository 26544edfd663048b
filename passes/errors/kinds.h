// The ways in which inject-errors breaks a module, one row each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "passes/emitter.h"

namespace minihlo::errors {

/// Where choices come from: the same for the same seed, on every platform.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  /// 0 to count - 1; requires count > 0.
  int64_t below(int64_t count) {
    return static_cast<int64_t>(next() % static_cast<uint64_t>(count));
  }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }
  template <class T>
  void shuffle(std::vector<T>& list) {
    for (size_t i = list.size(); i > 1; --i) {
      std::swap(list[i - 1], list[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
    }
  }

 private:
  uint64_t next();
  uint64_t state_;
};

/// An instruction that is to be broken.
struct Site {
  Instruction* at;
  Emitter& emit;  // before it
  Random& random;
  const Mesh& mesh;
};

struct Kind {
  std::string_view name;
  std::string_view says;  // what goes wrong, in words
  /// Whether it is worth a try there: a look at the instruction alone.
  bool (*fits)(const Instruction& at);
  /// Breaks the instruction, or what it calls, and says how: "pair {0,1} is now {0,2}". Empty where
  /// that can't be done there. What comes out may be no valid module.
  std::string (*apply)(Site& site);
};

/// All kinds, by name.
std::span<const Kind> kinds();

// collectives.cc
std::string wrong_pair(Site& site);
std::string dropped_pair(Site& site);
std::string reversed_pairs(Site& site);
std::string wrong_group(Site& site);
std::string group_order(Site& site);
std::string dropped_member(Site& site);
std::string mode(Site& site);
std::string reducer(Site& site);
std::string wrong_id(Site& site);
// values.cc
std::string axis(Site& site);
std::string slice_bounds(Site& site);
std::string padding(Site& site);
std::string window(Site& site);
std::string index_off_by_one(Site& site);
std::string constant(Site& site);
std::string tuple_index(Site& site);
std::string narrowed(Site& site);
// operations.cc
std::string swapped_operands(Site& site);
std::string wrong_operand(Site& site);
std::string dropped_instruction(Site& site);
std::string wrong_opcode(Site& site);
std::string direction(Site& site);
std::string lost_dependency(Site& site);
std::string swapped_branches(Site& site);
std::string loop_bound(Site& site);

}  // namespace minihlo::errors

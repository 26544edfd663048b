// Terms of single elements: the last resort where tensors look different.
//
// An element of a function that works element by element is that function of elements; of a dot it
// is a chain of products; of movement it is another element. So whatever way a result was put
// together, its elements come out the same if they are.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/prove/evaluator.h"
#include "sim/prove/pointwise.h"
#include "sim/prove/terms.h"

namespace minihlo::prove {

class ElementTerms {
 public:
  /// More terms than this are not made.
  static constexpr size_t kMaxTerms = size_t{1} << 22;

  ElementTerms(Terms& terms, RuleNames& rules) : terms_(terms), rules_(rules) {}

  /// The number of an element's term; equal numbers mean equal values. Nothing when there would be
  /// too many terms.
  std::optional<uint32_t> element(Handle tensor, int64_t index);

 private:
  struct Key {
    uint32_t what;  // a signature, or what kind of leaf
    std::vector<uint32_t> arguments;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  // The elements that an element is made of, in order; what they are put together by.
  void parts(const Element& wanted, std::vector<Element>& elements, Key& key);
  void dot_parts(const Element& wanted, const Instruction& dot, std::vector<Element>& elements,
                 Key& key);
  void reduce_parts(const Element& wanted, const Instruction& reduce,
                    std::vector<Element>& elements, Key& key);
  std::optional<uint32_t> simplified(const Element& wanted, const Key& key);
  // What one opcode makes of arguments, from the first on: the same for a fold, for instructions
  // one after the other and, where that is exact, for any order.
  std::optional<uint32_t> combined(const Node& node, std::span<const uint32_t> arguments);
  uint32_t combined_exactly(uint32_t what, std::span<const uint32_t> arguments);
  uint32_t intern(Key key);

  Terms& terms_;
  RuleNames& rules_;
  std::unordered_map<Element, uint32_t, ElementHash> done_;
  std::unordered_map<Key, uint32_t, KeyHash> numbers_;
  std::vector<const Key*> keys_;                      // by number
  std::unordered_map<uint32_t, uint32_t> combiners_;  // what combined() keys by, by signature
};

}  // namespace minihlo::prove

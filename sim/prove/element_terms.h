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

class ElementTerms : private TermStore {
 public:
  /// More terms than this are not made, nor more arguments of them.
  static constexpr size_t kMaxTerms = size_t{1} << 22;
  static constexpr size_t kMaxArguments = size_t{1} << 26;

  ElementTerms(Terms& terms, Rules& rules);

  /// The number of an element's term; equal numbers mean equal values. Nothing when there would be
  /// too many terms.
  std::optional<uint32_t> element(Handle tensor, int64_t index);

  /// Whether two terms are equal in all cases of the truth values in them. False where these are
  /// many, or the terms large.
  bool equal_by_cases(uint32_t a, uint32_t b);

 private:
  struct Key {
    uint32_t what;  // a signature, or what kind of leaf
    std::vector<uint32_t> arguments;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct HandleHash {
    size_t operator()(Handle handle) const { return mix(0, handle); }
  };

  class Cases;

  // The elements that an element is made of, in order; what they are put together by.
  void parts(const Element& wanted, std::vector<Element>& elements, Key& key);
  void dot_parts(const Element& wanted, const Instruction& dot, std::vector<Element>& elements,
                 Key& key);
  void reduce_parts(const Element& wanted, const Instruction& reduce,
                    std::vector<Element>& elements, Key& key);
  // What is there only where the parts are known; false where it isn't.
  bool window_parts(const Element& wanted, const Instruction& reduce,
                    std::vector<Element>& elements, Key& key);
  bool convolution_parts(const Element& wanted, const Instruction& convolution,
                         std::vector<Element>& elements, Key& key);
  bool whole_parts(const Element& wanted, std::vector<Element>& elements, Key& key);
  Key part_of(uint32_t made, const Element& wanted) const;
  uint32_t part(const Element& wanted, const Key& all);
  // The indices at which a slice or gather starts.
  bool pick_parts(const Element& wanted, const Instruction& instruction,
                  std::vector<Element>& elements, Key& key);
  // The term of an element that is chosen by indices that are terms.
  uint32_t picked(const Element& wanted, const Instruction& instruction, const Key& starts);
  std::optional<uint32_t> pick(Handle tensor, std::span<const int64_t> dims,
                               const std::vector<Ref>& index);
  std::optional<std::vector<Ref>> starts_of(Handle slice, const Instruction& instruction);
  Ref start(Ref given, ElementType type, int64_t limit);
  Ref number(int64_t value);
  // The term in normal form of what an element is put together by.
  uint32_t combined(const Element& wanted, Key key);
  uint32_t chain(uint32_t step, std::span<const Ref> terms);
  uint32_t applied(const Node& node, std::vector<Ref> refs);
  uint32_t sum_of_products(const Instruction& instruction, Key key);
  uint32_t float_sum(const Instruction& instruction, Key key);
  uint32_t chosen(const Node& node, std::vector<Ref> refs);
  uint32_t intern(Key key);

  Ref constant(ElementType type, std::span<const std::byte> value) override;
  Ref make(uint32_t function, std::span<const Ref> arguments) override;
  std::optional<std::span<const std::byte>> literal(Ref ref, ElementType type) const override;
  std::optional<uint32_t> function(Ref ref) const override;
  std::vector<Ref> arguments(Ref ref) const override;
  bool splits_rounding() const override { return true; }
  uint32_t literal_of(ElementType type);

  Terms& terms_;
  Rules& rules_;
  std::unordered_map<Element, uint32_t, ElementHash> done_;
  std::unordered_map<Key, uint32_t, KeyHash> numbers_;
  std::vector<const Key*> keys_;    // by number
  std::vector<uint32_t> literals_;  // by element type: what literals of it are
  const uint32_t whole_;            // what elements of terms that are not taken apart are
  const uint32_t tensor_;           // all elements, of which indices choose one
  const uint32_t row_;              // the elements of an argument
  const uint32_t part_;             // one element of what is made of such
  std::unordered_map<Handle, uint32_t, HandleHash> made_;  // what terms are that are made of such
  size_t argument_count_ = 0;
  int64_t case_steps_ = 0;  // that equal_by_cases() took so far
  int pick_depth_ = 0, picks_ = 0;
};

}  // namespace minihlo::prove

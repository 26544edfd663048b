// Evaluation by demand: single elements of terms, backwards, on inputs that are zero but for a few
// elements. What it costs depends on the terms, not on the size of the tensors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/semantics/elementwise.h"
#include "sim/prove/evaluator.h"
#include "sim/prove/terms.h"
#include "sim/prove/wide_arithmetic.h"

namespace minihlo::prove {

/// The bytes of one element of any type, aligned as kernels want them.
struct alignas(16) ElementBytes : std::array<std::byte, 16> {};

/// An element of an input: device, leaf of the parameters, row-major index.
struct InputPlace {
  int64_t device;
  int64_t parameter;
  int64_t index;
  auto operator<=>(const InputPlace&) const = default;
};
using SparseInputs = std::map<InputPlace, ElementBytes>;

class Demand {
 public:
  /// With `wide`, f32, bf16 and f16 are computed in f64: elements of these types are then doubles,
  /// inputs stay what they are. All must outlive it.
  Demand(Terms& terms, Evaluator& evaluator, const WideArithmetic* wide = nullptr)
      : terms_(terms), evaluator_(evaluator), wide_(wide) {}

  /// The value of an element; nothing when it hangs on what can't be evaluated (a loop's term, an
  /// elided constant, something too large).
  std::optional<ElementBytes> value(Handle tensor, int64_t index, const SparseInputs& inputs);

  /// The input elements that an element's value can depend on, at most `limit`; nothing when there
  /// are more, or it hangs on what can't be evaluated.
  std::optional<std::vector<InputPlace>> inputs_of(Handle tensor, int64_t index, size_t limit);

 private:
  // The elements that one is computed from; false when it can't be.
  bool parts(const Element& wanted, std::vector<Element>& elements) const;
  bool compute(const Element& wanted, std::span<const Element> elements);
  // Puts the double in place of the element of a widened type.
  void widen(ElementType type, ElementBytes& bytes, bool constant) const;
  tl::expected<ElementwiseOp, std::string> op_of(Opcode opcode,
                                                 std::span<const ElementType> operands,
                                                 ElementType result,
                                                 std::span<const Attribute> attributes) const;
  ElementType computed_type(ElementType type) const;
  bool compute_pointwise(const Element& wanted, std::span<const Element> elements);
  bool compute_whole(const Element& wanted, std::span<const Element> elements);

  Terms& terms_;
  Evaluator& evaluator_;
  const WideArithmetic* wide_;
  const SparseInputs* inputs_ = nullptr;
  std::unordered_map<Element, ElementBytes, ElementHash> done_;
};

}  // namespace minihlo::prove

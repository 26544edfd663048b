// Arrays outside of a run: what goes in, what comes out, and when two count as the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/element_type.h"

namespace minihlo {

/// Elements in row-major order, stored as in a Literal. The memory is shared and never written.
struct HostTensor {
  ElementType type = ElementType::PRED;
  std::vector<int64_t> dims;
  std::shared_ptr<const std::byte> data;
  int64_t bytes = 0;

  int64_t element_count() const { return bytes / info(type).bytes; }
};

/// Memory for a tensor, aligned as in a run, to be filled and then shared. Null when there is none.
std::shared_ptr<std::byte> allocate_host(int64_t bytes);

/// Brings elements that come from outside into the form that they have in a Literal: of a type
/// narrower than a byte the low bits count, and a truth value is 0 or 1. Returns the first element
/// whose other bits were neither zeros nor copies of its sign; nothing where there is none.
std::optional<int64_t> normalize(ElementType type, std::span<std::byte> elements);

/// When two tensors count as the same. Any NaN equals any NaN unless `nan_payload` is set.
/// Integers, pred and whatever is not a float or complex number are always compared by their bits.
struct CompareRule {
  enum class Kind : uint8_t {
    kBits,
    kTolerance,  // |a - b| <= absolute + relative * |a|; equal infinities are the same
    kUlp,        // at most `ulp` values of the type between them
  };
  Kind kind = Kind::kBits;
  double relative = 0;
  double absolute = 0;
  int64_t ulp = 0;
  bool nan_payload = false;
};

/// What a rule can't be: one with numbers that are negative or not finite. Empty where all is well.
std::string problem_of(const CompareRule& rule);

/// Where tensors differ.
struct Difference {
  std::string what;     // of types or dimensions that differ; else empty
  int64_t index = 0;    // the first element that differs, in row-major order
  int64_t count = 0;    // how many do
  int64_t worst = 0;    // the element that differs most
  double distance = 0;  // by how much that does: |a - b|; infinite where one of them alone is NaN
  double ulps = 0;      // by how many values of the type; of floats only
};
/// Nothing (count 0, no `what`) where they count as the same.
Difference compare(const HostTensor& expected, const HostTensor& actual, const CompareRule& rule);

/// An element as HLO text would write it.
std::string element_text(const HostTensor& tensor, int64_t index);

}  // namespace minihlo

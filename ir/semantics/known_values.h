// Values that depend on nothing but constants and where the device stands in the mesh: ids,
// arithmetic on them, entries of tables.
//
//   %map = s32[4] constant({3, 0, 1, 2})
//   %id = u32[] partition-id()
//   %entry = s32[1] dynamic-slice(%map, %id), dynamic_slice_sizes={1}    3, 0, 1, 2 on devices 0..3
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/module.h"
#include "ir/semantics/evaluate.h"
#include "ir/semantics/mesh.h"

namespace minihlo {

/// Answers for one module, which keeps what it was asked about as it is meanwhile. Sees through
/// tuples, and into and out of computations that one fusion or call alone calls. Each instruction
/// is computed once, and once for all devices where it does not depend on ids; what would take too
/// much memory is not known.
class KnownValues {
 public:
  KnownValues(const Module& module, const Mesh& mesh);

  /// Whether the value of an array is known, and the same on all devices.
  bool is_uniform(const Instruction& instruction);
  /// The elements on a device, as a Literal stores them; known on one device is known on all.
  std::optional<std::span<const std::byte>> bytes(const Instruction& instruction, int64_t device);
  /// Element `index` of an integer or pred array on a device; nothing also where it does not fit.
  std::optional<int64_t> integer(const Instruction& instruction, int64_t device, int64_t index = 0);

 private:
  struct Known {
    bool is_known = false;
    bool is_uniform = true;
    ElementBytesList bytes;  // of all devices, one after the other, or of one where uniform
  };
  const Known* known(const Instruction& instruction);
  // What stands for the same value and is asked in its place; null: nothing does.
  const Instruction* same_value(const Instruction& instruction) const;
  // Requires that the operands have been looked at.
  Known compute(const Instruction& instruction);
  Known id(const Instruction& instruction) const;

  Mesh mesh_;
  int64_t bytes_left_;
  std::vector<const Instruction*> only_caller_;  // by computation; null: none, or several
  std::unordered_map<const Instruction*, Known> values_;
};

}  // namespace minihlo

// Those who look at values while a module runs.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/instruction.h"
#include "ir/semantics/mesh.h"
#include "sim/run/tensor.h"
#include "sim/stop.h"

namespace minihlo {

/// What an instruction has made, on the devices that have run it together.
struct Observation {
  const Instruction& instruction;
  std::span<const int> devices;
  /// For each leaf of the value the tensor on each of the devices, or one for all. Tokens, and what
  /// asynchronous work has not made yet, have none.
  std::span<const std::vector<HostTensor>> leaves;

  const HostTensor& at(size_t leaf, size_t position) const {
    return leaves[leaf].size() == 1 ? leaves[leaf][0] : leaves[leaf][position];
  }
};

class Observer {
 public:
  virtual ~Observer() = default;
  /// Whether observe() is to be called for an instruction.
  virtual bool watches(const Instruction& instruction) const = 0;
  /// Called when an instruction is done. A Stop ends the run.
  virtual std::optional<Stop> observe(const Observation& observation) = 0;
};

/// Ends a run at the first instruction that makes a NaN of operands without any. Parameters and
/// constants may have some.
class NanCheck : public Observer {
 public:
  explicit NanCheck(const Mesh& mesh) : mesh_(mesh), device_count_(mesh.device_count()) {}
  bool watches(const Instruction&) const override { return true; }
  std::optional<Stop> observe(const Observation& observation) override;

 private:
  bool operands_have_nan(const Instruction& instruction, int device) const;

  const Mesh mesh_;
  const int64_t device_count_;
  /// By instruction, the devices on which its last value has a NaN.
  std::unordered_map<const Instruction*, std::vector<bool>> has_nan_;
};

}  // namespace minihlo

// Elementwise instructions that run together, a block of elements at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <tl/expected.hpp>

#include "ir/semantics/elementwise.h"
#include "sim/plan.h"
#include "sim/run/kernel.h"
#include "sim/run/kernels/axes.h"

namespace minihlo {

/// A cluster, ready to be run on operands. Values are numbered: inputs first, then what the members
/// make, in their order.
class ClusterProgram {
 public:
  static tl::expected<ClusterProgram, Stop> compile(const Cluster& cluster);

  size_t input_count() const { return input_count_; }
  size_t value_count() const { return input_count_ + members_.size(); }
  /// The values that a member reads.
  std::span<const size_t> operands_of(size_t member) const { return members_[member].operands; }
  size_t member_value(size_t member) const { return input_count_ + member; }
  size_t member_count() const { return members_.size(); }
  /// The values that others read, in the cluster's order.
  std::span<const size_t> outputs() const { return outputs_; }

  /// What one set of operands is worked on.
  struct Part {
    std::span<const size_t> members;  // in order
    std::span<const size_t> inputs;   // values; call.operands and call.writable go with them
    std::span<const size_t> outputs;  // values; call.results will
  };
  /// Takes memory for the outputs of a part and adds the work that fills them. Of equal elements
  /// only one is computed.
  KernelResult add_work(KernelCall& call, const Part& part) const;

 private:
  class Assembler;
  struct Member {
    const Instruction* instruction;
    std::vector<size_t> operands;
    // An elementwise instruction, or a broadcast: of each axis of the result the operand's stride.
    std::optional<ElementwiseOp> op;
    std::vector<StridedAxis> axes;
    int64_t bytes = 0;  // of an element of the result
  };

  size_t input_count_ = 0;
  std::vector<Member> members_;
  std::vector<size_t> outputs_;
};

/// Programs by cluster, made at the first question.
class ClusterPrograms {
 public:
  tl::expected<const ClusterProgram*, Stop> of(const Cluster& cluster);

 private:
  std::unordered_map<const Cluster*, std::unique_ptr<ClusterProgram>> programs_;
};

}  // namespace minihlo

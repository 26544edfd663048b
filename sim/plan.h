// In which order a computation's instructions run, and which values are wanted no longer behind
// each. Made once a computation.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "ir/module.h"

namespace minihlo {

/// Elementwise instructions that run together (see sim/clusters.h).
struct Cluster {
  std::vector<const Instruction*> members;
  std::vector<const Instruction*> inputs;   // what members read and none of them makes
  std::vector<bool> last_use;               // per input
  std::vector<const Instruction*> outputs;  // members that others read
};

struct Plan {
  struct Step {
    const Instruction* instruction;
    std::vector<bool> last_use;        // per operand: nobody reads it afterwards, nor twice here
    std::vector<uint32_t> released;    // numbers of the values that are free behind this step
    std::unique_ptr<Cluster> cluster;  // `instruction` is its last member; else null
  };
  std::vector<Step> steps;
};

/// The list's order, with each get-tuple-element drawn up to its tuple, so that the elements of a
/// tuple have readers of their own as early as possible and can be reused in place. Where a
/// computation has as many sends as recvs of a channel, each recv-done comes behind its send,
/// unless the send depends on it. Elementwise instructions on arrays of at least `cluster_elements`
/// elements are put together.
Plan make_plan(const Computation& computation, int64_t cluster_elements);

/// Plans by computation, made at the first question.
class Plans {
 public:
  static constexpr int64_t kNoClusters = std::numeric_limits<int64_t>::max();

  /// Elementwise instructions on arrays of at least `cluster_elements` elements are put together.
  explicit Plans(int64_t cluster_elements) : cluster_elements_(cluster_elements) {}

  const Plan& of(const Computation& computation) {
    std::unique_ptr<Plan>& plan = plans_[&computation];
    if (!plan) plan = std::make_unique<Plan>(make_plan(computation, cluster_elements_));
    return *plan;
  }

 private:
  const int64_t cluster_elements_;
  std::unordered_map<const Computation*, std::unique_ptr<Plan>> plans_;
};

}  // namespace minihlo

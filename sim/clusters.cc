#include "sim/clusters.h"

#include <algorithm>
#include <numeric>

namespace minihlo {
namespace {

// More members than this would need too much memory at a time.
constexpr size_t kMaxMembers = 64;
constexpr size_t kMaxOperands = 4;  // of an elementwise instruction, and itself

class ClusterFormer {
 public:
  ClusterFormer(const Computation& computation, const std::vector<const Instruction*>& order,
                int64_t min_elements)
      : order_(order),
        root_(computation.root()),
        min_elements_(min_elements),
        is_view_(computation.size(), false),
        cluster_of_(computation.size(), kNone) {
    for (const Instruction* instruction : order) {
      if (instruction->get(attr::control_predecessors).empty()) continue;
      has_control_ = true;
      break;
    }
  }

  std::vector<std::vector<const Instruction*>> run() {
    if (has_control_) {
      for (const Instruction* instruction : order_) steps_.push_back({instruction});
      return std::move(steps_);
    }
    find_views();
    for (const Instruction* instruction : order_) {
      if (is_view_[instruction->number()]) continue;
      if (is_elementwise(*instruction)) {
        join(*instruction);
        continue;
      }
      if (is_light(*instruction)) {
        for (const Instruction* operand : instruction->operands()) close(of(*operand));
      } else {
        // What works on much memory is not overtaken: values would live longer than they have to.
        close_all();
      }
      steps_.push_back({instruction});
    }
    close_all();
    return std::move(steps_);
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  bool is_large(const Shape* shape) const {
    return shape->is_array() && !shape->is_dynamic() && shape->element_count() >= min_elements_;
  }
  bool is_elementwise(const Instruction& instruction) const {
    return is_large(instruction.shape()) &&
           info(instruction.opcode()).family == Family::kElementwise;
  }

  // A broadcast that only elementwise instructions read is made by each cluster for itself.
  void find_views() {
    std::vector<bool> has_reader(is_view_.size(), false);
    for (const Instruction* instruction : order_) {
      is_view_[instruction->number()] =
          instruction->opcode() == Opcode::kBroadcast && is_large(instruction->shape());
    }
    for (const Instruction* instruction : order_) {
      for (const Instruction* operand : instruction->operands()) {
        has_reader[operand->number()] = true;
        if (!is_elementwise(*instruction)) is_view_[operand->number()] = false;
      }
    }
    for (size_t i = 0; i < is_view_.size(); ++i) is_view_[i] = is_view_[i] && has_reader[i];
    is_view_[root_->number()] = false;
  }

  // Whether it is done in no time, or hands values on.
  bool is_light(const Instruction& instruction) const {
    switch (instruction.opcode()) {
      case Opcode::kBitcast:
      case Opcode::kConstant:
      case Opcode::kGetTupleElement:
      case Opcode::kParameter:
      case Opcode::kReshape:
      case Opcode::kTuple:
        return true;
      case Opcode::kBroadcast:
        if (instruction.operand(0)->shape()->element_count() == 1) return true;
        [[fallthrough]];
      default:
        return instruction.called_computations().empty() && instruction.shape()->is_array() &&
               instruction.shape()->element_count() < min_elements_ &&
               std::ranges::all_of(instruction.operands(), [&](const Instruction* operand) {
                 return operand->shape()->is_array() &&
                        operand->shape()->element_count() < min_elements_;
               });
    }
  }

  size_t of(const Instruction& instruction) const { return cluster_of_[instruction.number()]; }

  void join(const Instruction& instruction) {
    const int64_t count = instruction.shape()->element_count();
    for (const Instruction* operand : instruction.operands()) {
      if (is_view_[operand->number()]) close(of(*operand->operand(0)));
    }
    size_t own = kNone;
    for (const Instruction* operand : instruction.operands()) {
      const size_t cluster = of(*operand);
      if (cluster == kNone || cluster == own) continue;
      const size_t together =
          open_[cluster].size() + (own == kNone ? 0 : open_[own].size()) + kMaxOperands;
      if (operand->shape()->element_count() != count || together > kMaxMembers) {
        close(cluster);
      } else if (own == kNone) {
        own = cluster;
      } else {
        // Neither reads the other: who reads a member of an open cluster is one of it.
        for (const Instruction* member : open_[cluster]) append(own, *member);
        open_[cluster].clear();
      }
    }
    if (own == kNone) {
      own = open_.size();
      open_.emplace_back();
    }
    for (const Instruction* operand : instruction.operands()) {
      if (is_view_[operand->number()]) append(own, *operand);
    }
    append(own, instruction);
  }

  void append(size_t cluster, const Instruction& instruction) {
    const bool is_view = is_view_[instruction.number()];
    if (is_view && std::ranges::find(open_[cluster], &instruction) != open_[cluster].end()) return;
    open_[cluster].push_back(&instruction);
    if (!is_view) cluster_of_[instruction.number()] = cluster;
  }

  void close(size_t cluster) {
    if (cluster == kNone || open_[cluster].empty()) return;
    std::vector<const Instruction*>& members = open_[cluster];
    for (const Instruction* member : members) cluster_of_[member->number()] = kNone;
    steps_.push_back(std::move(members));
    members.clear();
  }

  void close_all() {
    for (size_t i = 0; i < open_.size(); ++i) close(i);
    open_.clear();
  }

  const std::vector<const Instruction*>& order_;
  const Instruction* root_;
  const int64_t min_elements_;
  bool has_control_ = false;
  std::vector<bool> is_view_;                          // by number
  std::vector<size_t> cluster_of_;                     // by number, of members of open ones
  std::vector<std::vector<const Instruction*>> open_;  // empty: closed or merged
  std::vector<std::vector<const Instruction*>> steps_;
};

}  // namespace

std::vector<std::vector<const Instruction*>> form_clusters(
    const Computation& computation, const std::vector<const Instruction*>& order,
    int64_t min_elements) {
  return ClusterFormer(computation, order, min_elements).run();
}

}  // namespace minihlo

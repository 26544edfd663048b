#include "passes/channels.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace minihlo {
namespace {

bool is_point_to_point(Opcode opcode) {
  return opcode == Opcode::kSend || opcode == Opcode::kSendDone || opcode == Opcode::kRecv ||
         opcode == Opcode::kRecvDone;
}

class Grouping {
 public:
  explicit Grouping(const Module& module) {
    for (const Computation* computation : module.computations()) {
      std::vector<size_t>& own = by_computation_.emplace_back();
      for (Instruction* instruction : computation->instructions()) {
        if (!instruction->has(attr::channel_id)) continue;
        own.push_back(all_.size());
        all_.push_back(instruction);
      }
    }
    parent_.resize(all_.size());
    std::iota(parent_.begin(), parent_.end(), size_t{0});
    join_pairs();
    for (const Computation* computation : module.computations()) {
      for (const Instruction* instruction : computation->instructions()) {
        if (instruction->opcode() == Opcode::kConditional) join_branches(module, *instruction);
      }
    }
  }

  std::vector<std::vector<Instruction*>> groups() {
    std::vector<std::vector<Instruction*>> result;
    std::vector<size_t> place(all_.size(), SIZE_MAX);
    for (size_t i = 0; i < all_.size(); ++i) {
      size_t& at = place[root(i)];
      if (at == SIZE_MAX) {
        at = result.size();
        result.emplace_back();
      }
      result[at].push_back(all_[i]);
    }
    return result;
  }

 private:
  size_t root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(size_t a, size_t b) {
    parent_[std::max(root(a), root(b))] = std::min(root(a), root(b));
  }

  void join_pairs() {
    std::unordered_map<int64_t, size_t> first;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!is_point_to_point(all_[i]->opcode())) continue;
      auto [place, is_new] = first.emplace(all_[i]->get(attr::channel_id), i);
      if (!is_new) join(place->second, i);
    }
  }

  // Devices in different branches meet where both have the channel.
  void join_branches(const Module& module, const Instruction& conditional) {
    struct Seen {
      size_t first;
      size_t branch;
    };
    std::unordered_map<int64_t, Seen> seen;
    std::unordered_map<int64_t, std::vector<size_t>> members;
    const std::vector<Computation*> branches = conditional.called_computations();
    for (size_t branch = 0; branch < branches.size(); ++branch) {
      for (size_t i : below(module, *branches[branch])) {
        const int64_t channel = all_[i]->get(attr::channel_id);
        members[channel].push_back(i);
        auto [place, is_new] = seen.emplace(channel, Seen{i, branch});
        if (!is_new && place->second.branch != branch) place->second.branch = SIZE_MAX;
      }
    }
    for (const auto& [channel, list] : members) {
      if (seen.at(channel).branch != SIZE_MAX) continue;
      for (size_t i : list) join(list[0], i);
    }
  }

  // What has a channel in a computation and in all that it calls.
  std::vector<size_t> below(const Module& module, const Computation& top) const {
    std::vector<bool> visited(module.computations().size());
    std::vector<const Computation*> stack = {&top};
    std::vector<size_t> result;
    visited[top.number()] = true;
    while (!stack.empty()) {
      const Computation* computation = stack.back();
      stack.pop_back();
      const std::vector<size_t>& own = by_computation_[computation->number()];
      result.insert(result.end(), own.begin(), own.end());
      for (const Instruction* instruction : computation->instructions()) {
        for (const Computation* callee : instruction->called_computations()) {
          if (visited[callee->number()]) continue;
          visited[callee->number()] = true;
          stack.push_back(callee);
        }
      }
    }
    return result;
  }

  std::vector<Instruction*> all_;
  std::vector<std::vector<size_t>> by_computation_;
  std::vector<size_t> parent_;
};

}  // namespace

std::vector<std::vector<Instruction*>> channel_groups(const Module& module) {
  return Grouping(module).groups();
}

SharedChannels::SharedChannels(const Module& module) {
  for (const Computation* computation : module.computations()) {
    marks_.emplace_back(computation->size(), false);
  }
  for (const std::vector<Instruction*>& group : channel_groups(module)) {
    if (group.size() < 2) continue;
    for (const Instruction* one : group) marks_[one->parent()->number()][one->number()] = true;
  }
}

}  // namespace minihlo

#include "sim/plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sim/clusters.h"

namespace minihlo {

namespace {

// The recv that a recv-done shows, or null where it does not come straight from one.
const Instruction* recv_of(const Instruction& recv_done) {
  const Instruction* at = recv_done.operand(0);
  while (at->opcode() == Opcode::kGetTupleElement || at->opcode() == Opcode::kOptimizationBarrier) {
    at = at->operand(0);
  }
  return at->opcode() == Opcode::kRecv ? at : nullptr;
}

// By number of a recv-done: the send of the computation whose data it shows, or null.
std::vector<const Instruction*> partners(const Computation& computation) {
  struct Channel {
    std::vector<const Instruction*> sends, dones;
  };
  std::map<std::optional<int64_t>, Channel> channels;
  for (const Instruction* instruction : computation.instructions()) {
    if (instruction->get(attr::is_host_transfer)) continue;
    if (instruction->opcode() == Opcode::kSend) {
      channels[instruction->find(attr::channel_id)].sends.push_back(instruction);
    } else if (instruction->opcode() == Opcode::kRecvDone) {
      const Instruction* recv = recv_of(*instruction);
      if (recv) channels[recv->find(attr::channel_id)].dones.push_back(instruction);
    }
  }
  std::vector<const Instruction*> result(computation.size(), nullptr);
  for (const auto& [id, channel] : channels) {
    if (channel.sends.size() != channel.dones.size()) continue;
    for (size_t i = 0; i < channel.dones.size(); ++i) {
      result[channel.dones[i]->number()] = channel.sends[i];
    }
  }
  return result;
}

// The order, with what depends on a recv-done behind its send, as far as that is possible: where
// sends depend on recv-dones that wait for them, `sends` forgets them, and the answer is empty.
std::vector<const Instruction*> settled(std::vector<const Instruction*>& sends,
                                        const std::vector<const Instruction*>& order) {
  const size_t count = order.size();
  std::vector<size_t> place(count);
  for (size_t at = 0; at < count; ++at) place[order[at]->number()] = at;
  std::vector<std::vector<size_t>> users(count);  // by place
  std::vector<int> waits(count, 0);
  auto depends = [&](const Instruction* on, const Instruction* user) {
    users[place[on->number()]].push_back(place[user->number()]);
    ++waits[place[user->number()]];
  };
  for (const Instruction* instruction : order) {
    for (const Instruction* operand : instruction->operands()) depends(operand, instruction);
    for (const Instruction* before : instruction->get(attr::control_predecessors)) {
      depends(before, instruction);
    }
    if (const Instruction* send = sends[instruction->number()]) depends(send, instruction);
  }
  std::vector<const Instruction*> sorted;
  std::set<size_t> ready;
  for (size_t at = 0; at < count; ++at) {
    if (waits[at] == 0) ready.insert(at);
  }
  while (!ready.empty()) {
    size_t at = *ready.begin();
    ready.erase(ready.begin());
    sorted.push_back(order[at]);
    for (size_t user : users[at]) {
      if (--waits[user] == 0) ready.insert(user);
    }
  }
  if (sorted.size() == count) return sorted;
  for (size_t at = 0; at < count; ++at) {
    if (waits[at] > 0) sends[order[at]->number()] = nullptr;
  }
  return {};
}

void settle_receives(const Computation& computation, std::vector<const Instruction*>& order) {
  std::vector<const Instruction*> sends = partners(computation);
  if (std::ranges::none_of(sends, [](const Instruction* send) { return send != nullptr; })) return;
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::vector<const Instruction*> sorted = settled(sends, order);
    if (sorted.empty()) continue;
    order = std::move(sorted);
    return;
  }
}

std::unique_ptr<Cluster> make_cluster(std::vector<const Instruction*> members) {
  auto cluster = std::make_unique<Cluster>();
  cluster->members = std::move(members);
  std::set<const Instruction*> seen(cluster->members.begin(), cluster->members.end());
  for (const Instruction* member : cluster->members) {
    for (const Instruction* operand : member->operands()) {
      if (seen.insert(operand).second) cluster->inputs.push_back(operand);
    }
  }
  return cluster;
}

std::span<const Instruction* const> read_by(const Plan::Step& step) {
  if (step.cluster) return step.cluster->inputs;
  return step.instruction->operands();
}

// Who is read for the last time where, and which members of clusters are read outside of them.
void find_last_uses(const Computation& computation, Plan& plan) {
  constexpr size_t kNever = SIZE_MAX, kNowhere = SIZE_MAX - 1;
  const size_t count = computation.size();
  std::vector<size_t> last(count, kNowhere);
  for (size_t at = 0; at < plan.steps.size(); ++at) {
    const Plan::Step& step = plan.steps[at];
    if (!step.cluster) last[step.instruction->number()] = at;  // without readers it goes at once
    for (const Instruction* operand : read_by(step)) last[operand->number()] = at;
  }
  last[computation.root()->number()] = kNever;

  std::vector<uint32_t> times(count, 0);  // that the step at hand names an operand
  for (size_t at = 0; at < plan.steps.size(); ++at) {
    Plan::Step& step = plan.steps[at];
    std::vector<bool>& last_use = step.cluster ? step.cluster->last_use : step.last_use;
    for (const Instruction* operand : read_by(step)) ++times[operand->number()];
    for (const Instruction* operand : read_by(step)) {
      bool is_last = last[operand->number()] == at;
      last_use.push_back(is_last && times[operand->number()] == 1);
      if (is_last && (step.released.empty() || step.released.back() != operand->number())) {
        step.released.push_back(operand->number());
      }
    }
    for (const Instruction* operand : read_by(step)) times[operand->number()] = 0;
    if (!step.cluster) {
      if (last[step.instruction->number()] == at) {
        step.released.push_back(step.instruction->number());
      }
      continue;
    }
    for (const Instruction* member : step.cluster->members) {
      if (last[member->number()] != kNowhere) step.cluster->outputs.push_back(member);
    }
  }
}

}  // namespace

Plan make_plan(const Computation& computation, int64_t cluster_elements) {
  size_t count = computation.size();
  std::vector<std::vector<const Instruction*>> elements(count);
  auto is_drawn_up = [](const Instruction& instruction) {
    return instruction.opcode() == Opcode::kGetTupleElement &&
           !instruction.has(attr::control_predecessors);
  };
  std::vector<const Instruction*> order;
  order.reserve(count);
  for (const Instruction* instruction : computation.instructions()) {
    if (is_drawn_up(*instruction))
      elements[instruction->operand(0)->number()].push_back(instruction);
  }
  // Elements of elements follow at once too; a stack keeps that from being a recursion.
  std::vector<const Instruction*> pending;
  for (const Instruction* instruction : computation.instructions()) {
    if (is_drawn_up(*instruction)) continue;
    pending.push_back(instruction);
    while (!pending.empty()) {
      const Instruction* next = pending.back();
      pending.pop_back();
      order.push_back(next);
      const auto& drawn = elements[next->number()];
      pending.insert(pending.end(), drawn.rbegin(), drawn.rend());
    }
  }

  settle_receives(computation, order);

  Plan plan;
  plan.steps.reserve(order.size());
  for (auto& members : form_clusters(computation, order, cluster_elements)) {
    Plan::Step& step = plan.steps.emplace_back();
    step.instruction = members.back();
    if (members.size() > 1) step.cluster = make_cluster(std::move(members));
  }
  find_last_uses(computation, plan);
  return plan;
}

}  // namespace minihlo

// Errors in who exchanges data with whom.
#include <algorithm>

#include <fmt/format.h>

#include "passes/computations.h"
#include "passes/errors/kinds.h"

namespace minihlo::errors {
namespace {

using Pairs = std::vector<SourceTarget>;
using Groups = std::vector<std::vector<int64_t>>;

constexpr int64_t kMaxIds = int64_t{1} << 20;

Pairs pairs_of(const Instruction& at) {
  std::span<const SourceTarget> pairs = at.get(attr::source_target_pairs);
  return {pairs.begin(), pairs.end()};
}

void set_pairs(Site& site, const Pairs& pairs) {
  site.at->set(attr::source_target_pairs, site.emit.rewriter().arena().copy(pairs));
}

// The groups as lists; all devices in one where none are given. Nothing where that is too much, or
// the instruction has none.
std::optional<Groups> groups_of(const Site& site) {
  const DeviceGroups* groups = site.at->get(attr::replica_groups);
  auto id_mode = group_mode(*site.at);
  if (!groups || !id_mode) return std::nullopt;
  if (!groups->empty()) {
    if (listed_id_count(*groups) > kMaxIds) return std::nullopt;
    return groups->materialize();
  }
  const int64_t count = id_count(*id_mode, site.mesh);
  if (count > kMaxIds) return std::nullopt;
  Groups all(1);
  for (int64_t id = 0; id < count; ++id) all[0].push_back(id);
  return all;
}

void set_groups(Site& site, const Groups& groups) {
  site.at->set(attr::replica_groups, keep_groups(site.emit.module(), groups));
}

// A place in a group of at least `least` members; nothing where there is none.
std::optional<std::pair<size_t, size_t>> any_member(Site& site, const Groups& groups,
                                                    size_t least) {
  std::vector<size_t> large;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].size() >= least) large.push_back(i);
  }
  if (large.empty()) return std::nullopt;
  const size_t group = site.random.pick(large);
  return std::pair(
      group, static_cast<size_t>(site.random.below(static_cast<int64_t>(groups[group].size()))));
}

// Opcodes that reducers are made of, and what may stand for each.
Opcode other_reducer(Opcode opcode, ElementType type) {
  const bool is_logic = type == ElementType::PRED;
  switch (opcode) {
    case Opcode::kAdd:
      return is_logic ? Opcode::kAnd : Opcode::kMaximum;
    case Opcode::kMaximum:
      return is_logic ? Opcode::kMinimum : Opcode::kAdd;
    case Opcode::kMinimum:
      return Opcode::kMaximum;
    case Opcode::kAnd:
      return Opcode::kOr;
    case Opcode::kOr:
      return Opcode::kAnd;
    case Opcode::kXor:
      return Opcode::kOr;
    default:
      return is_logic ? Opcode::kOr : Opcode::kAdd;
  }
}

}  // namespace

std::string wrong_pair(Site& site) {
  Pairs pairs = pairs_of(*site.at);
  auto id_mode = group_mode(*site.at);
  if (pairs.empty() || !id_mode) return "";
  const int64_t ids = id_count(*id_mode, site.mesh);
  if (ids < 2) return "";
  SourceTarget& pair =
      pairs[static_cast<size_t>(site.random.below(static_cast<int64_t>(pairs.size())))];
  const SourceTarget before = pair;
  int64_t SourceTarget::*side =
      site.random.below(2) == 0 ? &SourceTarget::target : &SourceTarget::source;
  const int64_t now = (pair.*side + 1 + site.random.below(ids - 1)) % ids;
  // The pair that has that device already takes the other one.
  for (SourceTarget& other : pairs) {
    if (&other != &pair && other.*side == now) other.*side = pair.*side;
  }
  pair.*side = now;
  set_pairs(site, pairs);
  return fmt::format("pair {{{},{}}} is {{{},{}}}", before.source, before.target, pair.source,
                     pair.target);
}

std::string dropped_pair(Site& site) {
  Pairs pairs = pairs_of(*site.at);
  if (pairs.empty()) return "";
  const auto place = site.random.below(static_cast<int64_t>(pairs.size()));
  const SourceTarget gone = pairs[static_cast<size_t>(place)];
  pairs.erase(pairs.begin() + place);
  set_pairs(site, pairs);
  return fmt::format("pair {{{},{}}} is dropped", gone.source, gone.target);
}

std::string reversed_pairs(Site& site) {
  Pairs pairs = pairs_of(*site.at);
  if (pairs.empty()) return "";
  for (SourceTarget& pair : pairs) std::swap(pair.source, pair.target);
  set_pairs(site, pairs);
  return "sources and targets change places";
}

std::string wrong_group(Site& site) {
  auto groups = groups_of(site);
  if (!groups || groups->size() < 2) return "";
  auto one = any_member(site, *groups, 1);
  if (!one) return "";
  const auto [group, place] = *one;
  const auto count = static_cast<int64_t>(groups->size());
  const auto other =
      static_cast<size_t>((static_cast<int64_t>(group) + 1 + site.random.below(count - 1)) % count);
  if ((*groups)[other].empty()) return "";
  const auto there =
      static_cast<size_t>(site.random.below(static_cast<int64_t>((*groups)[other].size())));
  std::swap((*groups)[group][place], (*groups)[other][there]);
  set_groups(site, *groups);
  return fmt::format("{} and {} change groups", (*groups)[other][there], (*groups)[group][place]);
}

std::string group_order(Site& site) {
  auto groups = groups_of(site);
  if (!groups) return "";
  auto one = any_member(site, *groups, 2);
  if (!one) return "";
  std::vector<int64_t>& group = (*groups)[one->first];
  const size_t next = (one->second + 1) % group.size();
  std::swap(group[one->second], group[next]);
  set_groups(site, *groups);
  return fmt::format("{} and {} change ranks", group[one->second], group[next]);
}

std::string dropped_member(Site& site) {
  auto groups = groups_of(site);
  if (!groups) return "";
  auto one = any_member(site, *groups, 2);
  if (!one) return "";
  std::vector<int64_t>& group = (*groups)[one->first];
  const int64_t id = group[one->second];
  group.erase(group.begin() + static_cast<int64_t>(one->second));
  // Where each device has to be in some group it is alone in one.
  const bool alone = site.random.below(2) == 0;
  if (alone) groups->push_back({id});
  set_groups(site, *groups);
  return fmt::format("{} leaves its group{}", id, alone ? " for one of its own" : "");
}

std::string mode(Site& site) {
  auto before = group_mode(*site.at);
  if (!before) return "";
  if (site.at->has(attr::channel_id) && site.random.below(2) == 0) {
    const bool is_global = site.at->get(attr::use_global_device_ids);
    site.at->set(attr::use_global_device_ids, !is_global);
    return is_global ? "use_global_device_ids is dropped" : "use_global_device_ids is set";
  }
  if (site.at->has(attr::channel_id)) {
    site.at->erase(AttributeId::channel_id);
    site.at->erase(AttributeId::use_global_device_ids);
    return "channel_id is dropped";
  }
  site.at->set(attr::channel_id, site.emit.module().next_channel_id());
  return "channel_id is set";
}

std::string reducer(Site& site) {
  const Computation* computation = site.at->get(attr::to_apply);
  if (!computation || site.at->opcode() == Opcode::kCall) return "";
  auto opcode = reducer_opcode(*computation);
  if (!opcode) return "";
  const ElementType type = computation->root()->shape()->element_type();
  const Opcode other = other_reducer(*opcode, type);
  if (is_complex(type) && other == Opcode::kMaximum) return "";
  site.at->set(attr::to_apply,
               binary_computation(site.emit.module(), other, type, to_string(other)));
  return fmt::format("{} in place of {}", to_string(other), to_string(*opcode));
}

std::string wrong_id(Site& site) {
  const bool is_replica = site.at->opcode() == Opcode::kReplicaId;
  if (!is_replica && site.at->opcode() != Opcode::kPartitionId) return "";
  const Opcode other = is_replica ? Opcode::kPartitionId : Opcode::kReplicaId;
  site.emit.rewriter().replace(site.at, site.emit.make(other, {}, {}, site.at->shape()));
  return fmt::format("{} in place of {}", to_string(other), to_string(site.at->opcode()));
}

}  // namespace minihlo::errors

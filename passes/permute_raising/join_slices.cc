#include "passes/permute_raising/join_slices.h"

#include <algorithm>
#include <unordered_map>

namespace minihlo {
namespace {

// Starts become one where the last of them stands: whether nothing that stands before it waits for
// one of them.
bool can_start_together(const std::vector<const RaisedSlice*>& parts, const Users& users) {
  uint32_t last = 0, first_needed = Users::kNobody;
  for (const RaisedSlice* part : parts) {
    last = std::max(last, part->gather->number());
    first_needed =
        std::min({first_needed, part->done->number(), users.first_waiting(*part->gather)});
  }
  return last < first_needed;
}

bool are_one(const std::vector<const RaisedSlice*>& parts, const Users& users) {
  const RaisedSlice* full = nullptr;
  for (const RaisedSlice* part : parts) {
    if (!part || part->is_reshaped || part->place != parts[0]->place || !part->place) return false;
    if ((part->done == nullptr) != (parts[0]->done == nullptr)) return false;
    if (part->is_empty) continue;
    if (full && !have_same_pairs(*full, *part)) return false;
    full = part;
  }
  return full && (!full->done || can_start_together(parts, users));
}

}  // namespace

bool have_same_pairs(const RaisedSlice& a, const RaisedSlice& b) {
  auto equal = [](const SourceTarget& x, const SourceTarget& y) {
    return x.source == y.source && x.target == y.target;
  };
  return a.mode == b.mode && std::ranges::equal(a.pairs, b.pairs, equal);
}

std::vector<RaisedPermute> join_slices(std::vector<RaisedSlice> slices, const Users& users) {
  std::unordered_map<const Instruction*, size_t> slice_of;  // by result
  std::vector<Instruction*> tuples;
  for (size_t i = 0; i < slices.size(); ++i) {
    const Instruction& result = *slices[i].result;
    Instruction* user = users.only(result);
    if (!user || user->opcode() != Opcode::kTuple || users.is_waited_for(result)) continue;
    slice_of.emplace(&result, i);
    if (user->operand(0) == &result) tuples.push_back(user);
  }
  std::vector<bool> joined(slices.size());
  std::vector<RaisedPermute> permutes;
  for (Instruction* tuple : tuples) {
    if (tuple->operand_count() < 2) continue;
    std::vector<const RaisedSlice*> parts;
    for (const Instruction* operand : tuple->operands()) {
      auto found = slice_of.find(operand);
      if (found == slice_of.end()) break;
      parts.push_back(&slices[found->second]);
    }
    if (parts.size() != tuple->operand_count() || !are_one(parts, users)) continue;
    RaisedPermute& permute = permutes.emplace_back();
    permute.result = tuple;
    for (const Instruction* operand : tuple->operands()) {
      const size_t i = slice_of.at(operand);
      joined[i] = true;
      permute.slices.push_back(std::move(slices[i]));
    }
  }
  for (size_t i = 0; i < slices.size(); ++i) {
    if (joined[i]) continue;
    RaisedPermute& permute = permutes.emplace_back();
    permute.result = slices[i].result;
    permute.slices.push_back(std::move(slices[i]));
  }
  for (RaisedPermute& permute : permutes) {
    for (const RaisedSlice& slice : permute.slices) {
      if (!slice.done) break;
      if (!permute.start || permute.start->number() < slice.gather->number()) {
        permute.start = slice.gather;
      }
    }
  }
  std::ranges::sort(permutes, {}, [](const RaisedPermute& one) { return one.result->number(); });
  return permutes;
}

}  // namespace minihlo

#include "sim/prove/rename.h"

#include <algorithm>

namespace minihlo::prove {

std::vector<Handle> Renaming::parts(Handle handle) const {
  const Node& node = terms_.node(handle);
  // A loop that is done: its placeholders are its own.
  if (node.kind == NodeKind::kApply && terms_.signature(node.signature).level == level_) return {};
  std::vector<Handle> result = terms_.arguments(handle);
  if (!node.tensor) return result;
  for (const Piece& piece : node.tensor->pieces) {
    result.push_back(Terms::resolve(piece.source, handle.device));
  }
  return result;
}

Handle Renaming::operator()(Handle handle) {
  std::vector<Handle> pending{handle};
  while (!pending.empty()) {
    Handle next = pending.back();
    if (done_.contains(next)) {
      pending.pop_back();
      continue;
    }
    size_t before = pending.size();
    for (Handle part : parts(next)) {
      if (!done_.contains(part)) pending.push_back(part);
    }
    if (pending.size() > before) continue;
    pending.pop_back();
    done_.emplace(next, rebuilt(next));
  }
  return done_.at(handle);
}

Handle Renaming::rebuilt(Handle handle) const {
  const Node node = terms_.node(handle);
  if (node.kind == NodeKind::kPlaceholder && node.signature == level_) {
    return terms_.placeholder(level_, numbers_[static_cast<size_t>(node.number)], handle.device,
                              node.type, node.count);
  }
  std::vector<Handle> old = parts(handle);
  std::vector<Handle> fresh;
  for (Handle part : old) fresh.push_back(done_.at(part));
  if (fresh == old) return handle;
  if (node.kind == NodeKind::kApply) {
    if (terms_.signature(node.signature).commutative) {
      std::ranges::sort(fresh, {}, [](Handle part) { return std::pair(part.node, part.device); });
    }
    return terms_.apply(node.signature, node.number, node.type, node.count, fresh);
  }
  Tensor tensor = *node.tensor;
  for (size_t i = 0; i < tensor.pieces.size(); ++i) tensor.pieces[i].source = fresh[i];
  return terms_.assembled(node.type, std::move(tensor));
}

}  // namespace minihlo::prove

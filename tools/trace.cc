#include "tools/trace.h"

#include <algorithm>

#include <fmt/format.h>

namespace minihlo {
namespace {

std::string_view bare(std::string_view name) {
  while (name.starts_with(' ')) name.remove_prefix(1);
  while (name.ends_with(' ')) name.remove_suffix(1);
  return name.starts_with('%') ? name.substr(1) : name;
}

}  // namespace

tl::expected<Trace, std::string> Trace::make(const Module& module, std::string_view chosen,
                                             std::vector<bool> devices,
                                             std::function<void(const Entry&)> print) {
  Trace trace;
  trace.devices_ = std::move(devices);
  trace.print_ = std::move(print);
  while (true) {
    const std::string_view item = chosen.substr(0, chosen.find(','));
    const size_t dots = item.find("..");
    const std::string_view first = bare(item.substr(0, dots));
    const std::string_view last = dots == item.npos ? first : bare(item.substr(dots + 2));
    const bool all = first == "*" && dots == item.npos;
    bool found = all;
    for (const Computation* computation : module.computations()) {
      std::span<Instruction* const> list = computation->instructions();
      auto at = [&](std::string_view name) {
        return std::ranges::find_if(list, [&](const Instruction* i) { return i->name() == name; });
      };
      auto from = all ? list.begin() : at(first), to = all ? list.end() : at(last);
      if (!all && (from == list.end() || to == list.end() || to < from)) continue;
      found = true;
      trace.watched_.insert(from, all ? to : to + 1);
    }
    if (!found) {
      return tl::unexpected(dots == item.npos
                                ? fmt::format("there is no instruction '{}'", first)
                                : fmt::format("no computation has '{}' before '{}'", first, last));
    }
    if (item.size() == chosen.size()) return trace;
    chosen.remove_prefix(item.size() + 1);
  }
}

std::optional<Stop> Trace::observe(const Observation& observation) {
  for (size_t i = 0; i < observation.devices.size(); ++i) {
    const int device = observation.devices[i];
    if (!devices_[static_cast<size_t>(device)]) continue;
    Entry entry{observation.instruction, device, {}};
    for (size_t leaf = 0; leaf < observation.leaves.size(); ++leaf) {
      if (!observation.leaves[leaf].empty()) entry.leaves.push_back(observation.at(leaf, i));
    }
    print_(entry);
  }
  return std::nullopt;
}

}  // namespace minihlo

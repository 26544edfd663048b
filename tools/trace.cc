#include "tools/trace.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/walk.h"
#include "tools/run_report.h"
#include "tools/tensor_text.h"

namespace minihlo {
namespace {

std::string_view bare(std::string_view name) {
  while (name.starts_with(' ')) name.remove_prefix(1);
  while (name.ends_with(' ')) name.remove_suffix(1);
  return name.starts_with('%') ? name.substr(1) : name;
}

bool has_instruction(const Module& module, std::string_view name) {
  return std::ranges::any_of(module.computations(), [&](const Computation* computation) {
    return std::ranges::any_of(computation->instructions(),
                               [&](const Instruction* i) { return i->name() == name; });
  });
}

}  // namespace

bool Observers::watches(const Instruction& instruction) const {
  return std::ranges::any_of(observers_,
                             [&](const auto& observer) { return observer->watches(instruction); });
}

std::optional<Stop> Observers::observe(const Observation& observation) {
  for (const std::unique_ptr<Observer>& observer : observers_) {
    if (!observer->watches(observation.instruction)) continue;
    if (std::optional<Stop> stop = observer->observe(observation)) return stop;
  }
  return std::nullopt;
}

tl::expected<std::unique_ptr<Trace>, std::string> Trace::make(
    const Module& module, std::string_view chosen, std::span<const int> devices,
    std::function<void(const Entry&)> print) {
  std::unique_ptr<Trace> trace(new Trace);
  trace->devices_.assign(devices.begin(), devices.end());
  trace->print_ = std::move(print);
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
      trace->watched_.insert(from, all ? to : to + 1);
    }
    if (!found) {
      for (const std::string_view name : {first, last}) {
        if (!has_instruction(module, name)) {
          return tl::unexpected(fmt::format("there is no instruction '{}'", name));
        }
      }
      return tl::unexpected(fmt::format("no computation has '{}' before '{}'", first, last));
    }
    if (item.size() == chosen.size()) return trace;
    chosen.remove_prefix(item.size() + 1);
  }
}

std::optional<Stop> Trace::observe(const Observation& observation) {
  for (size_t i = 0; i < observation.devices.size(); ++i) {
    const int device = observation.devices[i];
    if (!std::ranges::binary_search(devices_, device)) continue;
    Entry entry{observation.instruction, device, {}};
    for (size_t leaf = 0; leaf < observation.leaves.size(); ++leaf) {
      if (!observation.leaves[leaf].empty()) entry.leaves.push_back(observation.at(leaf, i));
    }
    print_(entry);
  }
  return std::nullopt;
}

std::string trace_text(const Mesh& mesh, const Trace::Entry& entry, bool in_full) {
  std::string out =
      fmt::format("%{} in %{}, {}:", entry.instruction.name(), entry.instruction.parent()->name(),
                  device_name(mesh, entry.device));
  for (const HostTensor& leaf : entry.leaves) {
    out += entry.leaves.size() > 1 ? "\n  " : " ";
    out += tensor_text(leaf, in_full);
  }
  return out + "\n";
}

Json trace_json(const Trace::Entry& entry, bool in_full) {
  Json object = Json::object();
  object.set("instruction", entry.instruction.name());
  object.set("computation", entry.instruction.parent()->name());
  object.set("device", entry.device);
  Json values = Json::array();
  for (const HostTensor& leaf : entry.leaves) values.push(tensor_json(leaf, in_full));
  object.set("values", std::move(values));
  return object;
}

}  // namespace minihlo

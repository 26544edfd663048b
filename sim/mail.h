// Data on its way from device to device: what sends have put in and recv-dones have not taken yet.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tl/expected.hpp>

#include "ir/semantics/collective_forms.h"
#include "sim/stop.h"
#include "sim/walk.h"

namespace minihlo {

/// A send never waits. Sends and recv-dones of one channel, source and target are paired in order,
/// wherever they stand: in the same computation, in different trips of a loop, in different
/// branches.
template <class Domain>
class Mail {
 public:
  using Array = typename Domain::Array;
  template <class T>
  using Expected = tl::expected<T, Stop>;

  Mail(const Mesh& mesh, Domain& domain, Meetings& meetings)
      : mesh_(mesh), domain_(domain), meetings_(meetings) {}

  /// `devices` have come to a send of a value with these leaves.
  std::optional<Stop> send(const Instruction& send, const std::vector<int>& devices,
                           std::vector<Array> leaves) {
    Expected<const PermuteMap*> map = meetings_.pairs_of(send);
    if (!map) return std::move(map.error());
    auto batch = std::make_shared<const Batch>(Batch{devices, std::move(leaves)});
    for (size_t i = 0; i < devices.size(); ++i) {
      int64_t target = (*map)->target_of[static_cast<size_t>(devices[i])];
      if (target < 0) continue;
      Route& route = routes_[key(send, devices[i], target)];
      ++route.sends;
      route.sent.push_back({&send, batch, static_cast<int>(i)});
    }
    return std::nullopt;
  }

  /// `devices` have come to a recv.
  std::optional<Stop> expect(const Instruction& recv, std::span<const int> devices) {
    Expected<const PermuteMap*> map = meetings_.pairs_of(recv);
    if (!map) return std::move(map.error());
    for (int device : devices) {
      int64_t source = (*map)->source_of[static_cast<size_t>(device)];
      if (source >= 0) ++routes_[key(recv, source, device)].recvs;
    }
    return std::nullopt;
  }

  /// The device whose data `device` still waits for at the done of `recv`, or -1.
  int64_t awaited(const Instruction& recv, int device) const {
    const PermuteMap& map = **meetings_.pairs_of(recv);
    int64_t source = map.source_of[static_cast<size_t>(device)];
    if (source < 0) return -1;
    auto route = routes_.find(key(recv, source, device));
    return route == routes_.end() || route->second.sent.empty() ? source : -1;
  }

  /// What `devices`, none of which waits any more, get at the done of `recv`.
  Expected<std::vector<Array>> take(const Instruction& recv, std::span<const int> devices) {
    const PermuteMap& map = **meetings_.pairs_of(recv);
    Expected<const CollectiveGroups*> groups = meetings_.of(recv);
    if (!groups) return tl::unexpected(std::move(groups.error()));
    std::vector<std::pair<int64_t, Message>> messages;  // by source
    for (int device : devices) {
      int64_t source = map.source_of[static_cast<size_t>(device)];
      if (source < 0) continue;
      std::deque<Message>& sent = routes_[key(recv, source, device)].sent;
      messages.emplace_back(source, std::move(sent.front()));
      sent.pop_front();
      if (std::optional<Stop> stop = misfit(recv, device, source, *messages.back().second.send)) {
        return tl::unexpected(*std::move(stop));
      }
    }
    std::vector<int> all(devices.begin(), devices.end());
    std::vector<Array> operands(static_cast<size_t>(collective_result_shape(recv)->leaf_count()));
    if (const Batch* batch = common_batch(messages, devices)) {
      all = batch->devices;
      operands = batch->leaves;
    } else if (!messages.empty()) {
      for (const auto& [source, message] : messages) all.push_back(static_cast<int>(source));
      std::ranges::sort(all);
      all.erase(std::unique(all.begin(), all.end()), all.end());
      join(messages, all, operands);
    }
    std::vector<int> position_of(static_cast<size_t>(mesh_.device_count()), -1);
    for (size_t i = 0; i < all.size(); ++i) {
      position_of[static_cast<size_t>(all[i])] = static_cast<int>(i);
    }
    std::vector<int> own;
    for (int device : devices) own.push_back(position_of[static_cast<size_t>(device)]);
    Gathering gathering{all, **groups, std::move(position_of)};
    Expected<std::vector<Array>> leaves = domain_.collective(recv, operands, gathering);
    if (!leaves || all.size() == devices.size()) return leaves;
    for (Array& leaf : *leaves) leaf = domain_.select(leaf, own);
    return leaves;
  }

  /// The report that something was sent and never asked for, or nothing.
  std::optional<Stop> unclaimed() const {
    std::string out;
    for (const auto& [key, route] : routes_) {
      if (route.sends <= route.recvs) continue;
      const auto& [channel, source, target] = key;
      out += fmt::format("\n  {} waits at the done of {}\n    for {}, which never receives it",
                         device_name(mesh_, source), instruction_place(*route.sent.back().send),
                         device_name(mesh_, target));
    }
    if (out.empty()) return std::nullopt;
    return Stop{Stop::Kind::kDeadlock, "deadlock: what was sent is not received" + out, {}};
  }

 private:
  struct Batch {
    std::vector<int> devices;
    std::vector<Array> leaves;
  };
  struct Message {
    const Instruction* send;
    std::shared_ptr<const Batch> batch;
    int position;  // in the batch
  };
  struct Route {
    int64_t sends = 0, recvs = 0;
    std::deque<Message> sent;  // and not taken yet
  };
  using Key = std::tuple<int64_t, int64_t, int64_t>;  // channel, source, target

  static Key key(const Instruction& instruction, int64_t source, int64_t target) {
    return {instruction.find(attr::channel_id).value_or(0), source, target};
  }

  std::optional<Stop> misfit(const Instruction& recv, int64_t device, int64_t source,
                             const Instruction& send) const {
    const Shape *given = send.operand(0)->shape(), *wanted = collective_result_shape(recv);
    if (compatible(given, wanted)) return std::nullopt;
    return Stop{Stop::Kind::kMismatch,
                fmt::format("{} receives what does not fit from {}: {} and {}\n  {}\n  {}",
                            device_name(mesh_, device), device_name(mesh_, source),
                            to_string(wanted, false), to_string(given, false),
                            instruction_place(recv), instruction_place(send)),
                {}};
  }

  // The batch that all messages come from and that has all of `devices`; or null.
  static const Batch* common_batch(const std::vector<std::pair<int64_t, Message>>& messages,
                                   std::span<const int> devices) {
    if (messages.empty()) return nullptr;
    const Batch* batch = messages[0].second.batch.get();
    for (const auto& [source, message] : messages) {
      if (message.batch.get() != batch) return nullptr;
    }
    return std::ranges::includes(batch->devices, devices) ? batch : nullptr;
  }

  // Operands for the devices `all`; those that send nothing get what some other sends.
  void join(const std::vector<std::pair<int64_t, Message>>& messages, const std::vector<int>& all,
            std::vector<Array>& operands) {
    std::map<const Batch*, std::pair<std::vector<int>, std::vector<int>>> parts;  // from, to
    std::vector<const Message*> of(all.size(), &messages[0].second);
    for (const auto& [source, message] : messages) {
      auto at = std::ranges::lower_bound(all, static_cast<int>(source));
      of[static_cast<size_t>(at - all.begin())] = &message;
    }
    for (size_t i = 0; i < all.size(); ++i) {
      auto& [from, to] = parts[of[i]->batch.get()];
      from.push_back(of[i]->position);
      to.push_back(static_cast<int>(i));
    }
    for (size_t leaf = 0; leaf < operands.size(); ++leaf) {
      std::vector<Array> selected;
      std::vector<std::vector<int>> positions;
      for (const auto& [batch, places] : parts) {
        selected.push_back(domain_.select(batch->leaves[leaf], places.first));
        positions.push_back(places.second);
      }
      std::vector<const Array*> arrays;
      for (const Array& array : selected) arrays.push_back(&array);
      operands[leaf] = domain_.join(arrays, positions, static_cast<int>(all.size()));
    }
  }

  const Mesh& mesh_;
  Domain& domain_;
  Meetings& meetings_;
  std::map<Key, Route> routes_;
};

}  // namespace minihlo

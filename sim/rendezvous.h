// Where devices meet: collectives, run when all that belong together stand there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tl/expected.hpp>

#include "ir/semantics/collective_forms.h"
#include "sim/mail.h"
#include "sim/stop.h"
#include "sim/strands.h"
#include "sim/walk.h"

namespace minihlo {

template <class Domain>
class Rendezvous {
 public:
  using Array = typename Domain::Array;
  using Val = Value<Array>;
  using Status = typename Strand<Array>::Status;
  template <class T>
  using Expected = tl::expected<T, Stop>;

  Rendezvous(const Mesh& mesh, Domain& domain, Meetings& meetings, Strands<Domain>& strands,
             Mail<Domain>& mail)
      : mesh_(mesh), domain_(domain), meetings_(meetings), strands_(strands), mail_(mail) {}

  /// A strand has come to a collective or a recv-done: runs it where the groups lie inside the
  /// strand and what is to be received is there, else parks.
  std::optional<Stop> reach(size_t index) {
    Strand<Array>& strand = strands_[index];
    if (strand.current().opcode() == Opcode::kRecvDone) {
      std::vector<int> senders = awaited(strand);
      if (std::ranges::all_of(senders, [](int sender) { return sender < 0; }))
        return receive(index);
      strand.status = Status::kParked;
      return std::nullopt;
    }
    Expected<const CollectiveGroups*> groups = meetings_.of(strand.current());
    if (!groups) return std::move(groups.error());
    bool inside = true;
    std::vector<int> position_of = positions(strand.devices);
    if (strand.devices.size() != position_of.size()) {
      for (int device : strand.devices) {
        for (int64_t member : group_of(**groups, device)) {
          inside = inside && position_of[static_cast<size_t>(member)] >= 0;
        }
      }
    }
    if (!inside) {
      strand.status = Status::kParked;
      return std::nullopt;
    }
    size_t strands[] = {index};
    return run(strands, std::move(position_of), **groups);
  }

  /// Nothing runs: lets those go on whose groups are complete. False where none is.
  Expected<bool> meet() {
    std::vector<size_t> waiting(static_cast<size_t>(mesh_.device_count()), kNone);
    for (size_t i = 0; i < strands_.size(); ++i) {
      if (strands_[i].status != Status::kParked) continue;
      for (int device : strands_[i].devices) waiting[static_cast<size_t>(device)] = i;
    }
    std::vector<bool> complete(waiting.size(), false);
    bool any = false;
    for (size_t device = 0; device < waiting.size(); ++device) {
      if (waiting[device] == kNone) continue;
      Expected<bool> all_here = is_complete(static_cast<int>(device), waiting);
      if (!all_here) return tl::unexpected(std::move(all_here.error()));
      complete[device] = *all_here;
      any = any || *all_here;
    }
    if (!any) return false;
    // Of a strand only part of which can go on, that part becomes a strand of its own.
    size_t count = strands_.size();
    for (size_t i = 0; i < count; ++i) {
      if (strands_[i].status == Status::kParked) split(i, complete, waiting);
    }
    std::vector<bool> done(strands_.size(), false);
    for (size_t i = 0; i < done.size(); ++i) {
      if (done[i] || strands_[i].status != Status::kParked) continue;
      if (!complete[static_cast<size_t>(strands_[i].devices[0])]) continue;
      if (strands_[i].current().opcode() == Opcode::kRecvDone) {
        if (std::optional<Stop> stop = receive(i)) return tl::unexpected(*std::move(stop));
        continue;
      }
      if (std::optional<Stop> stop = run_meeting(i, waiting, done)) {
        return tl::unexpected(*std::move(stop));
      }
    }
    return true;
  }

  /// The report that nothing can move.
  Stop deadlock() {
    std::vector<StrandState> states;
    for (size_t i = 0; i < strands_.size(); ++i) {
      Strand<Array>& strand = strands_[i];
      if (strand.status != Status::kParked) continue;
      states.push_back({strand.devices, &strand.current(), strands_.path(strand), {}});
      if (strand.current().opcode() == Opcode::kRecvDone) states.back().senders = awaited(strand);
    }
    for (const auto& [devices, parent] : strands_.arrived()) {
      StrandState state{*devices, nullptr, {}, {}};
      if (parent) {
        state.path = strands_.path(*parent);
        state.path.push_back(fmt::format("done with %{}", parent->current().name()));
      }
      states.push_back(std::move(state));
    }
    return deadlock_report(mesh_, states, meetings_);
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  // Who waits for one another with `device`; empty where it is in no group.
  static std::span<const int64_t> group_of(const CollectiveGroups& groups, int64_t device) {
    int64_t group = groups.group_of[static_cast<size_t>(device)];
    return group < 0 ? std::span<const int64_t>() : groups.group(group);
  }

  // The recv whose done a strand stands at.
  static const Instruction& recv_at(Strand<Array>& strand) {
    Frame<Array>& frame = strand.frames.back();
    return *frame.value_of(*frame.instruction().operand(0)).begun_by();
  }

  // For each device at a recv-done the one whose data it still waits for, or -1.
  std::vector<int> awaited(Strand<Array>& strand) const {
    std::vector<int> senders;
    for (int device : strand.devices) {
      senders.push_back(static_cast<int>(mail_.awaited(recv_at(strand), device)));
    }
    return senders;
  }

  // A strand stands at a recv-done for which all is there.
  std::optional<Stop> receive(size_t index) {
    Strand<Array>& strand = strands_[index];
    const Instruction& recv = recv_at(strand);
    Expected<std::vector<Array>> leaves = mail_.take(recv, strand.devices);
    if (!leaves) return std::move(leaves.error());
    strand.status = Status::kRunning;
    Array* next = leaves->data();
    std::vector<Val> elements(2);  // (data, token)
    elements[0] = value_from_leaves<Array>(collective_result_shape(recv), next);
    strand.frames.back().store(tuple_value(std::move(elements)));
    return std::nullopt;
  }

  std::vector<int> positions(std::span<const int> devices) const {
    std::vector<int> result(static_cast<size_t>(mesh_.device_count()), -1);
    for (size_t i = 0; i < devices.size(); ++i) {
      result[static_cast<size_t>(devices[i])] = static_cast<int>(i);
    }
    return result;
  }

  // What a strand hands in.
  static std::vector<Array> operands_of(Strand<Array>& strand) {
    std::vector<Array> leaves;
    Frame<Array>& frame = strand.frames.back();
    for (const Instruction* operand : frame.instruction().operands()) {
      append_leaves(frame.value_of(*operand), leaves);
    }
    return leaves;
  }

  // All strands stand at collectives that are one; their devices are those of `position_of`.
  std::optional<Stop> run(std::span<const size_t> strands, std::vector<int> position_of,
                          const CollectiveGroups& groups) {
    std::vector<int> devices;
    std::vector<std::vector<int>> parts;
    std::vector<std::vector<Array>> operands;  // by strand
    for (size_t index : strands) {
      Strand<Array>& strand = strands_[index];
      std::vector<int>& own = parts.emplace_back();
      for (int device : strand.devices) own.push_back(position_of[static_cast<size_t>(device)]);
      devices.insert(devices.end(), strand.devices.begin(), strand.devices.end());
      operands.push_back(operands_of(strand));
    }
    std::vector<Array> together;
    if (strands.size() == 1) {
      together = std::move(operands[0]);
    } else {
      for (size_t i = 0; i < operands[0].size(); ++i) {
        std::vector<const Array*> arrays;
        for (const std::vector<Array>& own : operands) arrays.push_back(&own[i]);
        together.push_back(domain_.join(arrays, parts, static_cast<int>(devices.size())));
      }
    }
    const Instruction& instruction = strands_[strands[0]].current();
    Gathering gathering{devices, groups, std::move(position_of)};
    Expected<std::vector<Array>> leaves = domain_.collective(instruction, together, gathering);
    if (!leaves) return std::move(leaves.error());
    for (size_t i = 0; i < strands.size(); ++i) {
      Strand<Array>& strand = strands_[strands[i]];
      std::vector<Array> own;
      for (Array& leaf : *leaves) {
        own.push_back(strands.size() == 1 ? std::move(leaf) : domain_.select(leaf, parts[i]));
      }
      strand.status = Status::kRunning;
      Array* next = own.data();
      const Shape* shape = collective_result_shape(strand.current());
      Frame<Array>& frame = strand.frames.back();
      frame.store(frame.collective_value(value_from_leaves<Array>(shape, next)));
    }
    return std::nullopt;
  }

  // Whether all that `device` waits for stand at a collective where they meet it.
  Expected<bool> is_complete(int device, std::span<const size_t> waiting) {
    Strand<Array>& strand = strands_[waiting[static_cast<size_t>(device)]];
    const Instruction& own = strand.current();
    if (own.opcode() == Opcode::kRecvDone) return mail_.awaited(recv_at(strand), device) < 0;
    std::span<const int64_t> group = group_of(**meetings_.of(own), device);
    for (int64_t member : group) {
      size_t other = waiting[static_cast<size_t>(member)];
      if (other == kNone) return false;
      const Instruction& theirs = strands_[other].current();
      if (!may_meet(own, theirs)) return false;
      Expected<const CollectiveGroups*> their_groups = meetings_.of(theirs);
      if (!their_groups) return tl::unexpected(std::move(their_groups.error()));
      std::string conflict = meeting_conflict(own, theirs);
      if (conflict.empty() && !std::ranges::equal(group, group_of(**their_groups, member))) {
        conflict = "their groups differ";
      }
      if (conflict.empty()) continue;
      return tl::unexpected(
          Stop{Stop::Kind::kMismatch,
               fmt::format("{} and {} meet at collectives that do not fit together: {}\n  {}\n  {}",
                           device_name(mesh_, device), device_name(mesh_, member), conflict,
                           instruction_place(own), instruction_place(theirs)),
               {}});
    }
    return true;
  }

  void split(size_t index, const std::vector<bool>& complete, std::vector<size_t>& waiting) {
    std::vector<int> stay, go;
    const std::vector<int>& devices = strands_[index].devices;
    for (size_t i = 0; i < devices.size(); ++i) {
      bool ready = complete[static_cast<size_t>(devices[i])];
      (ready ? go : stay).push_back(static_cast<int>(i));
    }
    if (stay.empty() || go.empty()) return;
    size_t made = strands_.split(index, stay, go);
    for (int device : strands_[made].devices) waiting[static_cast<size_t>(device)] = made;
  }

  // Runs the collective at which strand `first` stands, with all that meet it there.
  std::optional<Stop> run_meeting(size_t first, std::span<const size_t> waiting,
                                  std::vector<bool>& done) {
    const CollectiveGroups& groups = **meetings_.of(strands_[first].current());
    std::vector<size_t> strands{first};
    done[first] = true;
    std::vector<int> devices;
    for (size_t i = 0; i < strands.size(); ++i) {
      for (int device : strands_[strands[i]].devices) {
        devices.push_back(device);
        for (int64_t member : group_of(groups, device)) {
          size_t other = waiting[static_cast<size_t>(member)];
          if (!done[other]) strands.push_back(other);
          done[other] = true;
        }
      }
    }
    return run(strands, positions(devices), groups);
  }

  const Mesh& mesh_;
  Domain& domain_;
  Meetings& meetings_;
  Strands<Domain>& strands_;
  Mail<Domain>& mail_;
};

}  // namespace minihlo

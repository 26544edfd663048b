// Strands, and where those that were split come together again.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/frame.h"
#include "sim/walk.h"

namespace minihlo {

/// Devices that stand at the same instruction, and the computations that they are in.
template <class Array>
struct Strand {
  enum class Status { kRunning, kParked, kWaiting, kEnded };

  std::vector<int> devices;
  std::vector<Frame<Array>> frames;
  size_t join = 0;
  Status status = Status::kRunning;

  const Instruction& current() const { return frames.back().instruction(); }
};

/// All strands of a run. Those that ended make room for new ones.
template <class Domain>
class Strands {
 public:
  using Array = typename Domain::Array;
  using Val = Value<Array>;
  using Status = typename Strand<Array>::Status;

  /// One strand with all devices.
  Strands(Domain& domain, std::vector<int> devices) : domain_(domain) {
    joins_.push_back({Join::kRoot, devices, 0, {}});
    add(std::move(devices), 0);
  }

  size_t size() const { return strands_.size(); }
  Strand<Array>& operator[](size_t i) { return *strands_[i]; }
  const Strand<Array>& operator[](size_t i) const { return *strands_[i]; }

  /// A strand whose result goes to a join. Returns its number.
  size_t add(std::vector<int> devices, size_t join) {
    size_t number = strands_.size();
    if (free_strands_.empty()) {
      strands_.push_back(std::make_unique<Strand<Array>>());
    } else {
      number = free_strands_.back();
      free_strands_.pop_back();
      *strands_[number] = Strand<Array>();
    }
    strands_[number]->devices = std::move(devices);
    strands_[number]->join = join;
    return number;
  }

  /// Makes a strand wait for the parts that its devices are split into. Returns the join.
  size_t add_join(size_t parent) {
    strands_[parent]->status = Status::kWaiting;
    Join join{parent, strands_[parent]->devices, 0, {}};
    if (free_joins_.empty()) {
      joins_.push_back(std::move(join));
      return joins_.size() - 1;
    }
    size_t number = free_joins_.back();
    free_joins_.pop_back();
    joins_[number] = std::move(join);
    return number;
  }

  /// A strand is done, with this result.
  void end(size_t number, Val result) {
    Strand<Array>& strand = *strands_[number];
    strand.status = Status::kEnded;
    free_strands_.push_back(number);
    deliver(strand.join, std::move(strand.devices), std::move(result));
  }

  /// Some devices of a join are done. When all are, the strand that waits goes on.
  void deliver(size_t number, std::vector<int> devices, Val value) {
    Join& join = joins_[number];
    join.arrived += devices.size();
    join.parts.emplace_back(std::move(devices), std::move(value));
    if (join.arrived < join.devices.size() || join.parent == Join::kRoot) return;
    Strand<Array>& parent = *strands_[join.parent];
    parent.status = Status::kRunning;
    parent.frames.back().store(joined(join));
    join = Join{};
    free_joins_.push_back(number);
  }

  bool is_done() const { return joins_[0].arrived == joins_[0].devices.size(); }
  Val result() { return joined(joins_[0]); }

  /// The part of a value for some of the devices. Tokens, and values that were moved out or not
  /// made yet, are no vectors.
  Val select(const Val& value, std::span<const int> positions) {
    return map_leaves(value, [&](const Array& array) {
      return domain_.is_set(array) ? domain_.select(array, positions) : array;
    });
  }

  static std::vector<int> pick(const std::vector<int>& devices, std::span<const int> positions) {
    std::vector<int> result;
    for (int position : positions) result.push_back(devices[static_cast<size_t>(position)]);
    return result;
  }

  /// Makes the devices at `go` a strand of its own, at the same place. Returns its number.
  size_t split(size_t number, std::span<const int> stay, std::span<const int> go) {
    auto restricted = [&](std::span<const int> positions) {
      std::vector<Frame<Array>> frames;
      for (const Frame<Array>& frame : strands_[number]->frames) {
        Frame<Array> copy = frame;
        for (Val& value : copy.values) value = select(value, positions);
        for (Val& value : copy.arguments) value = select(value, positions);
        copy.state = select(copy.state, positions);
        frames.push_back(std::move(copy));
      }
      return frames;
    };
    std::vector<Frame<Array>> going = restricted(go);
    std::vector<Frame<Array>> staying = restricted(stay);
    size_t made = add(pick(strands_[number]->devices, go), strands_[number]->join);
    Strand<Array>& strand = *strands_[number];
    strands_[made]->frames = std::move(going);
    strands_[made]->status = strand.status;
    strand.frames = std::move(staying);
    strand.devices = pick(strand.devices, stay);
    return made;
  }

  /// Devices that are done with a part and what they are done with, as a path; null: all of it.
  struct Arrived {
    const std::vector<int>* devices;
    const Strand<Array>* parent;
  };
  std::vector<Arrived> arrived() const {
    std::vector<Arrived> result;
    for (const Join& join : joins_) {
      for (const auto& [devices, value] : join.parts) {
        result.push_back(
            {&devices, join.parent == Join::kRoot ? nullptr : &*strands_[join.parent]});
      }
    }
    return result;
  }

  /// Where a strand is, outermost first: loops with their trips, branches.
  std::vector<std::string> path(const Strand<Array>& strand) const {
    std::vector<std::string> result;
    size_t parent = joins_[strand.join].parent;
    if (parent != Join::kRoot) result = path(*strands_[parent]);
    for (const Frame<Array>& frame : strand.frames) {
      if (frame.loop) {
        result.push_back(fmt::format("%{} after {} trips", frame.loop->name(), frame.trips));
      } else if (frame.caller) {
        result.push_back(fmt::format("branch {} (%{}) of %{}", frame.branch,
                                     frame.computation->name(), frame.caller->name()));
      }
    }
    return result;
  }

  /// The instruction that a strand is at, and where that is: "%name = opcode [%loop after 3
  /// trips]".
  std::string place(const Strand<Array>& strand) const {
    const std::vector<std::string> outer = path(strand);
    return instruction_place(strand.current()) +
           (outer.empty() ? "" : fmt::format(" [{}]", fmt::join(outer, ", ")));
  }

 private:
  struct Join {
    static constexpr size_t kRoot = SIZE_MAX;
    size_t parent = kRoot;  // the strand that goes on
    std::vector<int> devices;
    size_t arrived = 0;
    std::vector<std::pair<std::vector<int>, Val>> parts;
  };

  Val joined(Join& join) {
    if (join.parts.size() == 1) return std::move(join.parts[0].second);
    std::vector<std::vector<int>> positions;
    std::vector<const Val*> parts;
    for (const auto& [devices, value] : join.parts) {
      std::vector<int>& own = positions.emplace_back();
      for (int device : devices) {
        auto at = std::lower_bound(join.devices.begin(), join.devices.end(), device);
        own.push_back(static_cast<int>(at - join.devices.begin()));
      }
      parts.push_back(&value);
    }
    return join_values(parts, positions, static_cast<int>(join.devices.size()));
  }

  Val join_values(std::span<const Val* const> parts, std::span<const std::vector<int>> positions,
                  int count) {
    if (!parts[0]->is_tuple()) {
      std::vector<const Array*> arrays;
      for (const Val* part : parts) {
        if (!domain_.is_set(part->array)) return {Array{}, nullptr, begun_by_all(parts)};
        arrays.push_back(&part->array);
      }
      return {domain_.join(arrays, positions, count), nullptr, nullptr};
    }
    std::vector<Val> elements;
    for (size_t i = 0; i < parts[0]->elements->size(); ++i) {
      std::vector<const Val*> of_parts;
      for (const Val* part : parts) of_parts.push_back(&(*part->elements)[i]);
      elements.push_back(join_values(of_parts, positions, count));
    }
    Val result = tuple_value(std::move(elements));
    result.begun = begun_by_all(parts);
    return result;
  }

  // What began the work that all parts stand for; null where they differ.
  static const Instruction* begun_by_all(std::span<const Val* const> parts) {
    for (const Val* part : parts) {
      if (part->begun != parts[0]->begun) return nullptr;
    }
    return parts[0]->begun;
  }

  Domain& domain_;
  std::vector<std::unique_ptr<Strand<Array>>> strands_;
  std::vector<Join> joins_;
  std::vector<size_t> free_strands_, free_joins_;
};

}  // namespace minihlo

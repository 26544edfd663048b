// The values of chosen instructions, as they are made.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <tl/expected.hpp>

#include "ir/module.h"
#include "ir/semantics/mesh.h"
#include "sim/run/observer.h"
#include "tools/json_out.h"

namespace minihlo {

/// Several that look.
class Observers : public Observer {
 public:
  void add(std::unique_ptr<Observer> observer) { observers_.push_back(std::move(observer)); }
  bool empty() const { return observers_.empty(); }
  bool watches(const Instruction& instruction) const override;
  std::optional<Stop> observe(const Observation& observation) override;

 private:
  std::vector<std::unique_ptr<Observer>> observers_;
};

/// Hands each value of a watched instruction to `print`, device by device.
class Trace : public Observer {
 public:
  struct Entry {
    const Instruction& instruction;
    int device;
    std::vector<HostTensor> leaves;
  };

  /// `chosen`: a list of names with or without %, ranges FIRST..LAST in the order in which a
  /// computation lists its instructions, and * for all. Error: what is not found, or no list.
  static tl::expected<std::unique_ptr<Trace>, std::string> make(
      const Module& module, std::string_view chosen, std::span<const int> devices,
      std::function<void(const Entry&)> print);

  bool watches(const Instruction& instruction) const override {
    return watched_.contains(&instruction);
  }
  std::optional<Stop> observe(const Observation& observation) override;

 private:
  Trace() = default;

  std::unordered_set<const Instruction*> watched_;
  std::vector<int> devices_;  // in order
  std::function<void(const Entry&)> print_;
};

/// "%name in %computation, device 0 (...): f32[2] 1 2".
std::string trace_text(const Mesh& mesh, const Trace::Entry& entry, bool in_full);
Json trace_json(const Trace::Entry& entry, bool in_full);

}  // namespace minihlo

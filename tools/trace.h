// The values of chosen instructions, as they are made.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <tl/expected.hpp>

#include "ir/module.h"
#include "sim/run/observer.h"

namespace minihlo {

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
  static tl::expected<Trace, std::string> make(const Module& module, std::string_view chosen,
                                               std::vector<bool> devices,
                                               std::function<void(const Entry&)> print);

  bool watches(const Instruction& instruction) const override {
    return watched_.contains(&instruction);
  }
  std::optional<Stop> observe(const Observation& observation) override;

 private:
  Trace() = default;

  std::unordered_set<const Instruction*> watched_;
  std::vector<bool> devices_;
  std::function<void(const Entry&)> print_;
};

}  // namespace minihlo

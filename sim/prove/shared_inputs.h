// Inputs that hold the same data on several devices, because the user says so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/module.h"
#include "ir/semantics/mesh.h"
#include "sim/run/inputs.h"

namespace minihlo::prove {

/// For each array leaf of an entry's parameters the ids of the mesh over which it is the same.
/// Made of nothing, it leaves inputs free on every device.
class SharedInputs {
 public:
  /// Takes the module at its word: a parameter's `sharding={replicated}` is the same on all
  /// partitions, a leaf that its `parameter_replication` names on all replicas.
  void add_said(const Module& module);
  /// Parameter `number` of the entry is the same on all devices. Requires that it is one.
  void add(const Module& module, int64_t number);

  /// The first device that has the data of `device`.
  int64_t owner(const Mesh& mesh, int64_t device, int64_t leaf) const;
  /// Gives each device its owner's data.
  void share(const Mesh& mesh, std::vector<std::vector<HostTensor>>& inputs) const;
  /// What is taken for granted, a sentence each.
  std::vector<std::string> sentences() const;

 private:
  struct Leaf {
    int64_t parameter;
    bool over_replicas = false, over_partitions = false;
  };

  void list(const Module& module);

  std::vector<Leaf> leaves_;
};

}  // namespace minihlo::prove

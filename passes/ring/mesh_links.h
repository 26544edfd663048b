// Data on its way from device to device, and tables that each device reads its own entry of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "ir/semantics/mesh.h"
#include "passes/channels.h"
#include "passes/emitter.h"
#include "passes/ring/lockstep.h"

namespace minihlo {

/// A mesh, and what is given out once a module. One for each run of a pass.
class MeshLinks {
 public:
  MeshLinks(const Module& module, const Mesh& mesh)
      : mesh_(mesh),
        next_channel_(module.next_channel_id()),
        lockstep_(module, mesh),
        shared_channels_(module) {}

  const Mesh& mesh() const { return mesh_; }
  /// A channel id that nothing in the module has.
  int64_t fresh_channel() { return next_channel_++; }
  /// Whether tables and pairs of so many numbers may still be made: a few lines of text name meshes
  /// of a million devices again and again.
  bool take_numbers(int64_t count);
  /// What to say where they may not.
  static std::string numbers_used_up();
  /// Whether devices may meet at a collective of the module from different branches.
  bool is_shared(const Instruction& collective) const {
    return shared_channels_.is_shared(collective);
  }
  /// What to say where they may.
  static std::string shared_channel();
  /// What to say where what takes a collective's place would wait for devices that may not come.
  static std::string waits_for_others();
  /// Whether all devices come to a collective of the module, each as often as the others.
  bool runs_on_all(const Instruction& collective) const {
    return lockstep_.runs_on_all(*collective.parent());
  }

 private:
  Mesh mesh_;
  int64_t next_channel_;
  int64_t numbers_ = 0;
  Lockstep lockstep_;
  SharedChannels shared_channels_;
};

/// The device's own entry of a list by flattened ids, as a scalar: a constant where all entries are
/// the same, else looked up by replica-id or partition-id where one of them tells the entry.
Instruction* entry_of_device(Emitter& emit, const Mesh& mesh, ElementType type,
                             std::span<const int64_t> by_device);

/// `yes` where the flag, a pred[], is true, else `no`, which has the same dimensions.
Instruction* select_by(Emitter& emit, Instruction* flag, Instruction* yes, Instruction* no);

/// A plan to give each device the value of another one, or zeros, by permutes. A permute moves
/// along replicas or along partitions; where that is not enough, values are shifted along both, and
/// each device selects the one that it is to have.
class DeviceMove {
 public:
  /// `source_of`: for every device the flattened id of the one whose value it gets, or -1; no
  /// device is named twice. Error: it takes more than kMaxShifts shifts.
  static tl::expected<DeviceMove, std::string> plan(Module& module, const Mesh& mesh,
                                                    std::vector<int64_t> source_of);

  /// Whether all devices whose permutes wait for one another are in groups of `members` together:
  /// the sources and targets of each device are.
  bool stays_within(const Mesh& mesh, int64_t members) const;
  /// What to say where they are not, and may not all come.
  static std::string waits_for_others();

  /// Emits what moves an array. Layouts are kept.
  Instruction* emit(Emitter& emit, MeshLinks& links, Instruction* array) const;

  static constexpr size_t kMaxShifts = 16;

 private:
  // A permute along replicas or partitions; no pairs: none.
  struct Permute {
    bool along_partitions = false;
    std::span<const SourceTarget> pairs;
  };
  // What a device gets that is so far, round about, from its source.
  struct Shift {
    Permute replicas, partitions;
    std::vector<int64_t> is_target;  // by device
  };
  static Instruction* emit_permute(Emitter& emit, MeshLinks& links, Instruction* array,
                                   const Permute& permute);
  void plan_shifts(Module& module, const Mesh& mesh, std::span<const int64_t> source_of);

  Permute permute_;            // what does it all, or
  std::vector<Shift> shifts_;  // each its part
  bool has_zeros_ = false;     // some devices get none of the shifts
};

}  // namespace minihlo

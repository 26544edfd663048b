// What the writers of the parts of a module share.
#pragma once

#include <tsl/robin_map.h>

#include <string>
#include <vector>

#include "ir/diagnostics.h"
#include "ir/module.h"
#include "ir/proto/writer.h"

namespace minihlo::proto {

struct Writing {
  const Module& module;
  Diagnostics& diagnostics;
  /// By computation and instruction number.
  std::vector<int64_t> computation_ids;
  std::vector<std::vector<int64_t>> instruction_ids;
  /// Shapes that have been written: there are few, and many who have them.
  tsl::robin_map<const Shape*, std::string> shapes;

  int64_t id(const Computation* computation) const {
    return computation_ids[computation->number()];
  }
  int64_t id(const Instruction* instruction) const {
    return instruction_ids[instruction->parent()->number()][instruction->number()];
  }
};

// shapes.cc
void write_shape(Writing& writing, Writer& out, Field field, const Shape* shape);
void write_program_shape(Writing& writing, Writer& out, const ProgramShape& shape);

// literals.cc
void write_literal(Writing& writing, Writer& out, const Literal& literal, Location location);

// shardings.cc
void write_sharding(Writer& out, const Sharding& sharding);

// groups.cc
void write_groups(Writing& writing, Writer& instruction, const DeviceGroups& groups,
                  Location location);

// metadata.cc
void write_metadata(Writer& out, std::span<const Attribute> metadata);
void write_string_map(Writer& out, std::span<const NamedString> map);
void write_stack_frames(Writer& out, const StackFrames& tables);

}  // namespace minihlo::proto

// What the readers of the parts of a module share.
#pragma once

#include <tsl/robin_map.h>

#include <string_view>
#include <vector>

#include "ir/hash.h"
#include "ir/module.h"
#include "ir/proto/message.h"

namespace minihlo::proto {

struct Reading {
  Module& module;
  Arena& arena;
  ShapePool& shapes;
  /// HloModuleProto::payloads, which other messages refer to by number.
  std::vector<std::string_view> payloads;
  /// Shapes by their bytes: there are few, and many who have them.
  tsl::robin_map<std::string_view, const Shape*, TextHash> known_shapes;

  /// Of the field at hand; kept for its memory.
  std::vector<int64_t> numbers;

  explicit Reading(Module& made) : module(made), arena(made.arena()), shapes(made.shapes()) {}
};

// Each of these returns false after it has reported an error.

// shapes.cc
bool read_shape(Reading& reading, const Message& in, const Shape*& shape);
/// The shape in a field that must be there.
bool read_shape(Reading& reading, const Message& in, Field field, const Shape*& shape);
bool read_shapes(Reading& reading, const Message& in, Field field,
                 std::span<const Shape* const>& shapes);
bool read_program_shape(Reading& reading, const Message& in, const ProgramShape*& shape);

// literals.cc
bool read_literal(Reading& reading, const Message& in, const Literal*& literal);

// shardings.cc
bool read_sharding(Reading& reading, const Message& in, const Sharding*& sharding);

// groups.cc
/// replica_groups, wherever this version of XLA keeps them; null where there are none.
bool read_groups(Reading& reading, const Message& instruction, const DeviceGroups*& groups);

// metadata.cc
bool read_metadata(Reading& reading, const Message& in, std::span<const Attribute>& metadata);
bool read_payload(Reading& reading, const Message& in, std::string_view& text);
bool read_string_map(Reading& reading, const Message& in, std::span<const NamedString>& map);
bool read_stack_frames(Reading& reading, const Message& in);

}  // namespace minihlo::proto

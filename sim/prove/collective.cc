// Collectives on terms: movement between devices, and reductions over them.
#include <algorithm>

#include <fmt/format.h>

#include "ir/numbers.h"
#include "ir/semantics/collective_forms.h"
#include "ir/semantics/groups.h"
#include "ir/semantics/reducers.h"
#include "ir/text/printer.h"
#include "sim/prove/term_domain.h"

namespace minihlo::prove {
namespace {

std::vector<const Shape*> result_shapes(const Instruction& instruction) {
  return leaf_shapes(collective_result_shape(instruction));
}

bool is_commutative_pair(Opcode opcode, ElementType type) {
  return (opcode == Opcode::kAdd || opcode == Opcode::kMultiply) && !is_complex(type);
}

}  // namespace

TermDomain::Leaves TermDomain::collective(const Instruction& instruction,
                                          std::span<const Array> operands,
                                          const Gathering& gathering) {
  ++collectives_;
  if (region_depth_ > 0) {
    return tl::unexpected(
        Stop::unsupported(std::string(to_string(instruction.opcode())),
                          fmt::format("{} in a computation that is called on elements",
                                      instruction_place(instruction))));
  }
  const Opcode opcode = collective_opcode(instruction.opcode());
  if (is_collective_movement(opcode) && !instruction.has(attr::permute_slice_sizes) &&
      !instruction.get(attr::has_dynamic_root)) {
    return moved_between(instruction, operands, gathering);
  }
  if (opcode == Opcode::kAllReduce || opcode == Opcode::kReduceScatter) {
    return reduced_between(instruction, operands, gathering);
  }
  if (opcode == Opcode::kRaggedAllToAll) return opaque_between(instruction, operands, gathering);
  return tl::unexpected(Stop::unsupported(
      std::string(to_string(instruction.opcode())),
      fmt::format("{} is not understood by the prover", instruction_place(instruction))));
}

TermDomain::Leaves TermDomain::moved_between(const Instruction& instruction,
                                             std::span<const Array> operands,
                                             const Gathering& gathering) {
  const Opcode opcode = collective_opcode(instruction.opcode());
  std::vector<const Shape*> shapes = result_shapes(instruction);
  std::vector<std::vector<Handle>> results(shapes.size(),
                                           std::vector<Handle>(gathering.devices.size()));
  auto zeros = [&](const Shape* shape) {
    return terms_.splat(terms_.zero(shape->element_type()), shape->element_count());
  };
  auto position_of = [&](int64_t device) {
    return static_cast<size_t>(gathering.position_of[static_cast<size_t>(device)]);
  };

  if (opcode == Opcode::kCollectivePermute) {
    auto map = permute_sources(instruction, mesh_);
    if (!map) {
      return tl::unexpected(
          Stop::invalid(fmt::format("{}: {}", instruction_place(instruction), map.error())));
    }
    for (size_t leaf = 0; leaf < shapes.size(); ++leaf) {
      for (size_t i = 0; i < gathering.devices.size(); ++i) {
        int64_t source = map->source_of[static_cast<size_t>(gathering.devices[i])];
        results[leaf][i] = source < 0 ? zeros(shapes[leaf]) : operands[leaf][position_of(source)];
      }
    }
  } else {
    const CollectiveGroups& groups = gathering.groups;
    std::vector<bool> done(static_cast<size_t>(groups.size()), false);
    for (size_t i = 0; i < gathering.devices.size(); ++i) {
      int64_t group = groups.group_of[static_cast<size_t>(gathering.devices[i])];
      if (group < 0) {
        if (opcode != Opcode::kCollectiveBroadcast) {
          return tl::unexpected(
              Stop::invalid(fmt::format("{}: {} is in no group", instruction_place(instruction),
                                        device_name(mesh_, gathering.devices[i]))));
        }
        for (size_t leaf = 0; leaf < shapes.size(); ++leaf) results[leaf][i] = zeros(shapes[leaf]);
        continue;
      }
      if (done[static_cast<size_t>(group)]) continue;
      done[static_cast<size_t>(group)] = true;
      std::span<const int64_t> members = groups.group(group);
      bool same_for_all = opcode != Opcode::kAllToAll;
      for (size_t leaf = 0; leaf < shapes.size(); ++leaf) {
        std::optional<Handle> shared;
        for (size_t rank = 0; rank < members.size(); ++rank) {
          size_t position = position_of(members[rank]);
          if (shared) {
            results[leaf][position] = *shared;
            continue;
          }
          auto movement =
              collective_movement(instruction, static_cast<int>(leaf),
                                  static_cast<int>(members.size()), static_cast<int>(rank));
          if (!movement) {
            return tl::unexpected(Stop::invalid(
                fmt::format("{}: {}", instruction_place(instruction), movement.error())));
          }
          // A box's operand is of the member; move() takes the operands of all members in a row.
          size_t operand =
              static_cast<size_t>(movement->boxes.empty() ? 0 : movement->boxes[0].operand);
          std::vector<Handle> handles;
          for (int64_t member : members) handles.push_back(operands[operand][position_of(member)]);
          for (Box& box : movement->boxes) box.operand = 0;
          std::optional<Handle> value = move(*movement, handles, shapes[leaf]->element_type());
          if (!value) {
            return tl::unexpected(Stop::unsupported(
                std::string(to_string(opcode)),
                fmt::format("{} takes too many pieces apart", instruction_place(instruction))));
          }
          results[leaf][position] = *value;
          if (same_for_all) shared = value;
        }
      }
    }
  }
  std::vector<Array> leaves;
  for (std::vector<Handle>& values : results) leaves.emplace_back(std::move(values));
  return leaves;
}

// A function of all that the members of the group bring, in rank order, and of the rank.
// What is wrong with the rows that the devices of a group send, as the simulator says it, as far as
// offsets and sizes are known; empty where nothing is.
std::string TermDomain::wrong_rows(const Instruction& instruction, std::span<const Array> operands,
                                   const Gathering& gathering, std::span<const int64_t> members) {
  const Shape* input = instruction.operand(0)->shape();
  const Shape* output = instruction.operand(1)->shape();
  const Shape* table = instruction.operand(2)->shape();
  const auto ranks = static_cast<int64_t>(members.size());
  if (input->rank() == 0 || output->rank() == 0 || table->rank() == 0 || table->dim(0) != ranks) {
    return fmt::format("offsets and sizes are for each of the {} devices of a group", ranks);
  }
  if (input->element_count() == 0) return "";
  for (int64_t sender : members) {
    const auto position = static_cast<size_t>(gathering.position_of[static_cast<size_t>(sender)]);
    std::optional<std::vector<std::byte>> known[3];  // offsets, sizes, offsets of the receiver
    for (size_t i = 0; i < 3; ++i) known[i] = terms_.known(operands[i + 2][position]);
    for (int64_t at = 0; at < table->element_count(); ++at) {
      std::optional<int64_t> entry[3];
      for (size_t i = 0; i < 3; ++i) {
        const ElementType type = instruction.operand(i + 2)->shape()->element_type();
        if (known[i]) entry[i] = decode_integer(type, known[i]->data() + at * info(type).bytes);
      }
      if (entry[1] && *entry[1] <= 0) continue;
      if (!entry[0] || !entry[1] || !entry[2]) {
        assumptions_.insert("ragged-all-to-all moves no rows beyond what devices have");
        break;
      }
      const int64_t from = *entry[0], size = *entry[1], to = *entry[2];
      if (from < 0 || size > input->dim(0) || from > input->dim(0) - size || to < 0 ||
          size > output->dim(0) || to > output->dim(0) - size) {
        const int64_t receiver =
            members[static_cast<size_t>(at / (table->element_count() / ranks))];
        return fmt::format("{} sends {} rows from {} to {} of {}, beyond what they have",
                           device_name(mesh_, sender), size, from, to,
                           device_name(mesh_, receiver));
      }
    }
  }
  return "";
}

TermDomain::Leaves TermDomain::opaque_between(const Instruction& instruction,
                                              std::span<const Array> operands,
                                              const Gathering& gathering) {
  std::string key(to_string(instruction.opcode()));
  for (const Instruction* operand : instruction.operands()) {
    key += ' ';
    append(key, operand->shape(), false);
  }
  for (const AttributeUse& use : info(instruction.opcode()).attributes) {
    const Attribute* attribute = find_attribute(instruction.attributes(), use.id);
    const bool says_who =
        use.id == AttributeId::channel_id || use.id == AttributeId::replica_groups;
    if (attribute && !says_who) key += ' ' + print_text(*attribute);
  }
  std::vector<const Shape*> shapes = result_shapes(instruction);
  for (const Shape* shape : shapes) {
    key += ' ';
    append(key, shape, false);
  }
  std::vector<std::vector<Handle>> results(shapes.size(),
                                           std::vector<Handle>(gathering.devices.size()));
  const CollectiveGroups& groups = gathering.groups;
  for (size_t i = 0; i < gathering.devices.size(); ++i) {
    const auto device = static_cast<size_t>(gathering.devices[i]);
    if (groups.group_of[device] < 0) {
      return tl::unexpected(
          Stop::invalid(fmt::format("{}: {} is in no group", instruction_place(instruction),
                                    device_name(mesh_, gathering.devices[i]))));
    }
    std::span<const int64_t> members = groups.group(groups.group_of[device]);
    if (groups.rank_of[device] == 0) {
      const std::string wrong = wrong_rows(instruction, operands, gathering, members);
      if (!wrong.empty()) {
        return tl::unexpected(
            Stop::invalid(fmt::format("{}: {}", instruction_place(instruction), wrong)));
      }
    }
    std::vector<Handle> arguments;
    for (const Array& operand : operands) {
      for (int64_t member : members) {
        const int position = gathering.position_of[static_cast<size_t>(member)];
        arguments.push_back(operand[static_cast<size_t>(position)]);
      }
    }
    const uint32_t function = terms_.signature(
        fmt::format("{} rank {} of {}", key, groups.rank_of[device], members.size()));
    for (size_t leaf = 0; leaf < shapes.size(); ++leaf) {
      results[leaf][i] =
          terms_.apply(function, static_cast<int64_t>(leaf), shapes[leaf]->element_type(),
                       shapes[leaf]->element_count(), arguments);
    }
  }
  std::vector<Array> leaves;
  for (std::vector<Handle>& values : results) leaves.emplace_back(std::move(values));
  return leaves;
}

tl::expected<PointFunction, Stop> TermDomain::reducer(const Instruction& instruction,
                                                      ElementType type, size_t members) {
  const Computation& computation = *instruction.get(attr::to_apply);
  tl::expected<std::string, Stop> region = region_key(computation);
  if (!region) return tl::unexpected(std::move(region.error()));
  PointFunction function;
  function.type = type;
  function.fold = evaluator_.program(computation);
  if (const std::optional<Opcode> opcode = exact_reducer(computation, type)) {
    function.signature = rules_.functions().exact_fold(*opcode, type);
    return function;
  }
  bool commutative = false;
  if (function.fold && function.fold->single_opcode()) {
    Opcode opcode = *function.fold->single_opcode();
    commutative = members == 2 && is_commutative_pair(opcode, type);
  }
  Signature fold;
  fold.key =
      fmt::format("fold {} {{{}}}{}", to_string(type), *region, commutative ? " in any order" : "");
  fold.kind = Signature::Kind::kFold;
  fold.instruction = &instruction;
  fold.commutative = commutative;
  if (function.fold) fold.folds = function.fold->single_opcode();
  function.signature = terms_.signature(std::move(fold));
  return function;
}

tl::expected<std::optional<PointFunction>, Stop> TermDomain::reducer_step(
    const Instruction& instruction, ElementType type) {
  const Computation& computation = *instruction.get(attr::to_apply);
  const Instruction& root = *computation.root();
  const auto has_type = [&](const Instruction* one) {
    return one->shape()->is_array() && one->shape()->element_type() == type;
  };
  const bool is_step = computation.size() == 3 && computation.parameters().size() == 2 &&
                       info(root.opcode()).family == Family::kElementwise &&
                       info(root.opcode()).attributes.empty() && root.operand_count() == 2 &&
                       root.operand(0) == computation.parameters()[0] &&
                       root.operand(1) == computation.parameters()[1] && has_type(&root) &&
                       std::ranges::all_of(computation.parameters(), has_type);
  // Of members in any order a fold is the normal form.
  if (!is_step || exact_reducer(computation, type)) return std::optional<PointFunction>();
  return point_function(root);
}

tl::expected<Handle, Stop> TermDomain::members_reduced(const Instruction& instruction,
                                                       const PointFunction& function,
                                                       std::span<const Handle> members,
                                                       const Shape* shape) {
  const ElementType type = shape->element_type();
  const Computation& computation = *instruction.get(attr::to_apply);
  if (members.size() == 1) return members[0];
  const auto apply = [&](const PointFunction& one, std::span<const Handle> arguments) {
    return apply_pointwise(terms_, rules_, one, arguments, shape->element_count());
  };
  const ScalarProgram* program = evaluator_.program(computation);
  const std::optional<Opcode> opcode = program ? program->single_opcode() : std::nullopt;
  const bool has_type = program && program->result_types() == std::vector{type} &&
                        program->parameter_types() == std::vector{type, type};
  if (members.size() > 2 && opcode && has_type && accumulator_type(*opcode, type) != type) {
    if (exact_reducer(computation, type)) {
      rules_.relax("excess-precision");
      return apply(function, members);
    }
    const ElementType wide = accumulator_type(*opcode, type);
    Functions& functions = rules_.functions();
    const PointFunction widen{functions.of(Opcode::kConvert, type, wide), wide};
    const PointFunction combine{functions.of(*opcode, wide), wide};
    const PointFunction narrow{functions.of(Opcode::kConvert, wide, type), type};
    Handle sum = apply(widen, members.first(1));
    for (size_t i = 1; i < members.size(); ++i) {
      const Handle both[] = {sum, apply(widen, members.subspan(i, 1))};
      sum = apply(combine, both);
    }
    return apply(narrow, std::span(&sum, 1));
  }
  auto step = reducer_step(instruction, type);
  if (!step) return tl::unexpected(std::move(step.error()));
  if (!*step) return apply(function, members);
  Handle sum = members[0];
  for (size_t i = 1; i < members.size(); ++i) {
    const Handle both[] = {sum, members[i]};
    sum = apply(**step, both);
  }
  return sum;
}

TermDomain::Leaves TermDomain::reduced_between(const Instruction& instruction,
                                               std::span<const Array> operands,
                                               const Gathering& gathering) {
  std::vector<const Shape*> shapes = result_shapes(instruction);
  std::vector<std::vector<Handle>> results(shapes.size(),
                                           std::vector<Handle>(gathering.devices.size()));
  const CollectiveGroups& groups = gathering.groups;
  std::vector<bool> done(static_cast<size_t>(groups.size()), false);
  for (size_t i = 0; i < gathering.devices.size(); ++i) {
    int64_t group = groups.group_of[static_cast<size_t>(gathering.devices[i])];
    if (group < 0) {
      return tl::unexpected(
          Stop::invalid(fmt::format("{}: {} is in no group", instruction_place(instruction),
                                    device_name(mesh_, gathering.devices[i]))));
    }
    if (done[static_cast<size_t>(group)]) continue;
    done[static_cast<size_t>(group)] = true;
    std::span<const int64_t> members = groups.group(group);
    for (size_t leaf = 0; leaf < shapes.size(); ++leaf) {
      const Shape* operand_shape = instruction.operand(leaf)->shape();
      tl::expected<PointFunction, Stop> function =
          reducer(instruction, operand_shape->element_type(), members.size());
      if (!function) return tl::unexpected(std::move(function.error()));
      std::vector<Handle> arguments;
      for (int64_t member : members) {
        int position = gathering.position_of[static_cast<size_t>(member)];
        arguments.push_back(operands[leaf][static_cast<size_t>(position)]);
      }
      tl::expected<Handle, Stop> reduced =
          members_reduced(instruction, *function, arguments, operand_shape);
      if (!reduced) return tl::unexpected(std::move(reduced.error()));
      const Handle sum = *reduced;
      for (size_t rank = 0; rank < members.size(); ++rank) {
        auto position =
            static_cast<size_t>(gathering.position_of[static_cast<size_t>(members[rank])]);
        results[leaf][position] = sum;
        if (instruction.opcode() != Opcode::kReduceScatter) continue;
        tl::expected<Movement, std::string> chunk =
            scatter_movement(instruction, static_cast<int>(leaf), static_cast<int>(members.size()),
                             static_cast<int>(rank));
        if (!chunk) {
          return tl::unexpected(
              Stop::invalid(fmt::format("{}: {}", instruction_place(instruction), chunk.error())));
        }
        std::optional<Handle> own = move(*chunk, std::span(&sum, 1), operand_shape->element_type());
        if (!own) {
          return tl::unexpected(Stop::unsupported(
              std::string(to_string(instruction.opcode())),
              fmt::format("{} takes too many pieces apart", instruction_place(instruction))));
        }
        results[leaf][position] = *own;
      }
    }
  }
  std::vector<Array> leaves;
  for (std::vector<Handle>& values : results) leaves.emplace_back(std::move(values));
  return leaves;
}

}  // namespace minihlo::prove

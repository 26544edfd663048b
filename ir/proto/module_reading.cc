#include "ir/proto/module_reading.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/proto/attribute_values.h"

namespace minihlo::proto {
namespace {

// Attributes of the header, and where messages keep them.
struct HeaderField {
  AttributeId id;
  Field field;
};
constexpr HeaderField kModuleFields[] = {
    {AttributeId::frontend_attributes, HloModuleProto::frontend_attributes},
    {AttributeId::origin_recovery_table, HloModuleProto::original_value_recovery_table},
    {AttributeId::debug_attributes, HloModuleProto::debug_attributes},
};
constexpr HeaderField kConfigFields[] = {
    {AttributeId::entry_computation_layout, HloModuleConfigProto::entry_computation_layout},
    {AttributeId::replica_count, HloModuleConfigProto::replica_count},
    {AttributeId::num_partitions, HloModuleConfigProto::num_partitions},
    {AttributeId::alias_passthrough_params, HloModuleConfigProto::alias_passthrough_params},
    {AttributeId::allow_spmd_sharding_propagation_to_parameters,
     HloModuleConfigProto::allow_spmd_sharding_propagation_to_parameters},
    {AttributeId::allow_spmd_sharding_propagation_to_output,
     HloModuleConfigProto::allow_spmd_sharding_propagation_to_output},
};

}  // namespace

bool ModuleReader::run(const Message& in, const Message* config) {
  Module& module = reading_.module;
  std::string_view name = in.text(HloModuleProto::name);
  if (!name.empty() && !keep_name(in, HloModuleProto::name, name)) return false;
  module.set_name(name);
  in.strings(HloModuleProto::payloads, reading_.payloads);
  // An instruction takes a few hundred bytes.
  instruction_names_.reserve(in.bytes().size() / 256);
  bool good = read_header(in, config);
  size_t failed = 0;
  if (!in.has(HloModuleProto::computations)) {
    return in.fail("missing-field", HloModuleProto::computations, "there are no computations");
  }
  in.each(HloModuleProto::computations, [&](const Message& computation) {
    computation.set_label(computation.text(HloComputationProto::name));
    // The calls of later ones would only repeat what is wrong with this one.
    if (!read_computation(computation)) ++failed;
    return failed == 0 && !input_.diagnostics().full();
  });
  good = good && failed == 0 && input_.diagnostics().ok();
  if (!good || !find_entry(in) || !read_schedule(in)) return false;
  settle_names();
  return config || read_mesh(in);
}

bool ModuleReader::read_header(const Message& in, const Message* config) {
  Module& module = reading_.module;
  // Ids are given anew, and the entry is found by its id.
  in.use(HloModuleProto::id);
  in.use(HloModuleProto::entry_computation_name);
  in.use(HloModuleProto::is_dynamic);
  auto read = [&](const Message& from, const HeaderField& one) {
    Attribute value{one.id, 0, {0}};
    bool present = false;
    if (!read_value(reading_, from, one.field, one.id, value, present)) return false;
    if (present) module.set(value);
    return true;
  };
  for (const HeaderField& one : kModuleFields) {
    if (role_ == Role::kRecovery && one.id == AttributeId::origin_recovery_table) continue;
    if (!read(in, one)) return false;
  }
  if (!in.each(HloModuleProto::input_output_alias,
               [&](const Message& aliases) {
                 std::span<const Alias> list;
                 if (!read_aliases(reading_, aliases, HloInputOutputAliasProto::entries, list))
                   return false;
                 if (!list.empty()) module.set(make_attribute(attr::input_output_alias, list));
                 return true;
               }) ||
      !in.each(HloModuleProto::buffer_donor,
               [&](const Message& donors) {
                 std::span<const Donor> list;
                 if (!read_donors(reading_, donors, HloBufferDonorProto::entries, list))
                   return false;
                 if (!list.empty()) module.set(make_attribute(attr::buffer_donor, list));
                 return true;
               }) ||
      !in.each(HloModuleProto::stack_frame_index,
               [&](const Message& tables) { return read_stack_frames(reading_, tables); })) {
    return false;
  }
  if (config) {
    in.use(HloModuleProto::host_program_shape);
    in.use(HloModuleProto::device_assignment);
    // It follows from the number of partitions.
    config->use(HloModuleConfigProto::use_spmd_partitioning);
    return std::all_of(std::begin(kConfigFields), std::end(kConfigFields),
                       [&](const HeaderField& one) { return read(*config, one); });
  }
  if (!in.has(HloModuleProto::host_program_shape)) {
    return in.fail("missing-field", HloModuleProto::host_program_shape,
                   "the shapes of parameters and result are missing");
  }
  return read(in, {AttributeId::entry_computation_layout, HloModuleProto::host_program_shape});
}

bool ModuleReader::read_extra(const Message& file) {
  return file.each(HloProto::minihlo_attributes, [&](const Message& extra) {
    std::string_view name = extra.text(MinihloAttribute::name);
    for (const AttributeUse& use : module_attributes()) {
      if (info(use.id).text != name) continue;
      Attribute value{use.id, 0, {0}};
      if (!read_text_value(reading_, extra, use.id, value)) return false;
      reading_.module.set(value);
      return true;
    }
    return extra.fail("unknown-attribute", MinihloAttribute::name,
                      fmt::format("a module has no attribute '{}'", name));
  });
}

bool ModuleReader::find_entry(const Message& in) {
  const int64_t id = in.integer(HloModuleProto::entry_computation_id);
  auto found = computations_.find(id);
  if (found == computations_.end()) {
    return in.fail("unknown-id", HloModuleProto::entry_computation_id,
                   fmt::format("the module has no computation {}", id));
  }
  reading_.module.set_entry(found->second);
  return true;
}

bool ModuleReader::read_schedule(const Message& in) {
  return in.each(HloModuleProto::schedule, [&](const Message& schedule) {
    reading_.module.set(make_attribute(attr::is_scheduled, true));
    return schedule.each(HloScheduleProto::sequences, [&](const Message& entry) {
      const int64_t id = entry.integer(SequencesEntry::key);
      auto found = computations_.find(id);
      if (found == computations_.end()) {
        return entry.fail("unknown-id", SequencesEntry::key,
                          fmt::format("the module has no computation {}", id));
      }
      return entry.each(SequencesEntry::value,
                        [&](const Message& sequence) { return reorder(sequence, found->second); });
    });
  });
}

bool ModuleReader::reorder(const Message& in, Computation* computation) {
  const Field field = InstructionSequence::instruction_ids;
  const auto& known = scopes_[computation->number()].instructions;
  std::vector<int64_t> ids;
  if (!in.integers(field, ids)) return false;
  std::vector<Instruction*> order;
  constexpr uint32_t kNone = ~uint32_t{0};
  std::vector<uint32_t> place(computation->size(), kNone);
  for (size_t i = 0; i < ids.size(); ++i) {
    auto found = ids[i] < 0 ? known.end() : known.find(static_cast<uint32_t>(ids[i]));
    if (found == known.end()) {
      return in.fail("unknown-id", field, i,
                     fmt::format("'{}' has no instruction {}", computation->name(), ids[i]));
    }
    if (place[found->second->number()] != kNone) {
      return in.fail("invalid-schedule", field, i,
                     fmt::format("'{}' is scheduled twice", found->second->name()));
    }
    place[found->second->number()] = static_cast<uint32_t>(i);
    order.push_back(found->second);
  }
  if (order.size() != computation->size()) {
    return in.fail("invalid-schedule", field,
                   fmt::format("'{}' has {} instructions, and {} are scheduled",
                               computation->name(), computation->size(), order.size()));
  }
  for (const Instruction* instruction : order) {
    auto check = [&](const Instruction* before) {
      if (place[before->number()] < place[instruction->number()]) return true;
      return in.fail("invalid-schedule", field, place[instruction->number()],
                     fmt::format("'{}' is scheduled before '{}', which it needs",
                                 instruction->name(), before->name()));
    };
    std::span<Instruction* const> operands = instruction->operands();
    std::span<Instruction* const> control = instruction->get(attr::control_predecessors);
    if (!std::all_of(operands.begin(), operands.end(), check) ||
        !std::all_of(control.begin(), control.end(), check)) {
      return false;
    }
  }
  computation->set_instructions(std::move(order));
  return true;
}

// Files of XLA say how many devices there are only by the way, where it is known which they are.
// Not to know it matters to those who ask for devices.
bool ModuleReader::read_mesh(const Message& in) {
  Module& module = reading_.module;
  if (in.has(HloModuleProto::device_assignment)) {
    return in.each(HloModuleProto::device_assignment, [&](const Message& assignment) {
      auto count = [&](Field field, AttributeKey<int64_t> key) {
        const int64_t number = assignment.integer(field);
        if (number < 1) {
          return assignment.fail("invalid-mesh", field, fmt::format("there can't be {}", number));
        }
        module.set(make_attribute(key, number));
        return true;
      };
      return count(DeviceAssignmentProto::replica_count, attr::replica_count) &&
             count(DeviceAssignmentProto::computation_count, attr::num_partitions);
    });
  }
  if (role_ == Role::kRecovery) return true;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      const Family family = info(instruction->opcode()).family;
      if (family != Family::kCollective && family != Family::kIdentity) continue;
      input_.diagnostics().note(
          "unknown-mesh", in.location(),
          "the file does not say how many replicas and partitions there are; 1 and 1 are taken "
          "where no option says otherwise");
      return true;
    }
  }
  return true;
}

}  // namespace minihlo::proto

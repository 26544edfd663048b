// Writes a module as HloProto and HloModuleProtoWithConfig at once.
#include <algorithm>

#include "ir/proto/attribute_fields.h"
#include "ir/proto/attribute_values.h"
#include "ir/proto/braced.h"
#include "ir/proto/proto_writer.h"
#include "ir/proto/writing.h"

namespace minihlo::proto {
namespace {

class ModuleWriter {
 public:
  ModuleWriter(const Module& module, Diagnostics& diagnostics, std::string& bytes)
      : writing_{module, diagnostics, {}, {}, {}}, module_(module), out_(bytes) {
    // XLA orders what it reads by id: so they grow along the lists.
    int64_t next = 1;
    for (const Computation* computation : module.computations()) {
      std::vector<int64_t>& ids = writing_.instruction_ids.emplace_back();
      for (size_t i = 0; i < computation->size(); ++i) ids.push_back(next++);
      writing_.computation_ids.push_back(next++);
    }
  }

  void run() {
    out_.message(HloProto::hlo_module, [&](Writer& out) { write_module(out); });
    out_.message(HloProto::config, [&](Writer& out) { write_config(out); });
    for (const Attribute* attribute : extra_) {
      out_.message(HloProto::minihlo_attributes,
                   [&](Writer& extra) { write_text_value(extra, *attribute); });
    }
  }

  void write_module(Writer& out) {
    const Computation* entry = module_.entry();
    out.text(HloModuleProto::name, module_.name());
    out.text(HloModuleProto::entry_computation_name, entry->name());
    for (const Computation* computation : module_.computations()) {
      out.message(HloModuleProto::computations,
                  [&](Writer& inner) { write_computation(inner, *computation); });
    }
    out.message(HloModuleProto::host_program_shape, [&](Writer& inner) {
      const ProgramShape* layout = module_.get(attr::entry_computation_layout);
      if (layout) {
        write_program_shape(writing_, inner, *layout);
        write_parameter_names(inner, *entry);
      } else {
        write_signature(inner, *entry);
      }
    });
    out.integer(HloModuleProto::entry_computation_id, writing_.id(entry));
    if (module_.get(attr::is_scheduled)) {
      out.message(HloModuleProto::schedule, [&](Writer& inner) { write_schedule(inner); });
    }
    if (auto aliases = module_.find(attr::input_output_alias)) {
      out.message(HloModuleProto::input_output_alias, [&](Writer& inner) {
        write_aliases(inner, HloInputOutputAliasProto::entries, *aliases);
      });
    }
    if (!module_.stack_frames().empty()) {
      out.message(HloModuleProto::stack_frame_index,
                  [&](Writer& inner) { write_stack_frames(inner, module_.stack_frames()); });
    }
    if (auto donors = module_.find(attr::buffer_donor)) {
      out.message(HloModuleProto::buffer_donor, [&](Writer& inner) {
        write_donors(inner, HloBufferDonorProto::entries, *donors);
      });
    }
    if (auto map = module_.find(attr::frontend_attributes)) {
      out.message(HloModuleProto::frontend_attributes,
                  [&](Writer& inner) { write_string_map(inner, *map); });
    }
    extra_.clear();
    for (const Attribute& attribute : module_.attributes()) {
      if (info(attribute.id).kind != AttributeKind::kBraced) continue;
      if (!write_parts(attribute.id, attribute_value<std::string_view>(attribute), out)) {
        extra_.push_back(&attribute);
      }
    }
  }

 private:
  // What XLA has no place for in the module itself.
  void write_config(Writer& out) {
    if (auto layout = module_.find(attr::entry_computation_layout)) {
      out.message(HloModuleConfigProto::entry_computation_layout,
                  [&](Writer& inner) { write_program_shape(writing_, inner, **layout); });
    }
    out.integer(HloModuleConfigProto::replica_count, module_.replica_count(), true);
    out.integer(HloModuleConfigProto::num_partitions, module_.num_partitions(), true);
    out.integer(HloModuleConfigProto::use_spmd_partitioning, module_.num_partitions() != 1);
    out.integer(HloModuleConfigProto::alias_passthrough_params,
                module_.get(attr::alias_passthrough_params));
    auto flags = [&](Field field, AttributeKey<std::span<const bool>> key) {
      if (auto values = module_.find(key)) out.integers<bool>(field, *values);
    };
    flags(HloModuleConfigProto::allow_spmd_sharding_propagation_to_output,
          attr::allow_spmd_sharding_propagation_to_output);
    flags(HloModuleConfigProto::allow_spmd_sharding_propagation_to_parameters,
          attr::allow_spmd_sharding_propagation_to_parameters);
  }

  // In XLA, all computations but those of fusions have a sequence.
  void write_schedule(Writer& out) {
    std::vector<bool> fused(module_.computations().size());
    for (const Computation* computation : module_.computations()) {
      for (const Instruction* instruction : computation->instructions()) {
        if (instruction->opcode() != Opcode::kFusion) continue;
        for (const Computation* callee : instruction->called_computations()) {
          fused[callee->number()] = true;
        }
      }
    }
    for (const Computation* computation : module_.computations()) {
      if (fused[computation->number()]) continue;
      out.message(HloScheduleProto::sequences, [&](Writer& entry) {
        entry.integer(SequencesEntry::key, writing_.id(computation));
        entry.message(SequencesEntry::value, [&](Writer& sequence) {
          sequence.integers<int64_t>(InstructionSequence::instruction_ids,
                                     writing_.instruction_ids[computation->number()]);
        });
      });
    }
  }

  void write_parameter_names(Writer& out, const Computation& computation) {
    for (const Instruction* parameter : computation.parameters()) {
      if (parameter) out.text(ProgramShapeProto::parameter_names, parameter->name(), true);
    }
  }

  void write_signature(Writer& out, const Computation& computation) {
    for (const Instruction* parameter : computation.parameters()) {
      if (parameter) write_shape(writing_, out, ProgramShapeProto::parameters, parameter->shape());
    }
    write_shape(writing_, out, ProgramShapeProto::result, computation.root()->shape());
    write_parameter_names(out, computation);
  }

  void write_computation(Writer& out, const Computation& computation) {
    out.text(HloComputationProto::name, computation.name());
    for (const Instruction* instruction : computation.instructions()) {
      out.message(HloComputationProto::instructions,
                  [&](Writer& inner) { write_instruction(inner, *instruction); });
    }
    out.message(HloComputationProto::program_shape,
                [&](Writer& inner) { write_signature(inner, computation); });
    out.integer(HloComputationProto::id, writing_.id(&computation));
    out.integer(HloComputationProto::root_id, writing_.id(computation.root()));
    if (computation.execution_thread() != "main") {
      out.text(HloComputationProto::execution_thread, computation.execution_thread());
    }
  }

  void write_ids(Writer& out, Field field, std::span<Instruction* const> list) {
    ids_.clear();
    for (const Instruction* instruction : list) ids_.push_back(writing_.id(instruction));
    out.integers<int64_t>(field, ids_);
  }

  void write_instruction(Writer& out, const Instruction& instruction) {
    out.text(HloInstructionProto::name, instruction.name());
    out.text(HloInstructionProto::opcode, to_string(instruction.opcode()));
    write_shape(writing_, out, HloInstructionProto::shape, instruction.shape());
    extra_.clear();
    write_attributes(out, instruction);
    out.integer(HloInstructionProto::id, writing_.id(&instruction));
    write_ids(out, HloInstructionProto::operand_ids, instruction.operands());
    write_ids(out, HloInstructionProto::control_predecessor_ids,
              instruction.get(attr::control_predecessors));
    if (instruction.calls_computations()) {
      ids_.clear();
      for (const Computation* callee : instruction.called_computations()) {
        ids_.push_back(writing_.id(callee));
      }
      out.integers<int64_t>(HloInstructionProto::called_computation_ids, ids_);
    }
    write_scattered(out, instruction);
    for (const Attribute* attribute : extra_) {
      out.message(HloInstructionProto::minihlo_attributes,
                  [&](Writer& inner) { write_text_value(inner, *attribute); });
    }
  }

  // The attribute's value, or what its absence stands for where the field's own default is another.
  void write_attribute(Writer& out, const Instruction& instruction, const AttributeField& one) {
    const Attribute* value = find_attribute(instruction.attributes(), one.use.id);
    Attribute made{one.use.id, 0, {0}};
    if (!value) {
      const bool says_default = default_value(one.use.id) != 0 ||
                                one.use.id == AttributeId::api_version ||
                                one.use.id == AttributeId::comparison_type;
      if (!says_default) {
        // Where windows are what an opcode is about, XLA wants one.
        if (one.use.id == AttributeId::window && instruction.opcode() != Opcode::kCustomCall) {
          out.message(one.field(), [](Writer&) {});
        }
        return;
      }
      made.integer = one.use.id == AttributeId::comparison_type
                         ? static_cast<int64_t>(instruction.default_comparison_type())
                         : default_value(one.use.id);
      value = &made;
    }
    const bool always = one.use.printed == AttributeUse::Printed::kWherePresent;
    if (!write_value(writing_, out, one.field(), *value, always, instruction.location())) {
      extra_.push_back(value);
    }
  }

  void write_attributes(Writer& out, const Instruction& instruction) {
    std::span<const AttributeField> table = attribute_fields(instruction.opcode());
    std::span<const AttributeUse> own = info(instruction.opcode()).attributes;
    for (size_t i = 0; i < table.size();) {
      if (table[i].depth == 0) {
        write_attribute(out, instruction, table[i++]);
        continue;
      }
      size_t end = i;
      bool any = false, is_own = false;
      for (; end < table.size() && table[end].path[0] == table[i].path[0]; ++end) {
        any |= find_attribute(instruction.attributes(), table[end].use.id) != nullptr;
        is_own |= std::any_of(own.begin(), own.end(),
                              [&](const AttributeUse& use) { return use.id == table[end].use.id; });
      }
      std::span<const AttributeField> group = table.subspan(i, end - i);
      i = end;
      // XLA wants the messages that an opcode is about, even where there is nothing in them.
      if (!any && (!is_own || instruction.opcode() == Opcode::kCustomCall)) continue;
      out.message(group[0].path[0], [&](Writer& part) {
        bool entered = false;
        for (const AttributeField& one : group) {
          if (one.depth == 1) {
            write_attribute(part, instruction, one);
          } else if (!std::exchange(entered, true)) {
            part.message(one.path[1], [&](Writer& inner) {
              for (const AttributeField& deep : group) {
                if (deep.depth == 2) write_attribute(inner, instruction, deep);
              }
            });
          }
        }
      });
    }
  }

  // Attributes that are spread over several fields, and those that have none.
  void write_scattered(Writer& out, const Instruction& instruction) {
    if (const DeviceGroups* groups = instruction.get(attr::replica_groups)) {
      write_groups(writing_, out, *groups, instruction.location());
    }
    if (const Attribute* value =
            find_attribute(instruction.attributes(), AttributeId::permute_slice_sizes)) {
      write_slice_sizes(out, instruction, *value);
    }
    if (instruction.has(attr::operand_layout_constraints)) {
      out.integer(HloInstructionProto::constrain_layout, 1);
    }
    if (const DomainValue* domain = instruction.get(attr::domain)) {
      out.message(HloInstructionProto::domain_exit_sharding,
                  [&](Writer& inner) { write_sharding(inner, *domain->entry); });
      out.message(HloInstructionProto::domain_entry_sharding,
                  [&](Writer& inner) { write_sharding(inner, *domain->exit); });
    }
    if (instruction.opcode() == Opcode::kShuffle) write_shuffle_mode(out, instruction);
    if (const Attribute* mode = find_attribute(instruction.attributes(), AttributeId::mode)) {
      extra_.push_back(mode);
    }
  }

  // Of the modes only the message of the first is known.
  void write_shuffle_mode(Writer& out, const Instruction& shuffle) {
    if (shuffle.get(attr::shuffle_mode) != minihlo::ShuffleMode::kRotate) {
      extra_.push_back(find_attribute(shuffle.attributes(), AttributeId::shuffle_mode));
      return;
    }
    out.message(HloInstructionProto::shuffle_mode, [&](Writer& mode) {
      mode.message(proto::ShuffleMode::rotate, [&](Writer& rotate) {
        rotate.integers(ShuffleRotate::shifts, shuffle.get(attr::shifts));
      });
    });
  }

  void write_slice_sizes(Writer& out, const Instruction& instruction, const Attribute& value) {
    auto lists = attribute_value<std::span<const std::span<const int64_t>>>(value);
    std::vector<int64_t> flat;
    for (std::span<const int64_t> list : lists) flat.insert(flat.end(), list.begin(), list.end());
    out.integers<int64_t>(HloInstructionProto::dynamic_slice_sizes, flat);
    Arena arena;
    auto read = split_slice_sizes(arena, instruction.operands(), flat);
    const bool same = std::equal(lists.begin(), lists.end(), read.begin(), read.end(),
                                 [](std::span<const int64_t> a, std::span<const int64_t> b) {
                                   return std::equal(a.begin(), a.end(), b.begin(), b.end());
                                 });
    if (!same) extra_.push_back(&value);
  }

  Writing writing_;
  const Module& module_;
  Writer out_;
  std::vector<int64_t> ids_;
  std::vector<const Attribute*> extra_;  // to be written as text behind what is at hand
};

}  // namespace
}  // namespace minihlo::proto

namespace minihlo {

std::string print_proto(const Module& module, Diagnostics& diagnostics) {
  std::string bytes;
  proto::ModuleWriter(module, diagnostics, bytes).run();
  return bytes;
}

std::string print_module_proto(const Module& module, Diagnostics& diagnostics) {
  std::string bytes;
  proto::Writer out(bytes);
  std::string unused;
  proto::ModuleWriter(module, diagnostics, unused).write_module(out);
  return bytes;
}

}  // namespace minihlo

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ir/async_pairs.h"
#include "ir/async_state.h"
#include "ir/instruction_rules.h"
#include "ir/proto/attribute_fields.h"
#include "ir/proto/attribute_values.h"
#include "ir/proto/module_reading.h"
#include "ir/text/strings.h"

namespace minihlo::proto {
namespace {

// Opcodes of old files, from before there was one for all comparisons.
struct OldCompare {
  std::string_view opcode;
  ComparisonDirection direction;
};
constexpr OldCompare kOldCompares[] = {
    {"equal-to", ComparisonDirection::kEq},
    {"not-equal-to", ComparisonDirection::kNe},
    {"greater-than-or-equal-to", ComparisonDirection::kGe},
    {"greater-than", ComparisonDirection::kGt},
    {"less-than-or-equal-to", ComparisonDirection::kLe},
    {"less-than", ComparisonDirection::kLt},
};

// Attributes of an asynchronous operation that are said once, at its start.
bool is_of_async_start(AttributeId id) {
  return id == AttributeId::calls || id == AttributeId::async_execution_thread;
}

void replace(std::vector<Attribute>& attributes, const Attribute& value) {
  std::erase_if(attributes, [&](const Attribute& one) { return one.id == value.id; });
  attributes.push_back(value);
}

// The attributes of an opcode that name computations, in XLA's order.
const std::vector<AttributeId>& callee_attributes(Opcode opcode) {
  static const auto table = [] {
    std::array<std::vector<AttributeId>, kOpcodeCount> made;
    for (size_t i = 0; i < made.size(); ++i) {
      for (const AttributeUse& use : info(static_cast<Opcode>(i)).attributes) {
        const AttributeKind kind = info(use.id).kind;
        if (kind == AttributeKind::kComputation || kind == AttributeKind::kComputations) {
          made[i].push_back(use.id);
        }
      }
      std::sort(made[i].begin(), made[i].end());
    }
    return made;
  }();
  return table[static_cast<size_t>(opcode)];
}

// A constant has the shape of its instruction, which is the same but for layouts.
const Literal* with_shape(Arena& arena, const Literal* literal, const Shape* shape) {
  if (literal->shape == shape) return literal;
  Literal made = *literal;
  made.shape = shape;
  std::vector<const Literal*> elements;
  for (size_t i = 0; i < literal->elements.size(); ++i) {
    elements.push_back(
        with_shape(arena, literal->elements[i], shape->element(static_cast<int64_t>(i))));
  }
  made.elements = arena.copy(elements);
  return arena.make<Literal>(made);
}

}  // namespace

bool ModuleReader::read_opcode(const Message& in, Opcode& opcode,
                               std::vector<Attribute>& attributes) {
  std::string_view text = in.text(HloInstructionProto::opcode);
  if (std::optional<Opcode> known = opcode_from(text)) {
    opcode = *known;
    return true;
  }
  for (const OldCompare& old : kOldCompares) {
    if (old.opcode != text) continue;
    opcode = Opcode::kCompare;
    attributes.push_back(make_attribute(attr::direction, old.direction));
    return true;
  }
  in.fail("unknown-opcode", HloInstructionProto::opcode,
          fmt::format("there is no opcode '{}'", text));
  return false;
}

bool ModuleReader::resolve(const Message& in, Field field, Scope& scope,
                           std::vector<Instruction*>& found) {
  found.clear();
  if (!in.integers(field, ids_)) return false;
  for (size_t i = 0; i < ids_.size(); ++i) {
    auto known = ids_[i] < 0 ? scope.instructions.end()
                             : scope.instructions.find(static_cast<uint32_t>(ids_[i]));
    if (known == scope.instructions.end()) {
      return in.fail("unknown-id", field, i,
                     fmt::format("no instruction {} stands before this one", ids_[i]));
    }
    found.push_back(known->second);
  }
  return true;
}

bool ModuleReader::check_operands(const Message& in, Opcode opcode, size_t count) {
  std::optional<BrokenRule> broken = check_operand_count(opcode, to_string(opcode), count);
  return !broken ||
         in.fail(broken->rule, HloInstructionProto::operand_ids, std::move(broken->message));
}

bool ModuleReader::read_attributes(const Message& in, Opcode opcode,
                                   std::span<Instruction* const> operands,
                                   std::vector<Attribute>& attributes) {
  std::span<const AttributeField> table = attribute_fields(opcode);
  auto read = [&](const AttributeField& one, const Message& from) {
    Attribute value{one.use.id, 0, {0}};
    bool present = false;
    if (!read_value(reading_, from, one.field(), one.use.id, value, present)) return false;
    if (present) replace(attributes, value);
    return true;
  };
  // Those that lie in one message follow one another.
  for (size_t i = 0; i < table.size();) {
    if (table[i].depth == 0) {
      if (!read(table[i++], in)) return false;
      continue;
    }
    size_t end = i;
    while (end < table.size() && table[end].path[0] == table[i].path[0]) ++end;
    std::span<const AttributeField> group = table.subspan(i, end - i);
    i = end;
    if (!in.each(group[0].path[0], [&](const Message& part) {
          for (const AttributeField& one : group) {
            if (one.depth == 1 && !read(one, part)) return false;
          }
          bool entered = false;
          for (const AttributeField& deep : group) {
            if (deep.depth != 2 || std::exchange(entered, true)) continue;
            if (!part.each(deep.path[1], [&](const Message& inner) {
                  return std::all_of(group.begin(), group.end(), [&](const AttributeField& one) {
                    return one.depth != 2 || read(one, inner);
                  });
                })) {
              return false;
            }
          }
          return true;
        })) {
      return false;
    }
  }
  return read_scattered(in, opcode, operands, attributes) &&
         read_extra_attributes(in, opcode, attributes);
}

// Attributes that are spread over several fields.
bool ModuleReader::read_scattered(const Message& in, Opcode opcode,
                                  std::span<Instruction* const> operands,
                                  std::vector<Attribute>& attributes) {
  Arena& arena = reading_.arena;
  auto takes = [&](AttributeId id) {
    std::span<const AttributeUse> uses = info(opcode).attributes;
    return std::any_of(uses.begin(), uses.end(),
                       [&](const AttributeUse& use) { return use.id == id; });
  };
  if (takes(AttributeId::replica_groups)) {
    const DeviceGroups* groups = nullptr;
    if (!read_groups(reading_, in, groups)) return false;
    if (groups) replace(attributes, make_attribute(attr::replica_groups, groups));
  }
  if (takes(AttributeId::permute_slice_sizes) && in.has(HloInstructionProto::dynamic_slice_sizes)) {
    std::vector<int64_t> sizes;
    if (!in.integers(HloInstructionProto::dynamic_slice_sizes, sizes)) return false;
    replace(attributes, make_attribute(attr::permute_slice_sizes,
                                       split_slice_sizes(arena, operands, arena.copy(sizes))));
  }
  if (takes(AttributeId::channel_id) && in.has(HloInstructionProto::all_reduce_id) &&
      !find(attributes, attr::channel_id)) {
    const int64_t id = in.integer(HloInstructionProto::all_reduce_id);
    if (id > 0) attributes.push_back(make_attribute(attr::channel_id, id));
  }
  if (takes(AttributeId::cross_program_prefetch_index) &&
      in.boolean(HloInstructionProto::is_cross_program_prefetch) &&
      !find(attributes, attr::cross_program_prefetch_index)) {
    attributes.push_back(make_attribute(attr::cross_program_prefetch_index, 0));
  }
  if (takes(AttributeId::operand_layout_constraints)) {
    if (in.boolean(HloInstructionProto::constrain_layout)) {
      // Of no operands, too.
      if (!find(attributes, attr::operand_layout_constraints)) {
        attributes.push_back(make_attribute(attr::operand_layout_constraints, {}));
      }
    } else {
      std::erase_if(attributes, [](const Attribute& one) {
        return one.id == AttributeId::operand_layout_constraints;
      });
    }
  }
  if (takes(AttributeId::largest) && !find(attributes, attr::largest)) {
    attributes.push_back(make_attribute(attr::largest, false));
  }
  for (Attribute& value : attributes) {
    // 0 is read as what nothing at all means.
    if ((value.id == AttributeId::feature_group_count ||
         value.id == AttributeId::batch_group_count) &&
        value.integer == 0) {
      value.integer = default_value(value.id);
    }
  }
  if (opcode == Opcode::kShuffle &&
      !in.each(HloInstructionProto::shuffle_mode, [&](const Message& mode) {
        return mode.each(proto::ShuffleMode::rotate, [&](const Message& rotate) {
          std::vector<int64_t> shifts;
          if (!rotate.integers(ShuffleRotate::shifts, shifts)) return false;
          attributes.push_back(make_attribute(attr::shuffle_mode, minihlo::ShuffleMode::kRotate));
          attributes.push_back(make_attribute(attr::shifts, arena.copy(shifts)));
          return true;
        });
      })) {
    return false;
  }
  if (opcode == Opcode::kDomain) {
    // What is the entry here, seen from the operand, is the exit in text, seen from the user.
    const Field user = HloInstructionProto::domain_exit_sharding;
    const Field operand = HloInstructionProto::domain_entry_sharding;
    DomainValue domain{"sharding", nullptr, nullptr};
    auto read = [&](Field field, const Sharding*& sharding) {
      if (!in.has(field)) return in.fail("missing-field", field, "a sharding is missing");
      return in.each(
          field, [&](const Message& inner) { return read_sharding(reading_, inner, sharding); });
    };
    if (!read(user, domain.entry) || !read(operand, domain.exit)) return false;
    attributes.push_back(make_attribute(attr::domain, arena.make<DomainValue>(domain)));
  }
  return in.each(HloInstructionProto::backend_config_payload, [&](const Message& payload) {
    std::string_view text;
    if (!read_payload(reading_, payload, text)) return false;
    if (text.empty()) return true;
    replace(attributes, make_attribute(attr::backend_config,
                                       arena.make<JsonText>(JsonText{text, is_braced(text)})));
    return true;
  });
}

bool ModuleReader::read_extra_attributes(const Message& in, Opcode opcode,
                                         std::vector<Attribute>& attributes) {
  return in.each(HloInstructionProto::minihlo_attributes, [&](const Message& extra) {
    std::string_view name = extra.text(MinihloAttribute::name);
    const AttributeUse* use = find_attribute_use(opcode, name);
    if (!use) {
      return extra.fail("unknown-attribute", MinihloAttribute::name,
                        fmt::format("'{}' takes no attribute '{}'", to_string(opcode), name));
    }
    Attribute value{use->id, 0, {0}};
    if (!read_text_value(reading_, extra, use->id, value)) return false;
    replace(attributes, value);
    return true;
  });
}

// What must be there: numbers and lists that are absent are 0 and empty, as the wire format has it.
bool ModuleReader::require(const Message& in, Opcode opcode, const Shape* shape,
                           std::span<Instruction* const> operands,
                           std::vector<Attribute>& attributes) {
  for (const AttributeUse& use : info(opcode).attributes) {
    if (!use.required || find_attribute(attributes, use.id)) continue;
    switch (info(use.id).kind) {
      case AttributeKind::kBool:
      case AttributeKind::kInt:
      case AttributeKind::kFloat:
      case AttributeKind::kString:
      case AttributeKind::kInts:
      case AttributeKind::kPairs:
      case AttributeKind::kSlice:
      case AttributeKind::kPadding:
        attributes.push_back(Attribute{use.id, 0, {0}});
        break;
      case AttributeKind::kEnum: {
        // The first word is what a number of 0 means, unless 0 means nothing.
        const bool zero_is_word =
            use.id == AttributeId::fft_type || use.id == AttributeId::rng_algorithm;
        if (zero_is_word) attributes.push_back(Attribute{use.id, 0, {0}});
        break;
      }
      case AttributeKind::kLiteral:
        attributes.push_back(make_attribute(
            attr::literal_value,
            reading_.arena.make<Literal>(Literal{shape, Literal::Form::kElided, {}, {}})));
        break;
      default:
        break;
    }
  }
  if (opcode == Opcode::kBroadcast && operands[0]->shape()->is_scalar() &&
      !find(attributes, attr::dimensions)) {
    attributes.push_back(make_attribute(attr::dimensions, {}));
  }
  auto broken = check_required_attributes(opcode, to_string(opcode), operands, attributes);
  if (broken) return in.fail(broken->rule, std::move(broken->message));
  if (opcode == Opcode::kConstant) {
    const Literal* literal = get(attributes, attr::literal_value);
    if (!compatible(literal->shape, shape)) {
      return in.fail("literal-size", HloInstructionProto::literal,
                     fmt::format("the value is {}, not {}", to_string(literal->shape, false),
                                 to_string(shape, false)));
    }
    replace(attributes,
            make_attribute(attr::literal_value, with_shape(reading_.arena, literal, shape)));
  }
  return true;
}

bool ModuleReader::check_async(const Message& in, std::span<Instruction* const> operands,
                               std::span<Computation* const> callees, const Instruction*& start) {
  start = operands[0]->opcode() == Opcode::kAsyncStart ? operands[0] : nullptr;
  if (auto found = async_starts_.find(operands[0]); found != async_starts_.end()) {
    start = found->second;
  }
  if (!start) {
    if (is_async_state(operands[0]->shape())) return true;
    return in.fail("async-chain", HloInstructionProto::operand_ids, 0,
                   fmt::format("the operand must be an async-start or async-update, not '{}'",
                               operands[0]->name()));
  }
  if (!callees.empty() && (callees.size() > 1 || callees[0] != start->get(attr::calls))) {
    return in.fail(
        "async-chain", HloInstructionProto::called_computation_ids,
        fmt::format("this is another computation than that of its start '{}'", start->name()));
  }
  return true;
}

// Gives each attribute that names computations what it names: they are listed in XLA's order, which
// is that of attributes.def.
bool ModuleReader::read_callees(const Message& in, Opcode opcode,
                                std::span<Instruction* const> operands,
                                std::vector<Attribute>& attributes) {
  const Field field = HloInstructionProto::called_computation_ids;
  std::vector<Computation*>& callees = callees_;
  callees.clear();
  if (!in.integers(field, ids_)) return false;
  for (size_t i = 0; i < ids_.size(); ++i) {
    auto found = computations_.find(ids_[i]);
    if (found == computations_.end()) {
      return in.fail("unknown-id", field, i,
                     fmt::format("no computation {} stands before this one", ids_[i]));
    }
    callees.push_back(found->second);
  }
  if (continues_async(opcode)) {
    const Instruction* start = nullptr;
    if (!check_async(in, operands, callees, start)) return false;
    if (!start) {
      if (callees.size() == 1) attributes.push_back(make_attribute(attr::calls, callees[0]));
      return true;
    }
    std::erase_if(attributes, [](const Attribute& one) { return is_of_async_start(one.id); });
    return true;
  }
  if (callees.empty() && callee_attributes(opcode).empty()) return true;
  std::vector<AttributeId> names = callee_attributes(opcode);
  if (opcode == Opcode::kConditional) {
    const Shape* index = operands[0]->shape();
    if (index->is_array() && index->element_type() == ElementType::PRED) {
      names = {AttributeId::true_computation, AttributeId::false_computation};
    } else {
      names = {AttributeId::branch_computations};
    }
  } else if (opcode == Opcode::kCustomCall) {
    // As XLA prints it, also where text says to_apply.
    names = {AttributeId::called_computations};
    if (callees.empty()) return true;
  }
  const bool is_list = names.size() == 1 && info(names[0]).kind == AttributeKind::kComputations;
  if (is_list ? callees.empty() : callees.size() != names.size()) {
    return in.fail("called-computations", field,
                   fmt::format("'{}' calls {}{} computation{}, not {}", to_string(opcode),
                               is_list ? "at least " : "", names.size(),
                               names.size() == 1 ? "" : "s", callees.size()));
  }
  if (is_list) {
    std::span<Computation*> list = reading_.arena.array<Computation*>(callees.size());
    std::copy(callees.begin(), callees.end(), list.begin());
    Attribute value{names[0], static_cast<uint32_t>(list.size()), {0}};
    value.data = list.data();
    attributes.push_back(value);
    return true;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    Attribute value{names[i], 0, {0}};
    value.data = callees[i];
    attributes.push_back(value);
  }
  return true;
}

bool ModuleReader::read_instruction(const Message& in, Scope& scope) {
  std::string_view name;
  const Shape* shape = nullptr;
  Opcode opcode;
  std::vector<Attribute>& attributes = attributes_;
  std::vector<Instruction*>& operands = operands_;
  std::vector<Instruction*>& predecessors = predecessors_;
  attributes.clear();
  if (!keep_name(in, HloInstructionProto::name, name) || !read_opcode(in, opcode, attributes) ||
      !read_shape(reading_, in, HloInstructionProto::shape, shape) ||
      !resolve(in, HloInstructionProto::operand_ids, scope, operands) ||
      !resolve(in, HloInstructionProto::control_predecessor_ids, scope, predecessors) ||
      !check_operands(in, opcode, operands.size()) ||
      !read_attributes(in, opcode, operands, attributes) ||
      !read_callees(in, opcode, operands, attributes) ||
      !require(in, opcode, shape, operands, attributes)) {
    return false;
  }
  // Where a name had to be changed, clashes are settled in the end.
  if (!instruction_names_.insert(name).second && !names_changed_) {
    return in.fail("duplicate-name", HloInstructionProto::name,
                   fmt::format("an instruction named '{}' is there already", name));
  }
  if (!predecessors.empty()) {
    std::span<Instruction*> list = reading_.arena.array<Instruction*>(predecessors.size());
    std::copy(predecessors.begin(), predecessors.end(), list.begin());
    attributes.push_back(make_attribute(attr::control_predecessors, list));
  }
  if (opcode == Opcode::kParameter) {
    const int64_t number = get(attributes, attr::parameter_number);
    if (number < 0 || number >= static_cast<int64_t>(scope.size)) {
      return in.fail(
          "invalid-parameter", HloInstructionProto::parameter_number,
          fmt::format("there can't be a parameter {} among {} instructions", number, scope.size));
    }
    const auto place = static_cast<size_t>(number);
    if (place >= scope.parameters.size()) scope.parameters.resize(place + 1);
    if (scope.parameters[place]) {
      return in.fail("duplicate-parameter", HloInstructionProto::parameter_number,
                     fmt::format("the computation has a parameter {} already", number));
    }
    scope.parameters[place] = true;
  }
  const int64_t id = in.integer(HloInstructionProto::id);
  if (id < 0) {
    return in.fail("invalid-id", HloInstructionProto::id, fmt::format("an id can't be {}", id));
  }
  Instruction* made =
      scope.computation->append(opcode, name, shape, operands, attributes, in.location());
  if (continues_async(opcode)) {
    auto found = async_starts_.find(operands[0]);
    if (found != async_starts_.end()) {
      const Instruction* start = found->second;
      async_starts_[made] = start;
    } else if (operands[0]->opcode() == Opcode::kAsyncStart) {
      async_starts_[made] = operands[0];
    }
  }
  if (!scope.instructions.emplace(static_cast<uint32_t>(id), made).second) {
    return in.fail("duplicate-id", HloInstructionProto::id,
                   fmt::format("the computation has an instruction {} already", id));
  }
  return true;
}

}  // namespace minihlo::proto

#include "tests/generator/builder.h"

#include <fmt/format.h>

#include "ir/shape_inference.h"
#include "tests/generator/rules.h"

namespace minihlo::generator {
namespace {

// Nested computations nest no deeper.
constexpr int kMaxDepth = 3;

bool fits_place(const Builder& b, Opcode opcode) {
  const Scope& scope = *b.scope;
  switch (info(opcode).family) {
    case Family::kCollective:
      return !scope.pure && (scope.runs_everywhere || !b.runnable());
    case Family::kAsync:
      return !scope.pure && (scope.runs_everywhere || !b.runnable());
    case Family::kEffect:
      return !scope.pure;
    case Family::kControl:
      return scope.depth < kMaxDepth;
    default:
      break;
  }
  if (opcode == Opcode::kAfterAll || opcode == Opcode::kAddDependency) return !scope.pure;
  return opcode != Opcode::kParameter || scope.takes_parameters;
}

}  // namespace

std::string_view Builder::name(std::string_view base) {
  ++named_;
  switch (choices.below(12)) {
    case 1:
      if (plain_names_.insert(std::string(base)).second) return module.keep_name(base);
      break;
    case 2:
      return module.keep_name(fmt::format("{}.clone.{}", base, named_));
    case 3:
      return module.keep_name(fmt::format("_{}-x_.y.{}", base, named_));
    case 4:
      return module.keep_name(fmt::format("region_{}.{}_spmd", named_, base));
    default:
      break;
  }
  return module.keep_name(fmt::format("{}.{}", base, named_));
}

Instruction* Builder::append(Opcode opcode, const Shape* shape,
                             std::span<Instruction* const> operands,
                             std::vector<Attribute>& attributes) {
  decorate(opcode, shape, attributes);
  return scope->computation->append(opcode, name(to_string(opcode)), shape, operands, attributes);
}

Instruction* Builder::emit(Opcode opcode, std::span<Instruction* const> operands,
                           std::vector<Attribute> attributes, const Shape* written) {
  for (const Instruction* operand : operands) {
    if (!operand) return nullptr;
  }
  auto shape = infer_shape(shapes(), {opcode, operands, attributes, written});
  if (!shape) {
    mistakes.push_back(fmt::format("{}: {}", to_string(opcode), shape.error()));
    return nullptr;
  }
  const Shape* result = *shape;
  if (written && !compatible(result, written)) {
    mistakes.push_back(fmt::format("{}: wanted {}, inferred {}", to_string(opcode),
                                   to_string(written), to_string(result)));
  }
  // The text form takes the layout of an add-dependency from its operand.
  const bool free_layout = result->is_array() && opcode != Opcode::kAddDependency;
  if (free_layout && !oracle() && choices.chance(8)) result = with_layout(result);
  Instruction* made = append(opcode, result, operands, attributes);
  scope->values.push_back(made);
  return made;
}

Instruction* Builder::emit_start(Opcode opcode, std::span<Instruction* const> operands,
                                 std::vector<Attribute> attributes, const Shape* written) {
  Instruction* made = emit(opcode, operands, std::move(attributes), written);
  if (!made) return nullptr;
  scope->values.pop_back();
  scope->open.push_back(made);
  return made;
}

void Builder::finish_one() {
  const auto which = static_cast<size_t>(choices.below(static_cast<int64_t>(scope->open.size())));
  Instruction* start = scope->open[which];
  scope->open.erase(scope->open.begin() + static_cast<std::ptrdiff_t>(which));
  std::vector<Attribute> attributes;
  auto keep = [&](AttributeId id) {
    if (const Attribute* own = find_attribute(start->attributes(), id)) attributes.push_back(*own);
  };
  switch (start->opcode()) {
    case Opcode::kAllGatherStart:
      emit(Opcode::kAllGatherDone, {start});
      return;
    case Opcode::kAllReduceStart:
      emit(Opcode::kAllReduceDone, {start});
      return;
    case Opcode::kCollectivePermuteStart:
      emit(Opcode::kCollectivePermuteDone, {start});
      return;
    case Opcode::kCopyStart:
      emit(Opcode::kCopyDone, {start});
      return;
    case Opcode::kCustomCall:
      emit(Opcode::kCustomCall, {start}, buffer_attributes(*this, "Unpin"),
           start->shape()->element(0));
      return;
    case Opcode::kSend:
    case Opcode::kRecv:
      keep(AttributeId::channel_id);
      keep(AttributeId::is_host_transfer);
      // What pairs a transfer stands on both of its parts, as XLA writes it.
      keep(AttributeId::frontend_attributes);
      emit(start->opcode() == Opcode::kSend ? Opcode::kSendDone : Opcode::kRecvDone, {start},
           attributes);
      return;
    default:
      break;
  }
  if (start->opcode() == Opcode::kAsyncStart && choices.chance(30)) {
    start = emit_start(Opcode::kAsyncUpdate, std::span(&start, 1), {});
    if (!start) return;
    scope->open.pop_back();
  }
  emit(Opcode::kAsyncDone, {start});
}

void Builder::emit_any() {
  if (!scope->open.empty() && choices.chance(30)) return finish_one();
  std::vector<Opcode> allowed;
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    if (rule_of(opcode).use < options.use || !fits_place(*this, opcode)) continue;
    if (!options.opcodes.empty() && std::find(options.opcodes.begin(), options.opcodes.end(),
                                              opcode) == options.opcodes.end()) {
      continue;
    }
    allowed.push_back(opcode);
  }
  if (allowed.empty()) return;
  // Each opcode alike, or each family, since half of the opcodes are elementwise.
  if (choices.chance(50)) {
    const Family family = info(choices.pick(allowed)).family;
    const Family other =
        info(allowed[static_cast<size_t>(choices.below(static_cast<int64_t>(allowed.size())))])
            .family;
    const Family wanted = family == Family::kElementwise ? other : family;
    std::erase_if(allowed, [&](Opcode opcode) { return info(opcode).family != wanted; });
  }
  constexpr int kAttempts = 4;
  for (int i = 0; i < kAttempts; ++i) {
    const Opcode opcode = choices.pick(allowed);
    if (rule_of(opcode).make(*this, opcode)) return;
  }
}

Scope Builder::nested() const {
  Scope place;
  place.depth = scope->depth + 1;
  place.runs_everywhere = scope->runs_everywhere;
  place.pure = scope->pure;
  return place;
}

void Builder::fill(int64_t most) {
  for (int64_t i = choices.between(0, most); i > 0; --i) emit_any();
}

void Builder::open(std::string_view base, std::span<const Shape* const> parameters, Scope& place) {
  place.computation = module.add_computation(name(base));
  scope = &place;
  for (const Shape* shape : parameters) parameter(shape);
}

void Builder::close(Instruction* root) {
  while (!scope->open.empty()) finish_one();
  scope->computation->set_root(root);
  finished.push_back(scope->computation);
}

}  // namespace minihlo::generator

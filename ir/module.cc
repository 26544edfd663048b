#include "ir/module.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <memory>

#include "ir/unique_names.h"

namespace minihlo {
namespace {

// The attributes of a parameter that has a number and nothing else, as most have; null of others.
// Attributes are copied where they change, so all modules share these.
Attribute* shared_number(Opcode opcode, std::span<const Attribute> attributes) {
  static auto numbers = [] {
    std::array<Attribute, 64> all;
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = make_attribute(attr::parameter_number, static_cast<int64_t>(i));
    }
    return all;
  }();
  if (opcode != Opcode::kParameter || attributes.size() != 1 ||
      attributes[0].id != AttributeId::parameter_number) {
    return nullptr;
  }
  const auto number = static_cast<uint64_t>(attributes[0].integer);
  return number < numbers.size() ? &numbers[number] : nullptr;
}

}  // namespace

Instruction* Computation::append(Opcode opcode, std::string_view name, const Shape* shape,
                                 std::span<Instruction* const> operands,
                                 std::span<const Attribute> attributes, Location location) {
  Attribute* const shared = shared_number(opcode, attributes);
  const size_t copied = shared ? 0 : attributes.size_bytes();
  // The instruction, its operands and its attributes in one piece.
  static_assert(alignof(Instruction) == alignof(Attribute) && alignof(Attribute) == alignof(void*));
  const size_t operands_at = sizeof(Instruction);
  const size_t attributes_at = operands_at + operands.size_bytes();
  auto* const place = static_cast<std::byte*>(
      module_->arena().allocate(attributes_at + copied, alignof(Instruction)));
  auto* const made = new (place) Instruction();
  made->opcode_ = opcode;
  made->name_ = name.data();
  made->name_size_ = static_cast<uint32_t>(name.size());
  made->shape_ = shape;
  made->number_ = static_cast<uint32_t>(instructions_.size());
  made->parent_ = this;
  made->location_ = location;
  made->operands_ = reinterpret_cast<Instruction**>(place + operands_at);
  made->operand_count_ = static_cast<uint32_t>(operands.size());
  std::uninitialized_copy(operands.begin(), operands.end(), made->operands_);
  made->attributes_ = shared ? shared : reinterpret_cast<Attribute*>(place + attributes_at);
  made->attribute_count_ = static_cast<uint16_t>(attributes.size());
  if (!shared) {
    std::uninitialized_copy(attributes.begin(), attributes.end(), made->attributes_);
  }
  if (instructions_.empty()) instructions_.reserve(2);  // there is hardly a computation of one
  instructions_.push_back(made);
  if (opcode == Opcode::kParameter) place_parameter(made);
  return made;
}

void Computation::place_parameter(Instruction* parameter) {
  const auto number = static_cast<size_t>(parameter->get(attr::parameter_number));
  // Farther ahead it could hardly be filled up to: the verifier reports it.
  constexpr size_t kFarthest = 65536;
  if (number > parameters_.size() + kFarthest) return;
  if (number == parameters_.size()) {
    parameters_.push_back(parameter);
  } else {
    if (number > parameters_.size()) parameters_.resize(number + 1, nullptr);
    if (parameters_[number]) return;
    parameters_[number] = parameter;
  }
  ++placed_parameters_;
}

void Computation::drop_far_parameters() {
  constexpr size_t kWorthKeeping = 64;
  if (parameters_.size() <= size() + kWorthKeeping) return;
  parameters_.resize(size());
  placed_parameters_ =
      parameters_.size() - static_cast<size_t>(std::ranges::count(parameters_, nullptr));
  while (!parameters_.empty() && !parameters_.back()) parameters_.pop_back();
  parameters_.shrink_to_fit();
}

void Computation::set_instructions(std::vector<Instruction*> instructions) {
  instructions_ = std::move(instructions);
  parameters_.clear();
  placed_parameters_ = 0;
  for (size_t i = 0; i < instructions_.size(); ++i) {
    Instruction* instruction = instructions_[i];
    instruction->number_ = static_cast<uint32_t>(i);
    if (instruction->opcode() == Opcode::kParameter) place_parameter(instruction);
  }
}

Module::Module(std::string_view name, std::shared_ptr<ShapePool> shapes)
    : shapes_(shapes ? std::move(shapes) : std::make_shared<ShapePool>()),
      arena_(std::make_shared<Arena>()) {
  set_name(name);
}

Module::~Module() = default;

Computation* Module::add_computation(std::string_view name, Location location) {
  owned_.push_back(std::make_unique<Computation>());
  Computation* computation = owned_.back().get();
  computation->module_ = this;
  computation->name_ = name;
  computation->location_ = location;
  computation->number_ = static_cast<uint32_t>(computations_.size());
  computations_.push_back(computation);
  return computation;
}

void Module::retain_computations(const std::function<bool(const Computation&)>& keep) {
  std::erase_if(owned_, [&](const auto& computation) { return !keep(*computation); });
  computations_.clear();
  for (const auto& computation : owned_) {
    computation->number_ = static_cast<uint32_t>(computations_.size());
    computations_.push_back(computation.get());
  }
}

void Module::order_computations(std::span<Computation* const> order) {
  assert(order.size() == computations_.size());
  computations_.shrink_to_fit();  // most often there will be no more
  owned_.shrink_to_fit();
  if (std::equal(order.begin(), order.end(), computations_.begin(), computations_.end())) return;
  computations_.assign(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) order[i]->number_ = static_cast<uint32_t>(i);
  std::sort(owned_.begin(), owned_.end(),
            [](const auto& a, const auto& b) { return a->number_ < b->number_; });
}

size_t Module::instruction_count() const {
  size_t count = 0;
  for (const Computation* computation : computations_) count += computation->size();
  return count;
}

std::unique_ptr<Module> Module::clone() const {
  auto copy = std::make_unique<Module>(std::string_view(), shapes_);
  copy->name_ = name_;
  copy->kept_ = kept_;
  copy->kept_.push_back(arena_);
  copy->attributes_ = attributes_;
  copy->stack_frames_ = stack_frames_;

  for (const Computation* from : computations_) {
    Computation* to = copy->add_computation(from->name(), from->location());
    to->execution_thread_ = from->execution_thread_;
    to->instructions_.reserve(from->size());
  }
  auto mapped = [&](const Computation* from) { return copy->computations_[from->number()]; };
  std::vector<Instruction*> operands;
  for (const Computation* from : computations_) {
    Computation* to = mapped(from);
    for (const Instruction* instruction : from->instructions()) {
      operands.clear();
      for (const Instruction* operand : instruction->operands()) {
        operands.push_back(to->instructions_[operand->number()]);
      }
      Instruction* made = copy->arena_->make<Instruction>(*instruction);
      made->parent_ = to;
      std::span<Instruction*> own = copy->arena_->array<Instruction*>(operands.size());
      std::copy(operands.begin(), operands.end(), own.begin());
      made->operands_ = own.data();
      to->instructions_.push_back(made);

      // Attributes are shared but for those that point at instructions or computations.
      for (const Attribute& attribute : instruction->attributes()) {
        Attribute changed = attribute;
        switch (info(attribute.id).kind) {
          case AttributeKind::kComputation:
            changed.data = mapped(attribute_value<Computation*>(attribute));
            break;
          case AttributeKind::kComputations: {
            auto list = attribute_value<std::span<Computation* const>>(attribute);
            std::span<Computation*> fresh = copy->arena_->array<Computation*>(list.size());
            std::transform(list.begin(), list.end(), fresh.begin(), mapped);
            changed.data = fresh.data();
            break;
          }
          case AttributeKind::kInstructions: {
            auto list = attribute_value<std::span<Instruction* const>>(attribute);
            std::span<Instruction*> fresh = copy->arena_->array<Instruction*>(list.size());
            std::transform(list.begin(), list.end(), fresh.begin(),
                           [&](const Instruction* i) { return to->instructions_[i->number()]; });
            changed.data = fresh.data();
            break;
          }
          default:
            continue;
        }
        made->set(changed);
      }
    }
    for (const Instruction* parameter : from->parameters_) {
      to->parameters_.push_back(parameter ? to->instructions_[parameter->number()] : nullptr);
    }
    to->placed_parameters_ = from->placed_parameters_;
    if (from->root_) to->root_ = to->instructions_[from->root_->number()];
  }
  if (entry_) copy->entry_ = mapped(entry_);
  return copy;
}

void Module::set(const Attribute& attribute) {
  for (Attribute& own : attributes_) {
    if (own.id == attribute.id) {
      own = attribute;
      return;
    }
  }
  attributes_.push_back(attribute);
}

void Module::erase(AttributeId id) {
  std::erase_if(attributes_, [&](const Attribute& attribute) { return attribute.id == id; });
}

std::string_view Module::unique_instruction_name(std::string_view base) {
  if (!names_) {
    names_ = std::make_unique<UniqueNames>(*arena_);
    for (const Computation* computation : computations_) {
      for (const Instruction* instruction : computation->instructions()) {
        names_->claim(instruction->name());
      }
    }
  }
  return names_->claim(keep_name(base));
}

int64_t Module::next_channel_id() const {
  int64_t largest = 0;
  for (const Computation* computation : computations_) {
    for (const Instruction* instruction : computation->instructions()) {
      largest = std::max(largest, instruction->get(attr::channel_id));
    }
  }
  return largest + 1;
}

}  // namespace minihlo

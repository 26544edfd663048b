#include "sim/run/scalar_program.h"

#include <algorithm>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "sim/walk.h"

namespace minihlo {
namespace {

constexpr int64_t kBlock = 512;  // elements; the values of a block stay in the nearest cache
constexpr int kMaxDepth = 100;
constexpr size_t kMaxSteps = size_t{1} << 16;

int64_t byte_width(ElementType type) { return info(type).bytes; }

}  // namespace

class ScalarCompiler {
 public:
  tl::expected<ScalarProgram, Stop> compile(const Computation& computation,
                                            std::span<const ElementType> parameter_types,
                                            std::span<const ElementType> result_types) {
    std::vector<std::vector<int>> arguments;
    for (const Instruction* parameter : computation.parameters()) {
      const Shape* shape = parameter ? parameter->shape() : nullptr;
      if (shape && shape->is_array() && arguments.empty()) dims_ = shape->dims();
      if (!shape || !shape->is_array() || !std::ranges::equal(shape->dims(), dims_)) {
        return tl::unexpected(unsupported(computation, "its parameters have different dimensions"));
      }
      const size_t number = arguments.size();
      if (!parameter_types.empty() && number >= parameter_types.size()) {
        return tl::unexpected(unsupported(computation, "it has too many parameters"));
      }
      const ElementType own = shape->element_type();
      program_.parameter_types_.push_back(parameter_types.empty() ? own : parameter_types[number]);
      arguments.push_back({static_cast<int>(number)});
    }
    if (!parameter_types.empty() && arguments.size() != parameter_types.size()) {
      return tl::unexpected(unsupported(computation, "it has too few parameters"));
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ElementType own = computation.parameters()[i]->shape()->element_type();
      if (!convert(arguments[i][0], program_.parameter_types_[i], own)) {
        return tl::unexpected(unsupported(computation, "its parameters are of other types"));
      }
    }
    // Numbers of steps' values come behind those of all constants, which are not counted yet.
    auto results = inline_computation(computation, arguments, 0);
    if (!results) return tl::unexpected(std::move(results.error()));
    std::vector<const Shape*> shapes = leaf_shapes(computation.root()->shape());
    if (shapes.size() != results->size() ||
        (!result_types.empty() && shapes.size() != result_types.size())) {
      return tl::unexpected(unsupported(computation, "it has another number of results"));
    }
    for (size_t i = 0; i < shapes.size(); ++i) {
      const ElementType own = shapes[i]->element_type();
      program_.result_types_.push_back(result_types.empty() ? own : result_types[i]);
      if (!convert((*results)[i], own, program_.result_types_[i])) {
        return tl::unexpected(unsupported(computation, "its results are of other types"));
      }
    }
    settle(*results);
    if (program_.steps_.size() == 1 && results->size() == 1 && parameter_count() == 2) {
      const ScalarProgram::Step& step = program_.steps_[0];
      bool straight = step.operands[0] == 0 && step.operands[1] == 1;
      bool swapped = step.operands[0] == 1 && step.operands[1] == 0 &&
                     is_commutative(opcode_) && !is_complex(program_.result_types_[0]);
      if (step.op.operand_count() == 2 && program_.results_[0] == parameter_count() &&
          program_.constants_.empty() && (straight || swapped)) {
        program_.single_opcode_ = opcode_;
      }
    }
    return std::move(program_);
  }

 private:
  static constexpr int kConstant = 1 << 24;
  static constexpr int kStep = 1 << 25;

  static Stop unsupported(const Computation& computation, std::string_view why) {
    return Stop::unsupported(
        "computation on scalars",
        fmt::format("%{} can't be applied to elements: {}", computation.name(), why));
  }

  int parameter_count() const { return program_.parameter_count(); }

  // Whether a value has an element for each element of the parameters, or one for all.
  bool fits(const Shape* shape) const {
    return shape->is_array() && (shape->is_scalar() || std::ranges::equal(shape->dims(), dims_));
  }

  // Whether an element is its operand's element under another type.
  bool keeps_bits(const Instruction& instruction) const {
    const Shape *from = instruction.operand(0)->shape(), *to = instruction.shape();
    if (!fits(to) || !fits(from) || from->is_scalar() != to->is_scalar()) return false;
    const int bits = info(from->element_type()).bits;
    return from->element_type() == to->element_type() ||
           (bits == info(to->element_type()).bits && bits % 8 == 0);
  }

  tl::expected<std::vector<int>, Stop> inline_computation(
      const Computation& computation, const std::vector<std::vector<int>>& arguments, int depth) {
    if (depth > kMaxDepth) {
      return tl::unexpected(Stop::unsupported("deep nesting", "calls are nested too deeply"));
    }
    std::vector<std::vector<int>> values(computation.size());
    for (const Instruction* instruction : computation.instructions()) {
      auto value = visit(*instruction, values, arguments, depth);
      if (!value) return tl::unexpected(std::move(value.error()));
      values[instruction->number()] = *std::move(value);
    }
    return std::move(values[computation.root()->number()]);
  }

  tl::expected<std::vector<int>, Stop> visit(const Instruction& instruction,
                                             const std::vector<std::vector<int>>& values,
                                             const std::vector<std::vector<int>>& arguments,
                                             int depth) {
    auto operand = [&](size_t i) -> const std::vector<int>& {
      return values[instruction.operand(i)->number()];
    };
    switch (instruction.opcode()) {
      case Opcode::kParameter: {
        auto number = static_cast<size_t>(instruction.get(attr::parameter_number));
        if (number >= arguments.size()) break;
        return arguments[number];
      }
      case Opcode::kConstant:
        return constant(instruction);
      case Opcode::kTuple: {
        std::vector<int> result;
        for (size_t i = 0; i < instruction.operand_count(); ++i) {
          result.insert(result.end(), operand(i).begin(), operand(i).end());
        }
        return result;
      }
      case Opcode::kGetTupleElement: {
        const Shape* tuple = instruction.operand(0)->shape();
        int64_t begin = 0, index = instruction.get(attr::index);
        for (int64_t i = 0; i < index; ++i) begin += tuple->element(i)->leaf_count();
        auto first = operand(0).begin() + begin;
        return std::vector<int>(first, first + tuple->element(index)->leaf_count());
      }
      case Opcode::kCall:
      case Opcode::kFusion: {
        std::vector<std::vector<int>> inner;
        for (size_t i = 0; i < instruction.operand_count(); ++i) inner.push_back(operand(i));
        return inline_computation(*instruction.called_computations()[0], inner, depth + 1);
      }
      case Opcode::kOptimizationBarrier:
        return operand(0);
      case Opcode::kBitcast:
        if (instruction.shape()->is_scalar() && keeps_bits(instruction)) return operand(0);
        break;
      case Opcode::kBroadcast:
      case Opcode::kCopy:
      case Opcode::kReshape:
      case Opcode::kTranspose: {
        const Shape *from = instruction.operand(0)->shape(), *to = instruction.shape();
        if (!fits(to) || !fits(from) || from->element_type() != to->element_type()) break;
        bool spreads = instruction.opcode() == Opcode::kBroadcast && from->is_scalar();
        bool stays = instruction.opcode() == Opcode::kCopy;
        if (!spreads && !stays && from->element_count() != 1) break;
        return operand(0);
      }
      case Opcode::kBitcastConvert:
        if (!keeps_bits(instruction)) break;
        return operand(0);
      default:
        if (info(instruction.opcode()).family == Family::kElementwise) {
          return elementwise(instruction, values);
        }
        break;
    }
    return tl::unexpected(Stop::unsupported(
        std::string(to_string(instruction.opcode())),
        fmt::format("{} can't be applied to elements one by one", instruction_place(instruction))));
  }

  tl::expected<std::vector<int>, Stop> constant(const Instruction& instruction) {
    const Literal* literal = instruction.get(attr::literal_value);
    if (!instruction.shape()->is_scalar() || !literal->is_known()) {
      return tl::unexpected(Stop::unsupported(
          "constant", fmt::format("{} is no known scalar", instruction_place(instruction))));
    }
    ScalarProgram::Constant constant{};
    std::memcpy(constant.bytes, literal->bytes.data(), literal->bytes.size());
    program_.constants_.push_back(constant);
    return std::vector<int>{kConstant + static_cast<int>(program_.constants_.size()) - 1};
  }

  tl::expected<std::vector<int>, Stop> elementwise(const Instruction& instruction,
                                                   const std::vector<std::vector<int>>& values) {
    auto op = elementwise_op(instruction);
    if (!op || !fits(instruction.shape()) || program_.steps_.size() >= kMaxSteps) {
      return tl::unexpected(Stop::unsupported(
          std::string(to_string(instruction.opcode())),
          fmt::format("{}: {}", instruction_place(instruction),
                      op ? "not applicable to elements one by one" : op.error())));
    }
    ScalarProgram::Step step{*std::move(op), {}};
    for (size_t i = 0; i < instruction.operand_count(); ++i) {
      step.operands[i] = values[instruction.operand(i)->number()][0];
    }
    opcode_ = instruction.opcode();
    program_.steps_.push_back(std::move(step));
    return std::vector<int>{kStep + static_cast<int>(program_.steps_.size()) - 1};
  }

  // Makes `value` the one of another type. False where there is no conversion.
  bool convert(int& value, ElementType from, ElementType to) {
    if (from == to) return true;
    const ElementType types[] = {from};
    auto op = elementwise_op(ElementwiseSignature{Opcode::kConvert, types, to, {}});
    if (!op) return false;
    ScalarProgram::Step step{*std::move(op), {}};
    step.operands[0] = value;
    program_.steps_.push_back(std::move(step));
    value = kStep + static_cast<int>(program_.steps_.size()) - 1;
    return true;
  }

  // Final numbers: parameters, constants, steps.
  void settle(std::vector<int> results) {
    int constants = static_cast<int>(program_.constants_.size());
    auto number = [&](int value) {
      if (value >= kStep) return value - kStep + parameter_count() + constants;
      if (value >= kConstant) return value - kConstant + parameter_count();
      return value;
    };
    for (ScalarProgram::Step& step : program_.steps_) {
      for (int& operand : step.operands) operand = number(operand);
      program_.step_offset_.push_back(program_.scratch_size_);
      program_.scratch_size_ += kBlock * byte_width(step.op.result_type());
    }
    for (int& result : results) result = number(result);
    program_.results_ = std::move(results);
  }

  ScalarProgram program_;
  std::span<const int64_t> dims_;  // of the parameters
  Opcode opcode_ = Opcode::kAdd;
};

tl::expected<ScalarProgram, Stop> ScalarProgram::compile(
    const Computation& computation, std::span<const ElementType> parameter_types,
    std::span<const ElementType> result_types) {
  return ScalarCompiler().compile(computation, parameter_types, result_types);
}

int ScalarProgram::forwarded_parameter(int i) const {
  if (function_) return -1;
  int value = results_[static_cast<size_t>(i)];
  return value < parameter_count() ? value : -1;
}

void ScalarProgram::run(int64_t count, const std::byte* const* parameters, const int64_t* steps,
                        std::byte* const* results) const {
  if (function_) return function_->run(count, parameters, steps, results);
  if (steps_.size() == 1 && results_.size() == 1 &&
      results_[0] == parameter_count() + static_cast<int>(constants_.size())) {
    const Step& step = steps_[0];
    const std::byte* operands[ElementwiseOp::kMaxOperands] = {};
    int64_t operand_steps[ElementwiseOp::kMaxOperands] = {};
    for (int i = 0; i < step.op.operand_count(); ++i) {
      int value = step.operands[static_cast<size_t>(i)];
      bool is_parameter = value < parameter_count();
      operands[i] = is_parameter ? parameters[value]
                                 : constants_[static_cast<size_t>(value - parameter_count())].bytes;
      operand_steps[i] = is_parameter ? steps[value] : 0;
    }
    step.op(count, operands, operand_steps, results[0]);
    return;
  }
  // Offsets in blocks of scratch memory are multiples of kBlock bytes, so all are aligned.
  static thread_local std::vector<std::max_align_t> scratch;
  auto needed = static_cast<size_t>(scratch_size_) / sizeof(std::max_align_t) + 1;
  if (scratch.size() < needed) scratch.resize(needed);
  std::vector<const std::byte*> in(parameters, parameters + parameter_count());
  std::vector<std::byte*> out(results, results + result_count());
  for (int64_t done = 0; done < count; done += kBlock) {
    int64_t size = std::min(kBlock, count - done);
    run_block(size, in.data(), steps, out.data(), reinterpret_cast<std::byte*>(scratch.data()));
    for (size_t i = 0; i < in.size(); ++i) {
      in[i] += steps[i] * size * byte_width(parameter_types_[i]);
    }
    for (size_t i = 0; i < out.size(); ++i) out[i] += size * byte_width(result_types_[i]);
  }
}

void ScalarProgram::run_block(int64_t count, const std::byte* const* parameters,
                              const int64_t* steps, std::byte* const* results,
                              std::byte* scratch) const {
  const int first_constant = parameter_count();
  const int first_step = first_constant + static_cast<int>(constants_.size());
  struct Place {
    const std::byte* data;
    int64_t step;
  };
  auto place = [&](int value) -> Place {
    if (value < first_constant) return {parameters[value], steps[value]};
    if (value < first_step) {
      return {constants_[static_cast<size_t>(value - first_constant)].bytes, 0};
    }
    return {scratch + step_offset_[static_cast<size_t>(value - first_step)], 1};
  };
  for (size_t i = 0; i < steps_.size(); ++i) {
    const std::byte* operands[ElementwiseOp::kMaxOperands] = {};
    int64_t operand_steps[ElementwiseOp::kMaxOperands] = {};
    for (int k = 0; k < steps_[i].op.operand_count(); ++k) {
      Place from = place(steps_[i].operands[static_cast<size_t>(k)]);
      operands[k] = from.data;
      operand_steps[k] = from.step;
    }
    steps_[i].op(count, operands, operand_steps, scratch + step_offset_[i]);
  }
  // A result may lie where a parameter does that another result is, so forwarded ones are saved.
  std::vector<std::byte> forwarded;
  for (int value : results_) {
    if (value >= first_constant) continue;
    int64_t width = byte_width(parameter_types_[static_cast<size_t>(value)]);
    Place from = place(value);
    for (int64_t k = 0; k < count; ++k) {
      const std::byte* element = from.data + k * from.step * width;
      forwarded.insert(forwarded.end(), element, element + width);
    }
  }
  size_t at = 0;
  for (size_t i = 0; i < results_.size(); ++i) {
    int64_t width = byte_width(result_types_[i]);
    auto bytes = static_cast<size_t>(count * width);
    if (results_[i] < first_constant) {
      std::memcpy(results[i], forwarded.data() + at, bytes);
      at += bytes;
      continue;
    }
    Place from = place(results_[i]);
    if (from.step == 1) {
      std::memcpy(results[i], from.data, bytes);
    } else {
      for (int64_t k = 0; k < count; ++k) {
        std::memcpy(results[i] + k * width, from.data, static_cast<size_t>(width));
      }
    }
  }
}

tl::expected<const ScalarProgram*, Stop> ScalarPrograms::of(
    const Computation& computation, std::vector<ElementType> parameter_types,
    std::vector<ElementType> result_types) {
  Key key{&computation, std::move(parameter_types), std::move(result_types)};
  std::unique_ptr<ScalarProgram>& program = programs_[key];
  if (program) return program.get();
  const auto& [called, takes, gives] = key;
  auto compiled = ScalarProgram::compile(computation, takes, gives);
  if (!compiled && compiled.error().kind == Stop::Kind::kUnsupported && fallback_) {
    compiled = fallback_(computation);
    if (compiled && ((!takes.empty() && takes != compiled->parameter_types()) ||
                     (!gives.empty() && gives != compiled->result_types()))) {
      return tl::unexpected(Stop::unsupported(
          "computation on elements",
          fmt::format("%{} takes or gives elements of other types", computation.name())));
    }
  }
  if (!compiled) return tl::unexpected(std::move(compiled.error()));
  program = std::make_unique<ScalarProgram>(*std::move(compiled));
  return program.get();
}

}  // namespace minihlo

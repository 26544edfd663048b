// Reductions and contractions that give the same in any order, as folds of what they take in.
#include "ir/row_major.h"
#include "sim/prove/term_domain.h"

namespace minihlo::prove {
namespace {

// More are not taken apart, nor are operands that fall into more pieces all in all.
constexpr int64_t kMaxSummands = 1024;
constexpr int64_t kMaxSummandPieces = int64_t{1} << 14;

int64_t pieces_of(const Terms& terms, Handle handle) {
  const Node& node = terms.node(handle);
  return node.tensor ? static_cast<int64_t>(node.tensor->pieces.size()) : 1;
}

// Which part of an operand a summand takes: the result's axes run along some of the operand's, the
// others stand at an index.
struct Selection {
  const Shape* from;
  std::vector<int64_t> axes;      // of the operand, by result axis; -1: repeated along it
  std::vector<int64_t> selected;  // axes that stand at an index, in the order of their digits
};

Movement movement_of(const Selection& selection, std::span<const int64_t> result_dims,
                     int64_t number) {
  Movement made;
  made.result_dims.assign(result_dims.begin(), result_dims.end());
  made.operand_dims = {{selection.from->dims().begin(), selection.from->dims().end()}};
  Box box;
  for (size_t axis = 0; axis < result_dims.size(); ++axis) {
    const int64_t own = selection.axes[axis];
    box.axes.push_back({0, result_dims[axis], 1, static_cast<int>(own), own < 0 ? 0 : 1});
  }
  box.base.assign(selection.from->dims().size(), 0);
  std::vector<int64_t> sizes;
  for (int64_t axis : selection.selected) sizes.push_back(selection.from->dim(axis));
  const std::vector<int64_t> digits = multi_index(number, sizes);
  for (size_t i = 0; i < digits.size(); ++i) {
    box.base[static_cast<size_t>(selection.selected[i])] = digits[i];
  }
  made.boxes.push_back(std::move(box));
  return made;
}

// What taking a dot of floats for products and sums of them lets go.
void relax_dot(Rules& rules, ElementType operand, ElementType result) {
  rules.relax("contract");  // the product is not rounded before it is added
  if (operand != result || info(result).bits < 32) rules.relax("excess-precision");
}

int64_t count_of(const Selection& selection) {
  int64_t count = 1;
  for (int64_t axis : selection.selected) count *= selection.from->dim(axis);
  return count;
}

}  // namespace

std::optional<Opcode> TermDomain::exact_reducer(const Computation& computation, ElementType type) {
  const ScalarProgram* program = evaluator_.program(computation);
  if (!program || !program->single_opcode()) return std::nullopt;
  const auto has_type = [&](ElementType own) { return own == type; };
  if (!rules_.is_in_any_order(*program->single_opcode(), type) ||
      !std::ranges::all_of(program->parameter_types(), has_type) ||
      !std::ranges::all_of(program->result_types(), has_type)) {
    return std::nullopt;
  }
  return program->single_opcode();
}

std::optional<Handle> TermDomain::exact_sum(const Instruction& instruction,
                                            std::span<const Handle> operands) {
  if (operands.size() != 2 || !instruction.shape()->is_array() ||
      instruction.shape()->element_count() == 0) {
    return std::nullopt;
  }
  if (terms_.known(operands[0]) && terms_.known(operands[1])) return std::nullopt;
  if (instruction.opcode() == Opcode::kDot) return exact_dot(instruction, operands);
  if (instruction.opcode() != Opcode::kReduce) return std::nullopt;
  const ElementType type = instruction.shape()->element_type();
  if (instruction.operand(0)->shape()->element_type() != type ||
      instruction.operand(1)->shape()->element_type() != type) {
    return std::nullopt;
  }
  const std::optional<Opcode> opcode = exact_reducer(*instruction.get(attr::to_apply), type);
  return opcode ? exact_reduce(instruction, *opcode, operands) : std::nullopt;
}

std::optional<Handle> TermDomain::exact_reduce(const Instruction& reduce, Opcode opcode,
                                               std::span<const Handle> operands) {
  const Shape* shape = reduce.shape();
  const ElementType type = shape->element_type();
  std::span<const int64_t> reduced = reduce.get(attr::dimensions);
  Selection selection{reduce.operand(0)->shape(), {}, {reduced.begin(), reduced.end()}};
  for (int64_t axis = 0; axis < selection.from->rank(); ++axis) {
    if (std::ranges::find(reduced, axis) == reduced.end()) selection.axes.push_back(axis);
  }
  const int64_t count = count_of(selection);
  if (count > kMaxSummands || count * pieces_of(terms_, operands[0]) > kMaxSummandPieces) {
    return std::nullopt;
  }
  std::vector<Handle> summands = {terms_.splat(operands[1], shape->element_count())};
  for (int64_t i = 0; i < count; ++i) {
    auto summand = move(movement_of(selection, shape->dims(), i), operands.first(1), type);
    if (!summand) return std::nullopt;
    summands.push_back(*summand);
  }
  rules_.use("exact-sums");
  const PointFunction fold{rules_.functions().exact_fold(opcode, type), type};
  return apply_pointwise(terms_, rules_, fold, summands, shape->element_count());
}

// Products and sums wrap modulo 2 to the width of the result, whatever they are computed in.
std::optional<Handle> TermDomain::exact_dot(const Instruction& dot,
                                            std::span<const Handle> operands) {
  const Shape* shape = dot.shape();
  const ElementType type = shape->element_type();
  std::span<const int64_t> batch[] = {dot.get(attr::lhs_batch_dims), dot.get(attr::rhs_batch_dims)};
  std::span<const int64_t> summed[] = {dot.get(attr::lhs_contracting_dims),
                                       dot.get(attr::rhs_contracting_dims)};
  if (!rules_.is_in_any_order(Opcode::kAdd, type) || type == ElementType::PRED) return std::nullopt;
  Selection sides[2];
  for (size_t side = 0; side < 2; ++side) {
    sides[side] = {dot.operand(side)->shape(), {}, {summed[side].begin(), summed[side].end()}};
    const ElementType own = sides[side].from->element_type();
    if (is_integer(own) != is_integer(type) || is_float(own) != is_float(type)) return std::nullopt;
    sides[side].axes.assign(batch[side].begin(), batch[side].end());
  }
  for (size_t side = 0; side < 2; ++side) {
    for (int64_t axis = 0; axis < sides[side].from->rank(); ++axis) {
      if (std::ranges::find(batch[side], axis) != batch[side].end() ||
          std::ranges::find(summed[side], axis) != summed[side].end()) {
        continue;
      }
      sides[side].axes.push_back(axis);
      sides[1 - side].axes.push_back(-1);
    }
  }
  const int64_t count = count_of(sides[0]);
  if (count == 0 || count > kMaxSummands ||
      count * (pieces_of(terms_, operands[0]) + pieces_of(terms_, operands[1])) >
          kMaxSummandPieces) {
    return std::nullopt;
  }
  Functions& functions = rules_.functions();
  Handle factors[2] = {operands[0], operands[1]};
  for (size_t side = 0; side < 2; ++side) {
    const ElementType own = sides[side].from->element_type();
    if (is_float(type)) relax_dot(rules_, own, type);
    if (own == type) continue;
    const PointFunction convert{functions.of(Opcode::kConvert, own, type), type};
    factors[side] = apply_pointwise(terms_, rules_, convert, std::span(&factors[side], 1),
                                    sides[side].from->element_count());
  }
  const PointFunction multiply{functions.exact_fold(Opcode::kMultiply, type), type};
  const PointFunction add{functions.exact_fold(Opcode::kAdd, type), type};
  std::vector<Handle> products;
  for (int64_t i = 0; i < count; ++i) {
    Handle both[2];
    for (size_t side = 0; side < 2; ++side) {
      auto part =
          move(movement_of(sides[side], shape->dims(), i), std::span(&factors[side], 1), type);
      if (!part) return std::nullopt;
      both[side] = *part;
    }
    products.push_back(apply_pointwise(terms_, rules_, multiply, both, shape->element_count()));
  }
  rules_.use("exact-sums");
  return apply_pointwise(terms_, rules_, add, products, shape->element_count());
}

}  // namespace minihlo::prove

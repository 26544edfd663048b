// Elements that are sums over operands: of dots, convolutions and windows.
#include <algorithm>

#include <fmt/format.h>

#include "ir/row_major.h"
#include "sim/prove/constants.h"
#include "sim/prove/element_terms.h"

namespace minihlo::prove {
namespace {

constexpr int64_t kMaxProducts = int64_t{1} << 16;  // of a sum
// A running fold along more elements goes in blocks.
constexpr int64_t kSequential = 16;

bool contains(std::span<const int64_t> list, int64_t value) {
  return std::ranges::find(list, value) != list.end();
}

// The element that a window meets at one of its positions along an axis of an operand.
std::optional<int64_t> met(const WindowDimension& window, int64_t output, int64_t position,
                           int64_t size) {
  int64_t at = output * window.stride + position * window.window_dilation - window.padding_low;
  if (at < 0 || at % window.base_dilation != 0) return std::nullopt;
  at /= window.base_dilation;
  if (at >= size) return std::nullopt;
  return at;
}

// Where one side of dim_labels has its dimensions.
struct Side {
  int64_t first = -1, second = -1;  // b and f, i and o
  std::vector<int64_t> spatial;
};
Side side_of(std::string_view text, char first, char second) {
  Side side;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    if (text[i] == first) {
      side.first = dim;
    } else if (text[i] == second) {
      side.second = dim;
    } else {
      const auto number = static_cast<size_t>(text[i] - '0');
      if (side.spatial.size() <= number) side.spatial.resize(number + 1, -1);
      side.spatial[number] = dim;
    }
  }
  return side;
}

}  // namespace

// The products in the order in which they are summed (docs/numerics.md), two elements each.
void ElementTerms::dot_parts(const Element& wanted, const Instruction& dot,
                             std::vector<Element>& elements, Key& key) {
  std::vector<Handle> arguments = terms_.arguments(wanted.tensor);
  const Shape* lhs = dot.operand(0)->shape();
  const Shape* rhs = dot.operand(1)->shape();
  std::span<const int64_t> lhs_batch = dot.get(attr::lhs_batch_dims);
  std::span<const int64_t> rhs_batch = dot.get(attr::rhs_batch_dims);
  std::span<const int64_t> lhs_sum = dot.get(attr::lhs_contracting_dims);
  std::span<const int64_t> rhs_sum = dot.get(attr::rhs_contracting_dims);
  std::string name =
      fmt::format("element dot {} {} {}", to_string(lhs->element_type()),
                  to_string(rhs->element_type()), to_string(dot.shape()->element_type()));
  for (std::string_view word : dot.get(attr::operand_precision)) name += fmt::format(" {}", word);
  name += fmt::format(" {}", dot.get(attr::algorithm));
  key.what = terms_.signature(std::move(name));

  std::vector<int64_t> at = multi_index(wanted.index, dot.shape()->dims());
  std::vector<int64_t> left(lhs->dims().size(), 0), right(rhs->dims().size(), 0);
  size_t next = 0;
  for (size_t i = 0; i < lhs_batch.size(); ++i, ++next) {
    left[static_cast<size_t>(lhs_batch[i])] = at[next];
    right[static_cast<size_t>(rhs_batch[i])] = at[next];
  }
  auto free = [&](std::vector<int64_t>& own, std::span<const int64_t> batch,
                  std::span<const int64_t> sum) {
    for (size_t axis = 0; axis < own.size(); ++axis) {
      auto number = static_cast<int64_t>(axis);
      if (!contains(batch, number) && !contains(sum, number)) own[axis] = at[next++];
    }
  };
  free(left, lhs_batch, lhs_sum);
  free(right, rhs_batch, rhs_sum);
  std::vector<int64_t> sizes;
  int64_t products = 1;
  for (int64_t axis : lhs_sum) {
    sizes.push_back(lhs->dim(axis));
    products *= sizes.back();
  }
  for (int64_t i = 0; i < products; ++i) {
    std::vector<int64_t> summed = multi_index(i, sizes);
    for (size_t k = 0; k < summed.size(); ++k) {
      left[static_cast<size_t>(lhs_sum[k])] = summed[k];
      right[static_cast<size_t>(rhs_sum[k])] = summed[k];
    }
    elements.push_back({arguments[0], linear_index(left, lhs->dims())});
    elements.push_back({arguments[1], linear_index(right, rhs->dims())});
  }
}

// The products at the positions of the window in row-major order, at each over the input features.
bool ElementTerms::convolution_parts(const Element& wanted, const Instruction& convolution,
                                     std::vector<Element>& elements, Key& key) {
  const std::string_view labels = convolution.get(attr::dim_labels);
  const size_t under = labels.find('_'), arrow = labels.find("->");
  if (convolution.get(attr::batch_group_count) > 1 || under == labels.npos ||
      arrow == labels.npos || labels.find('?') != labels.npos) {
    return false;
  }
  const Side data = side_of(labels.substr(0, under), 'b', 'f');
  const Side kernel = side_of(labels.substr(under + 1, arrow - under - 1), 'i', 'o');
  const Side out = side_of(labels.substr(arrow + 2), 'b', 'f');
  const Shape *lhs = convolution.operand(0)->shape(), *rhs = convolution.operand(1)->shape();
  const int64_t groups = std::max<int64_t>(1, convolution.get(attr::feature_group_count));
  std::span<const WindowDimension> given = convolution.get(attr::window);
  std::vector<WindowDimension> window(given.begin(), given.end());
  window.resize(data.spatial.size());
  std::vector<int64_t> sizes;
  int64_t positions = 1;
  for (const WindowDimension& dim : window) {
    sizes.push_back(dim.size);
    if (__builtin_mul_overflow(positions, dim.size, &positions) || positions > kMaxProducts) {
      return false;
    }
  }
  const int64_t depth = rhs->dim(kernel.first);
  if (depth > kMaxProducts || positions * depth > kMaxProducts) return false;
  const std::vector<Handle> arguments = terms_.arguments(wanted.tensor);
  const std::vector<int64_t> at = multi_index(wanted.index, convolution.shape()->dims());
  const auto place = [](int64_t dim) { return static_cast<size_t>(dim); };
  const int64_t feature = at[place(out.second)];
  const int64_t group = feature / std::max<int64_t>(1, rhs->dim(kernel.second) / groups);
  std::vector<int64_t> left(lhs->dims().size(), 0), right(rhs->dims().size(), 0);
  left[place(data.first)] = at[place(out.first)];
  right[place(kernel.second)] = feature;
  for (int64_t i = 0; i < positions; ++i) {
    const std::vector<int64_t> position = multi_index(i, sizes);
    bool is_inside = true;
    for (size_t axis = 0; axis < window.size(); ++axis) {
      const int64_t own = data.spatial[axis];
      const std::optional<int64_t> from =
          met(window[axis], at[place(out.spatial[axis])], position[axis], lhs->dim(own));
      is_inside = is_inside && from;
      left[place(own)] = from.value_or(0);
      right[place(kernel.spatial[axis])] =
          window[axis].reversal ? window[axis].size - 1 - position[axis] : position[axis];
    }
    for (int64_t k = 0; is_inside && k < depth; ++k) {
      left[place(data.second)] = group * depth + k;
      right[place(kernel.first)] = k;
      elements.push_back({arguments[0], linear_index(left, lhs->dims())});
      elements.push_back({arguments[1], linear_index(right, rhs->dims())});
    }
  }
  key.what = terms_.node(wanted.tensor).signature;
  return true;
}

// The start value, then the elements that the window meets, in row-major order of its positions.
bool ElementTerms::window_parts(const Element& wanted, const Instruction& reduce,
                                std::vector<Element>& elements, Key& key) {
  if (reduce.operand_count() != 2) return false;
  const Signature& signature = terms_.signature(terms_.node(wanted.tensor).signature);
  const Shape* from = reduce.operand(0)->shape();
  std::span<const WindowDimension> given = reduce.get(attr::window);
  std::vector<WindowDimension> window(given.begin(), given.end());
  window.resize(from->dims().size());
  std::vector<int64_t> sizes;
  int64_t positions = 1;
  for (const WindowDimension& dim : window) {
    sizes.push_back(dim.size);
    if (__builtin_mul_overflow(positions, dim.size, &positions) || positions > kMaxProducts ||
        (!signature.folds && dim.size > kSequential)) {
      return false;
    }
  }
  if (!signature.folds && !signature.steps) return false;
  key.what = signature.steps
                 ? rules_.functions().of(*signature.steps, reduce.shape()->element_type())
                 : terms_.node(wanted.tensor).signature;
  const std::vector<Handle> arguments = terms_.arguments(wanted.tensor);
  const std::vector<int64_t> at = multi_index(wanted.index, reduce.shape()->dims());
  std::vector<int64_t> own(from->dims().size(), 0);
  elements.push_back({arguments[1], 0});
  for (int64_t i = 0; i < positions; ++i) {
    const std::vector<int64_t> position = multi_index(i, sizes);
    bool is_inside = true;
    for (size_t axis = 0; axis < window.size() && is_inside; ++axis) {
      const std::optional<int64_t> element =
          met(window[axis], at[axis], position[axis], from->dim(static_cast<int64_t>(axis)));
      is_inside = element.has_value();
      own[axis] = element.value_or(0);
    }
    if (is_inside) elements.push_back({arguments[0], linear_index(own, from->dims())});
  }
  return true;
}

uint32_t ElementTerms::sum_of_products(const Instruction& instruction, Key key) {
  const ElementType type = instruction.shape()->element_type();
  const auto all = [&](auto&& holds) {
    return instruction.operand_count() == 2 &&
           std::ranges::all_of(instruction.operands(), [&](const Instruction* operand) {
             return holds(operand->shape()->element_type());
           });
  };
  const bool is_convolution = instruction.opcode() == Opcode::kConvolution;
  const bool is_of_integers =
      is_integer(type) && all([](ElementType own) { return is_integer(own); });
  const bool is_of_floats =
      is_float(type) && all([&](ElementType own) {
        return is_float(own) && (own == ElementType::F64) == (type == ElementType::F64);
      });
  if (is_of_floats && !(is_convolution && rules_.is_in_any_order(Opcode::kAdd, type))) {
    return float_sum(instruction, std::move(key));
  }
  if (!is_of_integers && !is_of_floats) return intern(std::move(key));
  if (is_of_floats) {
    rules_.relax("contract");
    if (info(type).bits < 32) rules_.relax("excess-precision");
  }
  // In whatever they are computed: modulo 2 to the width of the result, or up to rounding.
  auto normal = [&](uint32_t function, std::vector<Ref> arguments) {
    return rules_.normal(function, std::move(arguments), *this);
  };
  Functions& functions = rules_.functions();
  std::vector<Ref> products;
  for (size_t i = 0; i < key.arguments.size(); i += 2) {
    Ref factors[2] = {key.arguments[i], key.arguments[i + 1]};
    for (size_t side = 0; side < 2; ++side) {
      const ElementType own = instruction.operand(side)->shape()->element_type();
      if (own == type) continue;
      factors[side] = normal(functions.of(Opcode::kConvert, own, type), {factors[side]});
    }
    products.push_back(
        normal(functions.exact_fold(Opcode::kMultiply, type), {factors[0], factors[1]}));
  }
  if (products.empty()) {
    const Constant zero{{}, static_cast<size_t>(info(type).bytes)};
    return static_cast<uint32_t>(constant(type, zero.span()));
  }
  return static_cast<uint32_t>(
      normal(functions.exact_fold(Opcode::kAdd, type), std::move(products)));
}

// Products are added up in f32 whatever narrower types they are of, and rounded once. In each the
// factors may be exchanged, and their signs be one. A single product is not added to anything.
uint32_t ElementTerms::float_sum(const Instruction& dot, Key key) {
  const ElementType result = dot.shape()->element_type();
  const bool is_wide = result == ElementType::F64;
  const ElementType type = is_wide ? ElementType::F64 : ElementType::F32;
  Functions& functions = rules_.functions();
  auto normal = [&](uint32_t function, std::vector<Ref> arguments) {
    return rules_.normal(function, std::move(arguments), *this);
  };
  std::vector<Ref> factors;
  for (size_t i = 0; i < key.arguments.size(); ++i) {
    const ElementType own = dot.operand(i % 2)->shape()->element_type();
    Ref factor = key.arguments[i];
    if (own != type) factor = normal(functions.of(Opcode::kConvert, own, type), {factor});
    factors.push_back(factor);
  }
  const uint32_t negate = functions.of(Opcode::kNegate, type);
  for (size_t i = 0; i + 1 < factors.size(); i += 2) {
    bool is_negative = false;
    for (size_t side = 0; side < 2; ++side) {
      if (function(factors[i + side]) != negate) continue;
      factors[i + side] = arguments(factors[i + side])[0];
      is_negative = !is_negative;
    }
    if (factors[i + 1] < factors[i]) std::swap(factors[i], factors[i + 1]);
    if (is_negative) factors[i] = normal(negate, {factors[i]});
  }
  Ref sum;
  if (factors.empty()) {
    sum = constant(type, float_constant(type, 0).span());
  } else if (factors.size() == 2) {
    sum = normal(functions.of(Opcode::kMultiply, type), std::move(factors));
  } else {
    std::string name = fmt::format("element dot {}", to_string(type));
    for (std::string_view word : dot.get(attr::operand_precision)) name += fmt::format(" {}", word);
    name += fmt::format(" {}", dot.get(attr::algorithm));
    sum = make(terms_.signature(std::move(name)), factors);
  }
  if (result == type) return static_cast<uint32_t>(sum);
  return static_cast<uint32_t>(normal(functions.of(Opcode::kConvert, type, result), {sum}));
}

}  // namespace minihlo::prove

#include "sim/prove/pointwise.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace minihlo::prove {
namespace {

// Boxes beyond this are not worth a term each: the function is then applied to whole arguments.
constexpr size_t kMaxBoxes = size_t{1} << 16;

class Pointwise {
 public:
  Pointwise(Terms& terms, RuleNames& rules, const PointFunction& function)
      : terms_(terms),
        rules_(rules),
        function_(function),
        commutative_(terms.signature(function.signature).commutative) {}

  Handle apply(std::vector<Handle> arguments, int64_t count) {
    if (count == 0) return terms_.literal(function_.type, 0, {});
    if (std::optional<Handle> value = fold(arguments, count)) return *value;
    // Scalars are told by their sources, so that one splat to any size is the same argument.
    std::vector<Tensor> tensors;
    for (Handle argument : arguments) tensors.push_back(terms_.tensor(argument));
    std::vector<int64_t> frame;
    std::optional<std::vector<Overlay>> boxes = overlay(std::move(tensors), frame);
    if (!boxes || boxes->size() > kMaxBoxes) return on_base(std::move(arguments), count);
    Tensor result{count, std::move(frame), {}};
    for (Overlay& box : *boxes) result.pieces.push_back(on_box(box));
    if (!normalize(result)) return on_base(std::move(arguments), count);
    return terms_.assembled(function_.type, std::move(result));
  }

 private:
  // The value where all arguments are known.
  std::optional<Handle> fold(const std::vector<Handle>& arguments, int64_t count) {
    if (!function_.op && !function_.fold) return std::nullopt;
    std::vector<std::span<const std::byte>> scalars;
    for (Handle argument : arguments) {
      if (auto value = terms_.known_splat(argument)) scalars.push_back(*value);
    }
    if (scalars.size() == arguments.size()) {
      std::vector<const std::byte*> data;
      for (std::span<const std::byte> scalar : scalars) data.push_back(scalar.data());
      return terms_.splat(terms_.literal(function_.type, 1, compute(data, 0, 1)), count);
    }
    if (count > Terms::kMaxKnown) return std::nullopt;
    std::vector<std::vector<std::byte>> known;
    for (Handle argument : arguments) {
      auto value = terms_.known(argument);
      if (!value) return std::nullopt;
      known.push_back(*std::move(value));
    }
    std::vector<const std::byte*> data;
    for (const auto& bytes : known) data.push_back(bytes.data());
    return terms_.literal(function_.type, count, compute(data, 1, count));
  }

  std::vector<std::byte> compute(const std::vector<const std::byte*>& data, int64_t step,
                                 int64_t count) {
    auto width = static_cast<int64_t>(info(function_.type).bytes);
    std::vector<std::byte> result(static_cast<size_t>(count * width));
    if (function_.op) {
      std::vector<int64_t> steps(data.size(), step);
      (*function_.op)(count, data.data(), steps.data(), result.data());
      return result;
    }
    std::memcpy(result.data(), data[0], result.size());
    for (size_t i = 1; i < data.size(); ++i) {
      const std::byte* parameters[] = {result.data(), data[i]};
      int64_t steps[] = {1, step};
      std::byte* results[] = {result.data()};
      function_.fold->run(count, parameters, steps, results);
    }
    return result;
  }

  Handle on_base(std::vector<Handle> arguments, int64_t count) {
    if (commutative_) {
      auto order = [](Handle a, Handle b) {
        return std::pair(a.node, a.device) < std::pair(b.node, b.device);
      };
      if (!std::ranges::is_sorted(arguments, order)) {
        rules_.insert("commute");
        std::ranges::sort(arguments, order);
      }
    }
    return terms_.apply(function_.signature, 0, function_.type, count, arguments);
  }

  // The element of a constant piece, as a term of one element.
  Handle scalar_of(const Piece& piece) {
    if (terms_.node(piece.source).count == 1) return piece.source;
    Tensor single{1, {}, {Piece{piece.source, piece.offset, {}}}};
    return terms_.assembled(terms_.node(piece.source).type, std::move(single));
  }

  // The function on one box, as a piece of a base tensor.
  Piece on_box(Overlay& parts) {
    std::vector<bool> constant;
    std::vector<std::optional<std::span<const std::byte>>> known;
    size_t leader = parts.size();
    for (size_t i = 0; i < parts.size(); ++i) {
      constant.push_back(parts[i].is_constant());
      known.emplace_back();
      if (constant[i]) {
        known[i] = terms_.known_splat(scalar_of(parts[i]));
      } else if (leader == parts.size()) {
        leader = i;
      }
    }
    int same = neutral_argument(function_, terms_.node(parts.back().source).type, known, rules_);
    if (same >= 0) return std::move(parts[static_cast<size_t>(same)]);

    if (leader == parts.size()) {
      std::vector<Handle> scalars;
      for (const Piece& part : parts) scalars.push_back(scalar_of(part));
      auto value = fold(scalars, 1);
      Piece result = std::move(parts[0]);
      result.source = value ? *value : on_base(std::move(scalars), 1);
      result.offset = 0;
      return result;
    }
    bool alike = true;
    for (size_t i = 0; i < parts.size(); ++i) {
      alike =
          alike &&
          (constant[i] ||
           (parts[i].offset == parts[leader].offset && parts[i].ranges == parts[leader].ranges &&
            terms_.node(parts[i].source).count == terms_.node(parts[leader].source).count));
    }
    if (!alike) return on_parts(parts, constant);
    std::vector<Handle> arguments;
    for (size_t i = 0; i < parts.size(); ++i) {
      arguments.push_back(constant[i] ? scalar_of(parts[i]) : parts[i].source);
    }
    Piece result = parts[leader];
    result.source = on_base(std::move(arguments), terms_.node(parts[leader].source).count);
    return result;
  }

  // An axis of a box as all parts see it.
  struct Axis {
    size_t number;
    int64_t size;
    std::vector<int64_t> strides;  // by part
  };

  // The function on parts that run differently over their sources: a base tensor over the axes of
  // the box along which some part moves, in an order that depends on how they move alone.
  Piece on_parts(Overlay& parts, const std::vector<bool>& constant) {
    std::vector<size_t> order(parts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (commutative_) {
      auto key = [&](size_t i) {
        std::vector<int64_t> strides;
        for (const Range& range : parts[i].ranges) strides.push_back(range.stride);
        return std::tuple(parts[i].source.node, parts[i].source.device, parts[i].offset, strides);
      };
      std::ranges::stable_sort(order, [&](size_t a, size_t b) { return key(a) < key(b); });
      if (!std::ranges::is_sorted(order)) rules_.insert("commute");
    }
    Piece result = parts[0];
    result.offset = 0;
    std::vector<Axis> axes;
    for (size_t axis = 0; axis < parts[0].ranges.size(); ++axis) {
      Axis own{axis, parts[0].ranges[axis].size, {}};
      bool moves = false;
      for (size_t i : order) {
        own.strides.push_back(parts[i].ranges[axis].stride);
        moves = moves || own.strides.back() != 0;
      }
      result.ranges[axis].stride = 0;
      if (moves) axes.push_back(std::move(own));
    }
    // The first part that moves along an axis moves forwards.
    std::vector<bool> flipped(axes.size(), false);
    for (size_t i = 0; i < axes.size(); ++i) {
      auto first = std::ranges::find_if(axes[i].strides, [](int64_t s) { return s != 0; });
      flipped[i] = *first < 0;
    }
    std::vector<size_t> by_stride(axes.size());
    std::iota(by_stride.begin(), by_stride.end(), size_t{0});
    auto magnitude = [&](size_t i) {
      std::vector<int64_t> strides;
      for (int64_t stride : axes[i].strides) strides.push_back(stride < 0 ? -stride : stride);
      return std::pair(strides, axes[i].size);
    };
    std::ranges::stable_sort(by_stride,
                             [&](size_t a, size_t b) { return magnitude(a) > magnitude(b); });

    std::vector<int64_t> frame;
    std::vector<Piece> views;
    for (const Piece& part : parts) views.push_back({part.source, part.offset, {}});
    int64_t count = 1;
    for (size_t i : by_stride) {
      frame.push_back(axes[i].size);
      for (size_t k = 0; k < order.size(); ++k) {
        Piece& view = views[order[k]];
        int64_t stride = axes[i].strides[k];
        if (flipped[i]) {
          view.offset += (axes[i].size - 1) * stride;
          stride = -stride;
        }
        view.ranges.push_back({0, axes[i].size, stride});
      }
      count *= axes[i].size;
    }
    int64_t stride = 1;
    for (auto i = by_stride.rbegin(); i != by_stride.rend(); ++i) {
      Range& range = result.ranges[axes[*i].number];
      range.stride = flipped[*i] ? -stride : stride;
      if (flipped[*i]) result.offset += (axes[*i].size - 1) * stride;
      stride *= axes[*i].size;
    }

    std::vector<Handle> arguments;
    for (size_t i : order) {
      if (constant[i]) {
        arguments.push_back(scalar_of(parts[i]));
        continue;
      }
      Tensor view{count, frame, {views[i]}};
      normalize(view);
      arguments.push_back(terms_.assembled(terms_.node(parts[i].source).type, std::move(view)));
    }
    result.source = terms_.apply(function_.signature, 0, function_.type, count, arguments);
    return result;
  }

  Terms& terms_;
  RuleNames& rules_;
  const PointFunction& function_;
  const bool commutative_;
};

}  // namespace

Handle apply_pointwise(Terms& terms, RuleNames& rules, const PointFunction& function,
                       std::span<const Handle> arguments, int64_t count) {
  return Pointwise(terms, rules, function).apply({arguments.begin(), arguments.end()}, count);
}

std::optional<Handle> select_by_known_mask(Terms& terms, Handle mask, Handle on_true,
                                           Handle on_false, std::span<const int64_t> dims) {
  if (auto value = terms.known_splat(mask)) {
    return (*value)[0] != std::byte{0} ? on_true : on_false;
  }
  if (on_true == on_false) return on_true;
  auto bytes = terms.known(mask);
  if (!bytes || dims.empty()) return std::nullopt;
  // Runs of equal mask elements along the last dimension, as pieces that name the operand.
  Tensor choice{terms.node(mask).count, {dims.begin(), dims.end()}, {}};
  int64_t row = dims.back();
  std::vector<int64_t> index(dims.size(), 0);
  for (int64_t at = 0; at < choice.count; at += row) {
    int64_t rest = at / row;
    for (size_t axis = dims.size() - 1; axis-- > 0;) {
      index[axis] = rest % dims[axis];
      rest /= dims[axis];
    }
    for (int64_t start = 0; start < row;) {
      int64_t end = start + 1;
      auto value = (*bytes)[static_cast<size_t>(at + start)];
      while (end < row && (*bytes)[static_cast<size_t>(at + end)] == value) ++end;
      Piece piece{{value != std::byte{0} ? 1u : 0u, Handle::kNoDevice}, 0, {}};
      for (size_t axis = 0; axis + 1 < dims.size(); ++axis)
        piece.ranges.push_back({index[axis], 1, 0});
      piece.ranges.push_back({start, end - start, 0});
      choice.pieces.push_back(std::move(piece));
      if (static_cast<int64_t>(choice.pieces.size()) > kMaxPieces) return std::nullopt;
      start = end;
    }
  }
  if (!normalize(choice)) return std::nullopt;
  std::vector<int64_t> frame;
  std::optional<std::vector<Overlay>> boxes =
      overlay({std::move(choice), terms.tensor(on_true), terms.tensor(on_false)}, frame);
  if (!boxes) return std::nullopt;
  Tensor result{terms.node(mask).count, std::move(frame), {}};
  for (Overlay& box : *boxes) result.pieces.push_back(std::move(box[box[0].source.node ? 1 : 2]));
  if (!normalize(result)) return std::nullopt;
  return terms.assembled(terms.node(on_true).type, std::move(result));
}

int neutral_argument(const PointFunction& function, ElementType argument_type,
                     std::span<const std::optional<std::span<const std::byte>>> known,
                     RuleNames& rules) {
  if (!function.opcode) return -1;
  auto all_are = [](std::span<const std::byte> value, std::byte byte) {
    return std::ranges::all_of(value, [&](std::byte own) { return own == byte; });
  };
  auto is_zero = [&](size_t i) { return known[i] && all_are(*known[i], std::byte{0}); };
  auto is_one = [&](size_t i) {
    return known[i] && (*known[i])[0] == std::byte{1} &&
           all_are(known[i]->subspan(1), std::byte{0});
  };
  bool is_pred = argument_type == ElementType::PRED;
  auto is_ones = [&](size_t i) {
    return is_pred
               ? is_one(i)
               : info(argument_type).bits >= 8 && known[i] && all_are(*known[i], std::byte{0xFF});
  };
  auto named = [&](int argument, std::string_view rule) {
    if (argument >= 0) rules.insert(rule);
    return argument;
  };
  switch (*function.opcode) {
    case Opcode::kSelect:
      if (!known[0]) return -1;
      return named(is_zero(0) ? 2 : 1, "select-known");
    case Opcode::kConvert:
      return argument_type == function.type ? 0 : -1;
    default:
      break;
  }
  if (!is_integer(argument_type) && !is_pred) return -1;
  switch (*function.opcode) {
    case Opcode::kAdd:
    case Opcode::kOr:
    case Opcode::kXor:
      return named(is_zero(1) ? 0 : is_zero(0) ? 1 : -1, "neutral-element");
    case Opcode::kSubtract:
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightLogical:
    case Opcode::kShiftRightArithmetic:
      return named(is_zero(1) ? 0 : -1, "neutral-element");
    case Opcode::kMultiply:
      return named(is_one(1) ? 0 : is_one(0) ? 1 : -1, "neutral-element");
    case Opcode::kDivide:
      return named(is_one(1) ? 0 : -1, "neutral-element");
    case Opcode::kAnd:
      return named(is_ones(1) ? 0 : is_ones(0) ? 1 : -1, "neutral-element");
    default:
      return -1;
  }
}

}  // namespace minihlo::prove

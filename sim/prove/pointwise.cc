#include "sim/prove/pointwise.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace minihlo::prove {
namespace {

// Boxes beyond this are not worth a term each: the function is then applied to whole arguments.
constexpr size_t kMaxBoxes = size_t{1} << 16;
// Folds of folds that take in more stay as they are.
constexpr size_t kMaxInnerArguments = 1024;

TermBuilder::Ref ref_of(Handle handle) {
  return uint64_t{handle.node} << 32 | static_cast<uint32_t>(handle.device);
}
Handle handle_of(TermBuilder::Ref ref) {
  return {static_cast<uint32_t>(ref >> 32), static_cast<int32_t>(static_cast<uint32_t>(ref))};
}
std::vector<TermBuilder::Ref> refs_of(std::span<const Handle> handles) {
  std::vector<TermBuilder::Ref> refs;
  for (Handle handle : handles) refs.push_back(ref_of(handle));
  return refs;
}
std::vector<Handle> handles_of(std::span<const TermBuilder::Ref> refs) {
  std::vector<Handle> handles;
  for (TermBuilder::Ref ref : refs) handles.push_back(handle_of(ref));
  return handles;
}

// Terms that are rows of the same number of elements, or one element for all.
class Rows : public TermStore {
 public:
  explicit Rows(Terms& terms) : terms_(terms) {}

  Ref constant(ElementType type, std::span<const std::byte> value) override {
    return ref_of(terms_.literal(type, 1, value));
  }
  Ref make(uint32_t function, std::span<const Ref> arguments) override {
    const std::vector<Handle> handles = handles_of(arguments);
    int64_t count = 1;
    for (Handle handle : handles) count = std::max(count, terms_.node(handle).count);
    return ref_of(
        terms_.apply(function, 0, terms_.signature(function).result_type, count, handles));
  }
  std::optional<std::span<const std::byte>> literal(Ref ref, ElementType) const override {
    return terms_.known_splat(handle_of(ref));
  }
  std::optional<uint32_t> function(Ref ref) const override {
    const Node& node = terms_.node(handle_of(ref));
    if (node.kind != NodeKind::kApply || !terms_.signature(node.signature).opcode) {
      return std::nullopt;
    }
    return node.signature;
  }
  std::vector<Ref> arguments(Ref ref) const override {
    return refs_of(terms_.arguments(handle_of(ref)));
  }

 private:
  Terms& terms_;
};

// Whole tensors.
class Tensors : public TermBuilder {
 public:
  Tensors(Terms& terms, Rules& rules, int64_t count)
      : terms_(terms), rules_(rules), count_(count) {}

  Ref constant(ElementType type, std::span<const std::byte> value) override {
    return ref_of(terms_.splat(terms_.literal(type, 1, value), count_));
  }
  Ref apply(uint32_t function, std::vector<Ref> arguments) override {
    const PointFunction made{function, terms_.signature(function).result_type};
    return ref_of(apply_pointwise(terms_, rules_, made, handles_of(arguments), count_));
  }

 private:
  Terms& terms_;
  Rules& rules_;
  const int64_t count_;
};

class Pointwise {
 public:
  Pointwise(Terms& terms, Rules& rules, const PointFunction& function)
      : terms_(terms),
        rules_(rules),
        function_(function),
        signature_(terms.signature(function.signature)) {}

  Handle apply(std::vector<Handle> arguments, int64_t count) {
    if (count == 0) return terms_.literal(function_.type, 0, {});
    if (std::optional<Handle> value = fold(arguments, count)) return *value;
    Tensors tensors_of_count(terms_, rules_, count);
    if (auto value = rules_.defined(function_.signature, refs_of(arguments), tensors_of_count)) {
      return handle_of(*value);
    }
    // Scalars are told by their sources, so that one splat to any size is the same argument.
    std::vector<Tensor> tensors;
    for (Handle argument : arguments) tensors.push_back(terms_.tensor(argument));
    count_ = count;
    std::optional<std::vector<Overlay>> boxes = overlay(std::move(tensors), frame_);
    if (!boxes || boxes->size() > kMaxBoxes) return applied(std::move(arguments), count);
    Tensor result{count, frame_, {}};
    std::vector<PlacedTensor> flat;
    for (Overlay& box : *boxes) {
      if (std::optional<PlacedTensor> part = of_inner_folds(box)) {
        flat.push_back(*std::move(part));
      } else {
        result.pieces.push_back(on_box(box));
      }
    }
    if (!flat.empty()) {
      for (Piece& piece : result.pieces) flat.push_back(placed(std::move(piece)));
      std::optional<Tensor> whole = assemble(frame_, std::move(flat));
      if (!whole) return applied(std::move(arguments), count);
      return terms_.assembled(function_.type, *std::move(whole));
    }
    // A term that is not cut further stands for all (settled()).
    if (terms_.node(result.pieces[0].source).tensor) return result.pieces[0].source;
    if (!normalize(result)) return applied(std::move(arguments), count);
    return terms_.assembled(function_.type, std::move(result));
  }

 private:
  // The value where all arguments are known.
  std::optional<Handle> fold(const std::vector<Handle>& arguments, int64_t count) {
    if (!signature_.op && !function_.fold) return std::nullopt;
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
    if (signature_.kind == Signature::Kind::kPointwise) {
      std::vector<int64_t> steps(data.size(), step);
      (*signature_.op)(count, data.data(), steps.data(), result.data());
      return result;
    }
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(result.data() + i * width, data[0] + i * step * width,
                  static_cast<size_t>(width));
    }
    for (size_t i = 1; i < data.size(); ++i) {
      const std::byte* parameters[] = {result.data(), data[i]};
      int64_t steps[] = {1, step};
      if (signature_.op) {
        (*signature_.op)(count, parameters, steps, result.data());
        continue;
      }
      std::byte* results[] = {result.data()};
      function_.fold->run(count, parameters, steps, results);
    }
    return result;
  }

  // The function of whole arguments, in normal form.
  Handle on_base(const std::vector<Handle>& arguments) {
    Rows rows(terms_);
    return handle_of(rules_.normal(function_.signature, refs_of(arguments), rows));
  }

  // The same, whatever rules say.
  Handle applied(std::vector<Handle> arguments, int64_t count) {
    if (signature_.commutative) {
      std::ranges::sort(arguments, {}, [](Handle one) { return ref_of(one); });
    }
    return terms_.apply(function_.signature, 0, function_.type, count, arguments);
  }

  // The element of a constant piece, as a term of one element.
  Handle scalar_of(const Piece& piece) {
    if (terms_.node(piece.source).count == 1) return piece.source;
    Tensor single{1, {}, {Piece{piece.source, piece.offset, {}}}};
    return terms_.assembled(terms_.node(piece.source).type, std::move(single));
  }

  // A box all of which is one element.
  static Piece repeated(Piece box, Handle source, int64_t offset) {
    box.source = source;
    box.offset = offset;
    for (Range& range : box.ranges) range.stride = 0;
    return box;
  }

  // The function of arguments, rows that are alike or one element, as the piece of a base tensor
  // that the parts of the box say. `layout` is how the box runs over the rows; part `number[i]` is
  // argument i.
  Piece settled(const Overlay& parts, const std::vector<Handle>& arguments,
                const std::vector<size_t>& number, Piece layout) {
    const Handle value = on_base(arguments);
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] == value) return parts[number[i]];
    }
    int64_t rows = 1;
    for (Handle argument : arguments) rows = std::max(rows, terms_.node(argument).count);
    if (terms_.node(value).count == 1) {
      const Piece single = terms_.tensor(value).pieces[0];
      return repeated(std::move(layout), single.source, single.offset);
    }
    layout.source = value;
    if (!terms_.node(value).tensor) return layout;
    // What is assembled is taken whole or, as nothing says which part of it the box is, not at all.
    Tensor box{count_, frame_, {layout}};
    const bool is_whole = layout.element_count() == count_ && rows == count_ && normalize(box) &&
                          box == whole_tensor(value, count_);
    if (!is_whole) layout.source = applied(arguments, rows);
    return layout;
  }

  // The function on one box, as a piece of a base tensor.
  Piece on_box(Overlay& parts) {
    std::vector<bool> constant;
    size_t leader = parts.size();
    for (size_t i = 0; i < parts.size(); ++i) {
      constant.push_back(parts[i].is_constant());
      if (!constant[i] && leader == parts.size()) leader = i;
    }
    std::vector<Handle> arguments;
    if (leader == parts.size()) {
      for (const Piece& part : parts) arguments.push_back(scalar_of(part));
      const std::optional<Handle> known = fold(arguments, 1);
      const Piece single = terms_.tensor(known ? *known : on_base(arguments)).pieces[0];
      return repeated(std::move(parts[0]), single.source, single.offset);
    }
    if (!are_alike(parts)) return on_parts(parts, constant);
    std::vector<size_t> number(parts.size());
    std::iota(number.begin(), number.end(), size_t{0});
    for (size_t i = 0; i < parts.size(); ++i) {
      arguments.push_back(constant[i] ? scalar_of(parts[i]) : parts[i].source);
    }
    return settled(parts, arguments, number, parts[leader]);
  }

  // A piece at its place among the boxes.
  static PlacedTensor placed(Piece piece) {
    PlacedTensor made;
    for (Range& range : piece.ranges) {
      made.axes.push_back({range.start, range.size, 1, -1, 0});
      made.frames.push_back({range.size});
      range.start = 0;
    }
    made.pieces.push_back(std::move(piece));
    return made;
  }

  // The same fold of folds, parts of which are taken in another way than the others are: the fold
  // of what the inner ones take in. Nothing where there are none, or it can't be told which parts.
  std::optional<PlacedTensor> of_inner_folds(const Overlay& parts) {
    if (signature_.kind != Signature::Kind::kFold || !signature_.opcode) return std::nullopt;
    const auto is_fold = [&](const Piece& part) {
      const Node& node = terms_.node(part.source);
      return node.kind == NodeKind::kApply && node.signature == function_.signature &&
             !part.is_constant();
    };
    if (std::ranges::none_of(parts, is_fold) || are_alike(parts)) return std::nullopt;
    std::vector<int64_t> sizes;
    int64_t count = 1;
    for (const Range& range : parts[0].ranges) {
      sizes.push_back(range.size);
      count *= range.size;
    }
    std::vector<Handle> arguments;
    for (const Piece& part : parts) {
      std::vector<Handle> inner = {part.source};
      if (is_fold(part)) inner = terms_.arguments(part.source);
      if (arguments.size() + inner.size() > kMaxInnerArguments) return std::nullopt;
      for (Handle argument : inner) {
        const std::optional<Handle> own = part_of(argument, part, sizes, count);
        if (!own) return std::nullopt;
        arguments.push_back(*own);
      }
    }
    rules_.use("associate");
    const Handle value = apply_pointwise(terms_, rules_, function_, arguments, count);
    const std::optional<View> seen = view(terms_.tensor(value), sizes);
    if (!seen) return std::nullopt;
    Box box;
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      box.axes.push_back({parts[0].ranges[axis].start, sizes[axis], 1, static_cast<int>(axis), 1});
    }
    box.base.assign(sizes.size(), 0);
    return extract(*seen, box);
  }

  // What a part takes of its source, taken of another row of as many elements, or of one element
  // for all. Nothing where the part does not run along digits of its source.
  std::optional<Handle> part_of(Handle row, const Piece& part, std::span<const int64_t> sizes,
                                int64_t count) {
    const int64_t rows = terms_.node(row).count;
    if (rows == 1) return terms_.splat(row, count);
    std::vector<size_t> moving;
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      if (sizes[axis] > 1 && part.ranges[axis].stride != 0) moving.push_back(axis);
    }
    const auto step = [&](size_t axis) { return std::abs(part.ranges[axis].stride); };
    std::ranges::sort(moving, [&](size_t a, size_t b) { return step(a) > step(b); });
    // The row's digits: one for each axis that moves, and what lies within the last one's steps.
    std::vector<int64_t> dims;
    int64_t rest = rows;
    Box box;
    for (int64_t size : sizes) box.axes.push_back({0, size, 1, -1, 0});
    int64_t offset = part.offset;
    for (size_t axis : moving) {
      if (rest % step(axis) != 0 || rest == step(axis)) return std::nullopt;
      const int64_t digits = rest / step(axis), start = offset / step(axis);
      const int64_t last =
          part.ranges[axis].stride > 0 ? start + sizes[axis] - 1 : start - sizes[axis] + 1;
      if (start >= digits || last < 0 || last >= digits) return std::nullopt;
      box.axes[axis].operand_axis = static_cast<int>(dims.size());
      box.axes[axis].stride = part.ranges[axis].stride > 0 ? 1 : -1;
      dims.push_back(digits);
      box.base.push_back(start);
      offset %= step(axis);
      rest = step(axis);
    }
    dims.push_back(rest);
    box.base.push_back(offset);
    const View* seen = terms_.view(row, dims);
    if (!seen) return std::nullopt;
    std::optional<PlacedTensor> taken = extract(*seen, box);
    if (!taken) return std::nullopt;
    for (Piece& piece : taken->pieces) piece.source = Terms::resolve(piece.source, row.device);
    std::vector<PlacedTensor> whole;
    whole.push_back(*std::move(taken));
    std::optional<Tensor> made = assemble(sizes, std::move(whole));
    if (!made) return std::nullopt;
    return terms_.assembled(terms_.node(row).type, *std::move(made));
  }

  // Whether all parts but those of one element are the same part of sources of one size.
  bool are_alike(const Overlay& parts) const {
    const Piece* leader = nullptr;
    for (const Piece& part : parts) {
      if (part.is_constant()) continue;
      if (!leader) leader = &part;
      if (part.offset != leader->offset || part.ranges != leader->ranges ||
          terms_.node(part.source).count != terms_.node(leader->source).count) {
        return false;
      }
    }
    return true;
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
    if (signature_.commutative) {
      auto key = [&](size_t i) {
        std::vector<int64_t> strides;
        for (const Range& range : parts[i].ranges) strides.push_back(range.stride);
        return std::tuple(parts[i].source.node, parts[i].source.device, parts[i].offset, strides);
      };
      std::ranges::stable_sort(order, [&](size_t a, size_t b) { return key(a) < key(b); });
      if (!std::ranges::is_sorted(order)) rules_.use("commute");
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
    return settled(parts, arguments, order, std::move(result));
  }

  Terms& terms_;
  Rules& rules_;
  const PointFunction& function_;
  const Signature& signature_;
  int64_t count_ = 0;           // of elements of the arguments
  std::vector<int64_t> frame_;  // in which boxes are cut
};

}  // namespace

Handle apply_pointwise(Terms& terms, Rules& rules, const PointFunction& function,
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

}  // namespace minihlo::prove

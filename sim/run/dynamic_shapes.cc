#include "sim/run/dynamic_shapes.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/row_major.h"
#include "ir/semantics/collective_forms.h"
#include "ir/shape_inference.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

using Dims = std::vector<int64_t>;

constexpr std::string_view kSliceToDynamic = "SliceToDynamic", kPadToStatic = "PadToStatic";

Dims dims_of(const Shape* shape) { return {shape->dims().begin(), shape->dims().end()}; }

int64_t product(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

// One instruction on one set of operands.
class DynamicCall {
 public:
  using Twin = DynamicTwin;

  DynamicCall(const Instruction& instruction, RunContext& context, std::vector<Buffer> operands)
      : instruction_(instruction),
        shapes_(instruction.parent()->module()->shapes()),
        call_{instruction, context, std::move(operands), {}, {}, {}} {}

  /// What the twin is made of. Operands that have more elements than it looks at are cut.
  tl::expected<Twin, Stop> twin() {
    const Opcode opcode = instruction_.opcode();
    Twin twin{opcode, {}, nullptr, {}, {}};
    if (call_.operands.size() != instruction_.operand_count() || call_.operands.empty()) {
      return unsupported("nothing says the sizes of its result");
    }
    for (size_t i = 0; i < call_.operands.size(); ++i) {
      twin.operands.push_back(runtime_shape(shapes_, call_.operand_shape(i), call_.operands[i]));
    }
    const Family family = info(opcode).family;
    const bool is_elementwise = family == Family::kElementwise || opcode == Opcode::kMap;
    if (is_elementwise || opcode == Opcode::kSort) {
      if (auto stop = cut_to_common(twin)) return tl::unexpected(*std::move(stop));
    }
    if (opcode == Opcode::kReduce) {
      if (auto stop = cut_to_common(twin, call_.operands.size() / 2)) {
        return tl::unexpected(*std::move(stop));
      }
    }
    if (opcode == Opcode::kDot) {
      if (auto stop = cut_for_dot(twin)) return tl::unexpected(*std::move(stop));
    }
    if (opcode == Opcode::kDynamicUpdateSlice) {
      if (auto stop = cut_update(twin)) return tl::unexpected(*std::move(stop));
    }
    const Shape* to = instruction_.shape();
    switch (opcode) {
      case Opcode::kSetDimensionSize:
        return sliced(std::move(twin), sizes_set());
      case Opcode::kCustomCall: {
        const auto rank = static_cast<size_t>(twin.operands[0]->rank());
        if (instruction_.get(attr::custom_call_target) != kSliceToDynamic ||
            call_.operands.size() != rank + 1) {
          break;
        }
        std::vector<SliceDimension> slices;
        for (int64_t size : sizes_from(1)) slices.push_back({0, size, 1});
        return sliced(std::move(twin), slices);
      }
      case Opcode::kDynamicReshape:
        return reshaped(std::move(twin), sizes_from(1));
      case Opcode::kReshape:
      case Opcode::kBitcast: {
        if (opcode == Opcode::kBitcast && !is_plain_bitcast())
          return unsupported("a dynamic bitcast");
        auto dims = regrouped(twin.operands[0]);
        if (!dims) return tl::unexpected(std::move(dims.error()));
        return reshaped(std::move(twin), *std::move(dims));
      }
      case Opcode::kBroadcast: {
        Dims dims = dims_of(to);
        std::vector<bool> known(dims.size(), false);
        std::span<const int64_t> places = instruction_.get(attr::dimensions);
        for (size_t i = 0; i < places.size(); ++i) {
          dims[static_cast<size_t>(places[i])] = twin.operands[0]->dims()[i];
          known[static_cast<size_t>(places[i])] = true;
        }
        for (size_t i = 0; i < dims.size(); ++i) {
          if (!known[i] && to->is_dynamic(static_cast<int64_t>(i))) {
            return unsupported("nothing says the sizes of its result");
          }
        }
        twin.written = shapes_.with_dims(to, dims);
        return twin;
      }
      case Opcode::kSlice: {
        std::vector<SliceDimension> slices;
        for (const SliceDimension& slice : instruction_.get(attr::slice)) {
          const int64_t size = twin.operands[0]->dims()[slices.size()];
          const int64_t limit = std::min(slice.limit, size);
          slices.push_back({std::min(slice.start, limit), limit, slice.stride});
        }
        return sliced(std::move(twin), slices);
      }
      case Opcode::kDynamicSlice:
        fit(twin, instruction_.get(attr::dynamic_slice_sizes));
        break;
      case Opcode::kGather:
        fit(twin, instruction_.get(attr::slice_sizes));
        break;
      default:
        break;
    }
    if (info(opcode).result_shape == ResultShape::kGiven && to->is_array()) {
      twin.written = shapes_.with_dims(to, twin.operands[0]->dims());
      if (opcode == Opcode::kDynamicSlice) {
        twin.written = shapes_.with_dims(to, twin.sizes);
      }
    }
    return twin;
  }

  /// What a collective's twin is made of, for a group of `members` devices.
  tl::expected<Twin, Stop> collective_twin(int64_t members) {
    Twin twin{collective_opcode(instruction_.opcode()), {}, nullptr, {}, {}};
    for (size_t i = 0; i < call_.operands.size(); ++i) {
      twin.operands.push_back(runtime_shape(shapes_, call_.operand_shape(i), call_.operands[i]));
    }
    const Shape* to = collective_result_shape(instruction_);
    const std::vector<const Shape*> bounds = leaf_shapes(to);
    const size_t first = twin.opcode == Opcode::kRaggedAllToAll ? 1 : 0;
    std::vector<const Shape*> results;
    for (size_t i = 0; i < bounds.size() && first + i < twin.operands.size(); ++i) {
      Dims dims = dims_of(twin.operands[first + i]);
      const auto axis = instruction_.get(attr::dimensions);
      if (twin.opcode == Opcode::kAllGather) dims[static_cast<size_t>(axis[0])] *= members;
      if (twin.opcode == Opcode::kReduceScatter) {
        int64_t& size = dims[static_cast<size_t>(axis[0])];
        if (size % members != 0) {
          return tl::unexpected(
              invalid(fmt::format("{} elements of dimension {} are not shared out evenly among {} "
                                  "devices",
                                  size, axis[0], members)));
        }
        size /= members;
      }
      results.push_back(shapes_.with_dims(bounds[i], dims));
    }
    if (results.size() != bounds.size()) return unsupported("its result has other leaves");
    twin.written = to->is_tuple() ? shapes_.tuple(results) : results[0];
    return twin;
  }

  KernelCall& call() { return call_; }

  /// Whether it is the custom-call that gives (all elements, zeros beyond the sizes; sizes).
  bool pads_to_static() const {
    const Shape* to = instruction_.shape();
    if (instruction_.opcode() != Opcode::kCustomCall || !to->is_tuple() ||
        instruction_.get(attr::custom_call_target) != kPadToStatic || call_.operands.size() != 1 ||
        instruction_.operand_count() != 1 || !call_.operand_shape(0)->is_array()) {
      return false;
    }
    const Shape* from = call_.operand_shape(0);
    if (to->elements().size() != from->dims().size() + 1 || !to->element(0)->is_array() ||
        to->element(0)->element_type() != from->element_type() ||
        !std::ranges::equal(to->element(0)->dims(), from->dims())) {
      return false;
    }
    return std::ranges::all_of(to->elements().subspan(1), [](const Shape* size) {
      return size->is_scalar() && size->element_type() == ElementType::S32;
    });
  }

  tl::expected<std::vector<Buffer>, Stop> padded() {
    const Shape* from = runtime_shape(shapes_, call_.operand_shape(0), call_.operands[0]);
    const Shape* to = instruction_.shape()->element(0);
    auto all = call_.allocate(to);
    if (!all) return tl::unexpected(std::move(all.error()));
    std::memset(all->mutable_data(), 0, static_cast<size_t>(all->size()));
    StridedCopy copy;
    std::vector<int64_t> in = row_major_strides(from->dims()), out = row_major_strides(to->dims());
    for (size_t k = 0; k < in.size(); ++k) {
      copy.axes.push_back({from->dims()[k], out[k], call_.operands[0].is_splat() ? 0 : in[k]});
    }
    if (from->element_count() > 0) {
      copy_strided(copy, call_.operands[0].data(), all->mutable_data(),
                   info(to->element_type()).bytes);
    }
    std::vector<Buffer> leaves{*std::move(all)};
    for (int64_t dim : from->dims()) {
      auto size = call_.allocate(sizeof(int32_t));
      if (!size) return tl::unexpected(std::move(size.error()));
      const auto value = static_cast<int32_t>(dim);
      std::memcpy(size->mutable_data(), &value, sizeof(value));
      leaves.push_back(*std::move(size));
    }
    return leaves;
  }

  auto unsupported(std::string_view why) const -> tl::unexpected<Stop> {
    return tl::unexpected(Stop::unsupported(
        "dynamic shapes", fmt::format("{}: {}", instruction_place(instruction_), why)));
  }
  Stop invalid(std::string_view why) const {
    return Stop::invalid(fmt::format("{}: {}", instruction_place(instruction_), why));
  }

 private:
  // The leading part of operand i with these sizes.
  std::optional<Stop> cut(Twin& twin, size_t i, std::span<const int64_t> dims) {
    const Shape* from = twin.operands[i];
    if (std::ranges::equal(from->dims(), dims)) return std::nullopt;
    const Shape* to = shapes_.with_dims(from, dims);
    twin.operands[i] = to;
    if (call_.operands[i].is_splat() && to->element_count() > 1) return std::nullopt;
    auto buffer = call_.allocate(to);
    if (!buffer) return std::move(buffer.error());
    const int64_t width = info(to->element_type()).bytes;
    StridedCopy copy;
    std::vector<int64_t> in = row_major_strides(from->dims()), out = row_major_strides(to->dims());
    for (size_t k = 0; k < dims.size(); ++k) {
      copy.axes.push_back({dims[k], out[k], call_.operands[i].is_splat() ? 0 : in[k]});
    }
    if (to->element_count() > 0) {
      copy_strided(copy, call_.operands[i].data(), buffer->mutable_data(), width);
    }
    call_.operands[i] = *std::move(buffer);
    return std::nullopt;
  }

  // Cuts the first `count` operands to the sizes that all but scalars have.
  std::optional<Stop> cut_to_common(Twin& twin, size_t count = SIZE_MAX) {
    count = std::min(count, twin.operands.size());
    Dims common;
    for (size_t i = 0; i < count; ++i) {
      Dims dims = dims_of(twin.operands[i]);
      if (common.empty()) common = dims;
      for (size_t k = 0; k < dims.size() && k < common.size(); ++k) {
        common[k] = std::min(common[k], dims[k]);
      }
    }
    for (size_t i = 0; i < count; ++i) {
      if (twin.operands[i]->is_scalar()) continue;
      if (auto stop = cut(twin, i, common)) return stop;
    }
    return std::nullopt;
  }

  // What is beyond the size of one side is zero, so that the other side's does not count.
  std::optional<Stop> cut_for_dot(Twin& twin) {
    Dims dims[2] = {dims_of(twin.operands[0]), dims_of(twin.operands[1])};
    auto meet = [&](std::span<const int64_t> left, std::span<const int64_t> right) {
      for (size_t i = 0; i < left.size(); ++i) {
        int64_t &a = dims[0][static_cast<size_t>(left[i])],
                &b = dims[1][static_cast<size_t>(right[i])];
        a = b = std::min(a, b);
      }
    };
    meet(instruction_.get(attr::lhs_contracting_dims),
         instruction_.get(attr::rhs_contracting_dims));
    meet(instruction_.get(attr::lhs_batch_dims), instruction_.get(attr::rhs_batch_dims));
    for (size_t i = 0; i < 2; ++i) {
      if (auto stop = cut(twin, i, dims[i])) return stop;
    }
    return std::nullopt;
  }

  // The update starts where it would in an array that fills its bounds; what of it comes to lie
  // beyond the sizes is left out.
  std::optional<Stop> cut_update(Twin& twin) {
    const Shape *bounds = call_.operand_shape(0), *update = call_.operand_shape(1);
    Dims dims = dims_of(twin.operands[1]);
    const bool is_vector = call_.operands.size() == 3 && !call_.operand_shape(2)->is_scalar();
    for (size_t i = 0; i < dims.size(); ++i) {
      const size_t at = is_vector ? 2 : 2 + i;
      const int64_t given = integer_at(call_.operands[at], call_.operand_shape(at)->element_type(),
                                       is_vector ? static_cast<int64_t>(i) : 0);
      const int64_t last = bounds->dims()[i] - update->dims()[i];
      const int64_t start = std::clamp<int64_t>(given, 0, std::max<int64_t>(0, last));
      const int64_t left = std::max<int64_t>(0, twin.operands[0]->dims()[i] - start);
      dims[i] = std::min(dims[i], left);
    }
    return cut(twin, 1, dims);
  }

  // The scalars from operand `first` on.
  Dims sizes_from(size_t first) const {
    Dims sizes;
    for (size_t i = first; i < call_.operands.size(); ++i) {
      sizes.push_back(integer_at(call_.operands[i], call_.operand_shape(i)->element_type()));
    }
    return sizes;
  }

  std::vector<SliceDimension> sizes_set() const {
    std::vector<SliceDimension> slices;
    const Shape* from = runtime_shape(shapes_, call_.operand_shape(0), call_.operands[0]);
    for (int64_t dim : from->dims()) slices.push_back({0, dim, 1});
    slices[static_cast<size_t>(instruction_.get(attr::dimensions)[0])].limit = sizes_from(1)[0];
    return slices;
  }

  tl::expected<Twin, Stop> sliced(Twin twin, const std::vector<SliceDimension>& slices) {
    Dims dims;
    for (size_t i = 0; i < slices.size(); ++i) {
      const auto& [start, limit, stride] = slices[i];
      if (limit < start || limit > twin.operands[0]->dims()[i]) {
        return tl::unexpected(invalid(fmt::format("size {} of dimension {}, which has {} elements",
                                                  limit, i, twin.operands[0]->dims()[i])));
      }
      dims.push_back((limit - start + stride - 1) / stride);
    }
    twin.opcode = Opcode::kSlice;
    twin.operands.resize(1);
    call_.operands.resize(1);
    twin.slices = slices;
    twin.written = shapes_.with_dims(instruction_.shape(), dims);
    return twin;
  }

  tl::expected<Twin, Stop> reshaped(Twin twin, const Dims& dims) {
    const Shape* to = instruction_.shape();
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] < 0 || dims[i] > to->dims()[i]) {
        return tl::unexpected(invalid(fmt::format("size {} of dimension {}, which has at most {}",
                                                  dims[i], i, to->dims()[i])));
      }
    }
    if (product(dims) != twin.operands[0]->element_count()) {
      return tl::unexpected(invalid(fmt::format(
          "{} elements as [{}]", twin.operands[0]->element_count(), fmt::join(dims, ","))));
    }
    twin.opcode = Opcode::kReshape;
    twin.operands.resize(1);
    call_.operands.resize(1);
    twin.written = shapes_.with_dims(to, dims);
    return twin;
  }

  bool is_plain_bitcast() const {
    const Shape *from = call_.operand_shape(0), *to = instruction_.shape();
    return from->is_array() && to->is_array() && from->element_type() == to->element_type() &&
           (!from->layout() || from->layout()->has_only_order()) &&
           (!to->layout() || to->layout()->has_only_order()) && into_physical(from).is_identity() &&
           out_of_physical(to).is_identity();
  }

  // The sizes of a reshape's result: dimensions fall into groups that hold the same elements on
  // both sides, and in each group one dimension of the result may have to give way.
  tl::expected<Dims, Stop> regrouped(const Shape* from) const {
    const Shape *bounds = call_.operand_shape(0), *to = instruction_.shape();
    Dims dims = dims_of(to);
    size_t i = 0, j = 0;
    const auto n = bounds->dims().size(), m = dims.size();
    while (i < n || j < m) {
      const size_t first = i, start = j;
      int64_t left = i < n ? bounds->dims()[i++] : 1, right = j < m ? to->dims()[j++] : 1;
      while (left != right) {
        if (left < right && i < n) {
          left *= bounds->dims()[i++];
        } else if (j < m) {
          right *= to->dims()[j++];
        } else if (i < n) {
          left *= bounds->dims()[i++];
        } else {
          break;
        }
      }
      int64_t count = product(from->dims().subspan(first, i - first));
      int64_t others = 1;
      size_t open = m;
      for (size_t k = start; k < j; ++k) {
        if (to->is_dynamic(static_cast<int64_t>(k)) && open == m) {
          open = k;
        } else {
          others *= dims[k];
        }
      }
      if (open == m) continue;
      if (others == 0 || count % others != 0) {
        return unsupported(fmt::format("{} elements do not fill rows of {}", count, others));
      }
      dims[open] = count / others;
    }
    return dims;
  }

  // Sizes of slices that take all of a dimension take what there is of it.
  static void fit(Twin& twin, std::span<const int64_t> sizes) {
    for (int64_t size : sizes) {
      twin.sizes.push_back(std::min(size, twin.operands[0]->dims()[twin.sizes.size()]));
    }
  }

  const Instruction& instruction_;
  ShapePool& shapes_;
  KernelCall call_;
};

}  // namespace

const Shape* runtime_shape(ShapePool& shapes, const Shape* shape, const Buffer& buffer) {
  if (!shape->is_array() || !shape->is_dynamic()) return shape;
  const bool has_sizes = static_cast<int64_t>(buffer.sizes().size()) == shape->rank();
  return shapes.with_dims(shape, has_sizes ? buffer.sizes() : shape->dims());
}

tl::expected<Instruction*, std::string> DynamicShapes::make_twin(const DynamicTwin& twin,
                                                                 const Instruction& instruction) {
  std::vector<Instruction*> parameters;
  const Attribute first[] = {make_attribute(attr::parameter_number, 0)};
  for (const Shape* shape : twin.operands) {
    parameters.push_back(
        twins_->entry()->append(Opcode::kParameter, instruction.name(), shape, {}, first));
  }
  std::vector<Attribute> attributes;
  for (Attribute attribute : instruction.attributes()) {
    const bool has_sizes =
        attribute.id == attr::slice_sizes.id || attribute.id == attr::dynamic_slice_sizes.id;
    if (has_sizes && !twin.sizes.empty()) {
      set_range(attribute, twins_->arena().copy(twin.sizes));
    }
    if (attribute.id != attr::slice.id) attributes.push_back(attribute);
  }
  if (!twin.slices.empty()) {
    attributes.push_back(make_attribute(attr::slice, twins_->arena().copy(twin.slices)));
  }
  auto shape = infer_shape(twins_->shapes(), {twin.opcode, parameters, attributes, twin.written});
  if (!shape) return tl::make_unexpected(shape.error());
  return twins_->entry()->append(twin.opcode, instruction.name(), *shape, parameters, attributes);
}

tl::expected<Instruction*, std::string> DynamicShapes::twin_of(const DynamicTwin& twin,
                                                               const Instruction& instruction) {
  if (!twins_) {
    Module& module = *instruction.parent()->module();
    twins_ = std::make_unique<Module>("twins", module.shape_pool());
    twins_->set_entry(twins_->add_computation("twins"));
  }
  std::vector<int64_t> sizes;
  auto add = [&](const Shape* shape) {
    for (const Shape* leaf : leaf_shapes(shape)) {
      sizes.insert(sizes.end(), leaf->dims().begin(), leaf->dims().end());
    }
  };
  for (const Shape* shape : twin.operands) add(shape);
  if (twin.written) add(twin.written);
  Instruction*& made = by_sizes_[{&instruction, std::move(sizes)}];
  if (!made) {
    auto fresh = make_twin(twin, instruction);
    if (!fresh) return fresh;
    made = *fresh;
  }
  return made;
}

tl::expected<Instruction*, Stop> DynamicShapes::collective_twin(const Instruction& instruction,
                                                                RunContext& context,
                                                                std::vector<Buffer> operands,
                                                                int64_t members) {
  DynamicCall dynamic(instruction, context, std::move(operands));
  auto twin = dynamic.collective_twin(members);
  if (!twin) return tl::unexpected(std::move(twin.error()));
  context.has_dynamic = true;
  auto made = twin_of(*twin, instruction);
  if (!made) return dynamic.unsupported(made.error());
  return *made;
}

tl::expected<Buffer, Stop> with_sizes(const Instruction& instruction, RunContext& context,
                                      Buffer buffer, std::span<const int64_t> sizes) {
  if (std::ranges::equal(buffer.sizes(), sizes)) return buffer;
  if (buffer.sizes().empty() && !buffer.is_borrowed()) {
    buffer.set_sizes(sizes);
    return buffer;
  }
  auto copy = allocate_for(instruction, context, buffer.size());
  if (!copy) return copy;
  if (buffer.size() > 0) {
    std::memcpy(copy->mutable_data(), buffer.data(), static_cast<size_t>(buffer.size()));
  }
  copy->set_sizes(sizes);
  return buffer.is_splat() ? copy->as_splat() : *std::move(copy);
}

tl::expected<std::vector<Buffer>, Stop> DynamicShapes::run(const Instruction& instruction,
                                                           RunContext& context,
                                                           std::vector<Buffer> operands) {
  DynamicCall dynamic(instruction, context, std::move(operands));
  if (dynamic.pads_to_static()) return dynamic.padded();
  auto twin = dynamic.twin();
  if (!twin) return tl::unexpected(std::move(twin.error()));
  auto made = twin_of(*twin, instruction);
  if (!made) return dynamic.unsupported(made.error());
  Kernel kernel = kernel_of(**made);
  if (!kernel) return dynamic.unsupported("it is not supported in a run");
  std::vector<bool> writable(dynamic.call().operands.size(), false);
  KernelCall call{**made, context, std::move(dynamic.call().operands), std::move(writable), {}, {}};
  if (KernelResult done = kernel(call); !done) return tl::unexpected(std::move(done.error()));
  for (std::vector<Work>& stage : call.stages) {
    if (auto stop = context.workers.run(stage)) return tl::unexpected(*std::move(stop));
  }
  call.stages.clear();
  call.operands.clear();
  context.has_dynamic = true;
  const std::vector<const Shape*> wanted = leaf_shapes(instruction.shape());
  const std::vector<const Shape*> given = leaf_shapes((*made)->shape());
  if (wanted.size() != given.size()) return dynamic.unsupported("its result has other leaves");
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (int64_t k = 0; k < wanted[i]->rank(); ++k) {
      const int64_t size = given[i]->dim(k), bound = wanted[i]->dim(k);
      if (wanted[i]->is_dynamic(k) ? size <= bound : size == bound) continue;
      return dynamic.unsupported(
          fmt::format("dimension {} of its result has {} elements, not {}", k, size, bound));
    }
    if (!wanted[i]->is_dynamic()) continue;
    // A block that others hold may have other sizes there.
    Buffer& result = call.results[i];
    if (result.reference_count() > 1) {
      auto sized = with_sizes(instruction, context, std::move(result), given[i]->dims());
      if (!sized) return tl::unexpected(std::move(sized.error()));
      result = *std::move(sized);
    } else {
      result.set_sizes(given[i]->dims());
    }
  }
  return std::move(call.results);
}

}  // namespace minihlo

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "tests/generator/rules.h"

namespace minihlo::generator {
namespace {

// Dimensions of two operands that go together, and the shapes that have them.
struct Pairing {
  std::vector<int64_t> lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
  std::vector<int64_t> lhs_free, rhs_free;
  const Shape* lhs = nullptr;
  const Shape* rhs = nullptr;

  std::vector<Attribute> attributes(Builder& b) const {
    std::vector<Attribute> all = {
        make_attribute(attr::lhs_contracting_dims, b.ints(lhs_contracting)),
        make_attribute(attr::rhs_contracting_dims, b.ints(rhs_contracting))};
    if (!lhs_batch.empty()) {
      all.push_back(make_attribute(attr::lhs_batch_dims, b.ints(lhs_batch)));
      all.push_back(make_attribute(attr::rhs_batch_dims, b.ints(rhs_batch)));
    }
    return all;
  }
};

// The second operand is made to fit the first, which is `lhs`.
Pairing pair_with(Builder& b, const Shape* lhs, int64_t contracted, int64_t batched,
                  int64_t free_dims) {
  Pairing p;
  p.lhs = lhs;
  const std::vector<int64_t> order = b.choices.permutation(lhs->rank());
  for (size_t i = 0; i < order.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    (at < contracted             ? p.lhs_contracting
     : at < contracted + batched ? p.lhs_batch
                                 : p.lhs_free)
        .push_back(order[i]);
  }
  // Where each of them stands on the other side.
  std::vector<int64_t> sizes;
  for (int64_t d : p.lhs_contracting) sizes.push_back(lhs->dim(d));
  for (int64_t d : p.lhs_batch) sizes.push_back(lhs->dim(d));
  for (int64_t i = 0; i < free_dims; ++i) sizes.push_back(b.choices.pick({2, 3, 1, 4, 0}));
  const std::vector<int64_t> places = b.choices.permutation(static_cast<int64_t>(sizes.size()));
  std::vector<int64_t> dims(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    dims[static_cast<size_t>(places[i])] = sizes[i];
    (at < contracted             ? p.rhs_contracting
     : at < contracted + batched ? p.rhs_batch
                                 : p.rhs_free)
        .push_back(places[i]);
  }
  p.rhs = b.shapes().array(lhs->element_type(), dims);
  return p;
}

Types float_types(Builder& b) {
  return b.oracle() ? Types{ElementType::F32, ElementType::F64} : b.types_of({ElementKind::kFloat});
}

void add_precision(Builder& b, size_t operands, std::vector<Attribute>& attributes) {
  if (b.runnable() || !b.choices.chance(30)) return;
  std::vector<std::string_view> words;
  for (size_t i = 0; i < operands; ++i)
    words.push_back(b.choices.pick({"default", "high", "highest"}));
  // All of them default is not printed.
  words[0] = "highest";
  attributes.push_back(make_attribute(attr::operand_precision, b.arena().copy(words)));
}

void add_algorithm(Builder& b, std::vector<Attribute>& attributes) {
  if (b.runnable() || !b.choices.chance(20)) return;
  attributes.push_back(make_attribute(
      attr::algorithm,
      b.choices.pick({"dot_bf16_bf16_f32", "dot_f32_f32_f32", "dot_bf16_bf16_f32_x3"})));
}

// A matrix far from singular: of one that is nearly so, the last bit of a sum decides what comes
// out.
Instruction* positive_definite(Builder& b, const Shape* shape) {
  std::vector<int64_t> values;
  const int64_t n = shape->dims().back();
  for (int64_t i = 0; i < shape->element_count(); ++i) {
    const int64_t row = i / n % n, column = i % n;
    values.push_back(row == column ? b.choices.between(5, 9) : (row + column) % 3 - 1);
  }
  Instruction* whole =
      b.constant(ElementType::S32, {shape->dims().begin(), shape->dims().end()}, values);
  return b.emit(Opcode::kConvert, {whole}, {}, shape);
}

}  // namespace

Instruction* make_dot(Builder& b, Opcode opcode) {
  Instruction* lhs =
      b.array(b.oracle() ? b.types_of({ElementKind::kFloat, ElementKind::kSigned}) : b.types());
  if (!lhs) return nullptr;
  const int64_t rank = lhs->shape()->rank();
  const int64_t contracted =
      b.choices.between(std::min<int64_t>(rank, 1), std::min<int64_t>(rank, 2));
  const int64_t batched = b.choices.between(0, std::min<int64_t>(rank - contracted, 2));
  const Pairing p = pair_with(b, lhs->shape(), contracted, batched, b.choices.below(3));
  Instruction* rhs = b.value(p.rhs);
  std::vector<Attribute> attributes = p.attributes(b);
  add_precision(b, 2, attributes);
  add_algorithm(b, attributes);
  if (!b.newest() || !b.choices.chance(8) || p.lhs_contracting.empty()) {
    return b.emit(opcode, {lhs, rhs}, attributes);
  }
  // A sparse operand with its metadata, as XLA writes it, and as it did in 2024; or scales.
  const int64_t how = b.choices.below(3);
  attributes.push_back(
      how == 0
          ? make_attribute(attr::sparsity_config, "{lhs={sparsity=2x4 dimension=1 stride=1 idx=2}}")
      : how == 1 ? make_attribute(attr::block_scaling_config, "{rhs={scale_idx=2}}")
                 : make_attribute(attr::sparsity, b.module.keep_name(fmt::format(
                                                      "L.{}@2:4", p.lhs_contracting[0]))));
  Instruction* third = b.array({how == 1 ? ElementType::F8E8M0FNU : ElementType::U16});
  return b.emit(opcode, {lhs, rhs, third}, attributes);
}

Instruction* make_ragged_dot(Builder& b, Opcode opcode) {
  const Shape* shape = b.array_shape(float_types(b), 2, 3);
  Instruction* lhs = b.value(shape);
  const int64_t batched = shape->rank() == 3 && b.choices.chance(40) ? 1 : 0;
  Pairing p = pair_with(b, shape, 1, batched, 2);
  const int64_t groups = b.choices.between(1, 3);
  const bool contracted = !b.runnable() && b.choices.chance(30);
  const int64_t ragged = contracted           ? p.lhs_contracting[0]
                         : p.lhs_free.empty() ? -1
                                              : p.lhs_free[0];
  if (ragged < 0) return nullptr;
  std::vector<Attribute> attributes = p.attributes(b);
  attributes.push_back(make_attribute(attr::lhs_ragged_dims, b.ints({ragged})));
  if (contracted) {
    attributes.push_back(make_attribute(attr::rhs_group_dims, {}));
  } else {
    std::vector<int64_t> dims(p.rhs->dims().begin(), p.rhs->dims().end());
    dims[static_cast<size_t>(p.rhs_free[0])] = groups;
    p.rhs = b.shapes().array(p.rhs->element_type(), dims);
    attributes.push_back(make_attribute(attr::rhs_group_dims, b.ints({p.rhs_free[0]})));
  }
  add_precision(b, 2, attributes);
  if (b.newest()) add_algorithm(b, attributes);
  Instruction* rhs = b.value(p.rhs);
  std::vector<int64_t> sizes;
  int64_t rest = shape->dim(ragged);
  for (int64_t i = 0; i < groups; ++i) {
    sizes.push_back(i + 1 == groups && b.choices.chance(70) ? rest : b.choices.between(0, rest));
    rest -= sizes.back();
  }
  return b.emit(opcode, {lhs, rhs, b.constant(ElementType::S32, {groups}, sizes)}, attributes);
}

Instruction* make_scaled_dot(Builder& b, Opcode opcode) {
  Instruction* lhs = b.array({ElementType::BF16, ElementType::F8E4M3FN, ElementType::F32}, 1, 3);
  if (!lhs) return nullptr;
  const int64_t batched = lhs->shape()->rank() > 1 && b.choices.chance(30) ? 1 : 0;
  const Pairing p = pair_with(b, lhs->shape(), 1, batched, b.choices.below(2));
  std::vector<int64_t> dims;
  for (int64_t dim : p.lhs->dims())
    dims.push_back(dim % 2 == 0 && b.choices.chance(50) ? dim / 2 : dim);
  const ElementType type = p.lhs->element_type();
  std::vector<Attribute> attributes = p.attributes(b);
  add_precision(b, 2, attributes);
  if (b.newest()) add_algorithm(b, attributes);
  Instruction* rhs = b.value(p.rhs);
  Instruction* lhs_scale = b.value(b.shapes().array(type, dims));
  return b.emit(opcode, {lhs, rhs, lhs_scale, b.value(p.rhs)}, attributes, nullptr);
}

Instruction* make_convolution(Builder& b, Opcode opcode) {
  Choices& choices = b.choices;
  const int64_t spatial = choices.pick({2, 1, 0, 3});
  const ElementType type = choices.pick(
      b.runnable() ? float_types(b) : b.types_of({ElementKind::kFloat, ElementKind::kSigned}));
  int64_t features = choices.chance(20) ? 2 : 1;
  int64_t batches = features == 1 && choices.chance(20) ? 2 : 1;
  std::vector<WindowDimension> window;
  for (int64_t i = 0; i < spatial; ++i) {
    WindowDimension dim;
    dim.size = choices.between(1, 3);
    if (choices.chance(30)) dim.stride = choices.between(1, 2);
    if (choices.chance(40)) {
      dim.padding_low = choices.between(-1, 2);
      dim.padding_high = choices.between(0, 2);
    }
    if (choices.chance(20)) dim.base_dilation = 2;
    if (choices.chance(20)) dim.window_dilation = 2;
    dim.reversal = choices.chance(15);
    window.push_back(dim);
  }
  // Places of batch (or input feature), feature and the spatial dimensions.
  const std::vector<int64_t> in = choices.permutation(spatial + 2);
  const std::vector<int64_t> kernel = choices.permutation(spatial + 2);
  const std::vector<int64_t> out = choices.permutation(spatial + 2);
  std::vector<int64_t> in_dims(in.size()), kernel_dims(in.size());
  std::string labels[3];
  for (std::string& one : labels) one.assign(in.size(), '?');
  auto put = [](auto& list, int64_t at, auto what) { list[static_cast<size_t>(at)] = what; };
  const int64_t in_features = features * choices.between(1, 2);
  put(in_dims, in[0], batches * choices.between(1, 2));
  put(in_dims, in[1], in_features);
  put(kernel_dims, kernel[0], in_features / features);
  put(kernel_dims, kernel[1], features * batches * choices.between(1, 2));
  put(labels[0], in[0], 'b');
  put(labels[0], in[1], 'f');
  put(labels[1], kernel[0], 'i');
  put(labels[1], kernel[1], 'o');
  put(labels[2], out[0], 'b');
  put(labels[2], out[1], 'f');
  for (size_t i = 0; i < window.size(); ++i) {
    put(in_dims, in[i + 2], choices.between(3, 5));
    put(kernel_dims, kernel[i + 2], window[i].size);
    const char digit = static_cast<char>('0' + i);
    put(labels[0], in[i + 2], digit);
    put(labels[1], kernel[i + 2], digit);
    put(labels[2], out[i + 2], digit);
  }
  std::vector<Attribute> attributes = {make_attribute(
      attr::dim_labels,
      b.module.keep_name(fmt::format("{}_{}->{}", labels[0], labels[1], labels[2])))};
  if (!window.empty()) attributes.push_back(make_attribute(attr::window, b.arena().copy(window)));
  if (features > 1) attributes.push_back(make_attribute(attr::feature_group_count, features));
  if (batches > 1) attributes.push_back(make_attribute(attr::batch_group_count, batches));
  add_precision(b, 2, attributes);
  if (b.newest() && choices.chance(15)) {
    attributes.push_back(make_attribute(
        attr::convolution_kind,
        choices.pick({ConvolutionKind::kFprop, ConvolutionKind::kDgrad, ConvolutionKind::kWgrad})));
  }
  Instruction* lhs = b.value(b.shapes().array(type, in_dims));
  Instruction* rhs = b.value(b.shapes().array(type, kernel_dims));
  if (b.newest() && choices.chance(20)) add_algorithm(b, attributes);
  if (!b.newest() || !choices.chance(10)) return b.emit(opcode, {lhs, rhs}, attributes);
  const bool scaled = choices.chance(50);
  attributes.push_back(scaled ? make_attribute(attr::block_scaling_config, "{lhs={scale_idx=2}}")
                              : make_attribute(attr::sparsity_config,
                                               "{lhs={sparsity=2x4 dimension=1 stride=1 idx=2}}"));
  Instruction* third = b.array({scaled ? ElementType::F8E8M0FNU : ElementType::U16});
  return b.emit(opcode, {lhs, rhs, third}, attributes);
}

Instruction* make_fft(Builder& b, Opcode opcode) {
  const FftType type =
      b.choices.pick({FftType::kFft, FftType::kIfft, FftType::kRfft, FftType::kIrfft});
  const bool wide = b.choices.chance(40);
  const ElementType of_operand = type == FftType::kRfft
                                     ? (wide ? ElementType::F64 : ElementType::F32)
                                     : (wide ? ElementType::C128 : ElementType::C64);
  const int64_t count = b.choices.between(1, 3);
  std::vector<int64_t> dims, lengths;
  for (int64_t i = b.choices.below(3); i > 0; --i) dims.push_back(b.choices.between(1, 3));
  for (int64_t i = 0; i < count; ++i) {
    lengths.push_back(b.choices.between(1, 6));
    dims.push_back(lengths.back());
  }
  if (type == FftType::kIrfft) dims.back() = lengths.back() / 2 + 1;
  Instruction* operand = b.value(b.shapes().array(of_operand, dims));
  return b.emit(
      opcode, {operand},
      {make_attribute(attr::fft_type, type), make_attribute(attr::fft_length, b.ints(lengths))});
}

Instruction* make_cholesky(Builder& b, Opcode opcode) {
  const Shape* shape = b.array_shape(
      b.oracle() ? float_types(b) : b.types_of({ElementKind::kFloat, ElementKind::kComplex}), 2, 3);
  std::vector<int64_t> dims(shape->dims().begin(), shape->dims().end());
  dims.back() = dims[dims.size() - 2] = std::min<int64_t>(dims.back(), 4);
  shape = b.shapes().array(shape->element_type(), dims);
  Instruction* operand = b.oracle() ? positive_definite(b, shape) : b.value(shape);
  std::vector<Attribute> attributes;
  if (b.choices.chance(60)) attributes.push_back(make_attribute(attr::lower, true));
  return b.emit(opcode, {operand}, attributes);
}

Instruction* make_triangular_solve(Builder& b, Opcode opcode) {
  const Shape* shape = b.array_shape(
      b.oracle() ? float_types(b) : b.types_of({ElementKind::kFloat, ElementKind::kComplex}), 2, 3);
  std::vector<int64_t> dims(shape->dims().begin(), shape->dims().end());
  const bool left = b.choices.chance(60);
  const int64_t n = dims[dims.size() - (left ? 2 : 1)];
  std::vector<int64_t> square = dims;
  square.back() = square[square.size() - 2] = n;
  const Shape* of_a = b.shapes().array(shape->element_type(), square);
  Instruction* a = b.oracle() ? positive_definite(b, of_a) : b.value(of_a);
  std::vector<Attribute> attributes = {
      make_attribute(attr::left_side, left), make_attribute(attr::lower, b.choices.chance(50)),
      make_attribute(attr::unit_diagonal, b.choices.chance(50)),
      make_attribute(attr::transpose_a,
                     b.choices.pick({TransposeA::kNoTranspose, TransposeA::kTranspose,
                                     TransposeA::kAdjoint}))};
  return b.emit(opcode, {a, b.value(b.shapes().array(shape->element_type(), dims))}, attributes);
}

Instruction* make_batch_norm(Builder& b, Opcode opcode) {
  Instruction* x = b.array(float_types(b), 1, 4);
  if (!x) return nullptr;
  const int64_t feature = b.choices.below(x->shape()->rank());
  const Shape* vector = b.shapes().array(x->shape()->element_type(), {{x->shape()->dim(feature)}});
  std::vector<Instruction*> operands = {x};
  for (int i = 1; i < info(opcode).min_operands; ++i) operands.push_back(b.value(vector));
  if (opcode == Opcode::kBatchNormGrad) operands.back() = b.value(x->shape());
  return b.emit(opcode, operands,
                {make_attribute(attr::epsilon, b.choices.pick({0.5, 0.001, 1e-5})),
                 make_attribute(attr::feature_index, feature)});
}

}  // namespace minihlo::generator

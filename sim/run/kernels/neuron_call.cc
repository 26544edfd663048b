// Custom-calls that frameworks make for the Neuron compiler: functions of elements, and of the
// elements along one dimension. In doubles, rounded once.
#include <charconv>
#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>

#include "ir/numbers.h"
#include "sim/run/kernels/complex_elements.h"
#include "sim/run/kernels/custom_call.h"

namespace minihlo {
namespace {

using enum CustomCallMeaning;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double value_of(CustomCallMeaning meaning, double x) {
  switch (meaning) {
    case kErf:
      return std::erf(x);
    case kGelu:
      return x * normal_cdf(x);
    case kGeluTanh: {
      const double scale = std::sqrt(2 / std::numbers::pi);
      return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x)));
    }
    case kGeluDerivative:
      return normal_cdf(x) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    case kSilu:
      return x * logistic(x);
    case kSiluDerivative:
      return logistic(x) * (1 + x * (1 - logistic(x)));
    case kSoftplus:
      return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
    default:
      return x;
  }
}

bool is_float_array(const Shape* shape) {
  return shape->is_array() && is_float(shape->element_type());
}

// An array seen as rows along one dimension: element k of row i is at start(i) + k * stride.
struct Rows {
  int64_t count, length, stride;

  Rows(const Shape* shape, int64_t dimension) : count(1), length(shape->dim(dimension)), stride(1) {
    for (int64_t i = 0; i < shape->rank(); ++i) {
      if (i != dimension) count *= shape->dim(i);
      if (i > dimension) stride *= shape->dim(i);
    }
  }
  int64_t start(int64_t row) const { return row / stride * stride * length + row % stride; }
};

// The dimension that backend_config names in decimal, perhaps in quotes.
std::optional<int64_t> dimension_of(const KernelCall& call, const Shape* shape) {
  std::string_view text = backend_config(call.instruction);
  while (text.starts_with('"')) text.remove_prefix(1);
  while (text.ends_with('"')) text.remove_suffix(1);
  int64_t dimension = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dimension);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (dimension < 0) dimension += shape->rank();
  if (dimension < 0 || dimension >= shape->rank()) return std::nullopt;
  return dimension;
}

tl::expected<std::vector<Buffer>, Stop> dense_operands(KernelCall& call) {
  std::vector<Buffer> operands;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    auto dense = call.dense(i);
    if (!dense) return tl::unexpected(std::move(dense.error()));
    operands.push_back(*std::move(dense));
  }
  return operands;
}

double load(ElementType type, const Buffer& buffer, int64_t i) {
  return decode_float(type, buffer.data() + i * info(type).bytes);
}

}  // namespace

// The legalized form takes the number of elements as a second operand, which says nothing new.
KernelResult activation_call(KernelCall& call, CustomCallMeaning meaning) {
  const Shape* shape = call.instruction.shape();
  if (call.operands.empty() || call.operands.size() > 2 || !is_float_array(shape) ||
      !compatible(shape, call.operand_shape(0)) ||
      (call.operands.size() == 2 && !call.operand_shape(1)->is_scalar())) {
    return tl::unexpected(unsupported_call(call, "it takes one array of floats and gives one"));
  }
  auto operand = call.dense(0);
  if (!operand) return tl::unexpected(std::move(operand.error()));
  auto result = call.allocate(shape);
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*result);
  call.add(
      shape->element_count(), 64,
      [=, type = shape->element_type(), from = *operand, to = *result](int64_t begin, int64_t end) {
        std::byte* out = Buffer(to).mutable_data();
        for (int64_t i = begin; i < end; ++i) {
          store_complex(type, value_of(meaning, load(type, from, i)), out, i);
        }
      });
  return {};
}

KernelResult normalization_call(KernelCall& call, CustomCallMeaning meaning) {
  const Shape* shape = call.instruction.shape();
  const size_t operands = meaning == kSoftmax ? 1 : meaning == kSoftmaxGradient ? 2 : 3;
  bool fits = is_float_array(shape) && call.operands.size() == operands;
  for (size_t i = 0; fits && i < (meaning == kRmsNorm ? 1 : operands); ++i) {
    fits = compatible(shape, call.operand_shape(i));
  }
  std::optional<int64_t> dimension = fits ? dimension_of(call, shape) : std::nullopt;
  if (dimension && meaning == kRmsNorm) {
    const Shape *weight = call.operand_shape(1), *epsilon = call.operand_shape(2);
    fits = is_float_array(weight) && weight->rank() == 1 &&
           weight->dim(0) == shape->dim(*dimension) && is_float_array(epsilon) &&
           epsilon->is_scalar();
  }
  if (!fits || !dimension) {
    return tl::unexpected(unsupported_call(
        call, "operands are not those of docs/simulator.md, or backend_config is no dimension"));
  }
  auto from = dense_operands(call);
  if (!from) return tl::unexpected(std::move(from.error()));
  auto result = call.allocate(shape);
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*result);
  if (shape->element_count() == 0) return {};
  std::vector<ElementType> types;
  for (size_t i = 0; i < operands; ++i) types.push_back(call.operand_shape(i)->element_type());
  const Rows rows(shape, *dimension);
  call.add(
      rows.count, rows.length * 64, [=, from = *from, to = *result](int64_t begin, int64_t end) {
        std::byte* out = Buffer(to).mutable_data();
        for (int64_t row = begin; row < end; ++row) {
          const int64_t start = rows.start(row);
          auto at = [&](size_t i, int64_t k) {
            return load(types[i], from[i], start + k * rows.stride);
          };
          double most = -std::numeric_limits<double>::infinity(), sum = 0;
          for (int64_t k = 0; k < rows.length; ++k) most = std::fmax(most, at(0, k));
          for (int64_t k = 0; k < rows.length; ++k) {
            sum += meaning == kSoftmax           ? std::exp(at(0, k) - most)
                   : meaning == kSoftmaxGradient ? at(0, k) * at(1, k)
                                                 : at(0, k) * at(0, k);
          }
          if (meaning == kRmsNorm) {
            sum = std::sqrt(sum / static_cast<double>(rows.length) + load(types[2], from[2], 0));
          }
          for (int64_t k = 0; k < rows.length; ++k) {
            const double value = meaning == kSoftmax ? std::exp(at(0, k) - most) / sum
                                 : meaning == kSoftmaxGradient
                                     ? at(1, k) * (at(0, k) - sum)
                                     : at(0, k) / sum * load(types[1], from[1], k);
            store_complex(types[0], value, out, start + k * rows.stride);
          }
        }
      });
  return {};
}

KernelResult extreme_place_call(KernelCall& call, CustomCallMeaning meaning) {
  const Shape* shape = call.instruction.shape();
  bool fits = call.operands.size() >= 1 && shape->is_array() && is_integer(shape->element_type()) &&
              info(shape->element_type()).bits >= 32 && is_float_array(call.operand_shape(0));
  std::optional<int64_t> dimension =
      fits ? dimension_of(call, call.operand_shape(0)) : std::nullopt;
  if (dimension) {
    const Shape* from = call.operand_shape(0);
    std::vector<int64_t> kept(from->dims().begin(), from->dims().end());
    kept.erase(kept.begin() + *dimension);
    fits = std::ranges::equal(kept, shape->dims()) && from->dim(*dimension) > 0;
  }
  if (!fits || !dimension) {
    return tl::unexpected(unsupported_call(
        call, "operands are not those of docs/simulator.md, or backend_config is no dimension"));
  }
  auto from = call.dense(0);
  if (!from) return tl::unexpected(std::move(from.error()));
  auto result = call.allocate(shape);
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*result);
  const Rows rows(call.operand_shape(0), *dimension);
  call.add(
      rows.count, rows.length * 8,
      [=, type = call.operand_shape(0)->element_type(), width = info(shape->element_type()).bytes,
       from = *from, to = *result](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          int64_t place = 0;
          double best = load(type, from, rows.start(row));
          for (int64_t k = 1; k < rows.length && !std::isnan(best); ++k) {
            const double x = load(type, from, rows.start(row) + k * rows.stride);
            if (std::isnan(x) || (meaning == kArgMax ? x > best : x < best)) {
              best = x;
              place = k;
            }
          }
          std::memcpy(Buffer(to).mutable_data() + row * width, &place, static_cast<size_t>(width));
        }
      });
  return {};
}

}  // namespace minihlo

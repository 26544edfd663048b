// Linear algebra, Fourier transforms, batch norm and random numbers.
#include "ir/float_format.h"
#include "ir/inference/families.h"

namespace minihlo::inference {
namespace {

std::string need_floats_or_complex(const Context& c, size_t i) {
  if (std::string wrong = c.need_array(i); !wrong.empty()) return wrong;
  const ElementType type = c.shape(i)->element_type();
  if (is_float(type) || is_complex(type)) return "";
  return fmt::format("{} is defined on floats or complex numbers, not on {}", c.name(),
                     c.describe(i));
}

// That the last two dimensions of operand i are equal.
std::string need_square(const Context& c, size_t i) {
  const Shape* shape = c.shape(i);
  if (shape->rank() >= 2 &&
      merge(dim_of(shape, shape->rank() - 2), dim_of(shape, shape->rank() - 1))) {
    return "";
  }
  return fmt::format("{} must hold square matrices in its last two dimensions", c.describe(i));
}

// The shape of one number a feature, of operand `from` on: vectors like operand 0's features.
std::string check_features(const Context& c, size_t from, size_t to, int64_t feature) {
  for (size_t i = from; i < to; ++i) {
    if (std::string wrong = c.need_array(i); !wrong.empty()) return wrong;
    if (std::string wrong = c.need_like_types(0, i); !wrong.empty()) return wrong;
    const Shape* shape = c.shape(i);
    if (shape->rank() == 1 && merge(dim_of(shape, 0), dim_of(c.shape(0), feature))) continue;
    return fmt::format("{} must have one number for each feature of {}, dimension {}",
                       c.describe(i), c.describe(0), feature);
  }
  return "";
}

// What all three batch norms check: feature_index, and operands 1 to `vectors` as vectors.
std::string check_batch_norm(const Context& c, size_t vectors) {
  if (std::string wrong = c.need_array(0); !wrong.empty()) return wrong;
  if (!is_float(c.shape(0)->element_type())) {
    return fmt::format("{} is defined on floats, not on {}", c.name(), c.describe(0));
  }
  const int64_t feature = c.get(attr::feature_index);
  if (feature < 0 || feature >= c.shape(0)->rank()) {
    return fmt::format("feature_index={} is no dimension of {}", feature, c.describe(0));
  }
  return check_features(c, 1, 1 + vectors, feature);
}

// Operand 0's shape and two vectors with one number a feature.
Result with_two_vectors(const Context& c) {
  const Dim features = dim_of(c.shape(0), c.get(attr::feature_index));
  Result vector = c.array(c.shape(1)->element_type(), {features});
  if (!vector) return vector;
  const Shape* all[] = {c.shape(0), *vector, *vector};
  return c.tuple(all);
}

}  // namespace

Result infer_cholesky(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(need_floats_or_complex(c, 0));
  MINIHLO_RETURN_IF_WRONG(need_square(c, 0));
  return c.shape(0);
}

Result infer_triangular_solve(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(need_floats_or_complex(c, 0));
  MINIHLO_RETURN_IF_WRONG(need_floats_or_complex(c, 1));
  MINIHLO_RETURN_IF_WRONG(c.need_like_types(0, 1));
  MINIHLO_RETURN_IF_WRONG(need_square(c, 0));
  const Shape* a = c.shape(0);
  const Shape* b = c.shape(1);
  if (a->rank() != b->rank()) {
    return fail("{} and {} differ in rank", c.describe(0), c.describe(1));
  }
  for (int64_t d = 0; d + 2 < a->rank(); ++d) {
    if (merge(dim_of(a, d), dim_of(b, d))) continue;
    return fail("{} and {} differ in batch dimension {}", c.describe(0), c.describe(1), d);
  }
  const bool left = c.get(attr::left_side);
  if (!merge(dim_of(a, a->rank() - 1), dim_of(b, b->rank() - (left ? 2 : 1)))) {
    return fail("{} does not fit {}, which it is on the {} of", c.describe(0), c.describe(1),
                left ? "left" : "right");
  }
  if (!c.has(attr::transpose_a)) {
    return fail("transpose_a must be given: NO_TRANSPOSE, TRANSPOSE or ADJOINT");
  }
  return b;
}

Result infer_fft(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  const Shape* operand = c.shape(0);
  const ElementType type = operand->element_type();
  std::span<const int64_t> length = c.get(attr::fft_length);
  const FftType kind = c.get(attr::fft_type);
  const std::string_view word_of_kind = word(AttributeId::fft_type, static_cast<int64_t>(kind));
  if (length.empty() || length.size() > 3) {
    return fail("fft_length={} must have 1 to 3 lengths", list_text(length));
  }
  if (operand->rank() < static_cast<int64_t>(length.size())) {
    return fail("fft_length={} has more lengths than {} has dimensions", list_text(length),
                c.describe(0));
  }
  for (int64_t size : length) {
    if (size < 0) return fail("fft_length={} has a negative length", list_text(length));
  }
  const size_t first = static_cast<size_t>(operand->rank()) - length.size();
  Dims dims = dims_of(operand);
  auto check_sizes = [&](size_t count) -> std::string {
    for (size_t i = 0; i < count; ++i) {
      if (dims[first + i].unbounded() || dims[first + i].size == length[i]) continue;
      return fmt::format("{} needs a size of {} in dimension {} by fft_length={}, but {} has {}",
                         word_of_kind, length[i], first + i, list_text(length), c.describe(0),
                         dims[first + i].size);
    }
    return "";
  };
  switch (kind) {
    case FftType::kFft:
    case FftType::kIfft:
      if (!is_complex(type)) {
        return fail("{} is defined on complex numbers, not on {}", word_of_kind, c.describe(0));
      }
      return operand;
    case FftType::kRfft: {
      if (type != ElementType::F32 && type != ElementType::F64) {
        return fail("RFFT is defined on f32 and f64, not on {}", c.describe(0));
      }
      MINIHLO_RETURN_IF_WRONG(check_sizes(length.size()));
      // A size of zero stays zero.
      if (!dims.back().unbounded())
        dims.back().size = length.back() > 0 ? length.back() / 2 + 1 : 0;
      return c.array(type == ElementType::F32 ? ElementType::C64 : ElementType::C128, dims);
    }
    case FftType::kIrfft: {
      if (!is_complex(type)) {
        return fail("IRFFT is defined on complex numbers, not on {}", c.describe(0));
      }
      MINIHLO_RETURN_IF_WRONG(check_sizes(length.size() - 1));
      const int64_t needed = length.back() > 0 ? length.back() / 2 + 1 : 0;
      if (!dims.back().unbounded() && dims.back().size != needed) {
        return fail(
            "IRFFT needs a size of {} in the last dimension by fft_length={}, but {} has {}",
            needed, list_text(length), c.describe(0), dims.back().size);
      }
      dims.back().size = length.back();
      return c.array(part_of(type), dims);
    }
  }
  return fail("fft_type is unknown");
}

Result infer_batch_norm_inference(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(check_batch_norm(c, 4));
  return c.shape(0);
}

Result infer_batch_norm_training(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(check_batch_norm(c, 2));
  return with_two_vectors(c);
}

Result infer_batch_norm_grad(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(check_batch_norm(c, 3));
  MINIHLO_RETURN_IF_WRONG(c.need_array(4));
  MINIHLO_RETURN_IF_WRONG(c.need_same_dims(0, 4));
  MINIHLO_RETURN_IF_WRONG(c.need_like_types(0, 4));
  return with_two_vectors(c);
}

Result infer_rng(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_written_array());
  for (size_t i : {0, 1}) {
    MINIHLO_RETURN_IF_WRONG(c.need_scalar(i));
    if (c.shape(i)->element_type() != c.shape(0)->element_type() ||
        !like(c.shape(i)->element_type(), c.written()->element_type())) {
      return fail("{} must have the element type of the result {}", c.describe(i),
                  text(c.written()));
    }
  }
  const ElementType type = c.written()->element_type();
  const RandomDistribution distribution = c.get(attr::distribution);
  const bool good =
      distribution == RandomDistribution::kNormal ? is_float(type) : !is_complex(type);
  if (!good) {
    return fail("distribution={} does not give {}",
                word(AttributeId::distribution, static_cast<int64_t>(distribution)),
                text(c.written()));
  }
  // Bounds of another float: the verifier says more.
  return c.with_type(c.written(), c.shape(0)->element_type());
}

// What bits are made of, or whether the state is passed on, XLA leaves open (ir/verify/shapes.cc).
Result infer_rng_bit_generator(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_written());
  const Shape* written = c.written();
  if (!written->is_tuple()) return written;
  if (written->elements().size() != 2) {
    return fail("the result of rng-bit-generator is a pair of state and data, not {}",
                text(written));
  }
  const Shape* both[] = {c.shape(0), written->element(1)};
  return c.tuple(both);
}

Result infer_rng_get_and_update_state(const Context& c) { return c.array(ElementType::U64, {{2}}); }

}  // namespace minihlo::inference

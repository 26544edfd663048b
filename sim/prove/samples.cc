#include "sim/prove/samples.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "ir/float_format.h"
#include "ir/numbers.h"

namespace minihlo::prove {
namespace {

bool is_finite(ElementType type, const std::byte* element) {
  return std::isfinite(decode_float(type, element));
}

void sample_float(ElementType type, SampleKind kind, std::mt19937_64& random, std::byte* element) {
  auto bytes = static_cast<size_t>(info(type).bytes);
  uint64_t bits = random();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case SampleKind::kSmall:
      encode_float(type, static_cast<double>(bits % 17) - 8, element);
      return;
    case SampleKind::kNear:
      encode_float(type, std::ldexp(static_cast<double>(static_cast<int64_t>(bits)), -62), element);
      return;
    case SampleKind::kBits: {
      uint64_t mask = info(type).bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << info(type).bits) - 1;
      for (int attempt = 0; attempt < 16; ++attempt) {
        uint64_t masked = bits & mask;
        std::memcpy(element, &masked, bytes);
        if (is_finite(type, element)) return;
        bits = random();
      }
      encode_float(type, 1, element);
      return;
    }
    case SampleKind::kUniform:
    case SampleKind::kSpecial:
      break;
  }
  switch (bits % 12) {
    case 0:
      // Of any sign and payload, as far as the type has them.
      encode_float(type, std::numeric_limits<double>::quiet_NaN(), element);
      if (info(type).bits >= 16) element[0] = std::byte{static_cast<unsigned char>(bits >> 8)};
      if ((bits >> 16 & 1) != 0) element[bytes - 1] ^= std::byte{0x80};
      if (std::isfinite(decode_float(type, element))) encode_float(type, 1, element);
      return;
    case 1:
      encode_float(type, kInfinity, element);
      return;
    case 2:
      encode_float(type, -kInfinity, element);
      return;
    case 3:
      encode_float(type, -0.0, element);
      return;
    case 4:
      encode_float(type, 0.0, element);
      return;
    case 5: {
      // The smallest denormal, as far as the type has them.
      std::memset(element, 0, bytes);
      element[0] = std::byte{1};
      if (!is_finite(type, element)) encode_float(type, 1, element);
      return;
    }
    default:
      encode_float(type, static_cast<double>(bits / 12 % 9) - 4, element);
  }
}

void sample_integer(ElementType type, SampleKind kind, std::mt19937_64& random,
                    std::byte* element) {
  uint64_t bits = random();
  int width = info(type).bits;
  uint64_t value = bits;
  if (kind == SampleKind::kSmall) value = bits % 17 - (is_signed(type) ? 8 : 0);
  if (kind == SampleKind::kSpecial || kind == SampleKind::kUniform) {
    const uint64_t high = uint64_t{1} << (width - 1);
    const uint64_t specials[] = {0, 1, ~uint64_t{0}, high, high - 1, bits % 5, ~(bits % 5)};
    value = specials[bits / 5 % std::size(specials)];
  }
  // Kept in range of narrow types, signed ones sign-extended.
  if (width < 64) {
    value &= (uint64_t{1} << width) - 1;
    if (is_signed(type) && (value >> (width - 1)) != 0) value |= ~uint64_t{0} << width;
  }
  std::memcpy(element, &value, static_cast<size_t>(info(type).bytes));
}

}  // namespace

ElementBytes sample(ElementType type, SampleKind kind, std::mt19937_64& random) {
  alignas(16) ElementBytes bytes{};
  switch (info(type).kind) {
    case ElementKind::kPred:
      bytes[0] = std::byte{static_cast<unsigned char>(random() & 1)};
      break;
    case ElementKind::kFloat:
      sample_float(type, kind, random, bytes.data());
      break;
    case ElementKind::kComplex: {
      ElementType part = part_of(type);
      sample_float(part, kind, random, bytes.data());
      sample_float(part, kind, random, bytes.data() + info(part).bytes);
      break;
    }
    default:
      sample_integer(type, kind, random, bytes.data());
  }
  return bytes;
}

ElementBytes sample_beside(ElementType type, const ElementBytes& value, std::mt19937_64& random) {
  const ElementKind kind = info(type).kind;
  if (kind == ElementKind::kPred || kind == ElementKind::kComplex) {
    return sample(type, SampleKind::kBits, random);
  }
  uint64_t bits = 0;
  std::memcpy(&bits, value.data(), static_cast<size_t>(info(type).bytes));
  bits += random() % 5 - 2;
  const int width = info(type).bits;
  if (width < 64) {
    bits &= (uint64_t{1} << width) - 1;
    if (is_signed(type) && (bits >> (width - 1)) != 0) bits |= ~uint64_t{0} << width;
  }
  ElementBytes made{};
  std::memcpy(made.data(), &bits, static_cast<size_t>(info(type).bytes));
  if (kind == ElementKind::kFloat && !is_finite(type, made.data())) return value;
  return made;
}

std::optional<HostTensor> sample_tensor(const Shape* shape, SampleKind kind,
                                        std::mt19937_64& random) {
  std::shared_ptr<std::byte> data = allocate_host(shape->byte_count());
  if (!data) return std::nullopt;
  auto width = static_cast<size_t>(info(shape->element_type()).bytes);
  ElementBytes value = sample(shape->element_type(), kind, random);
  for (int64_t i = 0; i < shape->element_count(); ++i) {
    if (kind != SampleKind::kUniform) value = sample(shape->element_type(), kind, random);
    std::memcpy(data.get() + static_cast<size_t>(i) * width, value.data(), width);
  }
  return HostTensor{shape->element_type(),
                    {shape->dims().begin(), shape->dims().end()},
                    data,
                    shape->byte_count()};
}

std::optional<HostTensor> zero_tensor(const Shape* shape) {
  std::shared_ptr<std::byte> data = allocate_host(shape->byte_count());
  if (!data) return std::nullopt;
  std::memset(data.get(), 0, static_cast<size_t>(shape->byte_count()));
  return HostTensor{shape->element_type(),
                    {shape->dims().begin(), shape->dims().end()},
                    data,
                    shape->byte_count()};
}

}  // namespace minihlo::prove

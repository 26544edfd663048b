// Values of constants in XLA's form (xla/literal.cc), so that a dump of ours reads like one of
// XLA's and, read again, has the same bits.
//
// Two things differ, since XLA's own form loses them: a negative zero is -0.0 (XLA reads -0 as an
// integer), and zeros everywhere in a large array are the single value 0, which XLA reads so.
#include <charconv>
#include <cmath>
#include <complex>
#include <cstring>

#include "ir/numbers.h"
#include "ir/text/decimal.h"
#include "ir/text/text_printer.h"

namespace minihlo::internal {
namespace {

// Larger arrays of zeros are written as `0`.
constexpr int64_t kZerosInFull = 1024;

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};

template <class T>
constexpr int mantissa_bits() {
  if constexpr (IsMiniFloat<T>::value) {
    return T::kMantissaBits;
  } else {
    return IeeeTraits<T>::kMantissaBits;
  }
}

// As many significant digits as tell any two values apart: 1 + ceil(precision * log10(2)).
template <class T>
constexpr int max_digits() {
  return 1 + ((mantissa_bits<T>() + 1) * 30103 + 99999) / 100000;
}

// A NaN's payload follows where it is not the one that `nan` stands for.
template <class T>
void append_nan(TextBuffer& out, T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bool negative;
  uint64_t payload = 0;
  uint64_t quiet = 0;
  if constexpr (IsMiniFloat<T>::value) {
    negative = (bits & T::kSignMask) != 0;
    if (T::kKind == FloatKind::kIeee) {
      payload = bits & ((uint64_t{1} << T::kMantissaBits) - 1);
      quiet = uint64_t{1} << T::kMantissaBits >> 1;
    }
  } else {
    negative = std::signbit(value);
    payload = bits & ((uint64_t{1} << mantissa_bits<T>()) - 1);
    quiet = uint64_t{1} << (mantissa_bits<T>() - 1);
  }
  out += negative ? "-nan" : "nan";
  if (payload == quiet) return;
  char digits[20];
  out += "(0x";
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), payload, 16).ptr);
  out += ')';
}

template <class T>
void append_float(TextBuffer& out, T value) {
  const auto wide = static_cast<double>(value);
  if (std::isnan(wide)) return append_nan(out, value);
  if (wide == 0) {
    out += std::signbit(wide) ? "-0.0" : "0";
  } else if (std::isinf(wide)) {
    out += wide < 0 ? "-inf" : "inf";
  } else if constexpr (IsMiniFloat<T>::value) {
    char* to = out.room(kDecimalSize);
    out.commit(write_decimal<max_digits<T>()>(to, static_cast<float>(value)));
  } else {
    out.commit(write_decimal(out.room(kDecimalSize), value));
  }
}

template <class T>
void append_element(TextBuffer& out, const T& value, bool scalar) {
  if constexpr (std::is_same_v<T, Pred>) {
    if (scalar) {
      out += value ? "true" : "false";
    } else {
      out += value ? '1' : '0';
    }
  } else if constexpr (IsComplex<T>::value) {
    out += '(';
    append_float(out, value.real());
    out += ", ";
    append_float(out, value.imag());
    out += ')';
  } else if constexpr (IsMiniFloat<T>::value || std::is_floating_point_v<T>) {
    append_float(out, value);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    out.append_number(value);
  } else {
    out.append_number(static_cast<int64_t>(value));
  }
}

template <class T>
class ArrayPrinter {
 public:
  ArrayPrinter(TextBuffer& out, const Literal& literal)
      : out_(out),
        shape_(*literal.shape),
        next_(literal.bytes.data()),
        step_(literal.form == Literal::Form::kSplat ? 0 : sizeof(T)) {}

  void print(int64_t dim = 0) {
    const int64_t size = shape_.dim(dim);
    const bool innermost = dim + 1 == shape_.rank();
    const bool padded = shape_.rank() > 1 && (!innermost || size > 1);
    out_ += '{';
    if (padded) out_ += ' ';
    if (padded && !innermost && dim > 0 && shape_.rank() > 3) append_position(dim);
    for (int64_t i = 0; i < size; ++i) {
      if (i > 0) out_ += ", ";
      if (innermost) {
        append_element(out_, next(), false);
      } else {
        index_ = i;
        print(dim + 1);
      }
    }
    if (padded) out_ += ' ';
    out_ += '}';
  }

 private:
  T next() {
    T value;
    std::memcpy(static_cast<void*>(&value), next_, sizeof(T));
    next_ += step_;
    return value;
  }
  void append_position(int64_t dim) {
    out_ += "/*i";
    out_.append_number(dim - 1);
    out_ += '=';
    out_.append_number(index_);
    out_ += "*/ ";
  }

  TextBuffer& out_;
  const Shape& shape_;
  const std::byte* next_;
  const size_t step_;
  int64_t index_ = 0;
};

bool is_zero(std::span<const std::byte> bytes) {
  for (std::byte byte : bytes) {
    if (byte != std::byte{0}) return false;
  }
  return true;
}

}  // namespace

void append_literal(TextBuffer& out, const Literal& literal, int64_t largest) {
  switch (literal.form) {
    case Literal::Form::kElided:
      out += "{...}";
      return;
    case Literal::Form::kTuple: {
      out += "( ";
      bool first = true;
      for (const Literal* element : literal.elements) {
        if (!std::exchange(first, false)) out += ", ";
        append_literal(out, *element, largest);
      }
      out += " )";
      return;
    }
    case Literal::Form::kSplat:
    case Literal::Form::kDense:
      break;
  }
  const Shape& shape = *literal.shape;
  if (shape.rank() > 0 && shape.element_count() > largest) {
    out += "{...}";
    return;
  }
  dispatch(shape.element_type(), [&]<class T>(std::type_identity<T>) {
    auto single = [&](bool scalar) {
      T value;
      std::memcpy(static_cast<void*>(&value), literal.element_bytes(0).data(), sizeof(T));
      append_element(out, value, scalar);
    };
    if (shape.rank() == 0) {
      single(true);
    } else if (literal.form == Literal::Form::kSplat && shape.element_count() > kZerosInFull &&
               is_zero(literal.bytes)) {
      single(true);
    } else {
      ArrayPrinter<T>(out, literal).print();
    }
  });
}

}  // namespace minihlo::internal

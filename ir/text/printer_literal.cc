// Values of constants in XLA's form (xla/literal.cc), so that a dump of ours reads like one of
// XLA's and, read again, has the same bits.
//
// Two things differ, since XLA's own form loses them: a negative zero is -0.0 (XLA reads -0 as an
// integer), and zeros everywhere in a large array are the single value 0, which XLA reads so.
#include <cstring>

#include "ir/numbers.h"
#include "ir/text/element_text.h"
#include "ir/text/text_printer.h"

namespace minihlo::internal {
namespace {

// Larger arrays of zeros are written as `0`.
constexpr int64_t kZerosInFull = 1024;

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

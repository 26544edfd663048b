// Values of constants in XLA's form (xla/literal.cc), so that a dump of ours reads like one of
// XLA's and, read again, has the same bits.
//
// Two things differ, since XLA's own form loses them: a negative zero is -0.0 (XLA reads -0 as an
// integer), and zeros everywhere in a large array are the single value 0, which XLA reads so.
#include <algorithm>
#include <array>
#include <cstring>

#include "ir/numbers.h"
#include "ir/text/decimal_block.h"
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
        step_(literal.form == Literal::Form::kSplat ? 0 : sizeof(T)),
        start_(out.size()) {}

  void print(int64_t dim = 0) {
    const int64_t size = shape_.dim(dim);
    const bool innermost = dim + 1 == shape_.rank();
    const bool padded = shape_.rank() > 1 && (!innermost || size > 1);
    out_ += '{';
    if (padded) out_ += ' ';
    if (padded && !innermost && dim > 0 && shape_.rank() > 3) append_position(dim);
    if (innermost) {
      print_row(size);
    } else {
      for (int64_t i = 0; i < size; ++i) {
        if (i > 0) out_ += ", ";
        index_ = i;
        print(dim + 1);
      }
    }
    if (padded) out_ += ' ';
    out_ += '}';
  }

 private:
  // 64-bit floats have too many digits for blocks.
  static constexpr bool kInBlocks = IsMiniFloat<T>::value || std::is_same_v<T, float>;

  void print_row(int64_t size) {
    constexpr int64_t kPiece = 32 * DecimalBlock::kSize;
    for (int64_t i = 0; i < size; i += kPiece) {
      if (i > 0) out_ += ", ";
      const int64_t count = std::min(kPiece, size - i);
      print_piece(count);
      printed_ += count;
      if (!foreseen_) foresee();
    }
  }
  // Once a few are printed, the room for the others is known.
  void foresee() {
    constexpr int64_t kEnough = 1000;
    if (printed_ < kEnough) return;
    foreseen_ = true;
    const auto written = static_cast<double>(out_.size() - start_);
    const auto more = static_cast<double>(shape_.element_count() - printed_);
    out_.expect(static_cast<size_t>(written / static_cast<double>(printed_) * more * 1.02));
  }
  void print_piece(int64_t count) {
    constexpr int64_t kWorthABlock = 8;
    int64_t i = 0;
    if constexpr (kInBlocks) {
      // After a block of zeros, say, more of them are likely.
      bool worth = step_ != 0;
      while (worth && count - i >= kWorthABlock) {
        const int64_t size = std::min<int64_t>(DecimalBlock::kSize, count - i);
        worth = print_block(size, i > 0);
        i += size;
      }
    }
    for (; i < count; ++i) {
      if (i > 0) out_ += ", ";
      append_element(out_, next(), false);
    }
  }
  // False where the block had none of the values.
  bool print_block(int64_t size, bool behind_others) {
    constexpr size_t kRoom = DecimalBlock::kSize * (DecimalBlock::kRoom + 2);
    std::array<float, DecimalBlock::kSize> values{};
    if constexpr (IsMiniFloat<T>::value) {
      decode_floats(element_type_of<T>, next_, size, values.data());
      block_.find<max_digits<T>()>(values.data());
    } else {
      std::memcpy(values.data(), next_, static_cast<size_t>(size) * sizeof(T));
      block_.find<0>(values.data());
    }
    bool any = false;
    char* to = out_.room(kRoom);
    for (int i = 0; i < size; ++i) {
      std::memcpy(to, ", ", 2);
      to += i > 0 || behind_others ? 2 : 0;
      const T value = next();
      if (block_.has(i)) [[likely]] {
        to = block_.write(to, i);
        any = true;
      } else {
        out_.commit(to);
        append_element(out_, value, false);
        to = out_.room(kRoom);
      }
    }
    out_.commit(to);
    return any;
  }
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
  const size_t start_;
  int64_t index_ = 0;
  int64_t printed_ = 0;
  bool foreseen_ = false;
  DecimalBlock block_;
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

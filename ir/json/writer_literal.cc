#include <cmath>
#include <cstring>

#include "ir/json/writer.h"
#include "ir/text/element_text.h"

namespace minihlo::internal {
namespace {

// What is no number in JSON is a string, spelt as in HLO text.
template <class T>
void append_json_float(TextBuffer& out, T value) {
  if (std::isfinite(static_cast<double>(value))) return append_float(out, value);
  out += '"';
  append_float(out, value);
  out += '"';
}

template <class T>
void append_json_element(TextBuffer& out, const T& value) {
  if constexpr (std::is_same_v<T, Pred>) {
    out += value ? "true" : "false";
  } else if constexpr (IsComplex<T>::value) {
    append_json_float(out, value.real());
    out += ',';
    append_json_float(out, value.imag());
  } else if constexpr (IsMiniFloat<T>::value || std::is_floating_point_v<T>) {
    append_json_float(out, value);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    out.append_number(value);
  } else {
    out.append_number(static_cast<int64_t>(value));
  }
}

}  // namespace

void JsonWriter::write_literal(const Literal& literal, const Shape* shape) {
  out_ += '{';
  if (literal.shape != shape) {
    write_key("shape");
    write(literal.shape);
    out_ += ',';
  }
  switch (literal.form) {
    case Literal::Form::kElided:
      out_ += "\"elided\":true";
      break;
    case Literal::Form::kTuple: {
      write_key("elements");
      out_ += '[';
      size_t index = 0;
      for (const Literal* element : literal.elements) {
        if (index > 0) out_ += ',';
        write_literal(*element, literal.shape->elements()[index++]);
      }
      out_ += ']';
      break;
    }
    case Literal::Form::kSplat:
    case Literal::Form::kDense: {
      const bool splat = literal.form == Literal::Form::kSplat;
      write_key(splat ? "splat" : "values");
      out_ += '[';
      dispatch(literal.shape->element_type(), [&]<class T>(std::type_identity<T>) {
        const std::byte* from = literal.bytes.data();
        for (size_t left = literal.bytes.size() / sizeof(T); left > 0; --left) {
          T value;
          std::memcpy(static_cast<void*>(&value), from, sizeof(T));
          from += sizeof(T);
          append_json_element(out_, value);
          if (left > 1) out_ += ',';
        }
      });
      out_ += ']';
      break;
    }
  }
  out_ += '}';
}

}  // namespace minihlo::internal

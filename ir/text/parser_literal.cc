// Values of constants, read straight from the text: a constant may be most of a module.
#include <fmt/format.h>

#include <cstddef>
#include <cstring>

#include "ir/numbers.h"
#include "ir/text/element_text.h"
#include "ir/text/text_parser.h"

namespace minihlo::internal {
namespace {

// Reads one element.
template <class T>
Problem read_value(const Lexer& lexer, const char*& p, const char* end, T& value) {
  Number number;
  if constexpr (IsComplex<T>::value) {
    auto skip = [&] {
      p = lexer.text().data() + lexer.skip_blank(static_cast<size_t>(p - lexer.text().data()));
    };
    typename T::value_type parts[2];
    if (p >= end || *p != '(') return Problem::kNeedsPair;
    ++p;
    for (int i = 0; i < 2; ++i) {
      skip();
      if (Problem problem = read_number(p, end, number); problem != Problem::kNone) return problem;
      if (Problem problem = to_float(number, parts[i]); problem != Problem::kNone) return problem;
      skip();
      if (p >= end || *p != (i == 0 ? ',' : ')')) return Problem::kNeedsPair;
      ++p;
    }
    value = T(parts[0], parts[1]);
    return Problem::kNone;
  } else {
    if constexpr (std::is_same_v<T, Pred>) {
      std::string_view rest(p, static_cast<size_t>(std::min<std::ptrdiff_t>(end - p, 6)));
      size_t length = rest.starts_with("true") ? 4 : rest.starts_with("false") ? 5 : 0;
      if (length > 0 && (rest.size() <= length || !continues_word(rest[length]))) {
        value = Pred(length == 4);
        p += length;
        return Problem::kNone;
      }
    }
    if (!read_plain_number(p, end, number)) {
      if (Problem problem = read_number(p, end, number); problem != Problem::kNone) return problem;
    }
    if constexpr (std::is_same_v<T, Pred>) {
      value = Pred(number.integer != 0);
      return number.kind == Number::Kind::kInteger ? Problem::kNone : Problem::kNeedsInteger;
    } else if constexpr (IsMiniFloat<T>::value || std::is_floating_point_v<T>) {
      return to_float(number, value);
    } else {
      return to_integer(number, value);
    }
  }
}

// What a literal's text turned into, or where and why it didn't.
struct Result {
  std::span<const std::byte> bytes;
  bool splat = false;
  bool elided = false;  // by dots
  size_t end = 0;       // behind the literal, or where the problem is
  Problem problem = Problem::kNone;
  std::string size_problem;  // braces that don't match the shape
};

// Nested braces with as many elements as the shape says, or with dots for those that are not there.
template <class T>
Result read_braces(const Lexer& lexer, size_t begin, const Shape& shape, Arena& arena) {
  const char* const text = lexer.text().data();
  const char* const end = text + lexer.text().size();
  const char* p = text + begin;
  const size_t rank = static_cast<size_t>(shape.rank());
  const int64_t count = shape.element_count();
  const int64_t row = rank > 0 ? shape.dim(shape.rank() - 1) : 0;
  std::vector<int64_t> counts(rank, 0);
  size_t depth = 0;
  T* values = nullptr;  // null as long as all are like the first
  T first{};
  bool elided = false;
  // Each element takes a character at least, so no memory is taken for what can't be there.
  const bool all_fit = count <= end - p;
  int64_t done = 0;
  auto wrong = [&](std::string why) {
    Result result;
    result.end = static_cast<size_t>(p - text);
    result.size_problem = std::move(why);
    return result;
  };
  for (;;) {
    if (p >= end) return wrong("the text ends within the literal");
    const char c = *p;
    if (c == ' ' || c == ',' || c == '\n' || c == '\t' || c == '\r') {
      ++p;
    } else if (c == '{') {
      if (depth == rank) return wrong(fmt::format("braces nest more than {} deep", rank));
      if (depth > 0 && ++counts[depth - 1] > shape.dim(static_cast<int64_t>(depth - 1))) {
        return wrong(fmt::format("dimension {} has more than {} elements", depth - 1,
                                 shape.dim(static_cast<int64_t>(depth - 1))));
      }
      counts[depth++] = 0;
      ++p;
    } else if (c == '}') {
      const int64_t expected = shape.dim(static_cast<int64_t>(depth - 1));
      if (counts[depth - 1] != expected) {
        return wrong(fmt::format("dimension {} has {} of {} elements", depth - 1, counts[depth - 1],
                                 expected));
      }
      ++p;
      if (--depth == 0) break;
    } else if (c == '/') {
      size_t after = lexer.skip_blank(static_cast<size_t>(p - text));
      if (text + after == p) return wrong("expected an element");
      p = text + after;
    } else if (c == '.' && depth == 1 && std::string_view(p, end).starts_with("...")) {
      elided = true;
      counts[0] = shape.dim(0);
      p += 3;
    } else {
      if (depth != rank) return wrong("an element stands outside of the innermost braces");
      if (++counts[rank - 1] > row) {
        if (elided) return wrong("expected '}' behind '...'");
        return wrong(fmt::format("dimension {} has more than {} elements", rank - 1, row));
      }
      const char* start = p;
      T value;
      if (Problem problem = read_value(lexer, p, end, value); problem != Problem::kNone) {
        Result result;
        result.end = static_cast<size_t>(start - text);
        result.problem = problem;
        return result;
      }
      if (values) {
        values[done] = value;
      } else if (done == 0) {
        first = value;
      } else if (all_fit && std::memcmp(&first, &value, sizeof(T)) != 0) {
        values = arena.array<T>(static_cast<size_t>(count)).data();
        std::fill_n(values, done, first);
        values[done] = value;
      }
      ++done;
      if (end - p > 2 && p[0] == ',' && p[1] == ' ') p += 2;
    }
  }
  Result result;
  result.end = static_cast<size_t>(p - text);
  result.elided = elided;
  if (count == 0 || elided) return result;
  result.splat = !values && count > 1;
  if (!values) {
    values = arena.array<T>(1).data();
    *values = first;
  }
  result.bytes = std::as_bytes(std::span(values, result.splat ? 1 : static_cast<size_t>(count)));
  return result;
}

// One value without braces. For an array XLA takes it for the first element; the rest is zero.
template <class T>
Result read_single(const Lexer& lexer, size_t begin, const Shape& shape, Arena& arena) {
  const char* const text = lexer.text().data();
  const char* p = text + begin;
  Result result;
  T value;
  result.problem = read_value(lexer, p, text + lexer.text().size(), value);
  result.end = result.problem == Problem::kNone ? static_cast<size_t>(p - text) : begin;
  if (result.problem != Problem::kNone) return result;
  const int64_t count = shape.element_count();
  T zero;
  std::memset(static_cast<void*>(&zero), 0, sizeof(T));
  result.splat = count > 1 && std::memcmp(&value, &zero, sizeof(T)) == 0;
  constexpr int64_t kLargest = int64_t{1} << 26;
  if (!result.splat && count > kLargest) {
    result.size_problem =
        fmt::format("a single value that is not 0 for more than {} elements", kLargest);
    result.end = begin;
    return result;
  }
  std::span<T> values = arena.array<T>(result.splat ? 1 : static_cast<size_t>(count));
  std::fill(values.begin(), values.end(), zero);
  values[0] = value;
  result.bytes = std::as_bytes(values);
  return result;
}

}  // namespace

// f32[2]{0} {1, 2} or ( f32[] 1, ( s32[] 2 ) ): each array has its shape before it.
bool TextParser::parse_shaped_literal(const Literal*& literal) {
  Nesting nesting(*this);
  if (!nesting.ok()) return false;
  if (!at(TokenKind::kLeftParen)) {
    const Shape* shape;
    return parse_shape(shape) && parse_literal(shape, literal);
  }
  const Token open = token();
  std::vector<const Literal*> elements;
  auto element = [&] { return parse_shaped_literal(elements.emplace_back()); };
  if (!parse_list(TokenKind::kLeftParen, TokenKind::kRightParen, "around a tuple's values", element,
                  true)) {
    return false;
  }
  std::vector<const Shape*> shapes;
  for (const Literal* one : elements) shapes.push_back(one->shape);
  Literal made;
  made.form = Literal::Form::kTuple;
  made.shape = module_->shapes().tuple(shapes);
  if (!made.shape) return fail("shape-too-large", open.location(), "the tuple is too large");
  made.elements = arena().copy(elements);
  literal = arena().make<Literal>(made);
  return true;
}

bool TextParser::parse_literal(const Shape* shape, const Literal*& literal) {
  Nesting nesting(*this);
  if (!nesting.ok()) return false;
  Literal made;
  made.shape = shape;
  if (shape->is_array()) {
    if (!parse_array_literal(shape, made)) return false;
  } else if (shape->is_tuple()) {
    made.form = Literal::Form::kTuple;
    std::vector<const Literal*> elements;
    size_t count = shape->elements().size();
    const Token open = token();
    auto element = [&] {
      if (elements.size() == count) {
        return fail("literal-size", token().location(),
                    fmt::format("the tuple has only {} elements", count));
      }
      const Shape* element_shape = shape->element(static_cast<int64_t>(elements.size()));
      return parse_literal(element_shape, elements.emplace_back());
    };
    if (!parse_list(TokenKind::kLeftParen, TokenKind::kRightParen, "around a tuple's values",
                    element)) {
      return false;
    }
    if (elements.size() != count) {
      return fail("literal-size", open.location(),
                  fmt::format("the tuple needs {} elements, not {}", count, elements.size()));
    }
    made.elements = arena().copy(elements);
  } else {
    return fail("invalid-literal", token().location(),
                fmt::format("there are no constants of the shape {}", to_string(shape)));
  }
  literal = arena().make<Literal>(made);
  return true;
}

bool TextParser::parse_array_literal(const Shape* shape, Literal& literal) {
  const Token start = token();
  for (int64_t dim : shape->dims()) {
    if (dim == kUnboundedSize) {
      return fail("invalid-literal", start.location(),
                  fmt::format("there are no constants of the shape {}", to_string(shape)));
    }
  }
  const bool braces = at(TokenKind::kLeftBrace);
  auto too_few = [&](std::string_view why) {
    return fail("literal-size", start.location(),
                fmt::format("{} needs {} elements: {}", to_string(shape, false),
                            shape->element_count(), why));
  };
  if (braces && shape->rank() == 0) {
    return fail("invalid-literal", start.location(), "a scalar takes no braces");
  }
  if (!braces && shape->element_count() == 0) return too_few("there may be no value");
  if (at(TokenKind::kLeftParen) && shape->rank() > 0) {
    return fail_expected("'{' before the values of an array");
  }
  if (braces && static_cast<size_t>(shape->element_count()) > lexer_.text().size() - start.offset &&
      lexer_.text().find("...", start.offset) == std::string_view::npos) {
    return too_few("the text is shorter");
  }
  Result result = dispatch(shape->element_type(), [&]<class T>(std::type_identity<T>) {
    return braces ? read_braces<T>(lexer_, start.offset, *shape, arena())
                  : read_single<T>(lexer_, start.offset, *shape, arena());
  });
  auto failed = [&](std::string_view rule, std::string message) {
    lexer_.jump(result.end);
    return fail(rule, token().location(), std::move(message));
  };
  std::string_view type = to_string(shape->element_type());
  if (!result.size_problem.empty()) {
    lexer_.jump(result.end);
    return fail("literal-size", token().location(),
                fmt::format("the literal does not fit {}: {}", to_string(shape, false),
                            result.size_problem));
  }
  switch (result.problem) {
    case Problem::kNone:
      break;
    case Problem::kNotAValue:
      return failed("invalid-literal", fmt::format("expected a value of type {}", type));
    case Problem::kNeedsInteger:
      return failed("invalid-literal", fmt::format("a value of type {} must be an integer", type));
    case Problem::kNeedsPair:
      return failed("invalid-literal",
                    fmt::format("a value of type {} must be (real, imaginary)", type));
    case Problem::kOutOfRange:
      return failed("literal-range", fmt::format("the value is outside the range of {}", type));
    case Problem::kDoubleRange:
      return failed("literal-range", "the value is outside the range of f64");
    case Problem::kPayload:
      return failed("literal-range", fmt::format("{} has no NaN with this payload", type));
  }
  if (!braces && shape->element_count() > 1 && !result.splat) {
    diagnostics_
        .warning("partial-literal", start.location(),
                 fmt::format("one value for {} elements: the others are 0, as XLA reads it",
                             shape->element_count()))
        .instruction = current_instruction_;
  }
  literal.form = result.elided  ? Literal::Form::kElided
                 : result.splat ? Literal::Form::kSplat
                                : Literal::Form::kDense;
  literal.bytes = result.bytes;
  lexer_.jump(result.end);
  return true;
}

}  // namespace minihlo::internal

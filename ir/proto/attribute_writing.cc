#include "ir/proto/attribute_values.h"

#include <charconv>

#include "ir/proto/braced.h"
#include "ir/proto/enums.h"
#include "ir/proto/structures.h"

namespace minihlo::proto {
namespace {

bool write_sparsity(Writer& out, Field field, std::string_view text) {
  struct Part {
    bool right;
    int64_t dimension, n, m;
  };
  std::vector<Part> parts;
  const char* at = text.data();
  const char* const end = at + text.size();
  auto take = [&](char c) { return at < end && *at == c && ++at; };
  auto number = [&](int64_t& value) {
    auto [behind, error] = std::from_chars(at, end, value);
    at = behind;
    return error == std::errc();
  };
  do {
    Part part{};
    part.right = at < end && *at == 'R';
    if ((!take('L') && !take('R')) || !take('.') || !number(part.dimension) || !take('@') ||
        !number(part.n) || !take(':') || !number(part.m)) {
      return false;
    }
    parts.push_back(part);
  } while (take('_'));
  if (at != end) return false;
  for (const Part& part : parts) {
    out.message(field, [&](Writer& one) {
      one.integer(SparsityDescriptor::type,
                  *value_number(EnumId::SparsityType, "SPARSITY_STRUCTURED_N_M"));
      one.integer(SparsityDescriptor::index, part.right);
      one.integer(SparsityDescriptor::dimension, part.dimension);
      one.integer(SparsityDescriptor::n, part.n);
      one.integer(SparsityDescriptor::m, part.m);
    });
  }
  return true;
}

bool fits(FieldKind kind, int64_t value) {
  return kind != FieldKind::kInt32 || value == static_cast<int32_t>(value);
}

template <class T>
T value_of(const Attribute& value) {
  return attribute_value<T>(value);
}

}  // namespace

bool write_value(Writing& writing, Writer& out, Field field, const Attribute& value, bool always,
                 Location location) {
  switch (info(value.id).kind) {
    case AttributeKind::kBool:
      if (field.kind == FieldKind::kEnum) {
        out.integer(field, *number_of_word(field.enum_type(), value.integer ? "true" : "false"));
      } else {
        out.integer(field, value.integer, always);
      }
      return true;
    case AttributeKind::kInt:
      if (field.is_repeated()) {
        out.integers<int64_t>(field, std::span(&value.integer, 1));
        return true;
      }
      if (!fits(field.kind, value.integer)) return false;
      out.integer(field, value.integer, always);
      return true;
    case AttributeKind::kFloat:
      out.real(field, value.real, always);
      return shortest_of_float(value.real) == value.real;
    case AttributeKind::kString:
      out.text(field, value_of<std::string_view>(value), always);
      return true;
    case AttributeKind::kEnum:
      if (field.kind == FieldKind::kString) {
        out.text(field, word(value.id, value.integer));
      } else {
        out.integer(field, *number_of_word(field.enum_type(), word(value.id, value.integer)),
                    always);
      }
      return true;
    case AttributeKind::kWord: {
      auto text = value_of<std::string_view>(value);
      if (field.kind != FieldKind::kEnum) return write_sparsity(out, field, text);
      auto number = value_number(field.enum_type(), std::string(kAlgorithmPrefix) + to_upper(text));
      if (number) out.integer(field, *number, always);
      return number && to_lower(text) == text;
    }
    case AttributeKind::kWords: {
      std::vector<int32_t> numbers;
      bool exact = true;
      for (std::string_view text : value_of<std::span<const std::string_view>>(value)) {
        auto number = value_number(field.enum_type(), to_upper(text));
        if (!number) return false;
        exact &= to_lower(text) == text;
        numbers.push_back(*number);
      }
      out.integers<int32_t>(field, numbers);
      return exact;
    }
    case AttributeKind::kInts:
      out.integers<int64_t>(field, value_of<std::span<const int64_t>>(value));
      return true;
    case AttributeKind::kBools:
      out.integers<bool>(field, value_of<std::span<const bool>>(value));
      return true;
    case AttributeKind::kPairs:
      write_structures(out, field, value_of<std::span<const minihlo::SourceTarget>>(value));
      return true;
    case AttributeKind::kSlice:
      write_structures(out, field, value_of<std::span<const SliceDimension>>(value));
      return true;
    case AttributeKind::kPadding:
      out.message(field, [&](Writer& config) {
        write_structures(config, PaddingConfig::dimensions,
                         value_of<std::span<const PaddingDimension>>(value));
      });
      return true;
    case AttributeKind::kWindow:
      out.message(field, [&](Writer& window) {
        write_structures(window, Window::dimensions,
                         value_of<std::span<const minihlo::WindowDimension>>(value));
      });
      return true;
    case AttributeKind::kDimLabels:
      return write_dim_labels(out, field, value_of<std::string_view>(value));
    case AttributeKind::kShape:
      write_shape(writing, out, field, value_of<const Shape*>(value));
      return true;
    case AttributeKind::kShapes:
      for (const Shape* shape : value_of<std::span<const Shape* const>>(value)) {
        write_shape(writing, out, field, shape);
      }
      return true;
    case AttributeKind::kProgramShape:
      out.message(field, [&](Writer& inner) {
        write_program_shape(writing, inner, *value_of<const ProgramShape*>(value));
      });
      return true;
    case AttributeKind::kLiteral: {
      const Literal& literal = *value_of<const Literal*>(value);
      if (literal.form == Literal::Form::kElided && value.id == AttributeId::literal_value) {
        return true;
      }
      out.message(field, [&](Writer& inner) { write_literal(writing, inner, literal, location); });
      return true;
    }
    case AttributeKind::kSharding:
      out.message(field,
                  [&](Writer& inner) { write_sharding(inner, *value_of<const Sharding*>(value)); });
      return true;
    case AttributeKind::kStringMap:
      out.message(field, [&](Writer& inner) {
        write_string_map(inner, value_of<std::span<const NamedString>>(value));
      });
      return true;
    case AttributeKind::kMetadata:
      out.message(field, [&](Writer& inner) {
        write_metadata(inner, value_of<std::span<const Attribute>>(value));
      });
      return true;
    case AttributeKind::kJson: {
      out.text(field, value_of<const JsonText*>(value)->text);
      return true;
    }
    case AttributeKind::kAliases:
      write_aliases(out, field, value_of<std::span<const Alias>>(value));
      return true;
    case AttributeKind::kDonors:
      write_donors(out, field, value_of<std::span<const Donor>>(value));
      return true;
    case AttributeKind::kBraced:
      return write_parts(value.id, value_of<std::string_view>(value), out);
    case AttributeKind::kIntLists:
    case AttributeKind::kDeviceGroups:
    case AttributeKind::kComputation:
    case AttributeKind::kComputations:
    case AttributeKind::kInstructions:
    case AttributeKind::kDomain:
      return true;
  }
  return true;
}

}  // namespace minihlo::proto

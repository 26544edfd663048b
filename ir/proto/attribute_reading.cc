#include "ir/proto/attribute_values.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/proto/braced.h"
#include "ir/proto/enums.h"
#include "ir/proto/structures.h"
#include "ir/text/strings.h"

namespace minihlo::proto {
namespace {

bool fail_unknown(const Message& in, Field field, int64_t number) {
  return in.fail("unknown-value", field,
                 fmt::format("{} has no value {}", name(field.enum_type()), number));
}

bool read_enum(const Message& in, Field field, AttributeId id, Attribute& value, bool& present) {
  if (field.kind == FieldKind::kString) {
    std::string_view text = in.text(field);
    present = !text.empty();
    for (size_t i = 0; i < word_count(id) && present; ++i) {
      value.integer = static_cast<int64_t>(i);
      if (word(id, value.integer) == text) return true;
    }
    return !present || in.fail("unknown-value", field, fmt::format("'{}' is no value of it", text));
  }
  const int64_t number = in.integer(field);
  for (size_t i = 0; i < word_count(id); ++i) {
    value.integer = static_cast<int64_t>(i);
    if (number_of_word(field.enum_type(), word(id, value.integer)) == number) return true;
  }
  // 0 without a word stands for nothing at all.
  present = false;
  return number == 0 || fail_unknown(in, field, number);
}

// A truth value with a third state, which is that nothing is said.
bool read_tri_state(const Message& in, Field field, Attribute& value, bool& present) {
  const int64_t number = in.integer(field);
  const bool is_true = number == number_of_word(field.enum_type(), "true");
  present = number != 0;
  value.integer = is_true;
  return !present || is_true || number == number_of_word(field.enum_type(), "false") ||
         fail_unknown(in, field, number);
}

// operand_precision={highest,default}
bool read_words(Reading& reading, const Message& in, Field field, Attribute& value) {
  std::vector<int64_t> numbers;
  if (!in.integers(field, numbers)) return false;
  std::vector<std::string_view> words;
  for (int64_t number : numbers) {
    std::string_view name = value_name(field.enum_type(), number);
    if (name.empty()) return fail_unknown(in, field, number);
    words.push_back(reading.arena.copy_string(to_lower(name)));
  }
  set_range(value, reading.arena.copy(words));
  return true;
}

// algorithm=dot_bf16_bf16_f32_x3
bool read_algorithm(Reading& reading, const Message& in, Field field, Attribute& value,
                    bool& present) {
  const int64_t number = in.integer(field);
  std::string_view name = value_name(field.enum_type(), number);
  present = number != 0;
  if (name.empty()) return fail_unknown(in, field, number);
  name.remove_prefix(kAlgorithmPrefix.size());
  set_range(value, reading.arena.copy_string(to_lower(name)));
  return true;
}

// sparsity=L.1@2:4_R.0@2:4: structured sparsity of dot's operands, in versions of 2024.
bool read_sparsity(Reading& reading, const Message& in, Field field, Attribute& value) {
  std::string text;
  if (!in.each(field, [&](const Message& one) {
        const int64_t index = one.integer(SparsityDescriptor::index);
        const int64_t type = one.integer(SparsityDescriptor::type);
        if ((index != 0 && index != 1) ||
            value_name(EnumId::SparsityType, type) != "SPARSITY_STRUCTURED_N_M") {
          return one.fail("unknown-value", "this sparsity has no form in text");
        }
        text += fmt::format("{}{}.{}@{}:{}", text.empty() ? "" : "_", index == 0 ? 'L' : 'R',
                            one.integer(SparsityDescriptor::dimension),
                            one.integer(SparsityDescriptor::n), one.integer(SparsityDescriptor::m));
        return true;
      })) {
    return false;
  }
  set_range(value, reading.arena.copy_string(text));
  return true;
}

template <class T>
bool read_list(Reading& reading, const Message& in, Field field, Attribute& value) {
  std::vector<T> list;
  if (!read_structures(reading, in, field, list)) return false;
  set_range(value, reading.arena.copy(list));
  return true;
}

}  // namespace

bool read_value(Reading& reading, const Message& in, Field field, AttributeId id, Attribute& value,
                bool& present) {
  value.id = id;
  present = in.has(field);
  if (!present) return true;
  std::vector<int64_t>& numbers = reading.numbers;
  switch (info(id).kind) {
    case AttributeKind::kBool:
      if (field.kind == FieldKind::kEnum) return read_tri_state(in, field, value, present);
      value.integer = in.integer(field);
      return true;
    case AttributeKind::kInt:
      if (!field.is_repeated()) {
        value.integer = in.integer(field);
        return true;
      }
      if (!in.integers(field, numbers)) return false;
      if (numbers.size() > 1) {
        return in.fail("invalid-attribute", field,
                       fmt::format("one number is expected, not {}", numbers.size()));
      }
      present = numbers.size() == 1;
      if (present) value.integer = numbers[0];
      return true;
    case AttributeKind::kFloat:
      value.real = shortest_of_float(in.real(field));
      return true;
    case AttributeKind::kString:
      set_range(value, in.text(field));
      return true;
    case AttributeKind::kEnum:
      return read_enum(in, field, id, value, present);
    case AttributeKind::kWord:
      return field.kind == FieldKind::kEnum ? read_algorithm(reading, in, field, value, present)
                                            : read_sparsity(reading, in, field, value);
    case AttributeKind::kWords:
      return read_words(reading, in, field, value);
    case AttributeKind::kInts:
      if (!in.integers(field, numbers)) return false;
      set_range(value, reading.arena.copy(numbers));
      return true;
    case AttributeKind::kBools: {
      if (!in.integers(field, numbers)) return false;
      std::span<bool> flags = reading.arena.array<bool>(numbers.size());
      for (size_t i = 0; i < flags.size(); ++i) flags[i] = numbers[i] != 0;
      set_range(value, flags);
      return true;
    }
    case AttributeKind::kPairs:
      return read_list<minihlo::SourceTarget>(reading, in, field, value);
    case AttributeKind::kSlice:
      return read_list<SliceDimension>(reading, in, field, value);
    case AttributeKind::kPadding:
      return in.each(field, [&](const Message& config) {
        return read_list<PaddingDimension>(reading, config, PaddingConfig::dimensions, value);
      });
    case AttributeKind::kWindow:
      return in.each(field, [&](const Message& window) {
        return read_list<minihlo::WindowDimension>(reading, window, Window::dimensions, value);
      });
    case AttributeKind::kDimLabels:
      return in.each(field, [&](const Message& dims) {
        std::string text;
        if (!read_dim_labels(dims, text)) return false;
        set_range(value, reading.arena.copy_string(text));
        return true;
      });
    case AttributeKind::kShape: {
      const Shape* shape = nullptr;
      if (!read_shape(reading, in, field, shape)) return false;
      value.data = shape;
      return true;
    }
    case AttributeKind::kShapes: {
      std::span<const Shape* const> shapes;
      if (!read_shapes(reading, in, field, shapes)) return false;
      set_range(value, shapes);
      return true;
    }
    case AttributeKind::kProgramShape: {
      const ProgramShape* shape = nullptr;
      if (!in.each(field, [&](const Message& inner) {
            return read_program_shape(reading, inner, shape);
          })) {
        return false;
      }
      value.data = shape;
      return true;
    }
    case AttributeKind::kLiteral: {
      const Literal* literal = nullptr;
      if (!in.each(field,
                   [&](const Message& inner) { return read_literal(reading, inner, literal); })) {
        return false;
      }
      value.data = literal;
      return true;
    }
    case AttributeKind::kSharding: {
      const Sharding* sharding = nullptr;
      if (!in.each(field,
                   [&](const Message& inner) { return read_sharding(reading, inner, sharding); })) {
        return false;
      }
      value.data = sharding;
      return true;
    }
    case AttributeKind::kStringMap: {
      std::span<const NamedString> map;
      if (!in.each(field,
                   [&](const Message& inner) { return read_string_map(reading, inner, map); })) {
        return false;
      }
      present = !map.empty();
      set_range(value, map);
      return true;
    }
    case AttributeKind::kMetadata: {
      std::span<const Attribute> metadata;
      if (!in.each(field,
                   [&](const Message& inner) { return read_metadata(reading, inner, metadata); })) {
        return false;
      }
      // XLA sets the message where there is nothing to say, too.
      present = !metadata.empty();
      set_range(value, metadata);
      return true;
    }
    case AttributeKind::kJson: {
      std::string_view text = in.text(field);
      present = !text.empty();
      value.data = reading.arena.make<JsonText>(JsonText{text, is_braced(text)});
      return true;
    }
    case AttributeKind::kAliases: {
      std::span<const Alias> list;
      if (!read_aliases(reading, in, field, list)) return false;
      set_range(value, list);
      return true;
    }
    case AttributeKind::kDonors: {
      std::span<const Donor> list;
      if (!read_donors(reading, in, field, list)) return false;
      set_range(value, list);
      return true;
    }
    case AttributeKind::kBraced: {
      std::string text;
      if (!read_parts(id, in, text)) return false;
      present = !text.empty();
      set_range(value, reading.arena.copy_string(text));
      return true;
    }
    case AttributeKind::kIntLists:
    case AttributeKind::kDeviceGroups:
    case AttributeKind::kComputation:
    case AttributeKind::kComputations:
    case AttributeKind::kInstructions:
    case AttributeKind::kDomain:
      // These are spread over several fields, or need to know the module: see instructions.cc.
      present = false;
      return true;
  }
  return true;
}

}  // namespace minihlo::proto

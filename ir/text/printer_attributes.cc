#include <algorithm>
#include <functional>

#include "ir/text/strings.h"
#include "ir/text/text_printer.h"

namespace minihlo::internal {

void TextPrinter::print_attribute(const Attribute& attribute) {
  out_ += info(attribute.id).text;
  out_ += '=';
  print_value(attribute);
}

bool TextPrinter::takes_body(const Computation& computation) {
  constexpr int kMostNested = 100;
  if (!options_.full_bodies || depth_ > kMostNested || computation.size() > bodies_allowed_) {
    return false;
  }
  bodies_allowed_ -= computation.size();
  return true;
}

void TextPrinter::print_nested_body(const Computation& computation) {
  out_ += '\n';
  print_line_start();
  print_body(computation);
}

void TextPrinter::print_computation(const Computation& computation) {
  if (takes_body(computation)) {
    print_nested_body(computation);
  } else {
    print_name(computation);
  }
}

void TextPrinter::print_computations(std::span<Computation* const> computations) {
  bool bodies = false, first = true;  // the same one may be there twice
  print_list(computations, "{", "", "", [&](const Computation* one) {
    if (!std::exchange(first, false)) out_ += bodies ? "," : ", ";
    bodies = takes_body(*one);
    if (bodies) {
      print_nested_body(*one);
    } else {
      print_name(*one);
    }
  });
  out_ += bodies ? "\n}" : "}";
}

void TextPrinter::print_default(AttributeId id) {
  Attribute attribute{id, 0, {0}};
  static constexpr DeviceGroups kNoGroups;
  switch (info(id).kind) {
    case AttributeKind::kBool:
    case AttributeKind::kInt:
    case AttributeKind::kEnum:
      attribute.integer = default_value(id);
      break;
    case AttributeKind::kDeviceGroups:
      attribute.data = &kNoGroups;
      break;
    default:
      break;
  }
  print_attribute(attribute);
}

void TextPrinter::print_value(const Attribute& attribute) {
  auto value = [&]<class T>(std::type_identity<T>) { return attribute_value<T>(attribute); };
#define MINIHLO_VALUE_OF(kind) value(std::type_identity<KindTraits<AttributeKind::kind>::type>{})
  switch (info(attribute.id).kind) {
    case AttributeKind::kBool:
      out_ += attribute.integer != 0 ? "true" : "false";
      return;
    case AttributeKind::kInt:
      return print_number(attribute.integer);
    case AttributeKind::kFloat: {
      char digits[40];
      out_.append(digits, std::to_chars(digits, digits + sizeof(digits), attribute.real).ptr);
      return;
    }
    case AttributeKind::kString:
      return print_string(MINIHLO_VALUE_OF(kString));
    case AttributeKind::kEnum:
      out_ += word(attribute.id, attribute.integer);
      return;
    case AttributeKind::kWord:
    case AttributeKind::kDimLabels:
    case AttributeKind::kBraced:
      out_ += MINIHLO_VALUE_OF(kWord);
      return;
    case AttributeKind::kWords:
      return print_list(MINIHLO_VALUE_OF(kWords), "{", ",", "}",
                        [&](std::string_view word) { out_ += word; });
    case AttributeKind::kInts:
      return print_ints(MINIHLO_VALUE_OF(kInts));
    case AttributeKind::kBools:
      return print_list(MINIHLO_VALUE_OF(kBools), "{", ",", "}",
                        [&](bool one) { out_ += one ? "true" : "false"; });
    case AttributeKind::kIntLists:
      return print_list(MINIHLO_VALUE_OF(kIntLists), "{", ",", "}",
                        [&](std::span<const int64_t> list) { print_ints(list); });
    case AttributeKind::kPairs:
      return print_list(MINIHLO_VALUE_OF(kPairs), "{", ",", "}", [&](const SourceTarget& pair) {
        out_ += '{';
        print_number(pair.source);
        out_ += ',';
        print_number(pair.target);
        out_ += '}';
      });
    case AttributeKind::kSlice: {
      auto dims = MINIHLO_VALUE_OF(kSlice);
      bool strides = std::any_of(dims.begin(), dims.end(),
                                 [](const SliceDimension& dim) { return dim.stride != 1; });
      return print_list(dims, "{", ", ", "}", [&](const SliceDimension& dim) {
        out_ += '[';
        print_number(dim.start);
        out_ += ':';
        print_number(dim.limit);
        if (strides) {
          out_ += ':';
          print_number(dim.stride);
        }
        out_ += ']';
      });
    }
    case AttributeKind::kPadding: {
      auto dims = MINIHLO_VALUE_OF(kPadding);
      bool interior = std::any_of(dims.begin(), dims.end(),
                                  [](const PaddingDimension& dim) { return dim.interior != 0; });
      return print_list(dims, "", "x", "", [&](const PaddingDimension& dim) {
        print_number(dim.low);
        out_ += '_';
        print_number(dim.high);
        if (interior) {
          out_ += '_';
          print_number(dim.interior);
        }
      });
    }
    case AttributeKind::kWindow:
      return print_window(MINIHLO_VALUE_OF(kWindow));
    case AttributeKind::kShape:
      return print_cached(MINIHLO_VALUE_OF(kShape));
    case AttributeKind::kShapes:
      return print_list(MINIHLO_VALUE_OF(kShapes), "{", ", ", "}",
                        [&](const Shape* shape) { print_cached(shape); });
    case AttributeKind::kProgramShape: {
      const ProgramShape& program = *MINIHLO_VALUE_OF(kProgramShape);
      size_t index = 0;
      out_ += "{(";
      for (const Shape* parameter : program.parameters) {
        print_separator(index++, true);
        print_cached(parameter);
      }
      out_ += ")->";
      print_cached(program.result);
      out_ += '}';
      return;
    }
    case AttributeKind::kLiteral:
      return print_shaped_literal(*MINIHLO_VALUE_OF(kLiteral));
    case AttributeKind::kSharding:
      return print_sharding(*MINIHLO_VALUE_OF(kSharding));
    case AttributeKind::kDeviceGroups:
      return print_groups(*MINIHLO_VALUE_OF(kDeviceGroups));
    case AttributeKind::kComputation:
      return print_computation(*MINIHLO_VALUE_OF(kComputation));
    case AttributeKind::kComputations:
      return print_computations(MINIHLO_VALUE_OF(kComputations));
    case AttributeKind::kInstructions:
      return print_list(MINIHLO_VALUE_OF(kInstructions), "{", ", ", "}",
                        [&](const Instruction* one) { print_name(*one); });
    case AttributeKind::kStringMap: {
      auto map = MINIHLO_VALUE_OF(kStringMap);
      std::vector<NamedString> entries(map.begin(), map.end());
      std::sort(entries.begin(), entries.end(),
                [](const NamedString& a, const NamedString& b) { return a.name < b.name; });
      return print_list(entries, "{", ",", "}", [&](const NamedString& entry) {
        out_ += entry.name;
        out_ += '=';
        print_json(entry.value, entry.raw);
      });
    }
    case AttributeKind::kMetadata:
      return print_dictionary(MINIHLO_VALUE_OF(kMetadata));
    case AttributeKind::kJson: {
      const JsonText& json = *MINIHLO_VALUE_OF(kJson);
      return print_json(json.text, json.raw);
    }
    case AttributeKind::kAliases:
      return print_aliases(MINIHLO_VALUE_OF(kAliases),
                           attribute.id == AttributeId::input_output_alias);
    case AttributeKind::kDonors:
      return print_list(MINIHLO_VALUE_OF(kDonors), "{ ", ", ", " }", [&](const Donor& donor) {
        out_ += '(';
        print_number(donor.parameter);
        out_ += ", ";
        print_ints(donor.index);
        out_ += ')';
      });
    case AttributeKind::kDomain: {
      const DomainValue& domain = *MINIHLO_VALUE_OF(kDomain);
      out_ += "{kind=";
      print_string(domain.kind);
      out_ += ", entry=";
      print_sharding(*domain.entry);
      out_ += ", exit=";
      print_sharding(*domain.exit);
      out_ += '}';
      return;
    }
  }
#undef MINIHLO_VALUE_OF
}

void TextPrinter::print_string(std::string_view text) {
  out_ += '"';
  append_escaped(out_, text);
  out_ += '"';
}

void TextPrinter::print_json(std::string_view text, bool raw) {
  if (raw) {
    out_ += text;
  } else {
    print_string(text);
  }
}

void TextPrinter::print_dictionary(std::span<const Attribute> values) {
  out_ += '{';
  bool first = true;
  for (const AttributeUse& use : metadata_attributes()) {
    const Attribute* attribute = find_attribute(values, use.id);
    if (!is_printed(use, attribute)) continue;
    if (!std::exchange(first, false)) out_ += ' ';
    print_attribute(*attribute);
  }
  out_ += '}';
}

void TextPrinter::print_aliases(std::span<const Alias> aliases, bool of_module) {
  print_list(aliases, of_module ? "{ " : "{", ", ", of_module ? " }" : "}",
             [&](const Alias& alias) {
               print_ints(alias.output_index);
               out_ += ": (";
               print_number(alias.parameter);
               out_ += ", ";
               print_ints(alias.parameter_index);
               if (!alias.kind.empty()) {
                 out_ += ", ";
                 out_ += alias.kind;
               }
               out_ += ')';
             });
}

// Arrays have their shapes before them, tuples don't.
void TextPrinter::print_shaped_literal(const Literal& literal) {
  if (literal.form == Literal::Form::kTuple) {
    return print_list(literal.elements, "( ", ", ", " )",
                      [&](const Literal* element) { print_shaped_literal(*element); });
  }
  print_cached(literal.shape);
  out_ += ' ';
  append_literal(out_, literal, options_.largest_constant);
}

void TextPrinter::print_window(std::span<const WindowDimension> dims) {
  out_ += '{';
  bool first = true;
  auto part = [&](std::string_view name, auto is_default, auto print) {
    if (std::all_of(dims.begin(), dims.end(), is_default)) return;
    if (!std::exchange(first, false)) out_ += ' ';
    out_ += name;
    out_ += '=';
    print_list(dims, "", "x", "", print);
  };
  auto number = [&](std::string_view name, int64_t WindowDimension::*member) {
    part(
        name, [=](const WindowDimension& dim) { return dim.*member == 1; },
        [=, this](const WindowDimension& dim) { print_number(dim.*member); });
  };
  // The size says how many dimensions there are, so it is always there.
  part(
      "size", [](const WindowDimension&) { return false; },
      [&](const WindowDimension& dim) { print_number(dim.size); });
  number("stride", &WindowDimension::stride);
  part(
      "pad",
      [](const WindowDimension& dim) { return dim.padding_low == 0 && dim.padding_high == 0; },
      [&](const WindowDimension& dim) {
        print_number(dim.padding_low);
        out_ += '_';
        print_number(dim.padding_high);
      });
  number("lhs_dilate", &WindowDimension::base_dilation);
  number("rhs_dilate", &WindowDimension::window_dilation);
  part(
      "rhs_reversal", [](const WindowDimension& dim) { return !dim.reversal; },
      [&](const WindowDimension& dim) { out_ += dim.reversal ? '1' : '0'; });
  out_ += '}';
}

}  // namespace minihlo::internal

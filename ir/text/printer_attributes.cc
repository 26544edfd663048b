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
      return append_number(out_, attribute.integer);
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
        append_number(out_, pair.source);
        out_ += ',';
        append_number(out_, pair.target);
        out_ += '}';
      });
    case AttributeKind::kSlice: {
      auto dims = MINIHLO_VALUE_OF(kSlice);
      bool strides = std::any_of(dims.begin(), dims.end(),
                                 [](const SliceDimension& dim) { return dim.stride != 1; });
      return print_list(dims, "{", ", ", "}", [&](const SliceDimension& dim) {
        fmt::format_to(std::back_inserter(out_), "[{}:{}", dim.start, dim.limit);
        if (strides) fmt::format_to(std::back_inserter(out_), ":{}", dim.stride);
        out_ += ']';
      });
    }
    case AttributeKind::kPadding: {
      auto dims = MINIHLO_VALUE_OF(kPadding);
      bool interior = std::any_of(dims.begin(), dims.end(),
                                  [](const PaddingDimension& dim) { return dim.interior != 0; });
      return print_list(dims, "", "x", "", [&](const PaddingDimension& dim) {
        fmt::format_to(std::back_inserter(out_), "{}_{}", dim.low, dim.high);
        if (interior) fmt::format_to(std::back_inserter(out_), "_{}", dim.interior);
      });
    }
    case AttributeKind::kWindow:
      return print_window(MINIHLO_VALUE_OF(kWindow));
    case AttributeKind::kShape:
      return append(out_, MINIHLO_VALUE_OF(kShape));
    case AttributeKind::kShapes:
      return print_list(MINIHLO_VALUE_OF(kShapes), "{", ", ", "}",
                        [&](const Shape* shape) { append(out_, shape); });
    case AttributeKind::kProgramShape: {
      const ProgramShape& program = *MINIHLO_VALUE_OF(kProgramShape);
      size_t index = 0;
      out_ += "{(";
      for (const Shape* parameter : program.parameters) {
        print_separator(index++);
        append(out_, parameter);
      }
      out_ += ")->";
      append(out_, program.result);
      out_ += '}';
      return;
    }
    case AttributeKind::kLiteral: {
      const Literal& literal = *MINIHLO_VALUE_OF(kLiteral);
      append(out_, literal.shape);
      out_ += ' ';
      return append_literal(out_, literal);
    }
    case AttributeKind::kSharding:
      return print_sharding(*MINIHLO_VALUE_OF(kSharding));
    case AttributeKind::kDeviceGroups:
      return print_groups(*MINIHLO_VALUE_OF(kDeviceGroups));
    case AttributeKind::kComputation:
      return print_name(MINIHLO_VALUE_OF(kComputation)->name());
    case AttributeKind::kComputations:
      return print_list(MINIHLO_VALUE_OF(kComputations), "{", ", ", "}",
                        [&](const Computation* one) { print_name(one->name()); });
    case AttributeKind::kInstructions:
      return print_list(MINIHLO_VALUE_OF(kInstructions), "{", ", ", "}",
                        [&](const Instruction* one) { print_name(one->name()); });
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
        fmt::format_to(std::back_inserter(out_), "({}, ", donor.parameter);
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
               fmt::format_to(std::back_inserter(out_), ": ({}, ", alias.parameter);
               print_ints(alias.parameter_index);
               if (!alias.kind.empty()) {
                 out_ += ", ";
                 out_ += alias.kind;
               }
               out_ += ')';
             });
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
        [=, this](const WindowDimension& dim) { append_number(out_, dim.*member); });
  };
  // The size says how many dimensions there are, so it is always there.
  part(
      "size", [](const WindowDimension&) { return false; },
      [&](const WindowDimension& dim) { append_number(out_, dim.size); });
  number("stride", &WindowDimension::stride);
  part(
      "pad",
      [](const WindowDimension& dim) { return dim.padding_low == 0 && dim.padding_high == 0; },
      [&](const WindowDimension& dim) {
        append_number(out_, dim.padding_low);
        out_ += '_';
        append_number(out_, dim.padding_high);
      });
  number("lhs_dilate", &WindowDimension::base_dilation);
  number("rhs_dilate", &WindowDimension::window_dilation);
  part(
      "rhs_reversal", [](const WindowDimension& dim) { return !dim.reversal; },
      [&](const WindowDimension& dim) { out_ += dim.reversal ? '1' : '0'; });
  out_ += '}';
}

// [4,2]T(1,0), without the arrow.
void TextPrinter::print_iota(const IotaOrder& order) {
  print_ints(order.reshape_dims, "[", "]");
  if (order.reshape_dims.size() <= 1) return;
  out_ += 'T';
  if (!order.transpose_perm.empty()) return print_ints(order.transpose_perm, "(", ")");
  std::vector<int64_t> identity(order.reshape_dims.size());
  for (size_t i = 0; i < identity.size(); ++i) identity[i] = static_cast<int64_t>(i);
  print_ints(identity, "(", ")");
}

void TextPrinter::print_axis(const AxisRef& axis) {
  out_ += '\'';
  append_escaped(out_, axis.name);
  out_ += '\'';
  if (axis.pre != 0) fmt::format_to(std::back_inserter(out_), ":({}){}", axis.pre, axis.size);
}

void TextPrinter::print_mesh(const DeviceMesh& mesh) {
  if (mesh.maximal) {
    fmt::format_to(std::back_inserter(out_), "maximal_mesh[device_id={}]", mesh.device_ids[0]);
    return;
  }
  print_list(mesh.axes, "mesh[", ",", "]", [&](const MeshAxis& axis) {
    print_axis({axis.name});
    out_ += '=';
    append_number(out_, axis.size);
  });
  if (mesh.order) {
    out_ += ", device_ids=(";
    print_iota(*mesh.order);
    out_ += ')';
  } else if (!mesh.device_ids.empty()) {
    out_ += ", device_ids=";
    print_ints(mesh.device_ids, "(", ")");
  }
}

void TextPrinter::print_groups(const DeviceGroups& groups) {
  switch (groups.form) {
    case DeviceGroups::Form::kLists:
      return print_list(groups.lists, "{", ",", "}",
                        [&](std::span<const int64_t> list) { print_ints(list); });
    case DeviceGroups::Form::kIota:
      print_ints(groups.iota->dims, "[", "]");
      out_ += "<=";
      return print_iota(*groups.iota);
    case DeviceGroups::Form::kMesh:
      print_mesh(*groups.mesh);
      return print_list(groups.axes, " {", ",", "}",
                        [&](const AxisRef& axis) { print_axis(axis); });
  }
}

void TextPrinter::print_tiles(const Sharding& sharding) {
  out_ += "devices=";
  print_ints(sharding.tile_dims, "[", "]");
  if (sharding.iota) {
    out_ += "<=";
    print_iota(*sharding.iota);
  } else {
    print_ints(sharding.devices, "", "");
  }
  if (sharding.replicate_last) out_ += " last_tile_dim_replicate";
  if (!sharding.last_tile_dims.empty()) {
    print_list(sharding.last_tile_dims, " last_tile_dims={", ", ", "}",
               [&](Sharding::Subgroup kind) {
                 constexpr std::string_view kNames[] = {"replicated", "manual", "unreduced"};
                 out_ += kNames[static_cast<size_t>(kind)];
               });
  }
}

void TextPrinter::print_sharding(const Sharding& sharding) {
  using Form = Sharding::Form;
  out_ += '{';
  switch (sharding.form) {
    case Form::kReplicated:
      out_ += "replicated";
      break;
    case Form::kManual:
      out_ += "manual";
      break;
    case Form::kUnknown:
      out_ += "unknown";
      break;
    case Form::kUnreduced:
      out_ += "unreduced";
      break;
    case Form::kMaximal:
      fmt::format_to(std::back_inserter(out_), "maximal device={}", sharding.device);
      break;
    case Form::kTiled:
      print_tiles(sharding);
      break;
    case Form::kTuple: {
      size_t index = 0;
      for (const Sharding* element : sharding.elements) {
        print_separator(index++);
        print_sharding(*element);
      }
      break;
    }
    case Form::kNamed:
      print_mesh(*sharding.mesh);
      if (!sharding.named.empty()) {
        out_ += ", ";
        out_ += sharding.named;
      }
      break;
  }
  if (sharding.shard_group != Sharding::ShardGroup::kNone) {
    bool as = sharding.shard_group == Sharding::ShardGroup::kAs;
    fmt::format_to(std::back_inserter(out_), " {} {}", as ? "shard_as" : "shard_like",
                   sharding.shard_group_id);
  }
  if (options_.metadata && !sharding.metadata.empty()) {
    out_ += sharding.form == Form::kNamed ? ", metadata=" : " metadata=";
    bool list = sharding.metadata_list || sharding.metadata.size() > 1;
    print_list(sharding.metadata, list ? "{" : "", ", ", list ? "}" : "",
               [&](std::span<const Attribute> values) { print_dictionary(values); });
  }
  out_ += '}';
}

}  // namespace minihlo::internal

// Attributes that any opcode takes, and the texts that stand in them.
#include <algorithm>

#include <fmt/format.h>

#include "ir/text/strings.h"
#include "tests/generator/builder.h"

namespace minihlo::generator {
namespace {

NamedString named(std::string_view name, std::string_view value) {
  // A string that is a balanced {...} is printed without quotes.
  return {name, value, value.starts_with('{') && end_of_braces(value, 0) == value.size()};
}

// {"name" {0}} for each leaf, in the tuple's parentheses.
void append_origin(Choices& choices, std::string& out, const Shape* shape) {
  if (shape->is_tuple()) {
    out += '(';
    for (size_t i = 0; i < shape->elements().size(); ++i) {
      if (i > 0) out += ", ";
      append_origin(choices, out, shape->elements()[i]);
    }
    out += ')';
  } else if (choices.chance(20)) {
    out += "{}";
  } else {
    out += fmt::format("{{\"v{}\"{}}}", choices.below(9), choices.chance(30) ? " {1,0}" : "");
  }
}

}  // namespace

std::string_view Builder::word() {
  return choices.pick({"add", "jit_step", "xla.op", "my-call", "__cublas$gemm", "foo/bar.py", "x"});
}

std::string_view Builder::hostile_text() {
  std::string text;
  for (int64_t i = choices.below(5); i > 0; --i) {
    switch (choices.below(9)) {
      case 0:
        text += word();
        break;
      case 1:
        text += "a \"quoted\" \\ part";
        break;
      case 2:
        text += "\n\t\r";
        break;
      case 3:
        text += std::string_view("\0\x01\x7f", 3);
        break;
      case 4:
        text += "\xc3\xa9\xe2\x82\xac";
        // XLA writes other bytes than UTF-8, but its protobuf does not read them.
        if (!oracle()) text += '\xff';
        break;
      case 5:
        text += "*/ // /* 'q' } { ) ( = , %x";
        break;
      case 6:
        text += "<@mesh, [{\"x\"}, {}]>";
        break;
      case 7:
        text += "\\n\\\"\\'\\101\\x41";
        break;
      default:
        text += static_cast<char>(choices.below(oracle() ? 128 : 256));
        break;
    }
  }
  return module.keep_name(text);
}

std::string_view Builder::json_text() {
  return choices.pick({"{}", "{\"known_trip_count\":{\"n\":\"8\"}}", "{\"a\":[1,2,{\"b\":\"}{\"}]}",
                       "{ \"q\" : \"\\\"}\" , \"n\":null}", "{uplo = 76 : ui8}"});
}

std::span<const bool> Builder::bools(int64_t count) {
  std::span<bool> made = arena().array<bool>(static_cast<size_t>(count));
  for (bool& one : made) one = choices.chance(50);
  return made;
}

std::span<const NamedString> Builder::string_map() {
  std::vector<NamedString> entries;
  for (std::string_view key : {"_xla_compute_type", "a", "mhlo.layout-mode", "xla.sdy.sharding"}) {
    if (!choices.chance(40)) continue;
    entries.push_back(named(key, choices.chance(30) ? json_text() : hostile_text()));
  }
  return arena().copy(entries);
}

std::span<const Attribute> Builder::metadata() {
  std::vector<Attribute> values;
  auto text = [&] { return choices.chance(70) ? word() : hostile_text(); };
  auto number = [&] { return choices.between(1, 300); };
  values.push_back(make_attribute(attr::op_name, text()));
  if (choices.chance(30)) values.push_back(make_attribute(attr::op_type, text()));
  if (choices.chance(40)) {
    values.push_back(make_attribute(attr::source_file, text()));
    values.push_back(make_attribute(attr::source_line, number()));
    if (choices.chance(40)) {
      values.push_back(make_attribute(attr::source_end_line, number()));
      values.push_back(make_attribute(attr::source_column, number()));
      values.push_back(make_attribute(attr::source_end_column, number()));
    }
  }
  if (frame_count > 0 && choices.chance(60)) {
    values.push_back(make_attribute(attr::stack_frame_id, choices.between(1, frame_count)));
  }
  if (choices.chance(8)) values.push_back(make_attribute(attr::profile_type, "{1}"));
  if (choices.chance(8)) values.push_back(make_attribute(attr::deduplicated_name, text()));
  if (choices.chance(8)) values.push_back(make_attribute(attr::scheduling_name, word()));
  if (newest() && choices.chance(8))
    values.push_back(make_attribute(attr::metadata_payload, text()));
  if (newest() && choices.chance(8)) values.push_back(make_attribute(attr::preserve_layout, true));
  return arena().copy(values);
}

void Builder::decorate(Opcode opcode, const Shape* shape, std::vector<Attribute>& attributes) {
  auto add = [&](auto key, auto make) {
    if (!find_attribute(attributes, key.id)) attributes.push_back(make_attribute(key, make()));
  };
  std::span<Instruction* const> before = scope->computation->instructions();
  if (opcode != Opcode::kParameter && !scope->pure && !before.empty() && choices.chance(6)) {
    add(attr::control_predecessors, [&] {
      std::vector<Instruction*> chosen;
      for (int64_t i : choices.subset(static_cast<int64_t>(before.size()), choices.between(1, 2))) {
        chosen.push_back(before[static_cast<size_t>(i)]);
      }
      return arena().copy(chosen);
    });
  }
  if (choices.chance(runnable() ? 10 : 25)) add(attr::metadata, [&] { return metadata(); });
  if (oracle()) return;
  if (choices.chance(8)) add(attr::frontend_attributes, [&] { return string_map(); });
  if (choices.chance(8)) add(attr::sharding, [&] { return sharding(shape); });
  if (runnable()) return;
  const bool takes_accuracy = std::ranges::any_of(
      info(opcode).attributes,
      [](const AttributeUse& use) { return use.id == AttributeId::result_accuracy; });
  if (takes_accuracy && choices.chance(25)) {
    add(attr::result_accuracy, [&] {
      return choices.pick({"{mode=highest}", "{tolerance={atol=1e-06,rtol=1e-06,ulps=4}}"});
    });
  }
  if (opcode == Opcode::kParameter && choices.chance(8)) {
    add(attr::parameter_replication, [&] { return bools(shape->leaf_count()); });
  }
  if (choices.chance(3)) {
    add(attr::statistics, [] { return std::string_view("{visualizing_index=0,name=1.5}"); });
  }
  // That of a start would be that of the work, too, which has another shape.
  if (opcode != Opcode::kAsyncStart && choices.chance(5)) {
    add(attr::origin, [&] {
      std::string text;
      append_origin(choices, text, shape);
      // An origin in no call at all is that of a synthetic one.
      if (newest() && choices.chance(20))
        text += choices.pick({",[\"call.1/while#$\"]", ",[\"\"]"});
      return module.keep_name("{" + text + "}");
    });
  }
  if (choices.chance(6)) {
    add(attr::backend_config, [&] {
      const NamedString value = named("", choices.chance(50) ? json_text() : hostile_text());
      return arena().make<JsonText>(JsonText{value.value, value.raw});
    });
  }
}

}  // namespace minihlo::generator

#include <fmt/format.h>

#include <array>

#include "ir/async_pairs.h"
#include "ir/async_state.h"
#include "ir/instruction_rules.h"
#include "ir/json/reader.h"
#include "ir/json/text_checks.h"
#include "ir/shape_inference.h"
#include "ir/text/strings.h"
#include "ir/text/unique_names.h"

namespace minihlo::internal {
namespace {

const AttributeUse* find_use(std::span<const AttributeUse> uses, std::string_view key) {
  auto found = std::find_if(uses.begin(), uses.end(),
                            [&](const AttributeUse& use) { return json_key(use.id) == key; });
  return found == uses.end() ? nullptr : &*found;
}

}  // namespace

bool JsonReader::read_module() {
  const JsonValue root = document_.root();
  if (!expect(root, JsonKind::kObject)) return false;
  Fields fields(*this, root);
  std::string_view format, name, entry;
  int64_t version = 0;
  fields("format", format);
  fields("version", version);
  if (!fields.ok()) return false;
  if (format != kJsonFormat || version != kJsonVersion) {
    return fail(
        "unknown-format", root,
        fmt::format("this is {} {}, not {} {}", format, version, kJsonFormat, kJsonVersion));
  }
  auto place_of = [&](std::string_view key) {
    const Member* member = fields.find(key);
    return member ? std::optional(member->value) : std::nullopt;
  };
  const std::optional<JsonValue> name_place = place_of("name");
  const std::optional<JsonValue> entry_place = place_of("entry");
  const std::optional<JsonValue> attributes_place = place_of("attributes");
  const std::optional<JsonValue> computations_place = place_of("computations");
  StackFrames& frames = module_->stack_frames();
  fields("stack_frames", frames, StackFrames());
  if (!fields.close()) return false;
  for (const auto& [place, key] : {std::pair(&name_place, "name"), std::pair(&entry_place, "entry"),
                                   std::pair(&computations_place, "computations")}) {
    if (!*place) return fail("missing-key", root, fmt::format("the key '{}' is missing", key));
  }
  if (!read_name(*name_place, name) || !read(*entry_place, entry)) return false;
  if (!is_module_name(name)) {
    return fail("invalid-name", *name_place, fmt::format("a module can't be called '{}'", name));
  }
  module_->set_name(name);
  if (attributes_place) {
    std::vector<Attribute> attributes;
    if (!read_attributes(*attributes_place, module_attributes(), {}, nullptr, attributes)) {
      return false;
    }
    for (const Attribute& attribute : attributes) module_->set(attribute);
  }
  if (!expect(*computations_place, JsonKind::kArray)) return false;
  document_.each_element(*computations_place, [&](const JsonValue& computation) {
    read_computation(computation);
    return !diagnostics_.full();
  });
  current_instruction_ = {};
  return diagnostics_.error_count() == errors_before_ && finish(entry, *entry_place);
}

bool JsonReader::finish(std::string_view entry, const JsonValue& place) {
  auto found = computations_.find(entry);
  if (found == computations_.end()) {
    return fail("undefined-computation", place, fmt::format("there is no computation '{}'", entry));
  }
  module_->set_entry(found->second);
  make_names_unique(*module_);
  return true;
}

bool JsonReader::read_computation(const JsonValue& value) {
  if (!expect(value, JsonKind::kObject)) return false;
  current_instruction_ = {};
  Fields fields(*this, value);
  std::string_view thread;
  fields("execution_thread", thread, "main");
  std::optional<JsonValue> places[3];
  constexpr std::array<std::string_view, 3> kKeys{"name", "root", "instructions"};
  for (size_t i = 0; i < kKeys.size(); ++i) {
    if (const Member* member = fields.find(kKeys[i])) places[i] = member->value;
  }
  if (!fields.close()) return false;
  for (size_t i = 0; i < kKeys.size(); ++i) {
    if (!places[i]) {
      return fail("missing-key", value, fmt::format("the key '{}' is missing", kKeys[i]));
    }
  }
  std::string_view name, root;
  if (!read_name(*places[0], name) || !read(*places[1], root) ||
      !expect(*places[2], JsonKind::kArray)) {
    return false;
  }
  auto [known, inserted] = computations_.insert({name, nullptr});
  if (!inserted) {
    return fail("duplicate-name", *places[0],
                fmt::format("there is another computation '{}'", name));
  }
  computation_ = module_->add_computation(name, places[0]->location());
  computation_->set_execution_thread(thread);
  instructions_.clear();
  parameters_.clear();
  const size_t errors = diagnostics_.error_count();
  document_.each_element(*places[2], [&](const JsonValue& instruction) {
    read_instruction(instruction);
    return !diagnostics_.full();
  });
  current_instruction_ = {};
  computation_->drop_far_parameters();
  if (diagnostics_.error_count() > errors) return false;
  auto found = instructions_.find(root);
  if (found == instructions_.end()) {
    return fail("undefined-root", *places[1],
                fmt::format("the computation has no instruction '{}'", root));
  }
  computation_->set_root(found->second);
  computations_[name] = computation_;
  return true;
}

bool JsonReader::read_instruction(const JsonValue& value) {
  if (!expect(value, JsonKind::kObject)) return false;
  current_instruction_ = {};
  Fields fields(*this, value);
  std::optional<JsonValue> places[5];
  constexpr std::array<std::string_view, 5> kKeys{"name", "opcode", "shape", "operands",
                                                  "attributes"};
  for (size_t i = 0; i < kKeys.size(); ++i) {
    if (const Member* member = fields.find(kKeys[i])) places[i] = member->value;
  }
  const auto& [name_place, opcode_place, shape_place, operands_place, attributes_place] = places;
  if (!fields.close()) return false;
  if (!name_place || !opcode_place) {
    return fail("missing-key", value,
                fmt::format("the key '{}' is missing", name_place ? "opcode" : "name"));
  }
  std::string_view name, opcode_text;
  if (!read_name(*name_place, name)) return false;
  current_instruction_ = name;
  // Known from here on, so that what uses it is not reported, too.
  auto [known, inserted] = instructions_.insert({name, nullptr});
  if (!inserted) {
    return fail("duplicate-name", *name_place,
                fmt::format("the computation has another instruction '{}'", name));
  }
  if (!read(*opcode_place, opcode_text)) return false;
  const std::optional<Opcode> opcode = opcode_from(opcode_text);
  if (!opcode) {
    std::vector<std::string_view> opcodes;
    for (int i = 0; i < kOpcodeCount; ++i) opcodes.push_back(to_string(static_cast<Opcode>(i)));
    return fail(
        "unknown-opcode", *opcode_place,
        fmt::format("there is no opcode '{}'{}", opcode_text, suggestion(opcode_text, opcodes)));
  }
  const Shape* shape = nullptr;
  std::span<Instruction* const> operands;
  std::vector<Attribute> attributes;
  if ((shape_place && !read(*shape_place, shape)) ||
      (operands_place && !read(*operands_place, operands)) ||
      (attributes_place && !read_attributes(*attributes_place, info(*opcode).attributes,
                                            common_attributes(), shape, attributes)) ||
      !check_made(*opcode_place, *opcode, shape, operands, attributes)) {
    return false;
  }
  instructions_[name] =
      computation_->append(*opcode, name, shape, operands, attributes, name_place->location());
  return true;
}

bool JsonReader::check_made(const JsonValue& place, Opcode opcode, const Shape*& shape,
                            std::span<Instruction* const> operands,
                            std::span<const Attribute> attributes) {
  const std::string_view written = to_string(opcode);
  auto broken = check_operand_count(opcode, written, operands.size());
  if (!broken) broken = check_required_attributes(opcode, written, operands, attributes);
  if (broken) return fail(broken->rule, place, std::move(broken->message));
  if (!shape) {
    if (info(opcode).result_shape == ResultShape::kGiven || !has_shape_inference(opcode)) {
      return fail("missing-shape", place,
                  fmt::format("the shape of '{}' must be given", to_string(opcode)));
    }
    auto inferred = infer_shape(module_->shapes(), {opcode, operands, attributes, nullptr});
    if (!inferred) return fail("shape-inference", place, std::move(inferred.error()));
    shape = *inferred;
  }
  if (opcode == Opcode::kParameter) {
    const int64_t number = get(attributes, attr::parameter_number);
    constexpr int64_t kMaxParameters = int64_t{1} << 20;
    if (number < 0 || number >= kMaxParameters) {
      return fail("invalid-parameter", place,
                  fmt::format("a parameter's number must be from 0 to {}", kMaxParameters - 1));
    }
    if (!parameters_.insert(number).second) {
      return fail("duplicate-parameter", place,
                  fmt::format("the computation has a parameter {} already", number));
    }
  }
  if (continues_async(opcode)) {
    const bool continues = operands[0]->opcode() == Opcode::kAsyncStart ||
                           operands[0]->opcode() == Opcode::kAsyncUpdate ||
                           is_async_state(operands[0]->shape());
    if (!continues) {
      return fail("async-chain", place,
                  fmt::format("the operand of '{}' must be an async-start or async-update, not "
                              "'{}'",
                              to_string(opcode), operands[0]->name()));
    }
  }
  return true;
}

bool JsonReader::read_attributes(const JsonValue& value, std::span<const AttributeUse> own,
                                 std::span<const AttributeUse> common, const Shape* shape,
                                 std::vector<Attribute>& attributes) {
  if (!expect(value, JsonKind::kObject)) return false;
  return document_.each_member(value, [&](const JsonValue& place, const JsonValue& member) {
    std::string_view key;
    if (!read(place, key)) return false;
    const AttributeUse* use = find_use(own, key);
    if (!use) use = find_use(common, key);
    if (!use) {
      std::vector<std::string_view> known;
      for (const AttributeUse& one : own) known.push_back(json_key(one.id));
      for (const AttributeUse& one : common) known.push_back(json_key(one.id));
      return fail("unknown-attribute", place,
                  fmt::format("there is no attribute '{}' here{}", key, suggestion(key, known)));
    }
    if (find_attribute(attributes, use->id)) {
      return fail("duplicate-key", place, fmt::format("the key '{}' is given twice", key));
    }
    Attribute attribute{use->id, 0, {0}};
    if (!read_attribute(member, shape, attribute)) return false;
    attributes.push_back(attribute);
    return true;
  });
}

bool JsonReader::read(const JsonValue& value, std::span<const Attribute>& out) {
  std::vector<Attribute> attributes;
  if (!read_attributes(value, metadata_attributes(), {}, nullptr, attributes)) return false;
  for (const Attribute& attribute : attributes) {
    if (info(attribute.id).kind == AttributeKind::kInt && !check_int32(value, attribute.integer)) {
      return false;
    }
  }
  out = arena().copy(attributes);
  return true;
}

bool JsonReader::read_attribute(const JsonValue& value, const Shape* shape, Attribute& attribute) {
  bool done = false;
  visit_kind(info(attribute.id).kind, [&](auto constant) {
    constexpr AttributeKind kind = decltype(constant)::value;
    if constexpr (kind == AttributeKind::kEnum) {
      std::vector<std::string_view> words;
      const std::string_view all = info(attribute.id).words;
      const auto blanks = std::count(all.begin(), all.end(), ' ');
      for (int64_t i = 0; i <= blanks; ++i) words.push_back(word(attribute.id, i));
      size_t index = 0;
      done = read_word(value, words, index);
      attribute.integer = static_cast<int64_t>(index);
    } else {
      using Value = typename KindTraits<kind>::type;
      Value read_value{};
      if constexpr (kind == AttributeKind::kLiteral) {
        const bool implied = attribute.id == AttributeId::literal_value;
        done = read_literal(value, implied ? shape : nullptr, read_value);
      } else {
        done = read(value, read_value);
      }
      if (done) attribute = make_attribute(AttributeKey<Value>{attribute.id}, read_value);
    }
  });
  return done && check_text(value, attribute);
}

// Strings that text holds without quotes must look as they do there.
bool JsonReader::check_text(const JsonValue& place, const Attribute& attribute) {
  const auto require = [&](bool fits, std::string_view what) {
    return fits || fail("invalid-value", place,
                        fmt::format("'{}' must be {}", json_key(attribute.id), what));
  };
  switch (info(attribute.id).kind) {
    case AttributeKind::kWord:
      return require(is_word(attribute_value<std::string_view>(attribute)), "a word");
    case AttributeKind::kWords: {
      auto words = attribute_value<std::span<const std::string_view>>(attribute);
      return require(std::all_of(words.begin(), words.end(), is_list_word), "a list of words");
    }
    case AttributeKind::kDimLabels:
      return require(is_dim_labels(attribute_value<std::string_view>(attribute)),
                     "dimension labels such as bf_io->bf");
    case AttributeKind::kBraced:
      return require(is_braced(attribute_value<std::string_view>(attribute)),
                     "text in balanced braces");
    case AttributeKind::kWindow: {
      // Text has a sign for the only number of a row alone.
      auto dims = attribute_value<std::span<const WindowDimension>>(attribute);
      const bool fits = dims.size() < 2 || std::all_of(dims.begin(), dims.end(), [](auto& dim) {
                          return dim.size >= 0 && dim.stride >= 0 && dim.base_dilation >= 0 &&
                                 dim.window_dilation >= 0;
                        });
      return require(fits, "of numbers that text can hold: none is negative but for padding");
    }
    case AttributeKind::kAliases: {
      const bool of_module = attribute.id == AttributeId::input_output_alias;
      for (const Alias& alias : attribute_value<std::span<const Alias>>(attribute)) {
        const bool known = of_module ? alias.kind == "may-alias" || alias.kind == "must-alias"
                                     : alias.kind.empty();
        if (!known) {
          return require(false,
                         of_module ? "of the kind may-alias or must-alias" : "without kinds");
        }
      }
      return true;
    }
    default:
      return true;
  }
}

bool JsonReader::read(const JsonValue& value, Computation*& out) {
  std::string_view name;
  if (!read(value, name)) return false;
  auto found = computations_.find(name);
  if (found == computations_.end()) {
    return fail("undefined-computation", value,
                fmt::format("no computation '{}' stands before this one", name));
  }
  out = found->second;
  return out != nullptr ||
         (computation_ && computation_->name() == name &&
          fail("undefined-computation", value, fmt::format("computation '{}' calls itself", name)));
}

bool JsonReader::read(const JsonValue& value, Instruction*& out) {
  std::string_view name;
  if (!read(value, name)) return false;
  auto found = instructions_.find(name);
  if (found == instructions_.end() || name == current_instruction_) {
    return fail("undefined-operand", value,
                fmt::format("no instruction '{}' stands before this one", name));
  }
  out = found->second;
  return out != nullptr;
}

namespace {

template <class T>
std::span<T* const> kept(Arena& arena, const std::vector<T*>& values) {
  return arena.copy(values);
}

}  // namespace

bool JsonReader::read(const JsonValue& value, std::span<Computation* const>& out) {
  std::vector<Computation*> values;
  if (!read(value, values)) return false;
  out = kept(arena(), values);
  return true;
}

bool JsonReader::read(const JsonValue& value, std::span<Instruction* const>& out) {
  std::vector<Instruction*> values;
  if (!read(value, values)) return false;
  out = kept(arena(), values);
  return true;
}

}  // namespace minihlo::internal

// docs/module.schema.json describes what is written, and lists what the tables list.
#include <fstream>
#include <set>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "ir/json/fields.h"
#include "tests/ir/json/json_testing.h"
#include "tests/paths.h"

namespace minihlo {
namespace {

using Value = nlohmann::json;

const Value& schema() {
  static const Value value = [] {
    std::ifstream file(testing::source_folder() / "docs" / "module.schema.json");
    return Value::parse(file);
  }();
  return value;
}

bool has_type(const Value& value, const std::string& type) {
  return type == "object"    ? value.is_object()
         : type == "array"   ? value.is_array()
         : type == "string"  ? value.is_string()
         : type == "boolean" ? value.is_boolean()
         : type == "null"    ? value.is_null()
         : type == "integer" ? value.is_number_integer()
                             : value.is_number();
}

// What of `value` the rule does not allow, or nothing. Knows the words that the schema uses.
std::string violation(const Value& rule, const Value& value, const std::string& path) {
  for (const auto& [word, wanted] : rule.items()) {
    if (word == "description" && !wanted.is_string()) return "a description is no string";
    if (word == "description" || word == "properties" || word == "$defs" || word == "title" ||
        word == "$schema" || word == "$id") {
      continue;
    }
    if (word == "$ref") {
      const auto pointer = Value::json_pointer(wanted.get<std::string>().substr(1));
      if (std::string found = violation(schema().at(pointer), value, path); !found.empty()) {
        return found;
      }
    } else if (word == "type") {
      const Value types = wanted.is_array() ? wanted : Value::array({wanted});
      if (std::none_of(types.begin(), types.end(),
                       [&](const Value& type) { return has_type(value, type); })) {
        return path + ": not " + wanted.dump();
      }
    } else if (word == "enum" || word == "const") {
      const Value allowed = word == "const" ? Value::array({wanted}) : wanted;
      if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
        return path + ": not one of " + allowed.dump();
      }
    } else if (word == "anyOf") {
      std::string all;
      bool any = false;
      for (const Value& one : wanted) {
        const std::string found = violation(one, value, path);
        any = any || found.empty();
        all += found + "; ";
      }
      if (!any) return all;
    } else if (word == "items" && value.is_array()) {
      for (size_t i = 0; i < value.size(); ++i) {
        std::string found = violation(wanted, value[i], path + "/" + std::to_string(i));
        if (!found.empty()) return found;
      }
    } else if ((word == "minItems" || word == "maxItems") && value.is_array()) {
      const bool few = value.size() < wanted.get<size_t>();
      const bool many = value.size() > wanted.get<size_t>();
      if (word == "minItems" ? few : many) return path + ": " + word;
    } else if (word == "minLength" && value.is_string()) {
      if (value.get<std::string>().size() < wanted.get<size_t>()) return path + ": " + word;
    } else if (word == "required" && value.is_object()) {
      for (const Value& key : wanted) {
        if (!value.contains(key.get<std::string>())) return path + ": no " + key.dump();
      }
    } else if (word == "additionalProperties" && value.is_object()) {
      for (const auto& [key, member] : value.items()) {
        const bool known = rule.contains("properties") && rule["properties"].contains(key);
        if (!known && wanted == false) return path + ": unknown " + key;
        const Value& inner = known ? rule["properties"][key] : wanted;
        std::string found = violation(inner, member, path + "/" + key);
        if (!found.empty()) return found;
      }
    } else if (!std::set<std::string>{"items", "minItems", "maxItems", "minLength", "required",
                                      "additionalProperties"}
                    .contains(word)) {
      return "the schema uses the unknown word " + word;
    }
  }
  return "";
}

std::set<std::string> keys(const Value& object) {
  std::set<std::string> result;
  for (const auto& [key, _] : object.items()) result.insert(key);
  return result;
}

std::set<std::string> keys(std::span<const AttributeUse> uses) {
  std::set<std::string> result;
  for (const AttributeUse& use : uses) result.insert(std::string(internal::json_key(use.id)));
  return result;
}

TEST_CASE("JSON schema: opcodes, types and attributes are those of the tables") {
  const Value& defs = schema()["$defs"];
  std::vector<std::string> opcodes, types;
  std::set<std::string> attributes = keys(common_attributes());
  for (int i = 0; i < kOpcodeCount; ++i) {
    opcodes.emplace_back(to_string(static_cast<Opcode>(i)));
    attributes.merge(keys(info(static_cast<Opcode>(i)).attributes));
  }
  for (const ElementTypeInfo& type : kElementTypes) types.emplace_back(type.text);
  CHECK(defs["opcode"]["enum"] == Value(opcodes));
  CHECK(defs["element_type"]["enum"] == Value(types));
  CHECK(keys(defs["attributes"]["properties"]) == attributes);
  CHECK(keys(defs["module_attributes"]["properties"]) == keys(module_attributes()));
  CHECK(keys(defs["metadata"]["properties"]) == keys(metadata_attributes()));
  for (const char* table : {"attributes", "module_attributes", "metadata"}) {
    for (int i = 0; i < kAttributeCount; ++i) {
      const auto id = static_cast<AttributeId>(i);
      const std::string key(internal::json_key(id));
      if (info(id).kind != AttributeKind::kEnum || !defs[table]["properties"].contains(key)) {
        continue;
      }
      Value words = Value::array();
      for (size_t at = 0; at <= info(id).words.size();) {
        const size_t end = std::min(info(id).words.find(' ', at), info(id).words.size());
        words.push_back(std::string(info(id).words.substr(at, end - at)));
        at = end + 1;
      }
      CHECK(defs[table]["properties"][key].dump().find(words.dump()) != std::string::npos);
    }
  }
}

TEST_CASE("JSON schema: what is written follows it") {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::data_file(""))) {
    if (entry.path().extension() != ".hlo" || entry.file_size() > 100'000) continue;
    std::string error;
    auto source = Source::from_file(entry.path().string(), error);
    REQUIRE(source);
    Diagnostics diagnostics(source);
    std::unique_ptr<Module> module = parse_text(source, diagnostics);
    REQUIRE(module);
    CHECK(violation(schema(), Value::parse(print_json(*module)), "") == "");
    ++count;
  }
  CHECK(count > 20);
}

TEST_CASE("JSON schema: what is wrong does not") {
  const std::string json = print_json(
      *Parsed(module_with("ROOT c = f32[2]{0:T(2)} constant({1, 2}), sharding={replicated}"))
           .module);
  Value value = Value::parse(json);
  CHECK(violation(schema(), value, "") == "");
  for (const char* path :
       {"/computations/0/instructions/0/name", "/computations/0/instructions/0/shape/dims",
        "/computations/0/instructions/0/shape/layout/tiles", "/version", "/computations/0/root",
        "/computations/0/instructions/0/attributes/sharding/form",
        "/computations/0/instructions/0/attributes/literal_value/values"}) {
    Value changed = value;
    changed[Value::json_pointer(path)] = Value::object();
    CHECK(violation(schema(), changed, "") != "");
  }
  value["computations"][0]["instructions"][0]["extra"] = 1;
  CHECK(violation(schema(), value, "") == "/computations/0/instructions/0: unknown extra");
}

}  // namespace
}  // namespace minihlo

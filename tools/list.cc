// minihlo list: what the tool knows, from its tables.
#include <algorithm>

#include <fmt/format.h>

#include "ir/opcode.h"
#include "passes/pass.h"
#include "passes/permute_to_gather/platforms.h"
#include "tools/command.h"
#include "tools/error_output.h"
#include "tools/json_out.h"

namespace minihlo {
namespace {

std::string operands(const OpcodeInfo& row) {
  if (row.max_operands < 0) return fmt::format("{}..", row.min_operands);
  if (row.max_operands == row.min_operands) return fmt::to_string(row.min_operands);
  return fmt::format("{}..{}", row.min_operands, row.max_operands);
}

// The name of an attribute, for those that are not written as name=value what stands in the
// parentheses instead of operands.
std::string_view attribute_name(const AttributeUse& use) {
  std::string_view text = info(use.id).text;
  if (!text.empty()) return text;
  return use.id == AttributeId::parameter_number ? "(number)" : "(literal)";
}

void list_opcodes_text() {
  print_stdout(fmt::format("{:<30}{:<10}{:<13}{:<10}{}\n", "OPCODE", "OPERANDS", "FAMILY", "SHAPE",
                           "ATTRIBUTES (* required)"));
  for (int i = 0; i < kOpcodeCount; ++i) {
    const OpcodeInfo& row = info(static_cast<Opcode>(i));
    std::string line =
        fmt::format("{:<30}{:<10}{:<13}{:<10}", row.text, operands(row), to_string(row.family),
                    row.result_shape == ResultShape::kInferred ? "inferred" : "written");
    for (const AttributeUse& use : row.attributes) {
      line += fmt::format("{}{} ", attribute_name(use), use.required ? "*" : "");
    }
    line.erase(line.find_last_not_of(' ') + 1);
    print_stdout(line + '\n');
  }
}

Json opcodes_json() {
  Json list = Json::array();
  for (int i = 0; i < kOpcodeCount; ++i) {
    const OpcodeInfo& row = info(static_cast<Opcode>(i));
    Json entry = Json::object();
    entry.set("opcode", row.text);
    entry.set("min_operands", row.min_operands);
    entry.set("max_operands", row.max_operands < 0 ? Json() : Json(row.max_operands));
    entry.set("family", to_string(row.family));
    entry.set("shape_inferred", row.result_shape == ResultShape::kInferred);
    Json attributes = Json::array();
    for (const AttributeUse& use : row.attributes) {
      Json attribute = Json::object();
      attribute.set("name", attribute_name(use));
      attribute.set("required", use.required);
      attributes.push(std::move(attribute));
    }
    entry.set("attributes", std::move(attributes));
    list.push(std::move(entry));
  }
  return list;
}

// What an option takes: "zero|identity", "literal|N", "N", "TEXT".
std::string value_form(const OptionInfo& option) {
  std::string form(option.words);
  std::replace(form.begin(), form.end(), ' ', '|');
  if (option.minimum) form += form.empty() ? "N" : "|N";
  return form.empty() ? "TEXT" : form;
}

void list_passes_text() {
  for (const PassInfo* pass : passes()) {
    print_stdout(fmt::format("{}\n    {}\n    keeps {}\n", pass->name, pass->summary,
                             to_string(pass->keeps)));
    for (const OptionInfo& option : pass->options) {
      std::string shown = fmt::format("{}={}", option.name, value_form(option));
      if (!option.default_value.empty()) shown += fmt::format(" ({})", option.default_value);
      print_stdout(fmt::format("      {}\n          {}\n", shown, option.help));
    }
  }
}

Json passes_json() {
  Json list = Json::array();
  for (const PassInfo* pass : passes()) {
    Json entry = Json::object();
    entry.set("pass", pass->name);
    entry.set("summary", pass->summary);
    entry.set("keeps", to_string(pass->keeps));
    Json options = Json::array();
    for (const OptionInfo& option : pass->options) {
      Json json = Json::object();
      json.set("name", option.name);
      json.set("takes", value_form(option));
      json.set("default", option.default_value.empty() ? Json() : Json(option.default_value));
      json.set("help", option.help);
      options.push(std::move(json));
    }
    entry.set("options", std::move(options));
    list.push(std::move(entry));
  }
  return list;
}

void list_platforms_text() {
  for (const Platform& platform : platforms()) {
    print_stdout(fmt::format("{}\n    version {}, {}: {} {}cores\n", platform.name,
                             platform.version, platform.instance, platform.cores,
                             platform.is_divided ? "physical " : ""));
  }
}

Json platforms_json() {
  Json list = Json::array();
  for (const Platform& platform : platforms()) {
    Json entry = Json::object();
    entry.set("platform", platform.name);
    entry.set("version", platform.version);
    entry.set("instance", platform.instance);
    entry.set("cores", platform.cores);
    entry.set("divided", platform.is_divided);
    list.push(std::move(entry));
  }
  return list;
}

// What can be listed: a word of the command line, and both forms.
struct Listing {
  std::string_view name;
  void (*print_text)();
  Json (*json)();
};
constexpr Listing kListings[] = {
    {"opcodes", list_opcodes_text, opcodes_json},
    {"passes", list_passes_text, passes_json},
    {"platforms", list_platforms_text, platforms_json},
};

class List : public Command {
 public:
  CommandText text() const override {
    return {
        .name = "list",
        .summary = "list what the tool knows",
        .description =
            "opcodes: every HLO opcode with its number of operands, its family, whether "
            "its shape\nmay be left out in text, and the attributes of its own.\n"
            "passes: every pass of minihlo opt with its options, what they take and their "
            "defaults,\nand what it keeps.\n"
            "platforms: those of the Neuron compiler, with the cores of their largest instance.",
        .examples =
            "  minihlo list opcodes                      the table of opcodes\n"
            "  minihlo list opcodes --json               the same as JSON\n"
            "  minihlo list passes                       passes and their options\n"
            "  minihlo list platforms                    what platform_version names",
    };
  }

  void declare(Arguments& arguments) override {
    arguments.positional("WHAT", what_, fmt::to_string(fmt::join(names(), ", ")));
    arguments.flag("--json", json_, "print one JSON document and nothing else");
  }

  ExitCode run() override {
    for (const Listing& listing : kListings) {
      if (listing.name != what_) continue;
      if (json_) {
        Json document = Json::object();
        document.set(listing.name, listing.json());
        print_document(document);
      } else {
        listing.print_text();
      }
      return ExitCode::kOk;
    }
    print_error(fmt::format("list: '{}' is none of {}", what_, fmt::join(names(), ", ")));
    return ExitCode::kInvalid;
  }

 private:
  static std::vector<std::string_view> names() {
    std::vector<std::string_view> result;
    for (const Listing& listing : kListings) result.push_back(listing.name);
    return result;
  }

  std::string what_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_list() { return std::make_unique<List>(); }

}  // namespace minihlo

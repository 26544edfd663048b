#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "ir/json/module_json.h"
#include "ir/proto/proto_reader.h"
#include "ir/proto/proto_writer.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "tests/fuzz/targets.h"
#include "tests/generator/generator.h"

namespace minihlo::fuzz {
namespace {

std::string verified(const Module& module) {
  Diagnostics diagnostics;
  verify(module, {}, diagnostics);
  return diagnostics.ok() ? "" : diagnostics.to_string();
}

// A module as written in some form, and what reads that.
struct Form {
  std::string name;
  std::string written;
  std::unique_ptr<Module> (*read)(std::shared_ptr<const Source>, Diagnostics&, const ParseOptions&);
};

std::string line_at(const std::string& text, size_t at) {
  const size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

std::string compared(std::string_view what, const std::string& printed, const Module& other) {
  const std::string again = print_text(other);
  if (again == printed) return "";
  const auto at = static_cast<size_t>(std::ranges::mismatch(printed, again).in1 - printed.begin());
  return fmt::format("the module has the line\n{}\nand {}\n{}\nin\n{}", line_at(printed, at), what,
                     line_at(again, at), printed);
}

}  // namespace

std::string kept_by_all_forms(const Module& module) {
  const std::string printed = print_text(module);
  if (std::string wrong = compared("its clone", printed, *module.clone()); !wrong.empty()) {
    return wrong;
  }
  Diagnostics of_writing;
  const Form forms[] = {{"text", printed, parse_text},
                        {"JSON", print_json(module), parse_json},
                        {"protobuf", print_proto(module, of_writing), parse_proto}};
  for (const auto& [name, written, read] : forms) {
    auto source = Source::from_string(name, written);
    Diagnostics diagnostics(source);
    const std::unique_ptr<Module> again = read(source, diagnostics, {});
    if (!again) return fmt::format("its {} is not read: {}", name, diagnostics.to_string());
    if (std::string wrong = verified(*again); !wrong.empty()) {
      return fmt::format("read from {}: {}", name, wrong);
    }
    if (std::string wrong = compared(fmt::format("read from {}", name), printed, *again);
        !wrong.empty()) {
      return wrong;
    }
  }
  return "";
}

std::string structure(std::string_view input) {
  generator::Choices choices(input);
  generator::GenerateOptions options;
  options.use = choices.pick({generator::Use::kAny, generator::Use::kXla, generator::Use::kRunnable,
                              generator::Use::kOracle});
  options.size = choices.below(40);
  const generator::Generated made = generator::generate(choices, options);
  if (!made.mistakes.empty()) return "a rule made a mistake: " + made.mistakes[0];
  if (std::string wrong = verified(*made.module); !wrong.empty()) {
    return wrong + print_text(*made.module);
  }
  if (std::string wrong = kept_by_all_forms(*made.module); !wrong.empty()) return wrong;
  // A module that was read from text has more in common with itself than one that was made.
  Diagnostics diagnostics;
  const auto text = Source::from_string("text", print_text(*made.module));
  const std::unique_ptr<Module> read = parse_text(text, diagnostics);
  return read ? kept_by_all_forms(*read) : diagnostics.to_string();
}

}  // namespace minihlo::fuzz

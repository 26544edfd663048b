// minihlo print: parse, and print in another form.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "ir/json/module_json.h"
#include "ir/proto/proto_text.h"
#include "ir/proto/proto_writer.h"
#include "ir/text/printer.h"
#include "tools/command.h"
#include "tools/error_output.h"
#include "tools/module_file.h"
#include "tools/print_part.h"

namespace minihlo {
namespace {

class Print : public Command {
 public:
  CommandText text() const override {
    return {
        .name = "print",
        .summary = "print a module again",
        .description =
            "Reads FILE without verifying it and prints it as XLA would. What is printed parses\n"
            "again to the same module, but for what options leave out. --format=json is the form\n"
            "for scripts (docs/module-json.md); it and protos hold the whole module.",
        .examples =
            "  minihlo print a.hlo                          as XLA prints\n"
            "  minihlo print a.hlo --short                  without what a reader skips\n"
            "  minihlo print a.hlo --canonical | sha256sum  to compare modules but for names\n"
            "  minihlo print a.hlo --without=sharding --no-metadata -o b.hlo\n"
            "  minihlo print a.hlo --around=dot.5 --hops=2  what is near an instruction",
    };
  }

  void declare(Arguments& arguments) override {
    arguments.positional("FILE", file_, "the module; - is standard input");
    arguments.option("-o,--output", "F", output_, "write to F instead of standard output");
    arguments.choice("--format", format_, {"text", "json", "proto", "pbtxt"},
                     "the form to print (default: text); the other options are for text alone");
    arguments.only_for("--format", format_, "text");
    arguments.flag("--short", short_,
                   "no metadata, control-predecessors, computation signatures, % and index "
                   "comments (XLA's ShortParsable)");
    arguments.flag("--canonical", canonical_,
                   "--short, without backend_config, with control-predecessors, and names that "
                   "only count: equal graphs are printed alike");
    arguments.flag("--no-metadata", no_metadata_, "leave out metadata and stack-frame tables");
    arguments.flag("--no-backend-config", no_backend_config_, "leave out backend_config");
    arguments.option("--without", "KEY", without_, "leave out attributes of this name");
    arguments.flag("--no-layouts", no_layouts_, "leave out layouts of results and operands");
    arguments.flag("--elide-constants", elide_constants_, "short for --elide-above=10");
    arguments.option("--elide-above", "N", options_.largest_constant,
                     "print array constants of more than N elements as {...}", 0);
    arguments.flag("--operand-shapes", options_.operand_shapes, "print shapes of operands too");
    arguments.flag("--full-bodies", options_.full_bodies,
                   "write called computations out where they are called, too, as far as that is no "
                   "flood; what is read back has a copy for each");
    arguments.flag("--no-async-sugar", no_async_sugar_,
                   "print async-start and the computation it calls in place of X-start");
    arguments.option("--computation", "NAME", computation_, "print one computation alone");
    arguments.option("--around", "NAME", around_,
                     "print an instruction alone, with those that are near it");
    arguments.option("--hops", "N", hops_, "how near, in operands and users (default: 1)", 0);
  }

  ExitCode run() override {
    std::unique_ptr<Module> module = load_module(file_);
    if (!module || !settle_options() || !can_be_written(*module)) return ExitCode::kInvalid;
    if (format_ == "proto" || format_ == "pbtxt") return print_message(*module);
    std::string text;
    std::string wrong;
    if (format_ == "json") {
      text = print_json(*module);
    } else if (!around_.empty()) {
      wrong = print_around(*module, around_, hops_, options_, text);
    } else if (!computation_.empty()) {
      wrong = print_computation(*module, computation_, options_, text);
    } else {
      text = print_text(*module, options_);
    }
    if (!wrong.empty()) {
      print_error(wrong);
      return ExitCode::kInvalid;
    }
    return write_output(output_, text) ? ExitCode::kOk : ExitCode::kInvalid;
  }

 private:
  // False, with an error, where an option can't be followed.
  bool settle_options() {
    const PrintOptions chosen = options_;
    if (canonical_ || short_) {
      options_ = canonical_ ? PrintOptions::canonical() : PrintOptions::short_parsable();
      options_.operand_shapes = chosen.operand_shapes;
      options_.full_bodies = chosen.full_bodies;
      options_.largest_constant = chosen.largest_constant;
    }
    if (no_metadata_) options_.metadata = false;
    if (no_backend_config_) options_.backend_config = false;
    if (no_layouts_) options_.layouts = false;
    if (no_async_sugar_) options_.async_sugar = false;
    constexpr int64_t kXlaLargest = 10;
    if (elide_constants_) {
      options_.largest_constant = std::min(options_.largest_constant, kXlaLargest);
    }
    for (const std::string& key : without_) {
      std::vector<AttributeId> ids = attributes_named(key);
      if (ids.empty()) {
        std::vector<std::string_view> known;
        for (int id = 0; id < kAttributeCount; ++id) {
          known.push_back(info(static_cast<AttributeId>(id)).text);
        }
        print_error(fmt::format("there is no attribute '{}'{}", key, suggestion(key, known)));
        return false;
      }
      options_.hidden.insert(options_.hidden.end(), ids.begin(), ids.end());
    }
    return true;
  }

  ExitCode print_message(const Module& module) const {
    const bool is_text = format_ == "pbtxt";
    if (!is_text && output_ == "-" && isatty(STDOUT_FILENO)) {
      print_error("print: a proto is binary and not for a terminal; -o F writes it to F");
      return ExitCode::kInvalid;
    }
    Diagnostics diagnostics;
    std::string bytes = print_proto(module, diagnostics);
    if (is_text) bytes = wire_to_proto_text(bytes);
    print_stderr(diagnostics.to_string());
    return write_output(output_, bytes) ? ExitCode::kOk : ExitCode::kInvalid;
  }

  std::string file_;
  std::string output_ = "-";
  std::string format_ = "text";
  bool short_ = false;
  bool canonical_ = false;
  bool no_metadata_ = false;
  bool no_backend_config_ = false;
  bool no_layouts_ = false;
  bool no_async_sugar_ = false;
  bool elide_constants_ = false;
  std::vector<std::string> without_;
  std::string computation_;
  std::string around_;
  int64_t hops_ = 1;
  PrintOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_print() { return std::make_unique<Print>(); }

}  // namespace minihlo

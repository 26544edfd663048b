// minihlo print: parse, and print in another form.
#include "ir/text/printer.h"
#include "tools/command.h"
#include "tools/module_file.h"

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
            "again to the same module, unless --elide-constants cuts constants out.",
        .examples =
            "  minihlo print a.hlo                       in the canonical form\n"
            "  minihlo print a.hlo --short               without what a reader skips\n"
            "  minihlo print a.hlo --no-metadata -o b.hlo",
    };
  }

  void declare(Arguments& arguments) override {
    arguments.positional("FILE", file_, "the module; - is standard input");
    arguments.option("-o,--output", "F", output_, "write to F instead of standard output");
    arguments.choice("--format", format_, {"text"}, "the form to print (default: text)");
    arguments.flag("--short", short_,
                   "no metadata, backend_config, computation signatures, % and index comments");
    arguments.flag("--no-metadata", no_metadata_, "leave out metadata and stack-frame tables");
    arguments.flag("--no-backend-config", no_backend_config_, "leave out backend_config");
    arguments.flag("--elide-constants", elide_constants_,
                   "print constants of more than 10 elements as {...}");
    arguments.flag("--operand-shapes", options_.operand_shapes, "print shapes of operands too");
  }

  ExitCode run() override {
    std::unique_ptr<Module> module = load_module(file_);
    if (!module) return ExitCode::kInvalid;
    if (short_) {
      options_.program_shape = false;
      options_.percent = false;
      options_.index_comments = false;
    }
    options_.metadata = !short_ && !no_metadata_;
    options_.backend_config = !short_ && !no_backend_config_;
    options_.large_constants = !elide_constants_;
    return write_output(output_, print_text(*module, options_)) ? ExitCode::kOk
                                                                : ExitCode::kInvalid;
  }

 private:
  std::string file_;
  std::string output_ = "-";
  std::string format_ = "text";
  bool short_ = false;
  bool no_metadata_ = false;
  bool no_backend_config_ = false;
  bool elide_constants_ = false;
  PrintOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_print() { return std::make_unique<Print>(); }

}  // namespace minihlo

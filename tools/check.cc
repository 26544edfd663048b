// minihlo check: parse and verify.
#include <algorithm>

#include <fmt/format.h>

#include "ir/verifier.h"
#include "tools/command.h"
#include "tools/error_output.h"
#include "tools/json_out.h"
#include "tools/module_file.h"

namespace minihlo {
namespace {

std::string count(size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

size_t warning_count(const Diagnostics& diagnostics) {
  return static_cast<size_t>(
      std::count_if(diagnostics.all().begin(), diagnostics.all().end(),
                    [](const Diagnostic& d) { return d.severity == Severity::kWarning; }));
}

class Check : public Command {
 public:
  CommandText text() const override {
    return {
        .name = "check",
        .summary = "parse and verify modules",
        .description =
            "Reads each FILE and checks that it means something: syntax, shapes, operands,\n"
            "attributes, device groups, called computations. Diagnostics go to standard error as\n"
            "file:line:column, the line, and a caret under the place; for each good file one line\n"
            "on standard output sums the module up. Goes on with the next file after a bad one.\n"
            "Exits with 2 when any file has an error; warnings are not errors.",
        .examples =
            "  minihlo check a.hlo b.hlo                 check two modules\n"
            "  minihlo check a.hlo --partitions=4        a mesh that the header leaves open\n"
            "  minihlo check --json - < a.hlo            diagnostics as JSON",
    };
  }

  void declare(Arguments& arguments) override {
    arguments.positionals("FILE", files_, "modules to check; - is standard input");
    arguments.option("--replicas", "R", options_.replicas,
                     "replicas of the mesh (default: as the module's header says)", 1);
    arguments.option("--partitions", "P", options_.partitions,
                     "partitions of the mesh (default: as the module's header says)", 1);
    arguments.option("--max-errors", "N", max_errors_,
                     "show N errors a file and count the rest; 0: all (default: 100)", 0);
    arguments.flag("--json", json_, "print one JSON document and nothing else");
  }

  ExitCode run() override {
    bool good = true;
    for (const std::string& path : files_) good &= check(path);
    if (json_) {
      Json document = Json::object();
      document.set("ok", good);
      document.set("files", std::move(file_list_));
      document.set("diagnostics", std::move(diagnostic_list_));
      print_document(document);
    }
    return good ? ExitCode::kOk : ExitCode::kInvalid;
  }

 private:
  bool check(const std::string& path) {
    ModuleFile file = read_module(path, {}, static_cast<size_t>(max_errors_));
    if (file.module) verify(*file.module, options_, file.diagnostics);
    if (json_) {
      report_json(file);
    } else {
      report_text(file);
    }
    return file.module && file.diagnostics.ok();
  }

  // The mesh that the module was checked for.
  int64_t replicas(const Module& module) const {
    return options_.replicas ? options_.replicas : module.replica_count();
  }
  int64_t partitions(const Module& module) const {
    return options_.partitions ? options_.partitions : module.num_partitions();
  }

  void report_text(const ModuleFile& file) const {
    print_findings(file);
    if (!file.unreadable.empty()) return;
    const Diagnostics& diagnostics = file.diagnostics;
    if (!file.module || !diagnostics.ok()) {
      print_stderr(fmt::format("{}: {}\n", file.path, count(diagnostics.error_count(), "error")));
      return;
    }
    const Module& module = *file.module;
    size_t warnings = warning_count(diagnostics);
    print_stdout(fmt::format("{}: ok: module {}, {} x {}, {}, {}{}\n", file.path, module.name(),
                             count(static_cast<size_t>(replicas(module)), "replica"),
                             count(static_cast<size_t>(partitions(module)), "partition"),
                             count(module.computations().size(), "computation"),
                             count(module.instruction_count(), "instruction"),
                             warnings ? ", " + count(warnings, "warning") : ""));
  }

  void report_json(const ModuleFile& file) {
    Json entry = Json::object();
    entry.set("file", file.path);
    entry.set("ok", file.module && file.diagnostics.ok());
    if (file.module) {
      const Module& module = *file.module;
      entry.set("module", module.name());
      entry.set("replicas", replicas(module));
      entry.set("partitions", partitions(module));
      entry.set("computations", module.computations().size());
      entry.set("instructions", module.instruction_count());
    }
    entry.set("errors", file.diagnostics.error_count() + !file.unreadable.empty());
    entry.set("warnings", warning_count(file.diagnostics));
    file_list_.push(std::move(entry));
    if (!file.unreadable.empty()) {
      diagnostic_list_.push(error_json(file.unreadable, "unreadable", file.path));
    }
    for (const Diagnostic& diagnostic : file.diagnostics.all()) {
      diagnostic_list_.push(diagnostic_json(diagnostic, file.diagnostics.source(), file.path));
    }
  }

  std::vector<std::string> files_;
  VerifyOptions options_ = {.strict = false};
  int64_t max_errors_ = 100;
  bool json_ = false;
  Json file_list_ = Json::array();
  Json diagnostic_list_ = Json::array();
};

}  // namespace

std::unique_ptr<Command> make_check() { return std::make_unique<Check>(); }

}  // namespace minihlo

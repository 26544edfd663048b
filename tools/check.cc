// minihlo check: parse and verify.
#include <algorithm>

#include <fmt/format.h>

#include "ir/verifier.h"
#include "tools/command.h"
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

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "";
}

void set_location(Json& object, const Source* source, Location location) {
  if (!source || location.length == 0) return;
  if (source->is_binary()) {
    object.set("offset", location.offset);
    return;
  }
  Source::Position position = source->position(location.offset);
  object.set("line", position.line);
  object.set("column", position.column);
}

Json to_json(const Diagnostic& diagnostic, const ModuleFile& file) {
  const Source* source = file.diagnostics.source();
  Json object = Json::object();
  object.set("file", file.path);
  set_location(object, source, diagnostic.location);
  object.set("severity", to_string(diagnostic.severity));
  object.set("rule", diagnostic.rule);
  object.set("message", diagnostic.message);
  if (!diagnostic.instruction.empty()) object.set("instruction", diagnostic.instruction);
  if (diagnostic.notes.empty()) return object;
  Json notes = Json::array();
  for (const Diagnostic::Note& note : diagnostic.notes) {
    Json entry = Json::object();
    set_location(entry, source, note.location);
    entry.set("message", note.message);
    notes.push(std::move(entry));
  }
  object.set("notes", std::move(notes));
  return object;
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
      fmt::print("{}", document.text());
    }
    return good ? ExitCode::kOk : ExitCode::kInvalid;
  }

 private:
  bool check(const std::string& path) {
    ModuleFile file = read_module(path);
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
    if (!file.unreadable.empty()) {
      print_error(fmt::format("cannot read '{}': {}", file.path, file.unreadable));
      return;
    }
    const Diagnostics& diagnostics = file.diagnostics;
    print_stderr(diagnostics.to_string());
    if (!file.module || !diagnostics.ok()) {
      print_stderr(fmt::format("{}: {}\n", file.path, count(diagnostics.error_count(), "error")));
      return;
    }
    const Module& module = *file.module;
    size_t warnings = warning_count(diagnostics);
    fmt::print("{}: ok: module {}, {} x {}, {}, {}{}\n", file.path, module.name(),
               count(static_cast<size_t>(replicas(module)), "replica"),
               count(static_cast<size_t>(partitions(module)), "partition"),
               count(module.computations().size(), "computation"),
               count(module.instruction_count(), "instruction"),
               warnings ? ", " + count(warnings, "warning") : "");
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
      Diagnostic unreadable;
      unreadable.rule = "unreadable";
      unreadable.message = file.unreadable;
      diagnostic_list_.push(to_json(unreadable, file));
    }
    for (const Diagnostic& diagnostic : file.diagnostics.all()) {
      diagnostic_list_.push(to_json(diagnostic, file));
    }
  }

  std::vector<std::string> files_;
  VerifyOptions options_;
  bool json_ = false;
  Json file_list_ = Json::array();
  Json diagnostic_list_ = Json::array();
};

}  // namespace

std::unique_ptr<Command> make_check() { return std::make_unique<Check>(); }

}  // namespace minihlo

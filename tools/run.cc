// minihlo run: run modules on simulated devices.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/verifier.h"
#include "sim/run/simulator.h"
#include "tools/case_file.h"
#include "tools/case_run.h"
#include "tools/command.h"
#include "tools/error_output.h"
#include "tools/json_out.h"
#include "tools/module_file.h"
#include "tools/run_report.h"

namespace minihlo {
namespace {

class Run : public Command {
 public:
  CommandText text() const override {
    return {
        .name = "run",
        .summary = "run modules on simulated devices",
        .description =
            "Runs the entry computation of FILE on every device of the mesh at once. Inputs come\n"
            "from --input, a case; else they are made from --seed: distinct on each device,\n"
            "parameter and index as far as their type has room. Outputs are printed per device,\n"
            "or written as a case with -o. --expect compares them with a case's outputs, by the\n"
            "rule that it names.\n"
            "\n"
            "With --case each FILE holds cases with inputs and expected outputs; one without a\n"
            "module takes module.hlo beside it. A report counts what passed and failed.\n"
            "\n"
            "Exits with 1 when outputs differ from what is expected or devices end in a deadlock\n"
            "or mismatch, 3 when a limit cut the run short, 4 for what is not supported.",
        .examples =
            "  minihlo run a.hlo --partitions=4          run on four devices, made-up inputs\n"
            "  minihlo run a.hlo --input=case.json --expect=case.json\n"
            "  minihlo run --case cases/*.jsonl          run cases with modules inside",
    };
  }

  void declare(Arguments& arguments) override {
    arguments.positionals("FILE", files_, "a module, or files of cases; - is standard input");
    arguments.flag("--case", case_mode_, "FILEs are cases with inputs and expected outputs");
    arguments.option("--replicas", "R", replicas_,
                     "replicas of the mesh (default: as the case or the module's header says)", 1);
    arguments.option("--partitions", "P", partitions_,
                     "partitions of the mesh (default: as the case or the module's header says)",
                     1);
    arguments.option("--input", "FILE", input_, "a case whose inputs are taken");
    arguments.option("--seed", "S", seed_, "make inputs from this seed (default: 0)");
    arguments.option("--expect", "FILE", expect_, "a case whose outputs are expected");
    arguments.option("-o,--output", "FILE", output_,
                     "write inputs and outputs as a case instead of printing outputs");
    arguments.option("--devices", "LIST", devices_, "print only these: 0,3-5");
    arguments.choice("--elided", elided_, {"zero", "seed"},
                     "values of constants that the text leaves out as {...}");
    arguments.flag("--stats", stats_, "print peak memory, steps and time");
    arguments.size("--max-memory", "SIZE", options_.max_memory,
                   "bytes that values may take (default: four fifths of the machine's)");
    arguments.option("--max-steps", "N", options_.max_steps,
                     "instructions that may be run, each once for the devices that run it together",
                     1);
    arguments.option("--timeout", "SECONDS", timeout_, "stop after that time");
    arguments.option("--threads", "N", threads_, "threads (default: one a processor)", 0);
    arguments.flag("--json", json_, "print the report as one JSON document");
  }

  ExitCode run() override {
    options_.threads = static_cast<int>(std::min<int64_t>(threads_, 256));
    options_.elided_seed = seed_;
    if (elided_ == "zero") options_.elided = ElidedConstants::kZero;
    if (elided_ == "seed") options_.elided = ElidedConstants::kSeed;
    if (timeout_ > 0) {
      options_.deadline =
          std::chrono::steady_clock::now() +
          std::chrono::milliseconds(static_cast<int64_t>(std::min(timeout_, 1e9) * 1000));
    }
    if (case_mode_) return run_cases();
    if (files_.size() != 1) {
      print_error("run takes one module; several files are for --case");
      return ExitCode::kInvalid;
    }
    return run_module();
  }

 private:
  // One module.

  ExitCode invalid(std::string_view message) const {
    print_error(message);
    return ExitCode::kInvalid;
  }

  // The first case of a file. Where it names a module it is for that one: the user says which.
  static std::optional<Case> load_case(const std::string& path) {
    auto cases = read_case_file(path);
    if (!cases) {
      print_error(cases.error());
      return std::nullopt;
    }
    return std::move(cases->front());
  }

  ExitCode run_module() {
    ModuleFile file = read_module(files_[0]);
    const std::unique_ptr<Module>& module = file.module;
    if (!module) {
      print_findings(file);
      return ExitCode::kInvalid;
    }
    std::optional<Case> input, expect;
    if (!input_.empty() && !(input = load_case(input_))) return ExitCode::kInvalid;
    if (!expect_.empty() && !(expect = load_case(expect_))) return ExitCode::kInvalid;
    const Case* said = input ? &*input : expect ? &*expect : nullptr;
    auto mesh = run_mesh(*module, said, replicas_, partitions_);
    if (!mesh) return invalid(mesh.error());
    verify(*module, {mesh->replicas, mesh->partitions}, file.diagnostics);
    if (!file.diagnostics.ok()) {
      print_findings(file);
      return ExitCode::kInvalid;
    }
    if (input && !input->inputs) return invalid(fmt::format("'{}' has no inputs", input_));
    if (expect && !expect->outputs) return invalid(fmt::format("'{}' has no outputs", expect_));
    std::vector<bool> shown;
    if (std::string wrong = parse_devices(mesh->device_count(), shown); !wrong.empty()) {
      return invalid(wrong);
    }

    int64_t limit = options_.max_memory > 0 ? options_.max_memory : default_max_memory();
    tl::expected<Inputs, Stop> inputs =
        input ? *input->inputs : make_inputs(*module, *mesh, seed_, limit);
    tl::expected<RunResult, Stop> result = tl::unexpected(Stop{});
    if (inputs) {
      result = simulate(*module, *mesh, *inputs, options_);
    } else {
      result = tl::unexpected(inputs.error());
    }
    if (!result) return report_stop(result.error());

    std::string difference;
    if (expect) {
      difference = compare_outputs(*mesh, *expect->outputs, result->outputs, expect->rule);
    }
    if (!output_.empty()) {
      Case made;
      made.name = module->name();
      made.replicas = mesh->replicas;
      made.partitions = mesh->partitions;
      made.inputs = *std::move(inputs);
      made.outputs = result->outputs;
      if (!write_output(output_, print_case(made))) return ExitCode::kInvalid;
    }
    if (json_) {
      print_json(*mesh, *result, shown, expect.has_value(), difference);
    } else if (output_.empty()) {
      print_stdout(outputs_text(*mesh, *result, shown));
    }
    if (stats_ && !json_) {
      auto* print = output_ == "-" ? print_stderr : print_stdout;
      print(fmt::format("peak memory {} bytes ({}), {} steps, {:.6f} s\n",
                        result->stats.peak_memory, bytes_text(result->stats.peak_memory),
                        result->stats.steps, result->stats.seconds));
    }
    if (difference.empty()) return ExitCode::kOk;
    print_error(fmt::format("outputs differ from '{}': {}", expect_, difference));
    return ExitCode::kDiffers;
  }

  ExitCode report_stop(const Stop& stop) const {
    if (json_) {
      Json object = Json::object();
      object.set("status", kind_text(stop.kind));
      if (!stop.what.empty()) object.set("what", stop.what);
      object.set("message", stop.message);
      print_document(object);
    }
    print_error(stop.message);
    return exit_code(stop.kind);
  }

  // "0,3-5". What is wrong with it, or nothing.
  std::string parse_devices(int64_t count, std::vector<bool>& shown) const {
    shown.assign(static_cast<size_t>(count), devices_.empty());
    std::string_view rest = devices_;
    while (!rest.empty()) {
      std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(item.size() + 1, rest.size()));
      int64_t first = -1, last = -1;
      size_t dash = item.find('-');
      auto number = [](std::string_view word, int64_t& value) {
        auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        return error == std::errc() && end == word.data() + word.size();
      };
      bool good = number(item.substr(0, dash), first);
      last = first;
      if (dash != item.npos) good = good && number(item.substr(dash + 1), last);
      if (!good || first < 0 || last < first || last >= count) {
        return fmt::format("--devices: '{}' is no device or range of devices of {}", item, count);
      }
      for (int64_t i = first; i <= last; ++i) shown[static_cast<size_t>(i)] = true;
    }
    return "";
  }

  void print_json(const Mesh& mesh, const RunResult& result, const std::vector<bool>& shown,
                  bool expected, const std::string& difference) const {
    Json object = Json::object();
    object.set("status", difference.empty() ? "ok" : "differs");
    object.set("replicas", mesh.replicas);
    object.set("partitions", mesh.partitions);
    if (expected) object.set("expected", difference.empty());
    if (!difference.empty()) object.set("difference", difference);
    if (stats_) object.set("stats", stats_json(result.stats));
    object.set("devices", outputs_json(result, output_.empty() ? shown : std::vector<bool>()));
    print_document(object);
  }

  // Cases.

  struct Report {
    int64_t passed = 0, failed = 0, unsupported = 0;
    std::map<std::string, int64_t> missing;  // by what is not supported
    Json list = Json::array();
    RunStats stats;
  };

  ExitCode run_cases() {
    Report report;
    Json diagnostics = Json::array();
    bool unreadable = false;
    for (const std::string& file : files_) {
      auto cases = read_case_file(file);
      if (!cases) {
        if (json_) diagnostics.push(error_json(cases.error(), "invalid", file));
        print_error(cases.error(), "invalid", file);
        unreadable = true;
        continue;
      }
      std::shared_ptr<const Source> beside = module_beside(file, *cases);
      for (const Case& item : *cases) {
        take(report, file, item, run_case(item, beside, options_));
      }
    }
    const int64_t total = report.passed + report.failed + report.unsupported;
    if (json_) {
      Json object = Json::object();
      object.set("cases", total);
      object.set("passed", report.passed);
      object.set("failed", report.failed);
      object.set("unsupported", report.unsupported);
      Json missing = Json::object();
      for (const auto& [what, count] : report.missing) missing.set(what, count);
      object.set("missing", std::move(missing));
      object.set("not_passed", std::move(report.list));
      if (unreadable) object.set("diagnostics", std::move(diagnostics));
      if (stats_) object.set("stats", stats_json(report.stats));
      print_document(object);
    } else {
      print_stdout(fmt::format("{} cases: {} passed, {} failed, {} unsupported\n", total,
                               report.passed, report.failed, report.unsupported));
      for (const auto& [what, count] : report.missing)
        print_stdout(fmt::format("  {}: {}\n", what, count));
      if (stats_) {
        print_stdout(fmt::format("peak memory {} bytes, {} steps, {:.6f} s\n",
                                 report.stats.peak_memory, report.stats.steps,
                                 report.stats.seconds));
      }
    }
    if (unreadable) return ExitCode::kInvalid;
    if (report.failed > 0) return ExitCode::kDiffers;
    return report.unsupported > 0 ? ExitCode::kUnsupported : ExitCode::kOk;
  }

  // The module of cases that hold none: `module.hlo` beside case.json, NAME.hlo beside
  // NAME.case.json.
  static std::shared_ptr<const Source> module_beside(const std::string& file,
                                                     const std::vector<Case>& cases) {
    if (std::ranges::all_of(cases, [](const Case& item) { return item.module.has_value(); })) {
      return nullptr;
    }
    std::filesystem::path path = file;
    std::string name = path.filename().string();
    constexpr std::string_view kSuffix = ".case.json";
    name = name.ends_with(kSuffix) ? name.substr(0, name.size() - kSuffix.size()) + ".hlo"
                                   : "module.hlo";
    std::string error;
    return Source::from_file(path.replace_filename(name).string(), error);
  }

  void take(Report& report, const std::string& file, const Case& item,
            const CaseOutcome& outcome) const {
    using Kind = CaseOutcome::Kind;
    report.stats.steps += outcome.stats.steps;
    report.stats.seconds += outcome.stats.seconds;
    report.stats.peak_memory = std::max(report.stats.peak_memory, outcome.stats.peak_memory);
    if (outcome.kind == Kind::kPassed) {
      ++report.passed;
      return;
    }
    const bool failed = outcome.kind == Kind::kFailed;
    ++(failed ? report.failed : report.unsupported);
    if (!failed) ++report.missing[outcome.what];
    if (!json_) {
      std::string_view message = outcome.message;
      while (message.ends_with('\n')) message.remove_suffix(1);
      print_stdout(fmt::format("{}: {}: {}: {}\n", file, item.name,
                               failed ? "failed" : "unsupported", message));
      return;
    }
    Json entry = Json::object();
    entry.set("file", file);
    entry.set("name", item.name);
    entry.set("status", failed ? "failed" : "unsupported");
    if (!failed) entry.set("what", outcome.what);
    entry.set("message", outcome.message);
    report.list.push(std::move(entry));
  }

  std::vector<std::string> files_;
  bool case_mode_ = false;
  int64_t replicas_ = 0, partitions_ = 0;
  std::string input_, expect_, output_, devices_, elided_;
  uint64_t seed_ = 0;
  bool stats_ = false, json_ = false;
  double timeout_ = 0;
  int64_t threads_ = 0;
  RunOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_run() { return std::make_unique<Run>(); }

}  // namespace minihlo

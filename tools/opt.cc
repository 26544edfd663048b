// minihlo opt: rewrite a module by passes.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "ir/diagnostics.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "passes/pipeline.h"
#include "sim/prove/equivalence.h"
#include "tools/command.h"
#include "tools/equivalence_report.h"
#include "tools/error_output.h"
#include "tools/json_out.h"
#include "tools/module_file.h"

namespace minihlo {
namespace {

Json entry_json(const PassEntry& entry) {
  Json json = Json::object();
  json.set("pass", entry.pass);
  json.set("computation", entry.computation);
  json.set("instruction", entry.instruction);
  json.set("opcode", to_string(entry.opcode));
  json.set("rewritten", entry.rewritten);
  if (entry.rewritten) json.set("result", entry.result);
  if (!entry.reason.empty()) json.set("reason", entry.reason);
  return json;
}

class Opt : public Command {
 public:
  CommandText text() const override {
    return {
        .name = "opt",
        .summary = "rewrite a module by passes",
        .description =
            "Runs the passes of a pipeline over FILE, one after another, and prints the module. A\n"
            "pipeline names passes, with options in braces:\n"
            "\n"
            "  collective-permute-to-all-gather{gate=always fill=zero},dce\n"
            "\n"
            "repeat{limit=N}(A,B) runs A and B again and again, until a round changes nothing, but "
            "at\n"
            "most N times (16); it may hold others.\n"
            "\n"
            "minihlo list passes shows them all. The mesh is what the header says, unless "
            "--replicas and\n"
            "--partitions say otherwise.\n"
            "\n"
            "FILE has to parse but need not be valid. Where it is, the module is verified after "
            "each pass,\n"
            "and what a pass breaks is an error; --verify-each also refuses what is not valid at "
            "first.\n"
            "\n"
            "--dump-dir writes the module as it is before the first pass and after each, in files "
            "that are\n"
            "named and numbered as XLA names its dumps.\n"
            "\n"
            "--prove compares the modules before and after each pass, as minihlo equiv does; the "
            "worst\n"
            "verdict is the exit code.\n"
            "\n"
            "--json prints {\"passes\": [...], \"entries\": [...]}, with one entry for each "
            "instruction\n"
            "that a pass is for: rewritten, or the reason why not. The module then goes to -o "
            "alone.",
        .examples =
            "  minihlo opt a.hlo --passes=dce            what is left when the unused is gone\n"
            "  minihlo opt a.hlo --passes=collective-permute-to-all-gather --verbose -o b.hlo\n"
            "  minihlo opt a.hlo --passes='collective-permute-to-all-gather{preset=neuron-2.24}'\n"
            "  minihlo opt a.hlo --passes=collective-permute-to-all-gather,dce --prove -o b.hlo",
    };
  }

  void declare(Arguments& arguments) override {
    arguments.positional("FILE", file_, "the module; - is standard input");
    arguments.option("--passes", "P", passes_, "the pipeline to run");
    arguments.option("-o,--output", "F", output_, "write to F instead of standard output");
    arguments.option("--replicas", "R", context_.replicas, "replicas, if not the header's", 1);
    arguments.option("--partitions", "P", context_.partitions, "partitions, if not the header's",
                     1);
    arguments.flag("--verbose", verbose_, "say on standard error what the passes do");
    arguments.flag("--verify-each", verify_each_,
                   "refuse a module that is not valid, before and after each pass");
    arguments.flag("--no-verify-each", no_verify_each_, "verify nothing");
    arguments.option("--print-after", "PASS", print_after_,
                     "print the module on standard error after each run of PASS, or of all");
    arguments.option("--dump-dir", "DIR", dump_folder_,
                     "write the module before the first pass and after each into DIR");
    arguments.flag("--prove", prove_,
                   "compare the modules before and after each pass, as equiv does");
    arguments.flag("--json", json_, "print one JSON document and nothing else");
  }

  ExitCode run() override {
    if (passes_.empty()) {
      print_error("opt: --passes=P is missing; minihlo list passes shows what there is");
      return ExitCode::kInvalid;
    }
    if (json_ && output_ == "-") {
      print_error("opt: --json and -o - both want standard output");
      return ExitCode::kInvalid;
    }
    std::shared_ptr<const Source> source = Source::from_string("--passes", passes_);
    Diagnostics diagnostics(source);
    std::optional<Pipeline> pipeline = parse_pipeline(source, diagnostics);
    if (!pipeline) {
      print_diagnostics(diagnostics, source->name());
      return ExitCode::kInvalid;
    }
    std::unique_ptr<Module> module = load_module(file_);
    if (!module) return ExitCode::kInvalid;
    warn_of_mesh(*module);
    if (verbose_)
      context_.log = [](std::string_view line) { print_stderr(std::string(line) + "\n"); };
    if (!is_known(print_after_)) return ExitCode::kInvalid;
    auto done = run_passes(*module, *pipeline);
    if (!done) {
      print_error(done.error());
      return ExitCode::kInvalid;
    }
    if (dump_failed_) return ExitCode::kInvalid;
    if (!json_ || !output_.empty()) {
      if (!can_be_written(*module) ||
          !write_output(output_.empty() ? "-" : output_, print_text(*module))) {
        return ExitCode::kInvalid;
      }
    }
    if (json_) print_document(report(*pipeline));
    return proved_;
  }

 private:
  // Without a mesh passes leave alone what they are for.
  void warn_of_mesh(const Module& module) const {
    Diagnostics found;
    verify(module, {.replicas = context_.replicas, .partitions = context_.partitions}, found);
    for (const Diagnostic& one : found.all()) {
      if (one.rule == "unknown-mesh") {
        print_warning(fmt::format("opt: %{}: {}", one.instruction, one.message), one.rule, file_);
      }
    }
  }

  static bool is_known(const std::string& name) {
    if (name.empty() || name == "all" || find_pass(name)) return true;
    std::vector<std::string_view> names = {"all"};
    for (const PassInfo* pass : passes()) names.push_back(pass->name);
    print_error(fmt::format("opt: --print-after={} is no pass{}", name, suggestion(name, names)));
    return false;
  }

  tl::expected<void, std::string> run_passes(Module& module, const Pipeline& pipeline) {
    auto mesh = make_mesh(context_.replica_count(module), context_.num_partitions(module));
    if (prove_ && !mesh) return tl::unexpected(mesh.error());
    bool verify = verify_each_ || prove_;
    if (!verify && !no_verify_each_) {
      verify = verification_errors(module, context_).empty();
      if (!verify) print_warning("opt: the module is not valid, so passes are not verified");
    }
    std::unique_ptr<Module> before;
    return run_pipeline(module, pipeline, context_, verify,
                        [&](const Module& now, const PassCall* done, const PassCall* next) {
                          if (done) print_after(now, *done);
                          dump(now, done, next);
                          if (!prove_) return;
                          if (done) prove(*before, now, *done, *mesh);
                          if (next) before = now.clone();
                        });
  }

  void print_after(const Module& module, const PassCall& call) const {
    if (print_after_ != "all" && print_after_ != call.info->name) return;
    if (!can_be_written(module)) return;
    print_stderr(fmt::format("// after {}\n{}", call.to_string(), print_text(module)));
  }

  // XLA names a dump module_0000.MODULE.0001.PIPELINE.after_PASS.before_PASS.txt.
  void dump(const Module& module, const PassCall* done, const PassCall* next) {
    if (dump_folder_.empty() || dump_failed_) return;
    std::error_code error;
    std::filesystem::create_directories(dump_folder_, error);
    std::string name(module.name());
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '/' || c == '\0'; }, '_');
    const std::string file = fmt::format(
        "module_0000.{}.{:04}.minihlo.after_{}.before_{}.txt", name.substr(0, 100), dumps_++,
        done ? done->info->name : "pipeline-start", next ? next->info->name : "pipeline-end");
    dump_failed_ =
        !can_be_written(module) ||
        !write_output((std::filesystem::path(dump_folder_) / file).string(), print_text(module));
  }

  // Compares the module with what the pass was given. Verdicts go to standard error, unless they
  // are to be in the document; the worst of them is the exit code.
  void prove(const Module& before, const Module& after, const PassCall& call, const Mesh& mesh) {
    prove::EquivalenceOptions options;
    options.mesh = mesh;
    // A pass that says it keeps bits is held to that.
    options.bits = call.info->keeps == Keeps::kBits;
    prove::EquivalenceResult result = prove::check_equivalence(before, after, options);
    if (!json_) {
      print_stderr(fmt::format("{}: {}", call.to_string(), equivalence_text(result, mesh)));
    }
    Json proof = equivalence_json(result, mesh);
    proof.set("pass", call.to_string());
    proofs_.push(std::move(proof));
    proved_ = worse(proved_, static_cast<ExitCode>(prove::exit_code(result.verdict)));
  }

  Json report(const Pipeline& pipeline) {
    Json passes = Json::array();
    for (const PassCall& call : pipeline) passes.push(call.to_string());
    Json entries = Json::array();
    for (const PassEntry& entry : context_.entries) entries.push(entry_json(entry));
    Json document = Json::object();
    document.set("passes", std::move(passes));
    document.set("entries", std::move(entries));
    if (prove_) document.set("proofs", std::move(proofs_));
    return document;
  }

  std::string file_;
  std::string passes_;
  std::string output_;
  PassContext context_;
  bool verbose_ = false;
  std::string print_after_;
  std::string dump_folder_;
  int dumps_ = 0;
  bool dump_failed_ = false;
  bool verify_each_ = false;
  bool no_verify_each_ = false;
  bool prove_ = false;
  bool json_ = false;
  Json proofs_ = Json::array();
  ExitCode proved_ = ExitCode::kOk;
};

}  // namespace

std::unique_ptr<Command> make_opt() { return std::make_unique<Opt>(); }

}  // namespace minihlo

// minihlo opt: rewrite a module by passes.
#include <algorithm>

#include <fmt/format.h>

#include "ir/diagnostics.h"
#include "ir/text/printer.h"
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
  if (entry.rewritten) {
    json.set("result", entry.result);
  } else {
    json.set("reason", entry.reason);
  }
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
            "minihlo list passes shows them all. FILE has to parse but need not be valid. The "
            "mesh is\n"
            "what its header says, unless --replicas and --partitions say otherwise.\n"
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
    arguments.flag("--verify-each", verify_each_, "verify the module before and after each pass");
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
    if (verbose_)
      context_.log = [](std::string_view line) { print_stderr(std::string(line) + "\n"); };
    auto done = prove_ ? run_and_prove(*module, *pipeline)
                       : run_pipeline(*module, *pipeline, context_, verify_each_);
    if (!done) {
      print_error(done.error());
      return ExitCode::kInvalid;
    }
    if (!json_ || !output_.empty()) {
      if (!write_output(output_.empty() ? "-" : output_, print_text(*module))) {
        return ExitCode::kInvalid;
      }
    }
    if (json_) print_document(report(*pipeline));
    return proved_;
  }

 private:
  // Runs the pipeline pass by pass, each compared with what it was given. Verdicts go to standard
  // error, unless they are to be in the document; the worst of them is the exit code.
  tl::expected<void, std::string> run_and_prove(Module& module, const Pipeline& pipeline) {
    auto mesh = make_mesh(context_.replica_count(module), context_.num_partitions(module));
    if (!mesh) return tl::unexpected(mesh.error());
    prove::EquivalenceOptions options;
    options.mesh = *mesh;
    for (const PassCall& call : pipeline) {
      std::unique_ptr<Module> before = module.clone();
      auto done = run_pipeline(module, {call}, context_, true);
      if (!done) return done;
      prove::EquivalenceResult result = prove::check_equivalence(*before, module, options);
      if (!json_) {
        print_stderr(fmt::format("{}: {}", call.to_string(), equivalence_text(result, *mesh)));
      }
      Json proof = equivalence_json(result, *mesh);
      proof.set("pass", call.to_string());
      proofs_.push(std::move(proof));
      auto code = static_cast<ExitCode>(prove::exit_code(result.verdict));
      auto rank = [](ExitCode one) {
        constexpr ExitCode kOrder[] = {ExitCode::kOk, ExitCode::kUndecided, ExitCode::kUnsupported,
                                       ExitCode::kInvalid, ExitCode::kDiffers};
        return std::ranges::find(kOrder, one) - std::begin(kOrder);
      };
      if (rank(code) > rank(proved_)) proved_ = code;
    }
    return {};
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
  bool verify_each_ = false;
  bool prove_ = false;
  bool json_ = false;
  Json proofs_ = Json::array();
  ExitCode proved_ = ExitCode::kOk;
};

}  // namespace

std::unique_ptr<Command> make_opt() { return std::make_unique<Opt>(); }

}  // namespace minihlo

// minihlo run: run modules on simulated devices.
#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/semantics/custom_calls.h"
#include "ir/semantics/wrapped_collectives.h"
#include "ir/verifier.h"
#include "sim/cost/memory.h"
#include "sim/run/observer.h"
#include "sim/run/simulator.h"
#include "tools/case_run.h"
#include "tools/command.h"
#include "tools/comparison.h"
#include "tools/error_output.h"
#include "tools/json_out.h"
#include "tools/module_file.h"
#include "tools/progress.h"
#include "tools/run_cases.h"
#include "tools/run_data.h"
#include "tools/run_output.h"
#include "tools/run_report.h"
#include "tools/source_lines.h"
#include "tools/trace.h"

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
            "from --input; else they are made from --seed: distinct on each device, parameter and\n"
            "index as far as their type has room. Outputs are printed per device, or written with\n"
            "-o. --expect compares them bit by bit, as a case says, or as --tolerance or --ulp "
            "do.\n"
            "\n"
            "Files of tensors are .safetensors, .npz and .npy. In them p1 is parameter 1 on all\n"
            "devices, d3/p1 that of device 3, p1.0 its first element where it is a tuple; the\n"
            "parameter's own name will do as well. o0, o1, ... are the outputs. {device} in a "
            "path\n"
            "stands for a file a device, also {replica} and {partition}. An .npy file is called "
            "as\n"
            "the tensor is. A case (docs/simulator.md) holds all in one.\n"
            "\n"
            "With --case each FILE holds cases with inputs and expected outputs; one without a\n"
            "module takes module.hlo beside it. A report counts what passed and failed.\n"
            "\n"
            "Exits with 1 when outputs differ from what is expected or devices end in a deadlock\n"
            "or mismatch, 2 for bad input, 3 when a limit cut the run short, 4 for what is not\n"
            "supported.",
        .examples =
            "  minihlo run a.hlo --partitions=4          run on four devices, made-up inputs\n"
            "  minihlo run a.hlo --input=in.npz --expect=out.npz --tolerance=rel=1e-5,abs=1e-8\n"
            "  minihlo run a.hlo --input=shard{device}.safetensors -o out.safetensors\n"
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
    arguments.option("--input", "FILE", input_,
                     "inputs: a case, or any number of .safetensors, .npz and .npy files");
    arguments.option("--seed", "S", seed_, "make inputs from this seed (default: 0)");
    arguments.option("--expect", "FILE", expect_, "expected outputs, in the same forms");
    arguments.option("--tolerance", "rel=X,abs=Y", tolerance_,
                     "outputs a may differ from what is expected by abs + rel * |a|");
    arguments.option("--ulp", "N", ulp_,
                     "outputs may differ by N values of their type from what is expected", 0);
    arguments.option("-o,--output", "FILE", output_,
                     "write inputs and outputs instead of printing outputs: .safetensors, .npz, "
                     ".npy, else a case");
    arguments.option("--devices", "LIST", devices_,
                     "print, write and compare outputs of these alone: 0,3-5");
    arguments.flag("--full", full_, "print all elements of large outputs");
    arguments.option("--infeed", "FILE", infeed_,
                     "what infeeds take: a case whose inputs[d] are the arrays for device d, one after "
                     "the other; one list alone is for all devices");
    arguments.option("--outfeed", "FILE", outfeed_,
                     "write what outfeeds give, as outputs[d] of a case");
    arguments.choice("--elided", elided_, {"zero", "seed"},
                     "values of constants that the text leaves out as {...}");
    arguments.option("--custom-call", "NAME=DOES", custom_calls_,
                     "what custom-calls give whose target NAME is not known (*: all): identity,"
                     " zero or fail");
    arguments.option("--trace", "LIST", trace_,
                     "print what instructions make on the --devices, as they make it: names, "
                     "FIRST..LAST of a computation, *");
    arguments.flag("--check-nan", check_nan_,
                   "stop at the first instruction that makes a NaN of operands without any");
    arguments.flag("--stats", stats_, "print peak memory, predicted and taken, steps and time");
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
    options_.seed = seed_;
    if (elided_ == "zero") options_.elided = ElidedConstants::kZero;
    if (elided_ == "seed") options_.elided = ElidedConstants::kSeed;
    if (timeout_ > 0) {
      options_.deadline =
          std::chrono::steady_clock::now() +
          std::chrono::milliseconds(static_cast<int64_t>(std::min(timeout_, 1e9) * 1000));
    }
    if (std::string wrong = parse_custom_calls(); !wrong.empty()) return invalid(wrong);
    if (case_mode_) return run_case_files(files_, options_, json_, stats_);
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

  ExitCode invalid(const std::vector<std::string>& messages) const {
    for (const std::string& message : messages) print_error(message);
    return ExitCode::kInvalid;
  }

  ExitCode run_module() {
    ModuleFile file = read_module(files_[0]);
    const std::unique_ptr<Module>& module = file.module;
    if (!module) {
      print_findings(file);
      return ExitCode::kInvalid;
    }
    RunData input(input_leaves(*module)), expect(output_leaves(*module));
    for (auto [data, paths] : {std::pair(&input, &input_), std::pair(&expect, &expect_)}) {
      if (std::string wrong = data->open(*paths); !wrong.empty()) return invalid(wrong);
    }
    const Case* said = input.of_case() ? input.of_case() : expect.of_case();
    auto mesh = run_mesh(*module, said, replicas_, partitions_);
    if (!mesh) return invalid(mesh.error());
    verify(*module, {mesh->replicas, mesh->partitions}, file.diagnostics);
    if (!file.diagnostics.ok()) {
      print_findings(file);
      return ExitCode::kInvalid;
    }
    auto unwrapped = unwrapped_collectives(*module);
    if (!unwrapped) return invalid(unwrapped.error());
    const Module& to_run = *unwrapped ? **unwrapped : *module;
    auto kept = parse_devices(mesh->device_count());
    if (!kept) return invalid(kept.error());
    CompareRule rule = expect.of_case() ? expect.of_case()->rule : CompareRule();
    if (std::string wrong = take_rule(rule); !wrong.empty()) return invalid(wrong);
    if (!output_.empty()) {
      std::string wrong = problem_of_run_file(output_, *module, *mesh, *kept);
      if (!wrong.empty()) return invalid(wrong);
    }

    auto expected = expected_outputs(expect, *mesh, *kept);
    if (!expected) return invalid(expected.error());
    tl::expected<Inputs, Stop> inputs = tl::unexpected(Stop{});
    const int64_t limit = options_.max_memory > 0 ? options_.max_memory : default_max_memory();
    if (input_.empty()) {
      inputs = make_inputs(*module, *mesh, seed_, limit, options_.threads, options_.deadline);
    } else if (const Case* item = input.of_case()) {
      if (!item->inputs) return invalid(fmt::format("'{}' has no inputs", input_[0]));
      inputs = *item->inputs;
    } else {
      const std::vector<int> devices = all_devices(*mesh);
      if (std::string wrong = input.open_devices(*mesh, devices); !wrong.empty()) {
        return invalid(wrong);
      }
      if (const int64_t needed = input.needed_bytes(devices); needed > limit) {
        return report_stop(
            {Stop::Kind::kMemory,
             fmt::format("the inputs need {} bytes ({}); {} are allowed (--max-memory)", needed,
                         bytes_text(needed), limit),
             {}});
      }
      auto taken = input.take(devices);
      if (!taken) return invalid(taken.error());
      inputs = *std::move(taken);
      for (const std::string& warning : input.unused('o', *mesh, devices)) print_warning(warning);
    }
    if (!infeed_.empty()) {
      auto fed = read_case_file(infeed_);
      if (!fed) return invalid(fed.error());
      if (fed->size() != 1 || !fed->front().inputs) {
        return invalid(fmt::format("'{}' is no case with inputs", infeed_));
      }
      options_.infeed = *std::move(fed->front().inputs);
    }
    Observers observers;
    Json traced = Json::array();
    if (check_nan_) observers.add(std::make_unique<NanCheck>(*mesh));
    if (!trace_.empty()) {
      auto trace = Trace::make(to_run, trace_, *kept, [&](const Trace::Entry& entry) {
        if (json_) {
          traced.push(trace_json(entry, full_));
        } else {
          print_stdout(trace_text(*mesh, entry, full_));
        }
      });
      if (!trace) return invalid("--trace: " + trace.error());
      observers.add(*std::move(trace));
    }
    if (!observers.empty()) options_.observer = &observers;
    tl::expected<MemoryPrediction, Stop> prediction = tl::unexpected(Stop{});
    if (stats_) prediction = predict_memory(to_run, *mesh, options_.cluster_elements);
    tl::expected<RunResult, Stop> result = tl::unexpected(Stop{});
    if (inputs) {
      RunProgress progress;
      ProgressLine line([&progress](double seconds) {
        return progress_text(progress.steps(), seconds, progress.memory());
      });
      if (line.is_shown()) options_.progress = &progress;
      result = simulate(to_run, *mesh, *inputs, options_);
      options_.progress = nullptr;
    } else {
      result = tl::unexpected(inputs.error());
    }
    if (!result) {
      Stop& stop = result.error();
      stop.message = with_source_lines(stop.message, *module, file.diagnostics.source());
      return report_stop(stop);
    }

    OutputDifference difference;
    if (*expected) {
      difference = compare_outputs(*mesh, output_leaves(*module), (*expected)->devices,
                                   (*expected)->outputs, result->outputs, rule);
    }
    if (!output_.empty() && !write_run(output_, *module, *mesh, *kept, *inputs, result->outputs)) {
      return ExitCode::kInvalid;
    }
    if (!outfeed_.empty()) {
      Case given;
      given.name = module->name();
      given.replicas = mesh->replicas;
      given.partitions = mesh->partitions;
      given.outputs = result->outfeed;
      if (!write_output(outfeed_, print_case(given))) return ExitCode::kInvalid;
    }
    if (json_) {
      print_json(*mesh, *result, *kept, difference, prediction, std::move(traced));
    } else if (output_.empty()) {
      print_stdout(outputs_text(*mesh, *result, *kept, full_));
    }
    if (stats_ && !json_) {
      auto* print = output_ == "-" ? print_stderr : print_stdout;
      print(fmt::format("peak memory {} bytes ({}){}, {} steps, {:.6f} s\n",
                        result->stats.peak_memory, bytes_text(result->stats.peak_memory),
                        prediction ? fmt::format(", predicted {}", prediction->peak) : "",
                        result->stats.steps, result->stats.seconds));
    }
    if (difference.text.empty()) return ExitCode::kOk;
    print_error(
        fmt::format("outputs differ from '{}': {}", fmt::join(expect_, "', '"), difference.text));
    return ExitCode::kDiffers;
  }

  // Options of comparison go before what a case says. Says what is wrong with them, or nothing.
  std::string take_rule(CompareRule& rule) const {
    if (expect_.empty() && (!tolerance_.empty() || ulp_ >= 0)) {
      return "--tolerance and --ulp go with --expect";
    }
    if (!tolerance_.empty() && ulp_ >= 0) return "either --tolerance or --ulp is given";
    if (ulp_ >= 0) {
      rule.kind = CompareRule::Kind::kUlp;
      rule.ulp = ulp_;
    }
    return tolerance_.empty() ? "" : parse_tolerance(tolerance_, rule);
  }

  struct Expected {
    std::vector<int> devices;
    std::vector<std::vector<HostTensor>> outputs;  // of each of them
  };
  // Nothing where nothing is expected.
  tl::expected<std::optional<Expected>, std::vector<std::string>> expected_outputs(
      RunData& expect, const Mesh& mesh, const std::vector<int>& kept) const {
    using Errors = std::vector<std::string>;
    if (expect_.empty()) return std::nullopt;
    const Case* item = expect.of_case();
    if (!item) {
      if (std::string wrong = expect.open_devices(mesh, kept); !wrong.empty()) {
        return tl::unexpected(Errors{std::move(wrong)});
      }
      auto taken = expect.take(kept);
      if (!taken) return tl::unexpected(std::move(taken.error()));
      if (taken->size() == 1) taken->resize(kept.size(), taken->front());
      for (const std::string& warning : expect.unused('p', mesh, kept)) print_warning(warning);
      return Expected{kept, *std::move(taken)};
    }
    if (!item->outputs)
      return tl::unexpected(Errors{fmt::format("'{}' has no outputs", expect_[0])});
    auto devices = devices_of_outputs(*item, mesh);
    if (!devices) return tl::unexpected(Errors{std::move(devices.error())});
    if (devices->size() != item->outputs->size()) {
      return tl::unexpected(
          Errors{fmt::format("'{}' has outputs of {} devices, not of {}", expect_[0],
                             item->outputs->size(), devices->size())});
    }
    Expected result;
    for (size_t i = 0; i < devices->size(); ++i) {
      if (!std::ranges::binary_search(kept, (*devices)[i])) continue;
      result.devices.push_back((*devices)[i]);
      result.outputs.push_back((*item->outputs)[i]);
    }
    return result;
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

  // "NAME=identity". What is wrong with it, or nothing.
  std::string parse_custom_calls() {
    for (const std::string& text : custom_calls_) {
      const size_t sign = text.rfind('=');
      CustomCallRule rule{text.substr(0, sign), CustomCallRule::Action::kFail};
      std::string_view action = sign == text.npos ? "" : std::string_view(text).substr(sign + 1);
      if (action == "identity") {
        rule.action = CustomCallRule::Action::kIdentity;
      } else if (action == "zero") {
        rule.action = CustomCallRule::Action::kZero;
      } else if (action != "fail") {
        return fmt::format("--custom-call: '{}' is not NAME=identity, NAME=zero or NAME=fail",
                           text);
      }
      if (find_custom_call(rule.target)) {
        return fmt::format("--custom-call: what '{}' does is known", rule.target);
      }
      options_.custom_calls.push_back(std::move(rule));
    }
    return "";
  }

  // "0,3-5": the devices in order, or what is wrong.
  tl::expected<std::vector<int>, std::string> parse_devices(int64_t count) const {
    std::vector<bool> is_kept(static_cast<size_t>(count), devices_.empty());
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
        return tl::unexpected(
            fmt::format("--devices: '{}' is no device or range FIRST-LAST; there are 0 to {}", item,
                        count - 1));
      }
      for (int64_t i = first; i <= last; ++i) is_kept[static_cast<size_t>(i)] = true;
    }
    std::vector<int> kept;
    for (size_t i = 0; i < is_kept.size(); ++i) {
      if (is_kept[i]) kept.push_back(static_cast<int>(i));
    }
    return kept;
  }

  void print_json(const Mesh& mesh, const RunResult& result, std::span<const int> kept,
                  const OutputDifference& difference,
                  const tl::expected<MemoryPrediction, Stop>& prediction, Json traced) const {
    const bool is_same = difference.text.empty();
    Json object = Json::object();
    object.set("status", is_same ? "ok" : "differs");
    object.set("replicas", mesh.replicas);
    object.set("partitions", mesh.partitions);
    if (!expect_.empty()) object.set("expected", is_same);
    if (!is_same) object.set("difference", difference.text);
    if (difference.outputs > 0) object.set("first_difference", difference_json(difference));
    if (stats_) {
      Json stats = stats_json(result.stats);
      if (prediction) stats.set("predicted_peak_memory", prediction->peak);
      object.set("stats", std::move(stats));
    }
    if (!trace_.empty()) object.set("trace", std::move(traced));
    object.set("devices",
               outputs_json(result, output_.empty() ? kept : std::span<const int>(), full_));
    print_document(object);
  }

  std::vector<std::string> files_;
  bool case_mode_ = false;
  int64_t replicas_ = 0, partitions_ = 0;
  std::vector<std::string> input_, expect_;
  std::string output_, devices_, elided_, tolerance_, infeed_, outfeed_, trace_;
  int64_t ulp_ = -1;
  uint64_t seed_ = 0;
  bool full_ = false, stats_ = false, json_ = false, check_nan_ = false;
  double timeout_ = 0;
  int64_t threads_ = 0;
  RunOptions options_;
  std::vector<std::string> custom_calls_;  // as typed
};

}  // namespace

std::unique_ptr<Command> make_run() { return std::make_unique<Run>(); }

}  // namespace minihlo

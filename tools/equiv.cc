// minihlo equiv: whether two modules compute the same.
#include <algorithm>
#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "ir/diagnostics.h"
#include "ir/verifier.h"
#include "passes/pipeline.h"
#include "sim/prove/equivalence.h"
#include "tools/command.h"
#include "tools/equivalence_report.h"
#include "tools/error_output.h"
#include "tools/module_file.h"
#include "tools/source_lines.h"

namespace minihlo {
namespace {

using prove::EquivalenceResult;
using prove::Verdict;

class Equiv : public Command {
 public:
  CommandText text() const override {
    return {
        .name = "equiv",
        .summary = "prove or refute that two modules compute the same",
        .description =
            "Compares every output element of every device of A and B, for every input; with\n"
            "--passes, of A and what the passes make of it. The verdicts, and exit codes:\n"
            "\n"
            "  proved       0  the same term in both: equal bit for bit (any NaN equals any NaN)\n"
            "  proved-up-to-rounding\n"
            "               3  the same term but for the order of float sums and products, and "
            "the\n"
            "                  like; says what differs\n"
            "  refuted      1  with inputs on which they differ, shrunk and replayed\n"
            "  tested       3  no proof, and no difference in random runs (or by rounding only)\n"
            "  unsupported  4  names what was not understood\n"
            "  invalid      2  bad input, or both modules fail alike\n"
            "\n"
            "The mesh is what the headers say, unless --replicas and --partitions say otherwise.\n"
            "Inputs are free on every device.",
        .examples =
            "  minihlo equiv before.hlo after.hlo\n"
            "  minihlo equiv a.hlo --passes=collective-permute-to-all-gather\n"
            "  minihlo equiv a.hlo --passes='collective-permute-to-all-gather{preset=neuron-2.24}'"
            "\n"
            "  minihlo equiv a.hlo b.hlo --partitions=64 --json",
    };
  }

  void declare(Arguments& arguments) override {
    arguments.positional("A", first_, "the first module; - is standard input");
    arguments.positional("B", second_, "the second module", false);
    arguments.option("--passes", "P", passes_, "compare A with what these passes make of it");
    arguments.option("--replicas", "R", replicas_, "replicas, if not the headers'", 1);
    arguments.option("--partitions", "P", partitions_, "partitions, if not the headers'", 1);
    arguments.flag("--bits", options_.bits, "differences by rounding refute, too");
    arguments.flag("--allow-rounding", allow_rounding_,
                   "exit code 0 also where modules are proved up to rounding");
    arguments.option("--assume", "WHAT", assume_,
                     "replicated:0,2: these parameters are the same on all devices; module: those "
                     "whose sharding={replicated} or parameter_replication says so are");
    arguments.flag("--self-check", self_check_, "first compare each module with itself");
    arguments.option("--tests", "K", tests_, "random runs where there is no proof (default: 20)",
                     0);
    arguments.option("--seed", "S", options_.seed, "of the random runs (default: 1)");
    arguments.size("--max-memory", "SIZE", options_.max_memory,
                   "bytes that a run may take (default: four fifths of the machine's)");
    arguments.option(
        "--max-steps", "N", options_.max_steps,
        "instructions that a walk or run may take, each once for the devices that run it "
        "together (default: 16777216)",
        1);
    arguments.option("--timeout", "SECONDS", timeout_, "give up after this time");
    arguments.flag("--json", json_, "print one JSON document and nothing else");
    arguments.flag("--verbose", verbose_, "say on standard error what the passes do");
  }

  ExitCode run() override {
    if (second_.empty() == passes_.empty()) {
      print_error("equiv: give a second module or --passes=P, one of the two");
      return ExitCode::kInvalid;
    }
    if (first_ == "-" && second_ == "-") {
      print_error("equiv: standard input holds one module, not two");
      return ExitCode::kInvalid;
    }
    if (timeout_ > 0) {
      options_.deadline =
          std::chrono::steady_clock::now() +
          std::chrono::microseconds(static_cast<int64_t>(std::min(timeout_, 1e9) * 1e6));
    }
    options_.tests = static_cast<int>(std::min<int64_t>(tests_, 1000000));
    ModuleFile first = read_module(first_);
    if (!has_module(first)) return ExitCode::kInvalid;
    ModuleFile second = second_module(*first.module);
    if (!has_module(second)) return ExitCode::kInvalid;
    if (!set_mesh(*first.module, *second.module)) return ExitCode::kInvalid;
    if (!is_valid(first) || !is_valid(second)) return ExitCode::kInvalid;
    if (std::string wrong = assume(*first.module); !wrong.empty()) {
      print_error("equiv: " + wrong);
      return ExitCode::kInvalid;
    }
    const Module* before = first.module.get();
    const Module* after = second.module.get();

    if (self_check_) {
      for (const Module* module : {before, after}) {
        EquivalenceResult self = prove::check_equivalence(*module, *module, options_);
        if (self.verdict == Verdict::kProved) continue;
        print_error(fmt::format("the {} module compared with itself is {}: {}",
                                module == before ? "first" : "second", to_string(self.verdict),
                                self.reason));
        return ExitCode::kUndecided;
      }
    }
    EquivalenceResult result = prove::check_equivalence(*before, *after, options_);
    // What passes keep stands where it stood in the first module's text.
    const Source* sources[] = {first.diagnostics.source(),
                               (second_.empty() ? first : second).diagnostics.source()};
    if (result.verdict == Verdict::kInvalid) {
      result.reason = with_source_lines(result.reason, *before, sources[0]);
    }
    if (auto& found = result.counterexample; found && !found->report.empty()) {
      found->report = with_source_lines(found->report, found->reported == 0 ? *before : *after,
                                        sources[found->reported]);
    }
    if (json_) {
      print_document(equivalence_json(result, options_.mesh));
    } else if (!write_output("-", equivalence_text(result, options_.mesh))) {
      return ExitCode::kInvalid;
    }
    if (allow_rounding_ && result.verdict == Verdict::kProvedUpToRounding) return ExitCode::kOk;
    return static_cast<ExitCode>(prove::exit_code(result.verdict));
  }

 private:
  // Prints why there is none.
  static bool has_module(const ModuleFile& file) {
    if (file.module) return true;
    print_findings(file);
    return false;
  }

  // What is wrong with --assume, or nothing.
  std::string assume(const Module& module) {
    constexpr std::string_view kReplicated = "replicated:";
    const auto count = static_cast<int64_t>(module.entry()->parameters().size());
    for (std::string_view word : assume_) {
      if (word == "module") {
        options_.shared.add_said(module);
        continue;
      }
      if (!word.starts_with(kReplicated)) {
        return fmt::format("--assume={} is neither module nor replicated:NUMBERS", word);
      }
      std::string_view numbers = word.substr(kReplicated.size());
      do {
        const std::string_view one = numbers.substr(0, numbers.find(','));
        numbers.remove_prefix(std::min(numbers.size(), one.size() + 1));
        int64_t number = -1;
        const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), number);
        if (error != std::errc() || end != one.data() + one.size() || number < 0 ||
            number >= count) {
          return fmt::format("--assume={}: '{}' is no number of a parameter; there {} {}", word,
                             one, count == 1 ? "is" : "are", count);
        }
        options_.shared.add(module, number);
      } while (!numbers.empty());
    }
    return "";
  }

  ModuleFile second_module(const Module& before) {
    if (!second_.empty()) return read_module(second_, {before.shape_pool()});
    std::shared_ptr<const Source> source = Source::from_string("--passes", passes_);
    ModuleFile made{passes_, "", Diagnostics(source), nullptr};
    std::optional<Pipeline> pipeline = parse_pipeline(source, made.diagnostics);
    if (!pipeline) return made;
    std::unique_ptr<Module> after = before.clone();
    PassContext context;
    context.replicas = replicas_;
    context.partitions = partitions_;
    if (verbose_)
      context.log = [](std::string_view line) { print_stderr(std::string(line) + "\n"); };
    auto done = run_pipeline(*after, *pipeline, context, false);
    if (!done) {
      print_error(done.error());
      return made;
    }
    made.diagnostics = Diagnostics();
    made.module = std::move(after);
    return made;
  }

  bool set_mesh(const Module& before, const Module& after) {
    auto count = [](int64_t given, int64_t a, int64_t b) {
      return given > 0 ? given : a == b ? a : -1;
    };
    int64_t replicas = count(replicas_, before.replica_count(), after.replica_count());
    int64_t partitions = count(partitions_, before.num_partitions(), after.num_partitions());
    if (replicas < 0 || partitions < 0) {
      print_error(fmt::format(
          "equiv: the meshes differ, replicas x partitions: {} x {} and {} x {}; --replicas and "
          "--partitions give one",
          before.replica_count(), before.num_partitions(), after.replica_count(),
          after.num_partitions()));
      return false;
    }
    auto mesh = make_mesh(replicas, partitions);
    if (!mesh) {
      print_error("equiv: " + mesh.error());
      return false;
    }
    options_.mesh = *mesh;
    return true;
  }

  bool is_valid(ModuleFile& file) const {
    verify(*file.module, {options_.mesh.replicas, options_.mesh.partitions}, file.diagnostics);
    if (file.diagnostics.ok()) return true;
    print_findings(file);
    print_error(fmt::format("equiv: {} is not valid", file.path));
    return false;
  }

  std::string first_, second_, passes_;
  int64_t replicas_ = 0, partitions_ = 0;
  int64_t tests_ = 20;
  double timeout_ = 0;
  std::vector<std::string> assume_;
  bool self_check_ = false, allow_rounding_ = false, json_ = false, verbose_ = false;
  prove::EquivalenceOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_equiv() { return std::make_unique<Equiv>(); }

}  // namespace minihlo

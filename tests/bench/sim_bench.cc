// The simulator against its peers: XLA's CPU backend, memcpy, Eigen.
//
//   minihlo-sim-bench [--quick] [SECTION]...      collectives, movement, dot, block,
//                                                transforms
//
// MINIHLO_JAXLIB_PYTHON names a Python that has jax: XLA is then measured in the same run.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ir/text/parser.h"
#include "ir/verifier.h"
#include "sim/run/kernel.h"
#include "sim/run/simulator.h"
#include "tests/bench/eigen_dot.h"
#include "tests/bench/sim_modules.h"
#include "tests/paths.h"

namespace minihlo::bench {
namespace {

double limit = 1;  // seconds that a figure is measured for

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Of work on one thread the time of the processor, else that of the clock.
double seconds_once(int threads, const std::function<void()>& work) {
  const clockid_t clock = threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  const double start = now(clock);
  work();
  return now(clock) - start;
}

// The least of some work that is done three times at least: what else the machine does counts
// little.
double seconds(int threads, const std::function<void()>& work) {
  double least = std::numeric_limits<double>::max();
  const double begin = now(CLOCK_MONOTONIC);
  for (int times = 0; times < 3 || now(CLOCK_MONOTONIC) - begin < limit; ++times) {
    least = std::min(least, seconds_once(threads, work));
  }
  return least;
}

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "{}\n", message);
  std::exit(1);
}

std::unique_ptr<Module> read(const std::string& text) {
  auto source = Source::from_string("bench.hlo", text);
  Diagnostics diagnostics(source);
  std::unique_ptr<Module> module = parse_text(source, diagnostics);
  if (module) verify(*module, {}, diagnostics);
  if (!module || !diagnostics.ok()) fail(diagnostics.to_string());
  return module;
}

struct Measured {
  double whole = 0;  // seconds from the text to the result, inputs being there
  double run = 0;
  int64_t peak = 0;  // bytes
};

Measured measure(const std::string& text, const Mesh& mesh, int threads) {
  Measured measured;
  std::unique_ptr<Module> module = read(text);
  auto inputs = make_inputs(*module, mesh, 1, int64_t{8} << 30);
  if (!inputs) fail(inputs.error().message);
  RunOptions options;
  options.threads = threads;
  auto run = [&](const Module& of) {
    auto result = simulate(of, mesh, *inputs, options);
    if (!result) fail(result.error().message);
    measured.peak = result->stats.peak_memory;
  };
  measured.run = seconds(threads, [&] { run(*module); });
  measured.whole = seconds(threads, [&] { run(*read(text)); });
  return measured;
}

struct XlaSeconds {
  double whole = 0, run = 0;
};

std::optional<XlaSeconds> xla(const std::string& text, int64_t replicas) {
  const char* python = std::getenv("MINIHLO_JAXLIB_PYTHON");
  if (!python || !*python) return std::nullopt;
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("minihlo-bench-{}.hlo", getpid());
  std::ofstream(path, std::ios::binary) << text;
  const std::string command =
      fmt::format("timeout 120 '{}' '{}/tests/bench/xla_run.py' '{}' {} 2>/dev/null", python,
                  testing::source_folder().string(), path.string(), replicas);
  std::FILE* pipe = popen(command.c_str(), "r");
  XlaSeconds result;
  const bool ok = pipe && std::fscanf(pipe, "%lf %lf", &result.whole, &result.run) == 2;
  if (pipe) pclose(pipe);
  std::filesystem::remove(path);
  if (!ok) return std::nullopt;
  return result;
}

std::string milliseconds(double value) { return fmt::format("{:.3f}", value * 1e3); }

void beside_xla(const std::string& name, const std::string& text, const Mesh& mesh) {
  const Measured own = measure(text, mesh, 0);
  fmt::print("{:<34} {:>10} {:>10} {:>9.1f}", name, milliseconds(own.whole), milliseconds(own.run),
             static_cast<double>(own.peak) / (1 << 20));
  if (auto peer = xla(text, mesh.device_count())) {
    fmt::print(" {:>10} {:>10} {:>8.1f} {:>8.1f}", milliseconds(peer->whole),
               milliseconds(peer->run), peer->whole / own.whole, peer->run / own.run);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

void xla_header() {
  fmt::print("{:<34} {:>10} {:>10} {:>9} {:>10} {:>10} {:>8} {:>8}\n", "", "from text", "run, ms",
             "peak, MiB", "XLA: text", "run", "times", "times");
}

void collectives() {
  fmt::print("Collectives on 4 KiB a device, all threads\n");
  xla_header();
  for (int64_t devices : {2, 8, 32, 128, 1024}) {
    const Mesh mesh{devices, 1};
    beside_xla(fmt::format("ring of 100 permutes, {}", devices), ring(devices, 100, 1024), mesh);
    beside_xla(fmt::format("all-gather, {}", devices), all_gather(devices, 1024), mesh);
    beside_xla(fmt::format("all-reduce, {}", devices), all_reduce(devices, 1024), mesh);
  }
  for (int64_t elements : {1024, 262144}) {
    beside_xla(fmt::format("ring of 100, 32, shards of {} KiB", elements / 256),
               ring(32, 100, elements), {32, 1});
  }
}

// Bytes that a module reads and writes a second, against a copy of the same number of bytes.
void movement() {
  constexpr int64_t kRows = 4096, kColumns = 4096;
  constexpr int64_t kBytes = kRows * kColumns * 4;
  std::vector<char> from(kBytes, 1), to(kBytes, 1);
  fmt::print("\nMovement of 64 MiB, one thread; memcpy of as much beside each\n");
  fmt::print("{:<34} {:>10} {:>10} {:>10} {:>10}\n", "", "ms", "GB/s", "memcpy", "of memcpy");
  // `moved`: arrays of 64 MiB read and written by each of `times` repetitions in the module.
  auto compare = [&](std::string_view name, const std::string& text, int times, double moved) {
    auto copy = [&] {
      return seconds(1, [&] { std::memcpy(to.data(), from.data(), from.size()); });
    };
    double peer = copy();
    const double time = measure(text, {1, 1}, 1).run / times;
    peer = std::min(peer, copy());
    fmt::print("{:<34} {:>10} {:>10.1f} {:>10.1f} {:>9.0f}%\n", name, milliseconds(time),
               moved * kBytes / time / 1e9, 2 * kBytes / peer / 1e9, 50 * moved * peer / time);
    std::fflush(stdout);
  };
  struct Row {
    const char* name;
    const char* parameters;  // shapes
    const char* result;      // its shape
    const char* calls;       // lines, the last without its name
    double moved;            // arrays of 64 MiB read and written
  };
  const Row rows[] = {
      {"transpose, rows of 64 B", "f32[4096,256,16]", "f32[256,4096,16]",
       "transpose(p0), dimensions={1,0,2}", 2},
      {"transpose, rows of 80 B", "f32[4096,205,20]", "f32[205,4096,20]",
       "transpose(p0), dimensions={1,0,2}", 2},
      {"transpose, heads of 256 B", "f32[8,512,64,64]", "f32[8,64,512,64]",
       "transpose(p0), dimensions={0,2,1,3}", 2},
      {"transpose, single elements", "f32[4096,4096]", "f32[4096,4096]",
       "transpose(p0), dimensions={1,0}", 2},
      {"slice", "f32[8192,4096]", "f32[4096,4096]", "slice(p0), slice={[100:4196], [0:4096]}", 2},
      {"slice of columns", "f32[4096,4112]", "f32[4096,4096]",
       "slice(p0), slice={[0:4096], [16:4112]}", 2},
      {"concatenate", "f32[2048,4096] f32[2048,4096]", "f32[4096,4096]",
       "concatenate(p0, p1), dimensions={0}", 2},
      {"pad", "f32[4094,4080] f32[]", "f32[4096,4096]", "pad(p0, p1), padding=1_1x8_8", 2},
      {"broadcast of rows", "f32[4096]", "f32[4096,4096]", "broadcast(p0), dimensions={1}", 1},
      {"broadcast of columns", "f32[4096]", "f32[4096,4096]", "broadcast(p0), dimensions={0}", 1},
      {"add", "f32[4096,4096] f32[4096,4096]", "f32[4096,4096]", "add(p0, p1)", 3},
      {"reduce rows", "f32[4096,4096] f32[]", "f32[4096]",
       "reduce(p0, p1), dimensions={1}, to_apply=sum", 1},
      {"reduce rows by maximum", "f32[4096,4096] f32[]", "f32[4096]",
       "reduce(p0, p1), dimensions={1}, to_apply=largest", 1},
      {"reduce columns by maximum", "f32[4096,4096] f32[]", "f32[4096]",
       "reduce(p0, p1), dimensions={0}, to_apply=largest", 1},
      {"reduce columns", "f32[4096,4096] f32[]", "f32[4096]",
       "reduce(p0, p1), dimensions={0}, to_apply=sum", 1},
      {"convert to bf16", "f32[4096,4096]", "bf16[4096,4096]", "convert(p0)", 1.5},
  };
  for (const Row& row : rows) {
    std::string text =
        "HloModule bench\n\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT c = f32[] add(a, b)\n}\n\nlargest {\n  a = f32[] parameter(0)\n"
        "  b = f32[] parameter(1)\n  ROOT c = f32[] maximum(a, b)\n}\n\nENTRY main {\n";
    int number = 0;
    for (std::string_view rest = row.parameters; !rest.empty();) {
      const size_t end = std::min(rest.find(' '), rest.size());
      text += fmt::format("  p{0} = {1} parameter({0})\n", number++, rest.substr(0, end));
      rest.remove_prefix(std::min(rest.size(), end + 1));
    }
    // Several times, so that memory is touched for the first time in one of them only.
    constexpr int kTimes = 32;
    const std::string_view result = row.result;
    std::string firsts = "[0:1]", results, types;
    for (char c : result) firsts += c == ',' ? ", [0:1]" : "";
    for (int i = 0; i < kTimes; ++i) {
      const std::string_view type = result.substr(0, result.find('['));
      std::string ones = "1";
      for (char c : result) ones += c == ',' ? ",1" : "";
      text += fmt::format("  r{0} = {1} {2}\n  first{0} = {3}[{4}] slice(r{0}), slice={{{5}}}\n", i,
                          result, row.calls, type, ones, firsts);
      results += fmt::format("{}first{}", i ? ", " : "", i);
      types += fmt::format("{}{}[{}]", i ? ", " : "", type, ones);
    }
    text += fmt::format("  ROOT all = ({}) tuple({})\n}}\n", types, results);
    compare(row.name, text, kTimes, row.moved);
  }
  constexpr int kChains = 32;
  std::string chains =
      "HloModule bench\n\nENTRY main {\n  p = f32[4096,4096] parameter(0)\n"
      "  w = f32[4096,4096] parameter(1)\n";
  std::string results, types;
  for (int chain = 0; chain < kChains; ++chain) {
    std::string last = "p";
    for (int i = 1; i <= 8; ++i) {
      const std::string next = fmt::format("v{}.{}", chain, i);
      chains +=
          fmt::format("  {} = f32[4096,4096] {}({}, w)\n", next, i % 2 ? "add" : "multiply", last);
      last = next;
    }
    chains += fmt::format("  first{} = f32[1,1] slice({}), slice={{[0:1], [0:1]}}\n", chain, last);
    results += fmt::format("{}first{}", chain ? ", " : "", chain);
    types += chain ? ", f32[1,1]" : "f32[1,1]";
  }
  chains += fmt::format("  ROOT all = ({}) tuple({})\n}}\n", types, results);
  compare("chain of 8, read twice, written once", chains, kChains, 3);
}

// The kernels alone, in memory that was touched before: copies whose contiguous runs have from 64
// to 1024 bytes, the worst of them.
void runs() {
  constexpr int64_t kBytes = int64_t{64} << 20;
  RunContext context{BufferPool::make(int64_t{1} << 30), Workers(1), {}};
  auto touched = [&](int64_t bytes) {
    auto buffer = context.pool->allocate(bytes, "bench");
    if (!buffer) fail(buffer.error().message);
    std::memset(buffer->mutable_data(), 1, static_cast<size_t>(bytes));
    return *std::move(buffer);
  };
  const Buffer from = touched(2 * kBytes);
  Buffer to = touched(kBytes);
  struct Kind {
    const char* name;
    // {0}: bytes of a run; {1} of them make 64 MiB, {2} and {3} are {1} / 16 and {1} / 4096.
    const char* operand;
    const char* result;
    const char* call;
  };
  const Kind kinds[] = {
      {"transpose [4096,N,run]", "u8[4096,{3},{0}]", "u8[{3},4096,{0}]",
       "transpose(p), dimensions={{1,0,2}}"},
      {"transpose [N,16,run]", "u8[{2},16,{0}]", "u8[16,{2},{0}]",
       "transpose(p), dimensions={{1,0,2}}"},
      {"transpose [16,N,run]", "u8[16,{2},{0}]", "u8[{2},16,{0}]",
       "transpose(p), dimensions={{1,0,2}}"},
      {"transpose [16,N,256,run]", "u8[16,{3},256,{0}]", "u8[16,256,{3},{0}]",
       "transpose(p), dimensions={{0,2,1,3}}"},
      {"slice of columns", "u8[{1},{4}]", "u8[{1},{0}]", "slice(p), slice={{[0:{1}], [16:{5}]}}"},
      {"concatenate columns", "u8[{6},{0}]", "u8[{6},{7}]", "concatenate(p, p), dimensions={{1}}"},
  };
  fmt::print("{:<34} {:>10} {:>10} {:>10} {:>10}\n", "Runs of 64 to 1024 B, the kernel alone",
             "worst at", "", "mean", "worst");
  for (const Kind& kind : kinds) {
    double worst = std::numeric_limits<double>::max(), sum = 0;
    int64_t worst_run = 0, count = 0;
    for (int64_t run = 64; run <= 1024; run += limit < 1 ? 60 : 4, ++count) {
      auto filled = [&](const char* text) {
        const int64_t many = kBytes / run;
        return fmt::format(fmt::runtime(text), run, many, many / 16, many / 4096, run + 36,
                           run + 16, many / 2, 2 * run);
      };
      const std::unique_ptr<Module> module =
          read(fmt::format("HloModule bench\n\nENTRY main {{\n  p = {} parameter(0)\n"
                           "  ROOT r = {} {}\n}}\n",
                           filled(kind.operand), filled(kind.result), filled(kind.call)));
      const Instruction& instruction = *module->entry()->root();
      const size_t operands = instruction.operand_count();
      KernelCall call{instruction,
                      context,
                      std::vector<Buffer>(operands, from),
                      std::vector<bool>(operands, false),
                      {},
                      {}};
      if (auto done = kernel_of(instruction)(call); !done) fail(done.error().message);
      auto run_kernel = [&] {
        for (const std::vector<Work>& stage : call.stages) context.workers.run(stage);
      };
      const auto bytes = static_cast<size_t>(instruction.shape()->byte_count());
      run_kernel();
      std::vector<double> ratios;
      for (int i = 0; i < 5; ++i) {
        const double peer =
            seconds_once(1, [&] { std::memcpy(to.mutable_data(), from.data(), bytes); });
        ratios.push_back(peer / seconds_once(1, run_kernel));
      }
      std::ranges::sort(ratios);
      const double ratio = ratios[ratios.size() / 2];
      sum += ratio;
      if (ratio < worst) {
        worst = ratio;
        worst_run = run;
      }
    }
    fmt::print("{:<34} {:>8} B {:>10} {:>9.0f}% {:>9.0f}%\n", kind.name, worst_run, "",
               100 * sum / static_cast<double>(count), 100 * worst);
    std::fflush(stdout);
  }
}

void dots() {
  fmt::print("\nSums of products, one thread\n");
  fmt::print("{:<34} {:>10} {:>10} {:>10} {:>10}\n", "", "ms", "GFLOP/s", "Eigen", "of it");
  for (auto [m, k, n] : std::vector<std::array<int64_t, 3>>{{256, 256, 256},
                                                            {1024, 1024, 1024},
                                                            {2048, 2048, 2048},
                                                            {64, 4096, 512},
                                                            {1, 4096, 4096}}) {
    const double flops = 2.0 * static_cast<double>(m * k * n);
    for (std::string_view type : {"f32", "bf16"}) {
      const double own = measure(dot(type, m, k, n), {1, 1}, 1).run;
      fmt::print("{:<34} {:>10} {:>10.1f}", fmt::format("{} [{},{}] x [{},{}]", type, m, k, k, n),
                 milliseconds(own), flops / own / 1e9);
      if (type == "f32") {
        EigenDot peer(m, k, n);
        const double eigen = seconds(1, [&] { peer.run(); });
        fmt::print(" {:>10.1f} {:>9.0f}%", flops / eigen / 1e9, 100 * eigen / own);
      }
      fmt::print("\n");
      std::fflush(stdout);
    }
  }
  const double flops = 2.0 * 8 * 56 * 56 * 9 * 64 * 64;
  const double own = measure(convolution(8, 56, 64), {1, 1}, 1).run;
  fmt::print("{:<34} {:>10} {:>10.1f}\n", "convolution 3x3, f32[8,56,56,64]", milliseconds(own),
             flops / own / 1e9);
}

void block() {
  fmt::print("\nA transformer block on one device, all threads\n");
  xla_header();
  beside_xla("f32[4 x 256, 512], 8 heads", transformer_block(4, 256, 512, 8), {1, 1});
  beside_xla("f32[1 x 1024, 1024], 16 heads", transformer_block(1, 1024, 1024, 16), {1, 1});
}

void transforms() {
  fmt::print("\nOne long row, all threads\n");
  xla_header();
  beside_xla("fft, c64[1048576]",
             "HloModule bench\n\nENTRY main {\n  x = c64[1048576] parameter(0)\n"
             "  ROOT r = c64[1048576] fft(x), fft_type=FFT, fft_length={1048576}\n}\n",
             {1, 1});
  beside_xla("sort, f32[3000000]",
             "HloModule bench\n\nless {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
             "  ROOT c = pred[] compare(a, b), direction=LT\n}\n\nENTRY main {\n"
             "  x = f32[3000000] parameter(0)\n"
             "  ROOT r = f32[3000000] sort(x), dimensions={0}, to_apply=less\n}\n",
             {1, 1});
}

int run(const std::vector<std::string>& arguments) {
  struct Section {
    std::string_view name;
    void (*measure)();
  };
  const Section sections[] = {{"collectives", collectives},
                              {"movement",
                               [] {
                                 movement();
                                 runs();
                               }},
                              {"dot", dots},
                              {"block", block},
                              {"transforms", transforms}};
  std::vector<std::string> chosen;
  for (const std::string& argument : arguments) {
    bool known = argument == "--quick";
    if (known) limit = 0.1;
    for (const Section& section : sections) known = known || section.name == argument;
    if (!known) {
      fmt::print(stderr, "unknown argument '{}'\n", argument);
      return 2;
    }
    if (argument != "--quick") chosen.push_back(argument);
  }
  for (const Section& section : sections) {
    if (chosen.empty() || std::ranges::find(chosen, section.name) != chosen.end()) {
      section.measure();
    }
  }
  return 0;
}

}  // namespace
}  // namespace minihlo::bench

int main(int count, char** arguments) {
  return minihlo::bench::run(std::vector<std::string>(arguments + 1, arguments + count));
}

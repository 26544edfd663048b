// Parsing, verifying and printing HLO text, and the other forms of the same modules: a table of
// speed and memory.
//
//   minihlo-text-bench [--quick] [FILE]...
//
// MINIHLO_JAXLIB_PYTHON names a Python that has jaxlib: XLA's parser is then measured as well.
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ir/json/module_json.h"
#include "ir/proto/proto_reader.h"
#include "ir/proto/proto_writer.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "tests/bench/generate.h"
#include "tests/paths.h"

namespace {

// All memory goes through here, so that what a module takes can be told. It is counted in the first
// round alone, since that takes time.
bool is_counted = true;
size_t live_bytes = 0;
size_t peak_bytes = 0;

void* allocate(size_t bytes) {
  void* place = std::malloc(bytes);
  if (!place) std::abort();
  if (is_counted) {
    live_bytes += malloc_usable_size(place);
    peak_bytes = std::max(peak_bytes, live_bytes);
  }
  return place;
}

void release(void* place) {
  if (place && is_counted) live_bytes -= malloc_usable_size(place);
  std::free(place);
}

}  // namespace

void* operator new(size_t bytes) { return allocate(bytes); }
void* operator new[](size_t bytes) { return allocate(bytes); }
void operator delete(void* place) noexcept { release(place); }
void operator delete[](void* place) noexcept { release(place); }
void operator delete(void* place, size_t) noexcept { release(place); }
void operator delete[](void* place, size_t) noexcept { release(place); }

namespace minihlo::bench {
namespace {

struct Figures {
  size_t instructions = 0;
  double held = 0, peak = 0;  // bytes of memory a byte of text
  // Seconds.
  std::vector<double> parse, verify, check, print, json_in, json_out, proto_in, proto_out;
};

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Of processor time, so that what else runs on the machine counts less.
double seconds(const std::function<void()>& work) {
  auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double start = now();
  work();
  return now() - start;
}

// Measures a file until the time is up, three times at least. Nothing when it is not valid.
std::optional<Figures> measure(const std::string& path, double limit) {
  Figures figures;
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  while (figures.parse.size() < 3 || elapsed() < limit) {
    is_counted = figures.parse.empty();
    std::string error;
    std::shared_ptr<const Source> source = Source::from_file(path, error);
    if (!source) {
      fmt::print(stderr, "{}: {}\n", path, error);
      return std::nullopt;
    }
    const double bytes = static_cast<double>(source->text().size());
    const size_t before = live_bytes;
    peak_bytes = live_bytes;
    Diagnostics diagnostics(source);
    std::unique_ptr<Module> module;
    std::string text;
    figures.parse.push_back(seconds([&] { module = parse_text(source, diagnostics); }));
    if (!module) {
      fmt::print(stderr, "{}", diagnostics.to_string());
      return std::nullopt;
    }
    if (is_counted) {
      figures.peak = static_cast<double>(peak_bytes - before) / bytes;
      figures.held = static_cast<double>(live_bytes - before) / bytes;
    }
    figures.verify.push_back(seconds([&] { verify(*module, {}, diagnostics); }));
    if (!diagnostics.ok()) {
      fmt::print(stderr, "{}", diagnostics.to_string());
      return std::nullopt;
    }
    figures.print.push_back(seconds([&] { text = print_text(*module); }));
    figures.instructions = module->instruction_count();
    // Writes the module in a form, drops it, and reads it again.
    auto other_form = [&](std::vector<double>& out, std::vector<double>& in, auto write,
                          auto read) {
      out.push_back(seconds([&] { text = write(*module); }));
      module.reset();
      auto written = Source::from_string("module", std::move(text));
      Diagnostics of_form(written);
      in.push_back(seconds([&] { module = read(written, of_form, {}); }));
      if (!module) fmt::print(stderr, "{}", of_form.to_string());
      return module != nullptr;
    };
    auto to_proto = [](const Module& from) {
      Diagnostics of_writing;
      return print_proto(from, of_writing);
    };
    if (!other_form(figures.json_out, figures.json_in, print_json, parse_json) ||
        !other_form(figures.proto_out, figures.proto_in, to_proto, parse_proto)) {
      return std::nullopt;
    }
    figures.check.push_back(figures.parse.back() + figures.verify.back());
  }
  return figures;
}

// The seconds that XLA's parser takes for a file, or nothing.
std::optional<double> xla_seconds(const std::string& path) {
  const char* python = std::getenv("MINIHLO_JAXLIB_PYTHON");
  if (!python || !*python) return std::nullopt;
  const std::string command = fmt::format("'{}' '{}/tests/bench/xla_parse.py' '{}'", python,
                                          testing::source_folder().string(), path);
  std::FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  double result = 0;
  const bool ok = pipe && std::fscanf(pipe, "%lf", &result) == 1;
  if (pipe) pclose(pipe);
  if (!ok) return std::nullopt;
  return result;
}

void report(std::string_view name, const std::string& path, double limit) {
  std::optional<Figures> figures = measure(path, limit);
  if (!figures) return;
  const double bytes = static_cast<double>(std::filesystem::file_size(path));
  const double count = static_cast<double>(std::max<size_t>(figures->instructions, 1));
  const double check = median(figures->check);
  fmt::print("{:<32} {:6.1f} {:8}", name, bytes / 1e6, figures->instructions);
  for (std::vector<double>* times :
       {&figures->parse, &figures->verify, &figures->check, &figures->print, &figures->json_in,
        &figures->json_out, &figures->proto_in, &figures->proto_out}) {
    fmt::print(" {:7.0f}", bytes / 1e6 / median(*times));
  }
  fmt::print(" {:8.0f} {:6.2f} {:6.2f}", check / count * 1e9, figures->peak, figures->held);
  if (std::optional<double> xla = xla_seconds(path)) {
    fmt::print(" {:8.0f} {:6.1f}", *xla / count * 1e9, *xla / check);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

int run(const std::vector<std::string>& arguments) {
  bool quick = false;
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    if (argument == "--quick") {
      quick = true;
    } else if (argument.starts_with('-')) {
      fmt::print(stderr, "unknown option '{}'\n", argument);
      return 2;
    } else {
      files.push_back(argument);
    }
  }
  const double limit = quick ? 0.2 : 1;
  fmt::print("{:<32} {:>6} {:>8} {:>63} {:>8} {:>13}\n", "", "", "", "MB of text/s", "check",
             "memory/text");
  fmt::print("{:<32} {:>6} {:>8}", "module", "MB", "instr.");
  for (const char* column :
       {"parse", "verify", "check", "print", "json in", "out", "pb in", "out"}) {
    fmt::print(" {:>7}", column);
  }
  fmt::print(" {:>8} {:>6} {:>6} {:>8} {:>6}\n", "ns/inst", "peak", "held", "XLA ns", "times");
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("minihlo-bench-{}", getpid());
  std::filesystem::create_directories(folder);
  for (const Generated& kind : generated_modules()) {
    const std::string path = folder / "module.hlo";
    const size_t size = kind.name.starts_with("constant") ? 100'000'000 : 24'000'000;
    std::ofstream(path, std::ios::binary) << kind.make(quick ? size / 10 : size);
    report(kind.name, path, limit);
  }
  std::filesystem::remove_all(folder);
  for (const std::string& file : files) {
    report(std::filesystem::path(file).filename().string(), file, limit);
  }
  return 0;
}

}  // namespace
}  // namespace minihlo::bench

int main(int count, char** arguments) {
  return minihlo::bench::run(std::vector<std::string>(arguments + 1, arguments + count));
}

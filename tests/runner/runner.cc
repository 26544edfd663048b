#include "tests/runner/runner.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <tl/expected.hpp>

#include "tests/paths.h"
#include "tests/runner/rule_file.h"
#include "tests/runner/test_file.h"
#include "tools/temporary_folder.h"

namespace minihlo::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

// Long enough for a slow machine under a sanitizer; what hangs must still end.
constexpr std::chrono::seconds kTimeout{120};

using testing::read_file;

bool write(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  return file.flush().good();
}

struct Outcome {
  int exit_code;
  std::string output;
  std::string error;
};

// The exit code, or how the process ended otherwise.
tl::expected<int, std::string> wait_for(pid_t child) {
  steady_clock::time_point deadline = steady_clock::now() + kTimeout;
  std::chrono::microseconds pause{200};
  int status = 0;
  while (true) {
    pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child) break;
    if (done < 0 && errno != EINTR) return tl::unexpected(std::string("the process is lost\n"));
    if (steady_clock::now() > deadline) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return tl::unexpected(fmt::format("still running after {} s\n", kTimeout.count()));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds{10000});
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return tl::unexpected(fmt::format("ended by signal {}\n", strsignal(WTERMSIG(status))));
}

// Runs a step in `folder`, with its streams in files of `streams`.
tl::expected<Outcome, std::string> run(const Step& step, const fs::path& tool,
                                       const fs::path& folder, const fs::path& streams) {
  fs::path input = streams / "stdin", output = streams / "stdout", error = streams / "stderr";
  if (step.output_full) output = "/dev/full";
  if (!write(input, step.input)) return tl::unexpected(std::string("cannot write the input\n"));
  std::vector<char*> words{const_cast<char*>("minihlo")};
  for (const std::string& word : step.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), kWrite, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, error.c_str(), kWrite, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t child = 0;
  int failure = posix_spawn(&child, tool.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure) {
    return tl::unexpected(fmt::format("cannot run {}: {}\n", tool.string(), strerror(failure)));
  }
  tl::expected<int, std::string> code = wait_for(child);
  if (!code) return tl::unexpected(code.error() + read_file(error));
  return Outcome{*code, step.output_full ? "" : read_file(output), read_file(error)};
}

std::string difference(const Step& step, const Outcome& outcome) {
  std::string found;
  if (outcome.exit_code != step.exit_code) {
    found += fmt::format("  exit code {} instead of {}\n", outcome.exit_code, step.exit_code);
  }
  std::string output = compare(step.output, outcome.output);
  if (!output.empty()) found += "  stdout: " + output;
  std::string error = compare(step.error, outcome.error);
  if (!error.empty()) found += "  stderr: " + error;
  if (found.empty()) return "";
  auto show = [&](std::string_view stream, std::string_view text) {
    if (!text.empty()) found += fmt::format("  --- {} was\n{}", stream, text);
  };
  show("stdout", outcome.output);
  show("stderr", outcome.error);
  return fmt::format("  $ {}\n{}", step.command, found);
}

void expect(Step& step, const Outcome& outcome) {
  step.exit_code = outcome.exit_code;
  if (!step.output.contains) step.output.text = outcome.output;
  if (!step.error.contains) step.error.text = outcome.error;
}

// What is wrong with a case, or nothing.
std::string run_case(const fs::path& path, const RunnerOptions& options) {
  std::string text = read_file(path);
  tl::expected<TestFile, std::string> file = parse_test_file(text);
  if (!file) return fmt::format("  {}\n", file.error());
  TemporaryFolder folder, streams;
  if (folder.path().empty() || streams.path().empty()) return "  cannot make a folder\n";
  std::error_code failure;
  fs::create_directory_symlink(options.data, folder.path() / "data", failure);
  if (failure) return fmt::format("  cannot link data: {}\n", failure.message());
  for (Step& step : file->steps) {
    for (const FileSection& section : step.files) {
      if (!write(folder.path() / section.name, section.body)) {
        return fmt::format("  cannot write {}\n", section.name);
      }
    }
    tl::expected<Outcome, std::string> outcome =
        run(step, options.tool, folder.path(), streams.path());
    if (!outcome) return fmt::format("  $ {}\n  {}", step.command, outcome.error());
    if (options.update) expect(step, *outcome);
    std::string found = difference(step, *outcome);
    if (!found.empty()) return found;
  }
  if (!options.update) return "";
  std::string updated = print_test_file(*file);
  return updated == text || write(path, updated) ? "" : "  cannot be written\n";
}

// Runs the cases of a rule file; what is wrong with them goes to `found`.
RunnerCounts run_rules(const fs::path& path, const RunnerOptions& options, std::string& found) {
  std::string text = read_file(path);
  tl::expected<RuleFile, std::string> file = parse_rule_file(text);
  if (!file) {
    found = fmt::format("  {}\n", file.error());
    return {0, 1};
  }
  RunnerCounts counts;
  std::string_view before, after;
  for (RuleCase& one : file->cases) {
    if (one.before.there) before = one.before.text;
    if (one.after.there) after = one.after.text;
    std::string said = check_rule_case(before, one.text, after);
    const bool good = options.update || said == one.expected;
    ++(good ? counts.passed : counts.failed);
    if (!good) {
      found +=
          fmt::format("  case {}\n  --- expected\n{}  --- said\n{}", one.name, one.expected, said);
    }
    if (options.update) one.expected = std::move(said);
  }
  if (!options.update) return counts;
  const std::string updated = print_rule_file(*file);
  if (updated == text || write(path, updated)) return counts;
  found = "  cannot be written\n";
  return {0, 1};
}

constexpr std::string_view kRules = ".rules";

}  // namespace

std::vector<fs::path> find_test_files(const std::vector<fs::path>& paths) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
      const fs::path extension = entry.path().extension();
      if (extension == ".test" || extension == kRules) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

RunnerCounts run_test_files(const std::vector<fs::path>& files, const RunnerOptions& options) {
  RunnerCounts counts;
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  auto work = [&] {
    for (size_t i = next++; i < files.size(); i = next++) {
      std::string found;
      RunnerCounts of_file;
      if (files[i].extension() == kRules) {
        of_file = run_rules(files[i], options, found);
      } else {
        found = run_case(files[i], options);
        ++(found.empty() ? of_file.passed : of_file.failed);
      }
      std::lock_guard lock(mutex);
      counts.passed += of_file.passed;
      counts.failed += of_file.failed;
      if (found.empty()) continue;
      if (!found.ends_with('\n')) found += '\n';
      fmt::print("FAILED {}\n{}", files[i].string(), found);
    }
  };
  std::vector<std::thread> threads(std::max(1u, std::thread::hardware_concurrency()));
  for (std::thread& thread : threads) thread = std::thread(work);
  for (std::thread& thread : threads) thread.join();
  return counts;
}

}  // namespace minihlo::testing

#include "tools/campaign/external.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include <doctest/doctest.h>

#include <fmt/format.h>

namespace minihlo::campaign {
namespace {

namespace fs = std::filesystem;

constexpr const char* kText = "HloModule m\n\nENTRY e {\n  ROOT x = f32[2] parameter(0)\n}\n";

ExternalResult run(const std::string& command, const ExternalLimits& limits = {}) {
  return run_external(command, kText, std::make_shared<ShapePool>(), limits);
}

TEST_CASE("external command: what it writes is read, in the shapes that are given") {
  const ExternalResult same = run("cp {in} {out}");
  CHECK(same.kind == OutcomeKind::kProved);
  REQUIRE(same.file.module);
  CHECK(same.file.module->name() == "m");
  CHECK(!same.changed);
  const ExternalResult other = run("sed s/x/y/ {in} > {out}");
  CHECK(other.kind == OutcomeKind::kProved);
  CHECK(other.changed);
  // Each place is replaced wherever it stands.
  CHECK(run("test {in} = {in} && cat {in} > {out}; test -s {out}").kind == OutcomeKind::kProved);
}

TEST_CASE("external command: its end is told, with the last line that it printed") {
  CHECK(run("echo one; echo two >&2; echo; exit 4").reason ==
        "the command ended with exit code 4: two");
  CHECK(run("kill -ABRT $$").reason == "the command ended by signal 6 (Aborted)");
  // The shell says so of its children.
  const std::string of_child = run("sh -c 'kill -ABRT $$'; exit $?").reason;
  CHECK(of_child.starts_with("the command ended by signal 6 (Aborted)"));
  const ExternalResult loud = run("head -c 100000 /dev/zero | tr '\\0' x; exit 1");
  CHECK(loud.kind == OutcomeKind::kCrashed);
  CHECK(loud.reason.size() < 300);
  CHECK(run("no-such-program-at-all {in} {out}").kind == OutcomeKind::kCrashed);
  CHECK(run("exit 0").reason == "the command wrote no module to {out}");
  CHECK(run("mkdir {out}").kind == OutcomeKind::kInvalid);
  // Nothing that would be waited for, or has no end, is read.
  CHECK(run("mkfifo {out}").reason == "what the command left at {out} is no file");
  CHECK(run("ln -s /dev/zero {out}").kind == OutcomeKind::kInvalid);
  CHECK(run("rm -f \"$(dirname {in})\"/log; mkfifo \"$(dirname {in})\"/log; exit 5").reason ==
        "the command ended with exit code 5");
  // Names of the files would differ from run to run.
  CHECK(run("echo no {in}, no {out}; exit 1").reason ==
        "the command ended with exit code 1: no {in}, no {out}");
}

TEST_CASE("external command: nothing that it started outlives it") {
  const fs::path mark =
      fs::temp_directory_path() / fmt::format("minihlo-external-test-{}", getpid());
  std::error_code ignored;
  fs::remove(mark, ignored);
  const std::string late = fmt::format("(sleep 0.3; touch {}) & cp {{in}} {{out}}", mark.string());
  CHECK(run(late).kind == OutcomeKind::kProved);
  CHECK(run(late + "; sleep 30", {.seconds = 0.05}).kind == OutcomeKind::kTimedOut);
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  CHECK(!fs::exists(mark));
  fs::remove(mark, ignored);
}

TEST_CASE("external command: it ends when its time is over, or when it is told to") {
  const auto start = std::chrono::steady_clock::now();
  CHECK(run("sleep 60", {.seconds = 0.05}).reason == "the command was still running after 0.05 s");
  const std::atomic<bool> stop = true;
  CHECK(run("sleep 60", {.stop = &stop}).kind == OutcomeKind::kTimedOut);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("external command: it has no more memory than it may have") {
  const std::string wants = "dd if=/dev/zero of=/dev/null bs=300M count=1 && cp {in} {out}";
  CHECK(run(wants, {.memory = int64_t{1} << 27}).kind == OutcomeKind::kCrashed);
  CHECK(run(wants, {.memory = int64_t{1} << 30}).kind == OutcomeKind::kProved);
}

}  // namespace
}  // namespace minihlo::campaign

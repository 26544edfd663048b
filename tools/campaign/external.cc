#include "tools/campaign/external.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "tools/shell.h"
#include "tools/temporary_folder.h"

namespace minihlo::campaign {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

// Bytes that a command may write into one file, so that none fills a disk before its time is over.
constexpr int64_t kMaxFile = int64_t{1} << 30;
// Of what it prints: what is looked at, from the end, and what a reason quotes.
constexpr int64_t kLogTail = 4096;
constexpr size_t kQuoted = 200;
constexpr const char* kInput = "in.hlo";
constexpr const char* kOutput = "out.hlo";

bool write_file(const fs::path& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file) written &= std::fclose(file) == 0;
  return written;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

// The last line that is not empty, ready to stand behind a message. The folder's name is another
// one each time, which a report must not be.
std::string last_line(const fs::path& path) {
  std::error_code missing;
  std::FILE* file = fs::is_regular_file(path, missing) ? std::fopen(path.c_str(), "rbe") : nullptr;
  if (!file) return "";
  std::string tail(kLogTail, '\0');
  if (std::fseek(file, -kLogTail, SEEK_END) != 0) std::rewind(file);
  tail.resize(std::fread(tail.data(), 1, tail.size(), file));
  std::fclose(file);
  while (!tail.empty() && std::strchr(" \t\r\n", tail.back())) tail.pop_back();
  std::string line = tail.substr(tail.find_last_of('\n') + 1);
  replace_all(line, (path.parent_path() / kInput).string(), "{in}");
  replace_all(line, (path.parent_path() / kOutput).string(), "{out}");
  if (line.size() > kQuoted) line = line.substr(0, kQuoted) + "...";
  return line.empty() ? "" : ": " + for_terminal(line);
}

// A command's process group. It is gone, with all that is left of it, when the object is.
class ProcessGroup {
 public:
  ProcessGroup(const std::string& text, const fs::path& log) {
    const char* words[] = {"/bin/sh", "-c", text.c_str(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    failure_ =
        posix_spawn(&id_, words[0], &actions, &attributes, const_cast<char**>(words), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~ProcessGroup() {
    if (failure_ != 0) return;
    // The leader is not waited for yet, so the number still is that of this group.
    kill(-id_, SIGKILL);
    while (waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// Why there is none, or 0.
  int failure() const { return failure_; }

  /// How its leader ended; nothing while it runs.
  std::optional<siginfo_t> ended() const {
    siginfo_t status{};
    const int done = waitid(P_PID, static_cast<id_t>(id_), &status, WEXITED | WNOHANG | WNOWAIT);
    if (done != 0 || status.si_pid == 0) return std::nullopt;
    return status;
  }

 private:
  pid_t id_ = 0;
  int failure_ = 0;
};

struct Ending {
  OutcomeKind kind;
  std::string reason;
};

Ending ending_of(const siginfo_t& status) {
  const int code = status.si_status;
  if (status.si_code != CLD_EXITED) {
    return {OutcomeKind::kCrashed,
            fmt::format("the command ended by signal {} ({})", code, strsignal(code))};
  }
  if (code == 0) return {OutcomeKind::kProved, ""};
  // What a shell says of a command that ended by a signal.
  constexpr int kSignals = 128;
  if (code > kSignals && code < kSignals + NSIG) {
    return {OutcomeKind::kCrashed, fmt::format("the command ended by signal {} ({})",
                                               code - kSignals, strsignal(code - kSignals))};
  }
  return {OutcomeKind::kCrashed, fmt::format("the command ended with exit code {}", code)};
}

Ending run_command(const std::string& text, const fs::path& log, const ExternalLimits& limits) {
  std::string limited = fmt::format("ulimit -f {}\n", kMaxFile / 512);
  if (limits.memory > 0) limited += fmt::format("ulimit -v {}\n", (limits.memory + 1023) / 1024);
  ProcessGroup group(limited + text, log);
  if (group.failure() != 0) {
    return {OutcomeKind::kCrashed,
            fmt::format("the command can't be started: {}", std::strerror(group.failure()))};
  }
  const auto start = steady_clock::now();
  std::chrono::microseconds pause{200};
  for (;;) {
    if (const std::optional<siginfo_t> status = group.ended()) return ending_of(*status);
    const std::chrono::duration<double> time = steady_clock::now() - start;
    if (limits.seconds > 0 && time.count() > limits.seconds) {
      return {OutcomeKind::kTimedOut,
              fmt::format("the command was still running after {} s", limits.seconds)};
    }
    if (limits.stop && *limits.stop) return {OutcomeKind::kTimedOut, "the command was stopped"};
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds{5000});
  }
}

}  // namespace

std::string first_error(const Diagnostics& diagnostics) {
  for (const Diagnostic& found : diagnostics.all()) {
    if (found.severity != Severity::kError) continue;
    const Source* source = diagnostics.source();
    if (!source || source->is_binary() || found.location.length == 0) return found.message;
    return fmt::format("line {}: {}", source->position(found.location.offset).line, found.message);
  }
  return "";
}

ExternalResult run_external(const std::string& command, const std::string& text,
                            std::shared_ptr<ShapePool> shapes, const ExternalLimits& limits) {
  ExternalResult result;
  auto fail = [&](OutcomeKind kind, std::string reason) {
    result.kind = kind;
    result.reason = std::move(reason);
    return std::move(result);
  };
  TemporaryFolder folder;
  const fs::path in = folder.path() / kInput, out = folder.path() / kOutput;
  if (folder.path().empty() || !write_file(in, text)) {
    return fail(OutcomeKind::kUnsupported,
                fmt::format("no file can be written for the command: {}", std::strerror(errno)));
  }
  const fs::path log = folder.path() / "log";
  std::string with_paths = command;
  replace_all(with_paths, "{in}", shell_quoted(in.string()));
  replace_all(with_paths, "{out}", shell_quoted(out.string()));
  Ending ending = run_command(with_paths, log, limits);
  if (ending.kind != OutcomeKind::kProved) {
    return fail(ending.kind, ending.reason + last_line(log));
  }
  std::error_code missing;
  if (!fs::exists(out, missing)) {
    return fail(OutcomeKind::kInvalid, "the command wrote no module to {out}" + last_line(log));
  }
  // A pipe would be waited for, and a device may have no end.
  if (!fs::is_regular_file(out, missing)) {
    return fail(OutcomeKind::kInvalid, "what the command left at {out} is no file");
  }
  result.file = read_module(out.string(), {std::move(shapes)});
  if (!result.file.module) {
    return fail(OutcomeKind::kInvalid,
                "what the command wrote can't be read: " +
                    (result.file.unreadable.empty() ? first_error(result.file.diagnostics)
                                                    : result.file.unreadable));
  }
  const Source* source = result.file.diagnostics.source();
  result.changed = !source || source->text() != text;
  return result;
}

}  // namespace minihlo::campaign

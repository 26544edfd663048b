// One campaign on several ranks, in builds with MPI: what rank 0 reports does not depend on them.
#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "tests/paths.h"
#include "tools/shell.h"
#include "tools/temporary_folder.h"

namespace minihlo::campaign {
namespace {

namespace fs = std::filesystem;
using testing::read_file;

// 3596 cases, of which most are failures, so that counts, failures and the exit code matter.
constexpr std::string_view kCampaign =
    "campaign --exhaustive=1..5 --modes=replica,partition --threads=1 --show-failures=9 "
    "--passes='collective-permute-to-all-gather{fill=identity}'";

class Shell {
 public:
  Shell() {
    const fs::path build = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
    tool_ = shell_quoted((build / "tools/minihlo").string());
  }

  /// Runs the tool on so many ranks, or by itself with 0, and returns the exit code. What it
  /// prints stands in `output`.
  int run(int ranks, const std::string& arguments, const std::string& output) const {
    // A test may run as root and on fewer cores than ranks.
    const std::string launcher =
        ranks == 0 ? ""
                   : fmt::format(
                         "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                         "mpirun --oversubscribe -n {} ",
                         ranks);
    const std::string command =
        fmt::format("cd {} && {}{} {} > {} 2> errors", shell_quoted(folder_.path().string()),
                    launcher, tool_, arguments, output);
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string text(const std::string& file) const { return read_file(folder_.path() / file); }

 private:
  TemporaryFolder folder_;
  std::string tool_;
};

TEST_CASE("campaign on ranks: reports, journals and exit codes are those of one process") {
  const Shell shell;
  const std::string campaign(kCampaign);
  REQUIRE(shell.run(0, campaign + " --report=one.jsonl", "one") == 1);
  REQUIRE(shell.text("one").find("3596 cases, 3596 rewritten") != std::string::npos);
  for (int ranks : {1, 3}) {
    CAPTURE(ranks);
    const std::string journal = fmt::format(" --journal=j{}", ranks);
    const int code = shell.run(ranks, campaign + journal + " --report=some.jsonl", "some");
    INFO(shell.text("errors"));
    CHECK(code == 1);
    CHECK(shell.text("some") == shell.text("one"));
    CHECK(shell.text("some.jsonl") == shell.text("one.jsonl"));
  }
  // The journals of the ranks are those of shards, and are gone on with.
  CHECK(shell.run(0, "campaign --merge=j3.0 --merge=j3.1 --merge=j3.2", "merged") == 1);
  CHECK(shell.text("merged").find("3596 cases, 3596 rewritten") != std::string::npos);
  CHECK(shell.run(3, campaign + " --journal=j3 --resume", "again") == 1);
  CHECK(shell.text("again") == shell.text("one"));
  CHECK(shell.run(3, campaign + " --journal=j3", "twice") == 2);
}

}  // namespace
}  // namespace minihlo::campaign

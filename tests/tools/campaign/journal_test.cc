// Campaigns that are killed, go on, and are merged.
#include "tools/campaign/journal.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "tests/paths.h"
#include "tests/tools/campaign/tally_text.h"
#include "tools/campaign/judge.h"
#include "tools/campaign/merge.h"
#include "tools/temporary_folder.h"

namespace minihlo::campaign {
namespace {

namespace fs = std::filesystem;
using testing::read_file;

class Folder {
 public:
  std::string file(const std::string& name) const {
    REQUIRE(!folder_.path().empty());
    return (folder_.path() / name).string();
  }

 private:
  TemporaryFolder folder_;
};

void write_file(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Of 1254 cases, in five blocks, most are failures, which are quickly found: what is proved was not
// expected.
CampaignSpec failing() {
  CampaignSpec spec;
  spec.exhaustive = "4";
  spec.modes = "partition,replica";
  spec.passes = {"collective-permute-to-all-gather", "dce", "collective-permute-to-all-gather,dce"};
  spec.expect = "neuron-2.24";
  spec.simulate = 50;
  spec.show_failures = 5;
  return spec;
}

struct Run {
  std::string error;
  std::string result;    // of the whole, where there is no error
  int64_t replayed = 0;  // blocks that were there
};

// Runs a campaign with a journal, to its end.
Run run(const CampaignSpec& spec, const std::string& path, bool resume, const Shard& shard = {}) {
  const auto space = CaseSpace::make(spec);
  REQUIRE(space);
  const Judge judge(*space);
  Results results(*space, judge);
  Run made;
  auto journal =
      JournalWriter::open(path, JournalHeader::of(*space, shard), space->rewrites().size(), resume,
                          [&](const JournalBlock& block) {
                            ++made.replayed;
                            results.add(block.block, block.tally);
                          });
  if (!journal) {
    made.error = journal.error();
    return made;
  }
  RunSettings settings;
  settings.shard = shard;
  settings.threads = 2;
  settings.keep = [&](int64_t block, const Tally& tally) { return journal->add(block, tally); };
  if (!results.is_cut()) made.error = run_blocks(*space, made.replayed, settings, results);
  made.result = text_of(results.tally());
  return made;
}

TEST_CASE("campaign journal: one that was cut anywhere goes on to the same end") {
  const Folder folder;
  const std::string path = folder.file("j");
  const Run whole = run(failing(), path, false);
  REQUIRE(whole.error == "");
  REQUIRE(whole.replayed == 0);
  const std::string journal = read_file(path);
  for (size_t length = 0; length <= journal.size(); length += length < 400 ? 53 : 211) {
    CAPTURE(length);
    write_file(path, std::string_view(journal).substr(0, length));
    const Run resumed = run(failing(), path, true);
    REQUIRE(resumed.error == "");
    CHECK(resumed.result == whole.result);
    CHECK(read_file(path) == journal);
    // Blocks whose lines are whole are not run again; the first line is the header.
    const auto lines = std::ranges::count(journal.substr(0, length), '\n');
    CHECK(resumed.replayed == std::max<int64_t>(lines - 1, 0));
  }
}

TEST_CASE("campaign journal: one that ended by its failures stays ended") {
  const Folder folder;
  CampaignSpec spec = failing();
  spec.max_failures = 700;
  const Run whole = run(spec, folder.file("j"), false);
  const std::string journal = read_file(folder.file("j"));
  const Run again = run(spec, folder.file("j"), true);
  CHECK(again.result == whole.result);
  CHECK(read_file(folder.file("j")) == journal);
}

TEST_CASE("campaign journal: what is not its journal is refused, and kept") {
  const Folder folder;
  const std::string path = folder.file("j");
  const std::string journal = (run(failing(), path, false), read_file(path));
  auto refused = [&](const CampaignSpec& spec, const std::string& text, bool resume = true,
                     const Shard& shard = {}) {
    write_file(path, text);
    const Run again = run(spec, path, resume, shard);
    CHECK(read_file(path) == text);
    return again.error.substr(std::min(again.error.find('\'', 1) + 2, again.error.size()));
  };
  CHECK(refused(failing(), journal, false) == "is there already; --resume goes on with it");
  CampaignSpec other = failing();
  other.seed = 2;
  CHECK(refused(other, journal) == "is of another campaign: --show-failures=5, not --seed=2");
  CHECK(refused(failing(), journal, true, {1, 2}) == "is of another campaign: shard 1/1, not 2/2");
  CHECK(refused(failing(), "my notes") == "is no journal");
  CHECK(refused(failing(), "my notes\n") == "is no journal, or damaged in line 1");
  // Any byte of a whole line.
  const size_t last_line = journal.rfind('\n', journal.size() - 2);
  for (size_t at = 0; at < last_line; at += 97) {
    CAPTURE(at);
    std::string damaged = journal;
    if (damaged[at] == '\n') continue;
    damaged[at] = damaged[at] == 'x' ? 'y' : 'x';
    CHECK(refused(failing(), damaged).starts_with("is no journal"));
  }
  // Lines that are whole but not in their order.
  const size_t first = journal.find('\n') + 1;
  CHECK(refused(failing(),
                journal.substr(0, first) + journal.substr(journal.find('\n', first) + 1)) ==
        "is no journal, or damaged in line 2");
}

TEST_CASE("campaign journal: nothing is waited for that is no file") {
  const Folder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const std::string fault = "'" + pipe + "' is no file";
  CHECK(run(failing(), pipe, true).error == fault);
  auto reader = JournalReader::open(pipe);
  REQUIRE(!reader);
  CHECK(reader.error() == fault);
}

TEST_CASE("campaign journal: what the files of --pairs hold is part of the campaign") {
  const Folder folder;
  CampaignSpec spec;
  spec.pairs = {folder.file("pairs")};
  write_file(spec.pairs[0], "{{0,1}}\n");
  CHECK(run(spec, folder.file("j"), false).error == "");
  CHECK(run(spec, folder.file("j"), true).error == "");
  write_file(spec.pairs[0], "{{1,0}}\n");
  CHECK(run(spec, folder.file("j"), true)
            .error.ends_with("is of another campaign: what stands in the files of --pairs"));
}

TEST_CASE("campaign journal: two campaigns do not write one") {
  const Folder folder;
  const auto space = CaseSpace::make(failing());
  auto open = [&] {
    return JournalWriter::open(folder.file("j"), JournalHeader::of(*space, {}), 3, true, {});
  };
  const auto first = open();
  REQUIRE(first);
  const auto second = open();
  REQUIRE(!second);
  CHECK(second.error().ends_with("is written by another campaign"));
}

// What the journals of shards come to together, or what is wrong.
std::string merged(const std::vector<std::string>& paths) {
  auto merge = Merge::open(paths);
  if (!merge) return merge.error();
  const auto space = CaseSpace::make(merge->spec());
  REQUIRE(space);
  const Judge judge(*space);
  Results results(*space, judge);
  const std::string wrong = merge->add_to(*space, results);
  return wrong.empty() ? text_of(results.tally()) : wrong;
}

TEST_CASE("campaign journal: those of all shards give the result of the whole") {
  const Folder folder;
  for (const int64_t most : {0, 700}) {
    CampaignSpec spec = failing();
    spec.max_failures = most;
    const std::string whole = run(spec, folder.file(fmt::format("whole{}", most)), false).result;
    for (const int64_t count : {1, 2, 7}) {
      std::vector<std::string> paths;
      for (int64_t index = count - 1; index >= 0; --index) {
        paths.push_back(folder.file(fmt::format("{}-{}-{}", most, index, count)));
        CHECK(run(spec, paths.back(), false, {index, count}).error == "");
      }
      CHECK(merged(paths) == whole);
    }
  }
  auto path = [&](const char* name) { return folder.file(name); };
  CHECK(merged({path("0-0-2")}).ends_with("is of shard 1/2, and one journal is given"));
  CHECK(merged({path("0-0-2"), path("0-0-2")}).ends_with("are both of shard 1/2"));
  CHECK(merged({path("0-0-2"), path("700-1-2")})
            .ends_with("--max-failures=700, not --show-failures=5"));
  const std::string journal = read_file(path("0-1-2"));
  write_file(path("0-1-2"), journal.substr(0, journal.size() - 1));
  CHECK(merged({path("0-0-2"), path("0-1-2")})
            .ends_with("is not finished; --resume goes on with it"));
  CHECK(merged({path("no-such-file")}).starts_with("cannot read"));
}

}  // namespace
}  // namespace minihlo::campaign

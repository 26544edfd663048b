// The journal of a campaign: what is done, a line a block, so that a campaign that was killed goes
// on where it was.
//
// It is text. Each line holds fields with tabs between them, and behind them a checksum of itself
// and of all lines before it. The first line says which campaign it is of. A line that was not
// written to its end is cut off.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "tools/campaign/case_space.h"
#include "tools/campaign/checksum.h"
#include "tools/campaign/runner.h"
#include "tools/campaign/tally.h"

namespace minihlo::campaign {

/// What a journal is of.
struct JournalHeader {
  Shard shard;
  int64_t cases = 0;               // of the whole campaign
  uint64_t checksum = 0;           // of the files that it reads
  std::vector<std::string> words;  // CampaignSpec::words()

  static JournalHeader of(const CaseSpace& space, const Shard& shard);
  /// What in `other` is another campaign, or another shard, or nothing.
  std::string difference(const JournalHeader& other, bool with_shard = true) const;
};

/// A block and what it came to.
struct JournalBlock {
  int64_t block = 0;
  Tally tally;
};

/// A block as one line of text without its end, and back. `rewrites` is how many the campaign has.
std::string print_block(int64_t block, const Tally& tally);
std::optional<JournalBlock> parse_block(std::string_view line, size_t rewrites);

/// Reads a journal line by line.
class JournalReader {
 public:
  /// Error: it can't be read, or is no journal.
  static tl::expected<JournalReader, std::string> open(const std::string& path);

  /// Nothing where there is no whole line: the file is empty, or was not written to its first one's
  /// end.
  const std::optional<JournalHeader>& header() const { return header_; }
  /// The next block, or nothing where whole lines end. `rewrites` is how many the campaign has.
  /// Error: a line in the middle was damaged.
  tl::expected<std::optional<JournalBlock>, std::string> next(size_t rewrites);

  /// Where the lines end that were read, and their checksum.
  int64_t length() const { return length_; }
  uint64_t checksum() const { return checksum_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  // The next line without its checksum, or nothing at the end.
  tl::expected<std::optional<std::string>, std::string> line();
  std::string damaged() const;

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::optional<JournalHeader> header_;
  std::string unfinished_;  // what stands behind the last whole line
  int64_t length_ = 0, lines_ = 0;
  uint64_t checksum_ = kNoChecksum;
};

/// Writes a journal. The file is locked as long as this lives.
class JournalWriter {
 public:
  /// Begins a journal; with `resume` goes on with one of the same campaign and shard, if the file
  /// is there, and hands what is in it to `take`, block by block. Error: what is wrong.
  static tl::expected<JournalWriter, std::string> open(
      const std::string& path, const JournalHeader& header, size_t rewrites, bool resume,
      const std::function<void(const JournalBlock&)>& take);

  JournalWriter(JournalWriter&& other) noexcept;
  JournalWriter& operator=(JournalWriter&&) = delete;
  ~JournalWriter();

  /// Adds a block. Returns what is wrong, or nothing.
  std::string add(int64_t block, const Tally& tally);

 private:
  JournalWriter() = default;
  std::string write(std::string line);

  std::string path_;
  int file_ = -1;
  uint64_t checksum_ = kNoChecksum;
};

}  // namespace minihlo::campaign

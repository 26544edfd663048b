#include "tools/campaign/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "tools/campaign/lists.h"

namespace minihlo::campaign {
namespace {

constexpr std::string_view kMagic = "minihlo-campaign-journal 1";
// Longer lines are no lines of a journal.
constexpr size_t kMaxLine = size_t{1} << 26;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '\t' || c == '\n') {
      out += '\\';
      out += c == '\\' ? '\\' : c == '\t' ? 't' : 'n';
    } else {
      out += c;
    }
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    out += c == 't' ? '\t' : c == 'n' ? '\n' : c;
  }
  return out;
}

std::string joined(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : "\t") + escaped(field);
  return line;
}

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  for (std::string_view field : split_list(line, '\t')) fields.push_back(unescaped(field));
  return fields;
}

std::string print_header(const JournalHeader& header) {
  std::vector<std::string> fields = {
      std::string(kMagic), fmt::to_string(header.shard.index), fmt::to_string(header.shard.count),
      fmt::to_string(header.cases), fmt::format("{:x}", header.checksum)};
  fields.insert(fields.end(), header.words.begin(), header.words.end());
  return joined(fields);
}

std::optional<JournalHeader> parse_header(std::string_view line) {
  const std::vector<std::string> fields = fields_of(line);
  constexpr size_t kFixed = 5;
  if (fields.size() < kFixed || fields[0] != kMagic) return std::nullopt;
  const auto index = parse_count(fields[1]), count = parse_count(fields[2]);
  const auto cases = parse_count(fields[3]);
  JournalHeader header;
  const std::string& sum = fields[4];
  auto [end, error] = std::from_chars(sum.data(), sum.data() + sum.size(), header.checksum, 16);
  if (!index || !count || !cases || *index >= *count || error != std::errc() ||
      end != sum.data() + sum.size()) {
    return std::nullopt;
  }
  header.shard = {*index, *count};
  header.cases = *cases;
  header.words.assign(fields.begin() + kFixed, fields.end());
  return header;
}

// The parts between the first blanks, the last one with all that is left.
std::vector<std::string_view> parts_of(std::string_view text, size_t count) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < count) {
    const size_t blank = text.find(' ');
    if (blank == text.npos) break;
    parts.push_back(text.substr(0, blank));
    text.remove_prefix(blank + 1);
  }
  parts.push_back(text);
  return parts;
}

std::string cannot(std::string_view what, const std::string& path) {
  return fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno));
}

// What is wrong with a path, which may be free. A pipe would be waited for.
std::string file_fault(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) return "";
  return fmt::format("'{}' is no file", path);
}

}  // namespace

std::string print_block(int64_t block, const Tally& tally) {
  std::string counts;
  for (size_t rewrite = 0; rewrite < tally.by_rewrite.size(); ++rewrite) {
    for (const OutcomeInfo& outcome : outcomes()) {
      const OutcomeCount& count = tally.by_rewrite[rewrite][static_cast<size_t>(outcome.kind)];
      if (count.cases == 0) continue;
      counts += fmt::format("{}{} {} {} {}", counts.empty() ? "" : ",", rewrite, outcome.word,
                            count.cases, count.failures);
    }
  }
  std::vector<std::string> fields = {fmt::to_string(block), fmt::to_string(tally.cases),
                                     fmt::to_string(tally.rewritten),
                                     fmt::to_string(tally.simulated), counts};
  for (const Failure& failure : tally.failures) {
    fields.push_back(fmt::format("{} {} {} {}", failure.number, failure.rewrite,
                                 info(failure.kind).word, failure.reason));
  }
  return joined(fields);
}

std::optional<JournalBlock> parse_block(std::string_view line, size_t rewrites) {
  const std::vector<std::string> fields = fields_of(line);
  constexpr size_t kFixed = 5;
  if (fields.size() < kFixed) return std::nullopt;
  JournalBlock made{0, Tally(rewrites)};
  int64_t* numbers[] = {&made.block, &made.tally.cases, &made.tally.rewritten,
                        &made.tally.simulated};
  for (size_t i = 0; i < std::size(numbers); ++i) {
    const std::optional<int64_t> number = parse_count(fields[i]);
    if (!number) return std::nullopt;
    *numbers[i] = *number;
  }
  auto place_of = [&](std::string_view text) {
    const std::optional<int64_t> place = parse_count(text);
    return place && std::cmp_less(*place, rewrites) ? place : std::nullopt;
  };
  for (std::string_view text : split_list(fields[4])) {
    const std::vector<std::string_view> parts = parts_of(text, 4);
    if (parts.size() < 4) return std::nullopt;
    const auto rewrite = place_of(parts[0]);
    const auto kind = outcome_from(parts[1]);
    const auto cases = parse_count(parts[2]), failures = parse_count(parts[3]);
    if (!rewrite || !kind || !cases || !failures) return std::nullopt;
    made.tally.by_rewrite[static_cast<size_t>(*rewrite)][static_cast<size_t>(*kind)] = {*cases,
                                                                                        *failures};
  }
  for (size_t i = kFixed; i < fields.size(); ++i) {
    const std::vector<std::string_view> parts = parts_of(fields[i], 4);
    if (parts.size() < 4) return std::nullopt;
    const auto number = parse_count(parts[0]);
    const auto rewrite = place_of(parts[1]);
    const auto kind = outcome_from(parts[2]);
    if (!number || !rewrite || !kind) return std::nullopt;
    made.tally.failures.push_back(
        {*number, static_cast<size_t>(*rewrite), *kind, std::string(parts[3])});
  }
  return made;
}

JournalHeader JournalHeader::of(const CaseSpace& space, const Shard& shard) {
  return {shard, space.size(), space.checksum(), space.spec().words()};
}

std::string JournalHeader::difference(const JournalHeader& other, bool with_shard) const {
  if (with_shard && (shard.index != other.shard.index || shard.count != other.shard.count)) {
    return fmt::format("shard {}/{}, not {}/{}", other.shard.index + 1, other.shard.count,
                       shard.index + 1, shard.count);
  }
  for (size_t i = 0; i < std::max(words.size(), other.words.size()); ++i) {
    auto text = [&](const std::vector<std::string>& own) {
      return i < own.size() ? own[i] : std::string("nothing");
    };
    if (text(words) != text(other.words)) {
      return fmt::format("{}, not {}", text(other.words), text(words));
    }
  }
  if (checksum != other.checksum) return "what stands in the files of --pairs";
  if (cases != other.cases) return fmt::format("{} cases, not {}", other.cases, cases);
  return "";
}

tl::expected<JournalReader, std::string> JournalReader::open(const std::string& path) {
  JournalReader reader;
  reader.path_ = path;
  if (std::string fault = file_fault(path); !fault.empty()) return tl::unexpected(fault);
  reader.file_.reset(std::fopen(path.c_str(), "rbe"));
  if (!reader.file_) return tl::unexpected(cannot("read", path));
  auto line = reader.line();
  if (!line) return tl::unexpected(line.error());
  if (*line) reader.header_ = parse_header(**line);
  // Somebody else's file must not be taken for a journal that was hardly begun.
  const bool may_be_begun =
      !*line && (reader.unfinished_.starts_with(kMagic) || kMagic.starts_with(reader.unfinished_));
  if (!reader.header_ && !may_be_begun) {
    return tl::unexpected(fmt::format("'{}' is no journal", path));
  }
  return reader;
}

std::string JournalReader::damaged() const {
  return fmt::format("'{}' is no journal, or damaged in line {}", path_, lines_ + 1);
}

tl::expected<std::optional<std::string>, std::string> JournalReader::line() {
  std::string text;
  int c = 0;
  while ((c = std::getc(file_.get())) != EOF && c != '\n') {
    if (text.size() == kMaxLine) return tl::unexpected(damaged());
    text += static_cast<char>(c);
  }
  if (c == EOF) {
    unfinished_ = std::move(text);
    return std::nullopt;
  }
  const size_t end = text.rfind('\t');
  const std::string_view content = std::string_view(text).substr(0, end);
  const uint64_t sum = campaign::checksum(content, checksum_);
  if (end == text.npos || text.substr(end + 1) != fmt::format("{:016x}", sum)) {
    return tl::unexpected(damaged());
  }
  checksum_ = sum;
  length_ += static_cast<int64_t>(text.size()) + 1;
  ++lines_;
  text.resize(end);
  return text;
}

tl::expected<std::optional<JournalBlock>, std::string> JournalReader::next(size_t rewrites) {
  auto text = line();
  if (!text) return tl::unexpected(text.error());
  if (!*text) return std::nullopt;
  std::optional<JournalBlock> block = parse_block(**text, rewrites);
  // Blocks of a shard come in order.
  const int64_t place = lines_ - 2;
  if (!block || block->block != Blocks::block(header_->shard, place)) {
    --lines_;
    return tl::unexpected(damaged());
  }
  return block;
}

tl::expected<JournalWriter, std::string> JournalWriter::open(
    const std::string& path, const JournalHeader& header, size_t rewrites, bool resume,
    const std::function<void(const JournalBlock&)>& take) {
  JournalWriter writer;
  writer.path_ = path;
  if (std::string fault = file_fault(path); !fault.empty()) return tl::unexpected(fault);
  writer.file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (writer.file_ < 0) return tl::unexpected(cannot("write", path));
  if (flock(writer.file_, LOCK_EX | LOCK_NB) != 0) {
    return tl::unexpected(fmt::format("'{}' is written by another campaign", path));
  }
  auto reader = JournalReader::open(path);
  if (!reader) return tl::unexpected(reader.error());
  if (!reader->header()) {
    // A new file, or one whose first line was not finished.
    if (ftruncate(writer.file_, 0) != 0) return tl::unexpected(cannot("write", path));
    if (std::string wrong = writer.write(print_header(header)); !wrong.empty()) {
      return tl::unexpected(wrong);
    }
    return writer;
  }
  if (!resume) {
    return tl::unexpected(fmt::format("'{}' is there already; --resume goes on with it", path));
  }
  if (std::string other = header.difference(*reader->header()); !other.empty()) {
    return tl::unexpected(fmt::format("'{}' is of another campaign: {}", path, other));
  }
  for (;;) {
    auto block = reader->next(rewrites);
    if (!block) return tl::unexpected(block.error());
    if (!*block) break;
    take(**block);
  }
  if (ftruncate(writer.file_, reader->length()) != 0) return tl::unexpected(cannot("write", path));
  writer.checksum_ = reader->checksum();
  return writer;
}

JournalWriter::JournalWriter(JournalWriter&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      checksum_(other.checksum_) {}

JournalWriter::~JournalWriter() {
  if (file_ >= 0) close(file_);
}

std::string JournalWriter::add(int64_t block, const Tally& tally) {
  return write(print_block(block, tally));
}

std::string JournalWriter::write(std::string line) {
  checksum_ = campaign::checksum(line, checksum_);
  line += fmt::format("\t{:016x}\n", checksum_);
  std::string_view left = line;
  while (!left.empty()) {
    const ssize_t written = ::write(file_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("write", path_);
    left.remove_prefix(static_cast<size_t>(written));
  }
  return "";
}

}  // namespace minihlo::campaign

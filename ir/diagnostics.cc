#include "ir/diagnostics.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <numeric>

namespace minihlo {
namespace {

// Longer lines are shown in part, around the place.
constexpr size_t kShownBytes = 160;

// A character of UTF-8 at the start of `text`: how many bytes it has, and how many columns a
// terminal gives it. What a terminal would act on, and bytes that are no UTF-8, are shown as
// something else.
struct Character {
  size_t bytes;
  size_t columns;
  std::string_view shown;
};

Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {1, 1, lead < ' ' || lead == 0x7F ? " " : text.substr(0, 1)};
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {1, 1, kReplacement};
  uint32_t point = lead & (0x7Fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {1, 1, kReplacement};
    point = point << 6 | (byte(i) & 0x3F);
  }
  const auto within = [point](uint32_t first, uint32_t last) {
    return point >= first && point <= last;
  };
  // Controls, and marks that turn the direction of writing.
  if (within(0x80, 0x9F) || within(0x200B, 0x200F) || within(0x202A, 0x202E) ||
      within(0x2060, 0x206F) || point == 0xFEFF) {
    return {bytes, 1, kReplacement};
  }
  const bool combines = within(0x300, 0x36F) || within(0x20D0, 0x20FF) || within(0xFE00, 0xFE0F);
  const bool wide = within(0x1100, 0x115F) || within(0x2E80, 0xA4CF) || within(0xAC00, 0xD7A3) ||
                    within(0xF900, 0xFAFF) || within(0xFE30, 0xFE6F) || within(0xFF00, 0xFF60) ||
                    within(0xFFE0, 0xFFE6) || within(0x1F300, 0x1FAFF) || within(0x20000, 0x3FFFD);
  return {bytes, combines ? 0u : wide ? 2u : 1u, text.substr(0, bytes)};
}

std::string for_terminal_line(std::string_view text) {
  std::string shown = for_terminal(text);
  std::replace(shown.begin(), shown.end(), '\n', ' ');
  return shown;
}

bool continues_utf8(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

constexpr std::string_view kError = "\x1b[1;31m", kWarning = "\x1b[1;35m", kNote = "\x1b[1;36m",
                           kCaret = "\x1b[1;32m", kBold = "\x1b[1m", kPlain = "\x1b[0m";

// Text with a colour around it, or as it is.
class Paint {
 public:
  explicit Paint(bool colours) : colours_(colours) {}
  std::string operator()(std::string_view colour, std::string_view text) const {
    return colours_ ? fmt::format("{}{}{}", colour, text, kPlain) : std::string(text);
  }

 private:
  bool colours_;
};

std::string_view colour(Severity severity) {
  return severity == Severity::kError ? kError : severity == Severity::kWarning ? kWarning : kNote;
}

// The line of a place and a caret under it; of a long line, what is around the place.
void append_place(std::string& out, const Source& source, Location location, Paint paint) {
  const Source::Position position = source.position(location.offset);
  const std::string_view row = position.row;
  const size_t column = std::min(static_cast<size_t>(position.column - 1), row.size());
  size_t begin = 0, end = row.size();
  if (row.size() > kShownBytes) {
    if (column > kShownBytes / 2) begin = std::min(column - kShownBytes / 2, end - kShownBytes);
    while (begin > 0 && continues_utf8(row[begin])) --begin;
    end = begin + kShownBytes;
    while (end < row.size() && continues_utf8(row[end])) ++end;
  }
  std::string shown = begin > 0 ? "..." : "";
  size_t before = shown.size(), under = 0;
  const size_t last = column + location.length;
  for (size_t at = begin; at < end;) {
    const Character character = first_character(row.substr(at, end - at));
    shown += character.shown;
    if (at < column) before += character.columns;
    if (at >= column && at < last) under += character.columns;
    at += character.bytes;
  }
  if (end < row.size()) shown += "...";
  const std::string caret = fmt::format("{:~<{}}", '^', std::max<size_t>(under, 1));
  fmt::format_to(std::back_inserter(out), "  {}\n  {:>{}}{}\n", shown, "", before,
                 paint(kCaret, caret));
}

void append_heading(std::string& out, const Source* source, Location location, bool located,
                    Severity severity, std::string_view message, std::string_view rule,
                    Paint paint) {
  if (source) {
    std::string place = source->name();
    if (located && source->is_binary()) {
      fmt::format_to(std::back_inserter(place), ":@{}", location.offset);
    } else if (located) {
      Source::Position position = source->position(location.offset);
      fmt::format_to(std::back_inserter(place), ":{}:{}", position.line, position.column);
    }
    out += paint(kBold, place + ":") + ' ';
  }
  out += paint(colour(severity), fmt::format("{}:", to_string(severity))) + ' ';
  const std::string shown = for_terminal_line(message);
  out += severity == Severity::kNote ? shown : paint(kBold, shown);
  if (!rule.empty()) fmt::format_to(std::back_inserter(out), " [{}]", rule);
  out += '\n';
  if (source && located && !source->is_binary()) append_place(out, *source, location, paint);
}

// A message about shapes with thousands of elements says no more than its start and its end.
void shorten(std::string& message) {
  constexpr size_t kLongest = 1000, kHead = 700, kTail = 200;
  if (message.size() <= kLongest) return;
  size_t head = kHead, tail = message.size() - kTail;
  while (continues_utf8(message[head])) --head;
  while (tail < message.size() && continues_utf8(message[tail])) ++tail;
  message = fmt::format("{} ... {}", std::string_view(message).substr(0, head),
                        std::string_view(message).substr(tail));
}

// What does not tell its length may never end.
constexpr size_t kLongestStream = size_t{1} << 30;
// Locations are 32 bits wide.
constexpr off_t kLongestFile = std::numeric_limits<uint32_t>::max();

// Reads up to `size` bytes, fewer only at the end of the file. Adds them to `done`. False, with
// errno, when that fails.
bool read_up_to(int file, char* place, size_t size, size_t& done) {
  while (size > 0) {
    const ssize_t got = read(file, place, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    place += got;
    size -= static_cast<size_t>(got);
    done += static_cast<size_t>(got);
  }
  return true;
}

// Reads to the end of what does not tell its length. False, with errno, when that fails; EFBIG past
// kLongestStream.
bool read_stream(int file, std::string& text) {
  constexpr size_t kChunk = size_t{1} << 16;
  for (size_t size = 0; size <= kLongestStream;) {
    text.resize(size + kChunk);
    const size_t before = size;
    if (!read_up_to(file, text.data() + size, kChunk, size)) return false;
    text.resize(size);
    if (size < before + kChunk) return true;
  }
  errno = EFBIG;
  return false;
}

}  // namespace

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "";
}

std::shared_ptr<const Source> Source::from_string(std::string name, std::string text) {
  std::shared_ptr<Source> source(new Source);
  source->name_ = std::move(name);
  source->storage_ = std::move(text);
  source->text_ = source->storage_;
  return source;
}

std::shared_ptr<const Source> Source::from_file(const std::string& path, std::string& error) {
  std::shared_ptr<Source> source(new Source);
  bool standard_input = path == "-";
  source->name_ = standard_input ? "<stdin>" : path;
  int file = standard_input ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  bool ok = file >= 0 && fstat(file, &status) == 0;
  if (ok && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    ok = false;
  } else if (ok && !standard_input && S_ISREG(status.st_mode) && status.st_size > 0) {
    if (status.st_size >= kLongestFile) {
      close(file);
      error = "it has 4 GiB or more";
      return nullptr;
    }
    const size_t size = static_cast<size_t>(status.st_size);
    source->file_ = std::make_unique_for_overwrite<char[]>(size);
    size_t done = 0;
    ok = read_up_to(file, source->file_.get(), size, done);
    source->text_ = {source->file_.get(), done};
  } else if (ok) {
    ok = read_stream(file, source->storage_);
    source->text_ = source->storage_;
  }
  if (!ok) {
    error = errno == EFBIG ? "it does not end within 1 GiB" : std::strerror(errno);
  }
  if (file >= 0 && !standard_input) close(file);
  return ok ? source : nullptr;
}

std::shared_ptr<const Source> Source::binary(std::shared_ptr<const Source> source) {
  std::shared_ptr<Source> made(new Source);
  made->name_ = source->name_;
  made->text_ = source->text_;
  made->is_binary_ = true;
  made->owner_ = std::move(source);
  return made;
}

Source::Position Source::position(uint32_t offset) const {
  std::call_once(lines_found_, [&] {
    const std::string_view text = text_.substr(0, std::numeric_limits<uint32_t>::max());
    lines_.push_back(0);
    for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n', end + 1)) {
      lines_.push_back(static_cast<uint32_t>(end + 1));
    }
  });
  const size_t at = std::min<size_t>(offset, text_.size());
  const auto next = std::upper_bound(lines_.begin(), lines_.end(), at);
  const size_t begin = *(next - 1);
  std::string_view row = text_.substr(begin, next == lines_.end() ? text_.npos : *next - begin - 1);
  if (next == lines_.end()) row = row.substr(0, row.find('\n'));
  if (row.ends_with('\r')) row.remove_suffix(1);
  return {next - lines_.begin(), static_cast<int64_t>(at - begin) + 1, row};
}

Diagnostics::Diagnostics(std::shared_ptr<const Source> source, size_t limit)
    : source_(std::move(source)),
      limit_(limit > 0 ? limit : std::numeric_limits<size_t>::max() / 2) {}

Diagnostic& Diagnostics::error(std::string rule, Location location, std::string message) {
  ++error_count_;
  return add(Severity::kError, std::move(rule), location, std::move(message));
}

Diagnostic& Diagnostics::warning(std::string rule, Location location, std::string message) {
  return add(Severity::kWarning, std::move(rule), location, std::move(message));
}

Diagnostic& Diagnostics::note(std::string rule, Location location, std::string message) {
  return add(Severity::kNote, std::move(rule), location, std::move(message));
}

Diagnostic& Diagnostics::add(Severity severity, std::string rule, Location location,
                             std::string message) {
  Diagnostic made;
  made.severity = severity;
  made.rule = std::move(rule);
  made.message = std::move(message);
  shorten(made.message);
  made.location = location;
  if (all_.size() >= 2 * limit_ || (severity == Severity::kError && error_count_ > limit_)) {
    overflow_ = std::move(made);
    return overflow_;
  }
  return all_.emplace_back(std::move(made));
}

std::string Diagnostics::to_string(bool colours) const {
  const Paint paint(colours);
  std::string out;
  size_t shown = 0;
  for (const Diagnostic& diagnostic : all_) {
    shown += diagnostic.severity == Severity::kError;
    append_heading(out, source_.get(), diagnostic.location,
                   diagnostic.location.length > 0 || diagnostic.location.offset > 0,
                   diagnostic.severity, diagnostic.message, diagnostic.rule, paint);
    for (const Diagnostic::Note& note : diagnostic.notes) {
      if (note.location.length == 0) {
        fmt::format_to(std::back_inserter(out), "  {} {}\n", paint(kNote, "note:"),
                       for_terminal_line(note.message));
      } else {
        append_heading(out, source_.get(), note.location, true, Severity::kNote, note.message, "",
                       paint);
      }
    }
  }
  if (const size_t more = error_count_ - shown; more > 0) {
    fmt::format_to(std::back_inserter(out), "{} more error{} not shown\n", more,
                   more == 1 ? "" : "s");
  }
  return out;
}

std::string for_terminal(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Character character = first_character(text);
    shown += text[0] == '\n' ? "\n" : character.shown;
    text.remove_prefix(character.bytes);
  }
  return shown;
}

std::string_view closest(std::string_view word, const std::vector<std::string_view>& candidates) {
  constexpr size_t kLongest = 64;
  // One change in three letters, and of short words less than all.
  if (word.size() < 2 || word.size() > kLongest) return {};
  const size_t allowed = std::min((word.size() + 1) / 3, word.size() - 1);
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  size_t best = allowed + 1;
  std::string_view result;
  std::vector<size_t> row, previous, before;
  for (std::string_view candidate : candidates) {
    if (candidate.size() >= word.size() + best || word.size() >= candidate.size() + best) continue;
    // Insertions, deletions, changes and swaps of neighbours that turn one into the other.
    previous.resize(candidate.size() + 1);
    std::iota(previous.begin(), previous.end(), 0);
    for (size_t i = 1; i <= word.size(); ++i) {
      row.assign(candidate.size() + 1, i);
      for (size_t j = 1; j <= candidate.size(); ++j) {
        const char a = lower(word[i - 1]), b = lower(candidate[j - 1]);
        row[j] = std::min({previous[j - 1] + (a != b), previous[j] + 1, row[j - 1] + 1});
        if (i > 1 && j > 1 && a == lower(candidate[j - 2]) && lower(word[i - 2]) == b) {
          row[j] = std::min(row[j], before[j - 2] + 1);
        }
      }
      // No later row has anything less.
      std::swap(before, previous);
      std::swap(previous, row);
      if (*std::min_element(previous.begin(), previous.end()) >= best) break;
    }
    if (previous.back() < best) {
      best = previous.back();
      result = candidate;
    }
  }
  return result;
}

std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string_view meant = closest(word, candidates);
  return meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant);
}

}  // namespace minihlo

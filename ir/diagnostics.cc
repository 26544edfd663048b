#include "ir/diagnostics.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

namespace minihlo {
namespace {

// Longer lines are shown in part, around the place.
constexpr size_t kShownBytes = 160;

std::string_view severity_name(Severity severity) {
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

// One column a byte, and nothing that a terminal would act on.
std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return out;
}

bool continues_utf8(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

void append_place(std::string& out, const Source& source, Location location) {
  Source::Position position = source.position(location.offset);
  size_t column = static_cast<size_t>(position.column - 1);
  size_t begin = 0;
  if (position.row.size() > kShownBytes && column > kShownBytes / 2) {
    begin = std::min(column - kShownBytes / 2, position.row.size() - kShownBytes);
  }
  while (begin > 0 && continues_utf8(position.row[begin])) --begin;
  std::string shown = printable(position.row.substr(begin, kShownBytes));
  size_t caret = column - begin;
  size_t width = std::max<size_t>(location.length, 1);
  width = std::min(width, caret < shown.size() ? shown.size() - caret : 1);
  // Bytes that continue a character take no column.
  size_t hidden = static_cast<size_t>(
      std::count_if(shown.begin(), shown.begin() + static_cast<long>(std::min(caret, shown.size())),
                    continues_utf8));
  fmt::format_to(std::back_inserter(out), "  {}\n  {:>{}}{:~>{}}\n", shown, '^', caret - hidden + 1,
                 "", width - 1);
}

void append_heading(std::string& out, const Source* source, Location location, bool located,
                    Severity severity, std::string_view message, std::string_view rule) {
  if (source) {
    out += source->name();
    if (located && source->is_binary()) {
      fmt::format_to(std::back_inserter(out), ":@{}", location.offset);
    } else if (located) {
      Source::Position position = source->position(location.offset);
      fmt::format_to(std::back_inserter(out), ":{}:{}", position.line, position.column);
    }
    out += ": ";
  }
  fmt::format_to(std::back_inserter(out), "{}: {}", severity_name(severity), message);
  if (!rule.empty()) fmt::format_to(std::back_inserter(out), " [{}]", rule);
  out += '\n';
  if (source && located && !source->is_binary()) append_place(out, *source, location);
}

bool read_all(int file, std::string& text) {
  constexpr size_t kChunk = size_t{1} << 16;
  for (;;) {
    size_t size = text.size();
    text.resize(size + kChunk);
    ssize_t got = read(file, text.data() + size, kChunk);
    text.resize(size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) return false;
  }
}

}  // namespace

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
  } else if (ok) {
    // A file that something else cuts short while it is mapped would kill us, so only files that
    // are worth it are mapped.
    constexpr off_t kWorthMapping = off_t{1} << 22;
    void* mapping = MAP_FAILED;
    if (!standard_input && S_ISREG(status.st_mode) && status.st_size >= kWorthMapping) {
      mapping = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    }
    if (mapping != MAP_FAILED) {
      source->mapping_ = mapping;
      source->mapping_size_ = static_cast<size_t>(status.st_size);
      source->text_ = {static_cast<const char*>(mapping), source->mapping_size_};
    } else {
      ok = read_all(file, source->storage_);
      source->text_ = source->storage_;
    }
  }
  if (!ok) error = std::strerror(errno);
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

Source::~Source() {
  if (mapping_) munmap(mapping_, mapping_size_);
}

Source::Position Source::position(uint32_t offset) const {
  size_t at = std::min<size_t>(offset, text_.size());
  std::string_view before = text_.substr(0, at);
  int64_t line = 1 + std::count(before.begin(), before.end(), '\n');
  size_t begin = before.rfind('\n');
  begin = begin == before.npos ? 0 : begin + 1;
  std::string_view row = text_.substr(begin);
  row = row.substr(0, row.find('\n'));
  if (row.ends_with('\r')) row.remove_suffix(1);
  return {line, static_cast<int64_t>(at - begin) + 1, row};
}

Diagnostics::Diagnostics(std::shared_ptr<const Source> source, size_t limit)
    : source_(std::move(source)), limit_(limit) {}

Diagnostic& Diagnostics::error(std::string rule, Location location, std::string message) {
  ++error_count_;
  return add(Severity::kError, std::move(rule), location, std::move(message));
}

Diagnostic& Diagnostics::warning(std::string rule, Location location, std::string message) {
  return add(Severity::kWarning, std::move(rule), location, std::move(message));
}

Diagnostic& Diagnostics::add(Severity severity, std::string rule, Location location,
                             std::string message) {
  Diagnostic made;
  made.severity = severity;
  made.rule = std::move(rule);
  made.message = std::move(message);
  made.location = location;
  if (all_.size() >= 2 * limit_ || (severity == Severity::kError && error_count_ > limit_)) {
    overflow_ = std::move(made);
    return overflow_;
  }
  return all_.emplace_back(std::move(made));
}

std::string Diagnostics::to_string() const {
  std::string out;
  size_t shown = 0;
  for (const Diagnostic& diagnostic : all_) {
    shown += diagnostic.severity == Severity::kError;
    append_heading(out, source_.get(), diagnostic.location,
                   diagnostic.location.length > 0 || diagnostic.location.offset > 0,
                   diagnostic.severity, diagnostic.message, diagnostic.rule);
    for (const Diagnostic::Note& note : diagnostic.notes) {
      if (note.location.length == 0) {
        fmt::format_to(std::back_inserter(out), "  note: {}\n", note.message);
      } else {
        append_heading(out, source_.get(), note.location, true, Severity::kNote, note.message, "");
      }
    }
  }
  if (shown < error_count_) {
    fmt::format_to(std::back_inserter(out), "{} more errors not shown\n", error_count_ - shown);
  }
  return out;
}

std::string_view closest(std::string_view word, const std::vector<std::string_view>& candidates) {
  constexpr size_t kLongest = 64;
  if (word.size() > kLongest) return {};
  size_t best = 1 + std::max<size_t>(1, word.size() / 3);
  std::string_view result;
  std::vector<size_t> row, previous, before;
  for (std::string_view candidate : candidates) {
    if (candidate.size() > word.size() + best || word.size() > candidate.size() + best) continue;
    // Insertions, deletions, changes and swaps of neighbours that turn one into the other.
    previous.resize(candidate.size() + 1);
    std::iota(previous.begin(), previous.end(), 0);
    for (size_t i = 1; i <= word.size(); ++i) {
      row.assign(candidate.size() + 1, i);
      for (size_t j = 1; j <= candidate.size(); ++j) {
        size_t change = previous[j - 1] + (word[i - 1] != candidate[j - 1]);
        row[j] = std::min({change, previous[j] + 1, row[j - 1] + 1});
        if (i > 1 && j > 1 && word[i - 1] == candidate[j - 2] && word[i - 2] == candidate[j - 1]) {
          row[j] = std::min(row[j], before[j - 2] + 1);
        }
      }
      before = previous;
      previous = row;
    }
    if (previous.back() < best) {
      best = previous.back();
      result = candidate;
    }
  }
  return result;
}

}  // namespace minihlo

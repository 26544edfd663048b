// Errors, warnings and notes about a module, located in its source text.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "ir/instruction.h"

namespace minihlo {

/// A text and where it came from. Views into it stay valid as long as it lives.
class Source {
 public:
  /// Takes the text over.
  static std::shared_ptr<const Source> from_string(std::string name, std::string text);
  /// Reads a file, as long as it is when it is opened; `-` is standard input. Null, with the reason
  /// in `error`, when that fails or there are 4 GiB, of what does not tell its length 1 GiB.
  static std::shared_ptr<const Source> from_file(const std::string& path, std::string& error);
  /// The same bytes as what they are not: text. Places in them are offsets, not lines.
  static std::shared_ptr<const Source> binary(std::shared_ptr<const Source> source);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  bool is_binary() const { return is_binary_; }

  struct Position {
    int64_t line;          // from 1
    int64_t column;        // from 1, in bytes
    std::string_view row;  // the whole line, without its end
  };
  /// The first call finds where all lines begin; threads may call it at once.
  Position position(uint32_t offset) const;

 private:
  Source() = default;
  std::string name_;
  std::string storage_;
  std::string_view text_;
  mutable std::once_flag lines_found_;
  mutable std::vector<uint32_t> lines_;  // where each begins; those within reach of a Location
  bool is_binary_ = false;
  std::shared_ptr<const Source> owner_;  // of text_, where this source only views it
  std::unique_ptr<char[]> file_;         // what text_ views, where its length was known before
};

enum class Severity : uint8_t { kError, kWarning, kNote };
std::string_view to_string(Severity severity);

struct Diagnostic {
  Severity severity = Severity::kError;
  std::string rule;     // a stable name of what was broken, such as "unknown-opcode"
  std::string message;  // lower case, no full stop
  Location location;
  struct Note {
    std::string message;
    Location location;  // length 0: no place of its own
  };
  std::vector<Note> notes;
  std::string instruction;  // the name of the instruction at fault, where there is one
};

/// Collects diagnostics of one source. Past `limit` errors further ones are only counted; 0: none
/// is too many.
class Diagnostics {
 public:
  explicit Diagnostics(std::shared_ptr<const Source> source = nullptr, size_t limit = 100);

  Diagnostic& error(std::string rule, Location location, std::string message);
  Diagnostic& warning(std::string rule, Location location, std::string message);
  Diagnostic& note(std::string rule, Location location, std::string message);

  const std::vector<Diagnostic>& all() const { return all_; }
  size_t error_count() const { return error_count_; }
  bool ok() const { return error_count_ == 0; }
  /// Whether there are so many errors that it is not worth while to look for more.
  bool full() const { return error_count_ >= kWorthCounting; }
  const Source* source() const { return source_.get(); }
  /// From now on, locations are in `source`. Requires that none has been given yet.
  void set_source(std::shared_ptr<const Source> source) { source_ = std::move(source); }

  /// file:line:col: error: message, the line, a caret under the place, notes; one after another.
  /// In a binary source, file:@offset: error: message.
  /// Long lines are shown in part. With `colours`, as terminals understand them.
  std::string to_string(bool colours = false) const;

 private:
  Diagnostic& add(Severity severity, std::string rule, Location location, std::string message);

  static constexpr size_t kWorthCounting = 10000;

  std::shared_ptr<const Source> source_;
  size_t limit_;
  size_t error_count_ = 0;
  std::vector<Diagnostic> all_;
  Diagnostic overflow_;
};

/// Text of unknown origin for a terminal: controls but line feeds are blanks, bytes that are no
/// UTF-8 are U+FFFD.
std::string for_terminal(std::string_view text);

/// The candidate closest to a misspelt word, or empty when none is close. Case does not matter.
std::string_view closest(std::string_view word, const std::vector<std::string_view>& candidates);
/// "; did you mean 'X'?" with the closest candidate, for the end of a message; empty when none is
/// close.
std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace minihlo
